//! The virtual architectures to compile for.

use std::fmt;
use std::str::FromStr;

use crate::error::CudaBuilderError;

/// Declares the enum and everything that lists its variants, from one list.
macro_rules! architectures {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variant:ident = $number:literal,)+ }) => {
        $(#[$attribute])*
        pub enum $name {
            #[default]
            $(#[doc = concat!("`compute_", $number, "`")] $variant,)+
        }

        impl $name {
            const ALL: &[Self] = &[$(Self::$variant),+];

            /// `80`, `90a`, `100f`.
            fn number_and_suffix(self) -> &'static str {
                match self {
                    $(Self::$variant => $number,)+
                }
            }
        }
    };
}

architectures! {
    /// A virtual compute architecture: the least GPU generation that the PTX runs on.
    ///
    /// The names are rust-cuda's. Those before `Compute70` are left out: independent thread scheduling and the
    /// `.sync` warp instructions begin there, and so does the NVPTX target of current compilers.
    ///
    /// - no suffix: runs on that generation and every later one;
    /// - `f`: family-specific, runs on later GPUs of the same family;
    /// - `a`: architecture-specific, runs on exactly that GPU.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum NvvmArch {
        Compute70 = "70",
        Compute72 = "72",
        Compute75 = "75",
        Compute80 = "80",
        Compute86 = "86",
        Compute87 = "87",
        Compute89 = "89",
        Compute90 = "90",
        Compute90a = "90a",
        Compute100 = "100",
        Compute100f = "100f",
        Compute100a = "100a",
        Compute101 = "101",
        Compute101f = "101f",
        Compute101a = "101a",
        Compute103 = "103",
        Compute103f = "103f",
        Compute103a = "103a",
        Compute120 = "120",
        Compute120f = "120f",
        Compute120a = "120a",
        Compute121 = "121",
        Compute121f = "121f",
        Compute121a = "121a",
    }
}

impl NvvmArch {
    /// The compute capability as one number: 80 for `Compute80`, 90 for `Compute90a`.
    pub fn capability_value(&self) -> u32 {
        self.number_and_suffix()
            .chars()
            .filter_map(|c| c.to_digit(10))
            .fold(0, |value, digit| value * 10 + digit)
    }

    /// The major version: 7 for `Compute75`.
    pub fn major_version(&self) -> u32 {
        self.capability_value() / 10
    }

    /// The minor version: 5 for `Compute75`.
    pub fn minor_version(&self) -> u32 {
        self.capability_value() % 10
    }

    /// *Addition to rust-cuda's API:* the name by which rustc and `ptxas` know it: `sm_80` for `Compute80`.
    pub fn target_cpu(&self) -> String {
        format!("sm_{}", self.number_and_suffix())
    }
}

/// `compute_80`, as in rust-cuda.
impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compute_{}", self.number_and_suffix())
    }
}

/// *Addition to rust-cuda's API:* reads `80`, `sm_80` or `compute_80`.
impl FromStr for NvvmArch {
    type Err = CudaBuilderError;

    fn from_str(text: &str) -> Result<Self, CudaBuilderError> {
        let number = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"))
            .unwrap_or(text);
        Self::ALL
            .iter()
            .copied()
            .find(|arch| arch.number_and_suffix() == number)
            .ok_or_else(|| CudaBuilderError::UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_number() {
        let arch = NvvmArch::Compute90a;
        assert_eq!(arch.to_string(), "compute_90a");
        assert_eq!(arch.target_cpu(), "sm_90a");
        assert_eq!(arch.capability_value(), 90);
        assert_eq!(NvvmArch::Compute103f.capability_value(), 103);
        assert_eq!(NvvmArch::Compute75.major_version(), 7);
        assert_eq!(NvvmArch::Compute75.minor_version(), 5);
    }

    #[test]
    fn every_architecture_reads_back_from_each_of_its_names() {
        for &arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse::<NvvmArch>().unwrap(), arch);
            assert_eq!(arch.target_cpu().parse::<NvvmArch>().unwrap(), arch);
            assert_eq!(arch.number_and_suffix().parse::<NvvmArch>().unwrap(), arch);
        }
    }

    #[test]
    fn an_unknown_architecture_is_named_in_the_error() {
        let error = "sm_71".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(error.starts_with("`sm_71` is no architecture"), "{error}");
    }
}
