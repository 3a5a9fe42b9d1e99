//! Finds a compiler that makes PTX, or fetches one.

mod apt;
mod debian;
mod debian_error;
mod rustup;
mod version;

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::environment::{clean, first_line};
use crate::error::CudaBuilderError;
use crate::toolchain::{Refusal, TARGET, Toolchain};
pub use version::RustcVersion;

/// *Addition to rust-cuda's API:* a compiler that was found to make PTX.
#[derive(Clone, Debug)]
pub struct DeviceCompiler {
    rustc: PathBuf,
    /// Where its shared libraries are, if the system does not find them by itself.
    library_folder: Option<PathBuf>,
    sysroot: PathBuf,
    version: RustcVersion,
}

impl DeviceCompiler {
    /// Looks for a compiler as `toolchain` says; Debian's packages are kept in `target_folder/device-compiler`.
    ///
    /// # Errors
    /// [`CudaBuilderError::NoDeviceCompiler`] with the reason for each place that was looked at.
    pub fn find(toolchain: &Toolchain, target_folder: &Path) -> Result<Self, CudaBuilderError> {
        let mut refusals = Vec::new();
        Self::from_rustup(toolchain, &mut refusals)
            .or_else(|| Self::at_hand(toolchain, &mut refusals))
            .or_else(|| Self::from_debian(toolchain, target_folder, &mut refusals))
            .ok_or(CudaBuilderError::NoDeviceCompiler { refusals })
    }

    fn from_rustup(toolchain: &Toolchain, refusals: &mut Vec<Refusal>) -> Option<Self> {
        if !matches!(toolchain, Toolchain::Any | Toolchain::Rustup(_)) {
            return None;
        }
        let compilers = keep(rustup::compilers(toolchain), refusals)?;
        compilers
            .into_iter()
            .filter_map(|rustc| keep(Self::inspect(rustc, None), refusals))
            .max_by_key(|compiler| compiler.version.age_order())
    }

    fn at_hand(toolchain: &Toolchain, refusals: &mut Vec<Refusal>) -> Option<Self> {
        let inspected = match toolchain {
            Toolchain::Any => {
                let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
                Self::inspect(rustc.into(), None).map(Self::without_proxy)
            }
            Toolchain::Rustc(path) => Self::inspect(path.clone(), None),
            Toolchain::Rustup(_) | Toolchain::Debian => return None,
        };
        keep(inspected, refusals)
    }

    fn from_debian(
        toolchain: &Toolchain,
        target_folder: &Path,
        refusals: &mut Vec<Refusal>,
    ) -> Option<Self> {
        if !matches!(toolchain, Toolchain::Any | Toolchain::Debian) {
            return None;
        }
        let unpacked = debian::unpacked_compiler(&target_folder.join("device-compiler"))
            .map_err(|error| Refusal::Debian(error.to_string()))
            .and_then(|unpacked| Self::inspect(unpacked.rustc, Some(unpacked.library_folder)));
        keep(unpacked, refusals)
    }

    /// The compiler's executable.
    pub fn rustc(&self) -> &Path {
        &self.rustc
    }

    /// Its version and that of its LLVM.
    pub fn version(&self) -> &RustcVersion {
        &self.version
    }

    /// The folder that holds `library/core`, as it appears in debug information.
    pub(crate) fn source_folder(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    /// *Addition to rust-cuda's API:* lets a cargo command use this compiler, with unstable options.
    pub fn apply(&self, cargo: &mut Command) {
        // The device build uses unstable options of a compiler that may be a stable one.
        cargo.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        // Empty values also switch off wrappers that a cargo configuration file asks for.
        cargo
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "");
        if let Some(folder) = &self.library_folder {
            cargo.env("LD_LIBRARY_PATH", library_path(folder));
        }
    }

    /// The compiler itself where rustup's proxy was found, which might run another one in another folder.
    fn without_proxy(self) -> Self {
        let name = format!("rustc{}", env::consts::EXE_SUFFIX);
        let itself = self.sysroot.join("bin").join(name);
        if itself.is_file() {
            Self {
                rustc: itself,
                ..self
            }
        } else {
            self
        }
    }

    /// Runs the compiler to see whether it can do what is asked of it.
    fn inspect(rustc: PathBuf, library_folder: Option<PathBuf>) -> Result<Self, Refusal> {
        let ask = |arguments: &[&str]| -> io::Result<Output> {
            let mut command = Command::new(&rustc);
            clean(&mut command)
                .args(arguments)
                .env("RUSTC_BOOTSTRAP", "1");
            if let Some(folder) = &library_folder {
                command.env("LD_LIBRARY_PATH", library_path(folder));
            }
            command.output()
        };
        let does_not_run = |message: String| Refusal::DoesNotRun {
            rustc: rustc.clone(),
            message,
        };
        let answer = |arguments: &[&str]| -> Result<String, Refusal> {
            let output = ask(arguments).map_err(|error| does_not_run(error.to_string()))?;
            if output.status.success() {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            } else {
                Err(does_not_run(first_line(&output.stderr)))
            }
        };
        let verbose = answer(&["-vV"])?;
        let version = RustcVersion::parse(&verbose)
            .ok_or_else(|| does_not_run("its -vV names no version".to_owned()))?;
        let sysroot = PathBuf::from(answer(&["--print", "sysroot"])?.trim());
        let source = sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs");
        let release = version.release.clone();
        if !source.is_file() {
            return Err(Refusal::NoSource { rustc, release });
        }
        let probe = [
            "--target",
            TARGET,
            "-Zunstable-options",
            "-Cpanic=immediate-abort",
            "--print",
            "cfg",
        ];
        if answer(&probe).is_err() {
            return Err(Refusal::TooOld { rustc, release });
        }
        Ok(Self {
            rustc,
            library_folder,
            sysroot,
            version,
        })
    }
}

/// Takes what worked, and notes why something did not.
fn keep<T>(result: Result<T, Refusal>, refusals: &mut Vec<Refusal>) -> Option<T> {
    result.map_err(|refusal| refusals.push(refusal)).ok()
}

/// The loader's search path with `folder` first.
fn library_path(folder: &Path) -> OsString {
    let inherited = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = [folder.to_owned()]
        .into_iter()
        .chain(env::split_paths(&inherited));
    env::join_paths(folders).unwrap_or_else(|_| folder.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_refused_by_name() {
        let missing = Toolchain::Rustc("/nowhere/bin/rustc".into());
        let error = DeviceCompiler::find(&missing, Path::new("unused"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("no device compiler found (/nowhere/bin/rustc: does not run"),
            "{error}"
        );
        assert!(
            error.contains("rustup toolchain install nightly --component rust-src"),
            "{error}"
        );
    }
}
