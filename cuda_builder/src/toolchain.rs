//! Where a device compiler may come from, and why one did not do.

use std::env;
use std::path::PathBuf;

/// *Addition to rust-cuda's API:* the environment variable that names the device compiler to use, see [`Toolchain`].
pub const TOOLCHAIN_VARIABLE: &str = "CUDA_BUILDER_TOOLCHAIN";

/// The GPU target of rustc's own backend.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// *Addition to rust-cuda's API:* where the device compiler comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Toolchain {
    /// The first that works of: a rustup nightly with rust-src (the newest first), the rustc at hand if its source is
    /// installed, Debian's packages.
    #[default]
    Any,
    /// This rustup toolchain; it needs rust-src.
    Rustup(String),
    /// This rustc; its library source must be in its sysroot.
    Rustc(PathBuf),
    /// Debian's packages, unpacked under the target folder.
    Debian,
}

impl Toolchain {
    /// What [`TOOLCHAIN_VARIABLE`] asks for: `debian`, the path of a rustc (anything with a slash in it), or the name of a
    /// rustup toolchain; unset or empty is [`Toolchain::Any`].
    pub fn from_environment() -> Self {
        Self::parse(env::var(TOOLCHAIN_VARIABLE).unwrap_or_default().trim())
    }

    fn parse(text: &str) -> Self {
        match text {
            "" => Self::Any,
            "debian" => Self::Debian,
            path if path.contains(['/', '\\']) => Self::Rustc(path.into()),
            name => Self::Rustup(name.to_owned()),
        }
    }
}

/// *Addition to rust-cuda's API:* why a compiler, or a source of compilers, did not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// rustup is not installed, or does not answer.
    #[error("rustup: {0}")]
    Rustup(String),
    /// The compiler does not run.
    #[error("{}: does not run, {message}", .rustc.display())]
    DoesNotRun {
        /// The compiler.
        rustc: PathBuf,
        /// What it, or the system, said.
        message: String,
    },
    /// The sources of `core` are not installed beside the compiler.
    #[error("{} (rustc {release}): has no library source, which `rustup component add rust-src` installs", .rustc.display())]
    NoSource {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        release: String,
    },
    /// The compiler lacks the GPU target or `-Cpanic=immediate-abort`.
    #[error(
        "{} (rustc {release}): cannot compile for {TARGET} with -Cpanic=immediate-abort, which takes 1.92 or later", .rustc.display()
    )]
    TooOld {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        release: String,
    },
    /// Debian's packages could not be had.
    #[error("Debian packages: {0}")]
    Debian(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_debian_a_path_or_a_toolchain() {
        assert_eq!(Toolchain::parse(""), Toolchain::Any);
        assert_eq!(Toolchain::parse("debian"), Toolchain::Debian);
        assert_eq!(
            Toolchain::parse("/opt/rust/bin/rustc"),
            Toolchain::Rustc("/opt/rust/bin/rustc".into())
        );
        assert_eq!(
            Toolchain::parse("nightly-2026-04-02"),
            Toolchain::Rustup("nightly-2026-04-02".to_owned())
        );
    }
}
