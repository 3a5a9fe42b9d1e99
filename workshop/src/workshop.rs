//! A folder in which files are compiled.

use crate::carried::{hash, unpack, write};
use crate::error::WorkshopError;
use cuda_builder::{CudaBuilder, CudaBuilderError, DebugInfo, DeviceCompiler, NvvmArch, Toolchain};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Kernels to be compiled.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file of the user's.
    File(&'a Path),
    /// A text that a program carries.
    Text {
        /// What the compiler's messages call it: `01_guard/reference.rs`.
        name: &'a str,
        /// The text.
        text: &'a str,
    },
}

/// What becomes of the compiler's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// They go to standard error, as they are.
    Shown,
    /// Those of a text that does not compile are in [`WorkshopError::DoesNotCompile`].
    Kept,
}

/// The package around a file.
const MANIFEST: &str = r#"[package]
name = "file"
version = "0.0.0"
edition.workspace = true

[dependencies]
cuda_std.workspace = true
warpfold-device.workspace = true
"#;

/// The repository that the program was built from, where that is still there.
pub fn checkout() -> Option<PathBuf> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let kernels = packages.join("kernels/src/lib.rs");
    (kernels.exists() && packages.join("target").exists()).then(|| packages.to_owned())
}

/// A folder with the sources that kernels stand on, and a compiler.
#[derive(Debug)]
pub struct Workshop {
    folder: PathBuf,
    compiler: Option<DeviceCompiler>,
}

impl Workshop {
    /// The workshop of this version: in the target folder of the checkout that the program was built from, where that is still there;
    /// otherwise among what programs keep for the user.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be written to.
    pub fn open() -> Result<Self, WorkshopError> {
        if let Some(checkout) = checkout() {
            return Self::in_folder(&checkout.join("target"));
        }
        let cache = dirs::cache_dir().ok_or(WorkshopError::NoFolder)?;
        Self::in_folder(&cache.join(concat!("warpfold-", env!("CARGO_PKG_VERSION"))))
    }

    /// A workshop in a folder. A device compiler that has to be fetched is kept there.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn in_folder(folder: &Path) -> Result<Self, WorkshopError> {
        let workshop = Self {
            folder: folder.to_owned(),
            compiler: None,
        };
        fs::create_dir_all(workshop.packages()).map_err(|source| WorkshopError::Unwritable {
            path: workshop.packages(),
            source,
        })?;
        // Another process may be compiling what it has put in the place of a lesson's file.
        let lock = workshop.lock()?;
        unpack(&workshop.packages())?;
        let package = workshop.packages().join("file");
        write(&package.join("Cargo.toml"), MANIFEST)?;
        // Cargo refuses all packages if one has no library, even where a lesson is compiled first.
        if !package.join("src/lib.rs").exists() {
            write(&package.join("src/lib.rs"), "#![no_std]\n")?;
        }
        drop(lock);
        Ok(workshop)
    }

    /// Compiles kernels for an architecture, with line numbers. Returns the PTX.
    ///
    /// # Errors
    /// The file cannot be read, or not compiled; or there is no compiler.
    pub fn compile(
        &mut self,
        source: Source<'_>,
        arch: NvvmArch,
        messages: Messages,
    ) -> Result<String, WorkshopError> {
        let package = self.packages().join("file");
        let _lock = self.lock()?;
        let file = match source {
            Source::File(file) => readable(file)?,
            Source::Text { name, text } => {
                let file = package.join("carried").join(name);
                write(&file, text)?;
                file
            }
        };
        let prelude = self.packages().join("kernels/src/prelude.rs");
        let library = format!(
            "#![no_std]\n\
             #![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx, asm_experimental_arch))]\n\
             #![allow(unused_features)]\n\
             #[allow(unexpected_cfgs)]\n\
             #[path = {prelude:?}]\n\
             pub mod prelude;\n\
             #[path = {file:?}]\n\
             pub mod file;\n"
        );
        write(&package.join("src/lib.rs"), &library)?;
        let built = self.build(&package, &[], &file, arch, messages);
        let Source::Text { name, .. } = source else {
            return built;
        };
        let named = |text: String| {
            let relative = format!("file/carried/{name}");
            text.replace(&*file.to_string_lossy(), name)
                .replace(&relative, name)
        };
        match built {
            Ok(ptx) => Ok(named(ptx)),
            Err(WorkshopError::DoesNotCompile(messages)) => {
                Err(WorkshopError::DoesNotCompile(named(messages)))
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Self::compile`], of a text that a program carries and this compiler compiles once: afterwards the PTX is read from the folder.
    ///
    /// # Errors
    /// As there.
    pub fn compile_once(
        &mut self,
        name: &str,
        text: &str,
        arch: NvvmArch,
    ) -> Result<String, WorkshopError> {
        let compiler = self.compiler(Path::new(name))?.version().to_string();
        let of = [text, name, &arch.target_cpu(), &compiler];
        let path = self
            .packages()
            .join("compiled")
            .join(format!("{}.ptx", hash(&of)));
        if let Ok(ptx) = fs::read_to_string(&path) {
            return Ok(ptx);
        }
        let ptx = self.compile(Source::Text { name, text }, arch, Messages::Kept)?;
        write(&path, &ptx)?;
        Ok(ptx)
    }

    /// Compiles the lessons of one module of PTX (`kernels`, `operators` …) with `file` in the place of the lesson's own, which is a path
    /// such as `kernels/src/ladder/l09_shuffle.rs`. Returns the PTX of the whole module.
    ///
    /// # Errors
    /// The file cannot be read, or not compiled; or there is no compiler.
    pub fn compile_lesson(
        &mut self,
        file: &Path,
        lesson: &str,
        module: &str,
        arch: NvvmArch,
    ) -> Result<String, WorkshopError> {
        let file = readable(file)?;
        let text = fs::read_to_string(&file).map_err(|source| WorkshopError::Unreadable {
            path: file.clone(),
            source,
        })?;
        let packages = self.packages();
        let _lock = self.lock()?;
        unpack(&packages)?;
        write(&packages.join(lesson), &text)?;
        let features = ["--no-default-features", "--features", module];
        self.build(
            &packages.join("kernels"),
            &features,
            &file,
            arch,
            Messages::Shown,
        )
    }

    fn packages(&self) -> PathBuf {
        self.folder.join("workshop")
    }

    /// The compiler, which is looked for the first time that `file` needs one. Where nothing has been compiled so far, standard
    /// error says that this takes a minute or more.
    fn compiler(&mut self, file: &Path) -> Result<DeviceCompiler, WorkshopError> {
        if self.compiler.is_none() {
            if !self.folder.join("cuda-builder").exists() {
                eprintln!(
                    "warpfold: the first time takes a minute or two: a compiler is looked for, or fetched, and the core library compiled"
                );
            }
            let found = DeviceCompiler::find(&Toolchain::from_environment(), &self.folder);
            self.compiler = Some(found.map_err(refused(file))?);
        }
        Ok(self.compiler.clone().expect("it has just been found"))
    }

    /// Another process waits with what it compiles here until this one has done.
    fn lock(&self) -> Result<fs::File, WorkshopError> {
        let path = self.packages().join("lock");
        let lock = || {
            let file = fs::File::create(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|source| WorkshopError::Unwritable {
            path: path.clone(),
            source,
        })
    }

    fn build(
        &mut self,
        package: &Path,
        features: &[&str],
        file: &Path,
        arch: NvvmArch,
        messages: Messages,
    ) -> Result<String, WorkshopError> {
        let compiler = self.compiler(file)?;
        // On a terminal cargo shows how far it is.
        let shows_progress = messages == Messages::Shown && io::stderr().is_terminal();
        let verbosity: &[&str] = if shows_progress { &[] } else { &["--quiet"] };
        let built = CudaBuilder::new(package)
            .arch(arch)
            .debug(DebugInfo::LineDirectives)
            .device_compiler(compiler)
            .target_folder(&self.folder)
            .capture_messages(messages == Messages::Kept)
            .build_args(verbosity)
            .build_args(features)
            .build();
        match built {
            Ok(ptx) => fs::read_to_string(&ptx)
                .map_err(|source| WorkshopError::Unreadable { path: ptx, source }),
            Err(CudaBuilderError::DoesNotCompile { messages }) => {
                Err(WorkshopError::DoesNotCompile(messages))
            }
            Err(
                error
                @ (CudaBuilderError::InvalidPtx { .. } | CudaBuilderError::PtxasFailed { .. }),
            ) if messages == Messages::Kept => {
                Err(WorkshopError::DoesNotCompile(error.to_string()))
            }
            Err(error) => Err(refused(file)(error)),
        }
    }
}

fn refused(file: &Path) -> impl FnOnce(CudaBuilderError) -> WorkshopError {
    let path = file.to_owned();
    |source| WorkshopError::Compiler { path, source }
}

/// The absolute path of a file that can be opened.
fn readable(file: &Path) -> Result<PathBuf, WorkshopError> {
    fs::File::open(file)
        .and_then(|_| file.canonicalize())
        .map_err(|source| WorkshopError::Unreadable {
            path: file.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn cargo_takes_a_workshop_in_which_nothing_has_been_compiled() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        Workshop::in_folder(scratch.path()).expect("it is written");
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(scratch.path().join("workshop/kernels"))
            .output()
            .expect("cargo runs");
        let messages = String::from_utf8_lossy(&metadata.stderr);
        assert!(metadata.status.success(), "{messages}");
    }
}
