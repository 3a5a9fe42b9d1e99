//! Whether there is a driver that can be used.

use crate::version::{OLDEST_VERSION, Version};
use crate::{Failure, LibraryNotFound, library, sys};

/// Why no GPU can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No driver is installed, or not where it is looked for.
    #[error(transparent)]
    LibraryNotFound(#[from] LibraryNotFound),
    /// The driver is older than [`OLDEST_VERSION`].
    #[error(
        "the NVIDIA driver is too old: it supports CUDA {found}, and {OLDEST_VERSION} is needed"
    )]
    TooOld {
        /// What the driver supports.
        found: Version,
    },
    /// The driver is there and finds no GPU.
    #[error("the NVIDIA driver (CUDA {0}) finds no GPU in this machine")]
    NoGpu(Version),
    /// The driver is there and does not start.
    #[error("the NVIDIA driver does not start: {0}")]
    Refused(Failure),
}

impl Unavailable {
    /// The reason in a few words, for a line that says more than this.
    pub fn summary(&self) -> String {
        match self {
            Self::LibraryNotFound(_) => "there is no NVIDIA driver".to_owned(),
            Self::TooOld { .. } | Self::NoGpu(_) | Self::Refused(_) => self.to_string(),
        }
    }
}

/// Starts the driver, and answers with its version when it has at least one GPU.
///
/// # Errors
/// The reason why no GPU can be used.
pub fn available() -> Result<Version, Unavailable> {
    library::library().map_err(Clone::clone)?;

    let mut number = 0;
    // SAFETY: `number` may be written; this call needs no initialised driver.
    unsafe { sys::cuDriverGetVersion(&raw mut number) }.map_err(Unavailable::Refused)?;
    let version = version(number);
    if version < OLDEST_VERSION {
        return Err(Unavailable::TooOld { found: version });
    }

    // SAFETY: the call may be repeated, and 0 is the only value that its parameter has.
    unsafe { sys::cuInit(0) }.map_err(|failure| {
        if failure.code() == Failure::NO_DEVICE {
            Unavailable::NoGpu(version)
        } else {
            Unavailable::Refused(failure)
        }
    })?;

    let mut count = 0;
    // SAFETY: `count` may be written, and the driver is initialised.
    unsafe { sys::cuDeviceGetCount(&raw mut count) }.map_err(Unavailable::Refused)?;
    if count == 0 {
        return Err(Unavailable::NoGpu(version));
    }
    Ok(version)
}

/// The driver writes 12.4 as 12040.
fn version(number: i32) -> Version {
    let number = number.unsigned_abs();
    Version {
        major: number / 1000,
        minor: number % 1000 / 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!(version(12_040).to_string(), "12.4");
        assert_eq!(version(13_000).to_string(), "13.0");
        assert!(version(10_020) < OLDEST_VERSION);
        assert!(version(11_000) >= OLDEST_VERSION);
    }

    #[test]
    fn an_old_driver_is_told_what_is_needed() {
        let error = Unavailable::TooOld {
            found: version(10_020),
        };
        assert_eq!(
            error.to_string(),
            "the NVIDIA driver is too old: it supports CUDA 10.2, and 11.0 is needed"
        );
    }
}
