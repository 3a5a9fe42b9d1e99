#![doc = include_str!("../README.md")]

mod arch;
mod compile;
mod compiler;
mod debug_info;
mod environment;
mod error;
mod kernel_crate;
pub mod ptx;
mod ptxas;
mod toolchain;

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

pub use arch::NvvmArch;
pub use compiler::{DeviceCompiler, RustcVersion};
pub use debug_info::DebugInfo;
pub use error::CudaBuilderError;
pub use toolchain::{Refusal, TOOLCHAIN_VARIABLE, Toolchain};

use compile::{Settings, compile};
use kernel_crate::KernelCrate;

/// Compiles a kernel crate to PTX.
///
/// ```no_run
/// use cuda_builder::{CudaBuilder, NvvmArch};
///
/// # fn main() -> Result<(), cuda_builder::CudaBuilderError> {
/// let ptx = CudaBuilder::new("kernels")
///     .arch(NvvmArch::Compute80)
///     .copy_to("resources/kernels.ptx")
///     .build()?;
/// println!("{}", ptx.display());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// Where to copy the PTX to.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// The virtual architecture to compile for.
    pub arch: NvvmArch,
    /// Whether to generate debug information, and how much.
    pub debug: DebugInfo,
    /// Additional arguments for cargo.
    pub build_args: Vec<String>,
    ptx_version: Option<u32>,
    toolchain: Toolchain,
    compiler: Option<DeviceCompiler>,
    target_folder: Option<PathBuf>,
    capture_messages: bool,
}

impl CudaBuilder {
    /// Prepares to build the crate in the given folder, which is relative to the current one: in a build script, the
    /// folder of the package it belongs to.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            ptx_file_copy_path: None,
            arch: NvvmArch::default(),
            debug: DebugInfo::None,
            build_args: Vec::new(),
            ptx_version: None,
            toolchain: Toolchain::from_environment(),
            compiler: None,
            target_folder: None,
            capture_messages: false,
        }
    }

    /// Additional arguments for cargo, such as `--features` or `--locked`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Whether to generate debug information; none by default.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// The virtual architecture to compile for; the oldest by default, which runs on the most GPUs.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Copies the PTX to this file once it is built and checked. The file is replaced as a whole or not at all.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// *Addition to rust-cuda's API:* the version of PTX to write, as in 83 for 8.3, for inline assembly with instructions that
    /// came with it. By default the oldest that has what the architecture brings, which the most drivers know.
    pub fn ptx_version(mut self, version: Option<u32>) -> Self {
        self.ptx_version = version;
        self
    }

    /// *Addition to rust-cuda's API:* where to look for a device compiler; by default what [`TOOLCHAIN_VARIABLE`] says.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = toolchain;
        self
    }

    /// *Addition to rust-cuda's API:* a device compiler that was found before, to search only once for several builds.
    pub fn device_compiler(mut self, compiler: DeviceCompiler) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// *Addition to rust-cuda's API:* the folder that gets the subfolders `cuda-builder` (intermediate files) and
    /// `device-compiler` (a compiler that had to be fetched). By default the target folder of the outer build in a build
    /// script, else `CARGO_TARGET_DIR`, else that of the kernel crate's workspace.
    pub fn target_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_folder = Some(folder.as_ref().to_owned());
        self
    }

    /// *Addition to rust-cuda's API:* whether the compiler's messages are kept for
    /// [`CudaBuilderError::DoesNotCompile`] instead of going to standard error; warnings of a build that works are then lost.
    pub fn capture_messages(mut self, capture: bool) -> Self {
        self.capture_messages = capture;
        self
    }

    /// *Addition to rust-cuda's API:* finds the device compiler that [`build`](Self::build) would use, fetching it if need
    /// be, without building anything.
    ///
    /// # Errors
    /// [`CudaBuilderError::NoDeviceCompiler`], or what is wrong with the crate.
    pub fn find_device_compiler(&self) -> Result<DeviceCompiler, CudaBuilderError> {
        let kernel_crate = KernelCrate::describe(&self.path_to_crate)?;
        self.compiler_in(&self.target_folder_of(&kernel_crate)?)
    }

    /// Compiles the crate, checks the PTX, and returns its path: the one given to [`copy_to`](Self::copy_to), else one
    /// under the target folder.
    ///
    /// # Errors
    /// When there is no compiler, the crate does not compile, the PTX is wrong, or it cannot be written; an older file at
    /// the path of [`copy_to`](Self::copy_to) is then left as it was.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        tell_cargo("rerun-if-changed", &self.path_to_crate.display());
        tell_cargo("rerun-if-env-changed", &TOOLCHAIN_VARIABLE);
        let kernel_crate = KernelCrate::describe(&self.path_to_crate)?;
        let target_folder = self.target_folder_of(&kernel_crate)?;
        let compiler = self.compiler_in(&target_folder)?;
        let build_folder = target_folder.join("cuda-builder");
        let settings = Settings {
            arch: self.arch,
            debug: self.debug,
            ptx_version: self.ptx_version,
            build_args: &self.build_args,
            capture_messages: self.capture_messages,
        };
        let mut compiled = compile(&kernel_crate, &compiler, &settings, &build_folder)?;
        for source in &compiled.sources {
            tell_cargo("rerun-if-changed", &source.display());
        }

        let cpu = self.arch.target_cpu();
        let path = build_folder.join(format!("{}.{cpu}.ptx", kernel_crate.library));
        let invalid = |violations| CudaBuilderError::InvalidPtx {
            path: path.clone(),
            violations,
        };
        compiled.ptx =
            ptx::with_launch_bounds(&compiled.ptx).map_err(|violation| invalid(vec![violation]))?;
        replace(&path, &compiled.ptx)?;
        ptx::check(&compiled.ptx).map_err(invalid)?;
        ptxas::assemble(&path, self.arch)?;
        match self.ptx_file_copy_path {
            Some(copy) => replace(&copy, &compiled.ptx).map(|()| copy),
            None => Ok(path),
        }
    }

    fn target_folder_of(&self, kernel_crate: &KernelCrate) -> Result<PathBuf, CudaBuilderError> {
        let folder = self
            .target_folder
            .clone()
            .or_else(environment::outer_target_folder)
            .unwrap_or_else(|| kernel_crate.target_folder.clone());
        // Cargo runs in the crate's folder, where a relative path would mean another place.
        path::absolute(&folder).map_err(CudaBuilderError::io(format!("find {}", folder.display())))
    }

    fn compiler_in(&self, target_folder: &Path) -> Result<DeviceCompiler, CudaBuilderError> {
        match &self.compiler {
            Some(compiler) => Ok(compiler.clone()),
            None => DeviceCompiler::find(&self.toolchain, target_folder),
        }
    }
}

/// Gives cargo an instruction, which it takes from the standard output of build scripts only.
fn tell_cargo(instruction: &str, value: &dyn std::fmt::Display) {
    if environment::in_build_script() {
        println!("cargo:{instruction}={value}");
    }
}

/// Writes a file beside its place and then moves it there, so that nobody ever reads half of it.
fn replace(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // What is left of a failed attempt; it may not even have been created.
        let _ = fs::remove_file(&temporary);
        let message = format!("{}: {error}", path.display());
        CudaBuilderError::FailedToCopyPtxFile(io::Error::new(error.kind(), message))
    })
}
