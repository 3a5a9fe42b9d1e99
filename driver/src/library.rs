//! The driver's library: where it is looked for, and how a function of it is found.

use libloading::Library;
use std::{error::Error, sync::OnceLock};

/// Where the library is looked for, in this order: by the names that the driver installs, on the loader's own search path, then in
/// the folder that Windows Subsystem for Linux mounts, which is not always on that path.
const CANDIDATES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &[
        "libcuda.so.1",
        "libcuda.so",
        "/usr/lib/wsl/lib/libcuda.so.1",
    ]
};

/// No library of the driver could be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the NVIDIA driver's library cannot be loaded: {answer}{}", also_tried(.others))]
pub struct LibraryNotFound {
    /// What the loader said about the first name.
    answer: String,
    /// The names and paths tried after it.
    others: Vec<String>,
}

fn also_tried(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!(" (also tried {})", others.join(" and ")),
    }
}

/// Loads the library on the first call and keeps it until the process ends.
pub(crate) fn library() -> Result<&'static Library, &'static LibraryNotFound> {
    static LIBRARY: OnceLock<Result<Library, LibraryNotFound>> = OnceLock::new();
    LIBRARY.get_or_init(|| load_first_of(CANDIDATES)).as_ref()
}

/// The function of this name in the driver's library.
///
/// # Safety
/// `Function` is an `extern "C"` function pointer with the signature that the driver gives to `name`.
pub(crate) unsafe fn function<Function: Copy>(name: &str) -> Option<Function> {
    // SAFETY: the signature is the caller's promise; the library stays loaded, so that the pointer stays valid.
    unsafe { library().ok()?.get::<Function>(name) }
        .ok()
        .map(|symbol| *symbol)
}

/// The most telling answer is the first: the name that every driver installs.
fn load_first_of(candidates: &[&str]) -> Result<Library, LibraryNotFound> {
    let mut first_answer = None;
    for &candidate in candidates {
        // SAFETY: loading runs the library's initialisers; these names are the NVIDIA driver's, whose initialisers ask nothing of us.
        match unsafe { Library::new(candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => first_answer.get_or_insert_with(|| answer(candidate, &error)),
        };
    }
    Err(LibraryNotFound {
        answer: first_answer.unwrap_or_default(),
        others: candidates.iter().skip(1).map(ToString::to_string).collect(),
    })
}

/// What the loader said about a candidate, beginning with its name.
fn answer(candidate: &str, error: &libloading::Error) -> String {
    let text = error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string);
    if text.starts_with(candidate) {
        text
    } else {
        format!("{candidate}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_s_first_answer_and_every_name_are_told() {
        let error = load_first_of(&["no-such-library.so.1", "/no/such/folder/library.so"])
            .expect_err("neither exists");
        let sentence = error.to_string();
        assert!(
            sentence.starts_with(
                "the NVIDIA driver's library cannot be loaded: no-such-library.so.1: "
            ),
            "{sentence}"
        );
        assert!(
            sentence.ends_with(" (also tried /no/such/folder/library.so)"),
            "{sentence}"
        );
    }
}
