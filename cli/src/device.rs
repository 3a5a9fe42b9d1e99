//! The options for the device and the kernels, which most commands have.

use super::failure::Failure;
use crate::ptx_folder;
use std::path::{Path, PathBuf};
use warpfold::ptx::PtxSet;
use warpfold::{Device, DeviceChoice, DeviceError, Error};
use warpfold_course::lesson::LessonError;
use warpfold_emulator::{Memory, Module, Program};
use warpfold_kernels::catalogue::Lesson;
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::hash_sources;

/// Where a command runs the kernels.
#[derive(clap::Args, Debug)]
pub struct DeviceArguments {
    /// Where to run: auto, gpu, gpu:1, emulator
    #[arg(long = "device", value_name = "DEVICE", default_value_t)]
    pub choice: DeviceChoice,
    #[command(flatten)]
    kernels: KernelsArguments,
}

impl DeviceArguments {
    /// Opens the device, with the kernels.
    pub fn open(&self) -> Result<Device, Failure> {
        self.kernels.on(self.choice)
    }
}

/// Which PTX of the kernels a command takes. Every command that loads kernels has this option.
#[derive(Clone, clap::Args, Debug)]
pub struct KernelsArguments {
    /// Folder with PTX of the kernels to use instead of the PTX in this program (kernels.sm_80.ptx and the like)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

impl KernelsArguments {
    /// Opens a device with these kernels.
    pub fn on(&self, choice: DeviceChoice) -> Result<Device, Failure> {
        let ptx = self.read()?;
        Ok(Device::open(&choice)?.with_ptx(ptx))
    }

    /// The PTX. Warns on standard error if the sources have changed since it was built.
    pub fn read(&self) -> Result<PtxSet, Failure> {
        let (ptx, command) = match &self.ptx_dir {
            None => (
                PtxSet::embedded(),
                "`cargo xtask build-ptx` builds it again",
            ),
            Some(folder) => (
                ptx_folder::read(folder).map_err(Failure::input)?,
                "build that of --ptx-dir again",
            ),
        };
        if is_older_than_sources(&ptx) {
            eprintln!("warpfold: the kernels have changed since their PTX was built; {command}");
        }
        Ok(ptx)
    }
}

/// Whether the kernels' sources in the checkout that this binary was built from have changed since the PTX was made; `false`
/// where that checkout is gone, or the PTX does not say what it was made from.
fn is_older_than_sources(ptx: &PtxSet) -> bool {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let Ok(hash) = hash_sources(&repository) else {
        return false;
    };
    ptx.texts()
        .filter_map(Header::parse)
        .any(|header| header.source_hash != hash)
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        if error.is_fault() {
            Self::finding(error)
        } else {
            Self::input(error)
        }
    }
}

impl From<LessonError> for Failure {
    fn from(error: LessonError) -> Self {
        match error {
            LessonError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}

/// A lesson's module, parsed again for its text.
pub fn program(device: &Device, lesson: &Lesson) -> Result<Program, Failure> {
    let text = device.ptx(lesson.module).map_err(Failure::input)?;
    let module = Module::parse(&text).map_err(Failure::input)?;
    Program::load(module, &mut Memory::new()).map_err(Failure::input)
}
