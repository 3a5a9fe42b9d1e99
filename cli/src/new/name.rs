//! The name of a crate.

use std::str::FromStr;

/// A name that a package can have, and its library.
#[derive(Clone, Debug)]
pub struct Name(String);

/// Rust's words, the names of its own crates and of the folders that cargo writes to.
const TAKEN: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro \
    match mod move mut override priv pub ref return self static struct super trait true try type typeof unsafe unsized use virtual where \
    while yield alloc core proc_macro std test build deps examples incremental";

/// The names of packages and libraries in the new workspace.
const OURS: &str = "kernels cuda_builder cuda_std warpfold warpfold_device warpfold_emulator";

impl Name {
    /// As the package and its folder are called.
    pub fn package(&self) -> &str {
        &self.0
    }

    /// As Rust calls the library.
    pub fn library(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_of_word =
            |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        if !text.starts_with(|first: char| first.is_ascii_alphabetic())
            || !text.chars().all(is_of_word)
        {
            return Err("a name has letters, digits, - and _, and begins with a letter".to_owned());
        }
        let name = Self(text.to_owned());
        let library = name.library();
        let is_among = |words: &str| words.split(' ').any(|word| word == library);
        if is_among(TAKEN) {
            return Err("it means something else to Rust or cargo; choose another name".to_owned());
        }
        if is_among(OURS) {
            return Err("a part of the new crate is called that; choose another name".to_owned());
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_cargo_takes() {
        for name in ["a", "my_kernel", "my-kernel-2", "Sum"] {
            assert!(name.parse::<Name>().is_ok(), "{name}");
        }
        for name in [
            "", "2d", "-a", "_", "a/b", "..", "a b", "größe", "match", "test", "kernels",
            "cuda-std",
        ] {
            assert!(name.parse::<Name>().is_err(), "{name}");
        }
    }
}
