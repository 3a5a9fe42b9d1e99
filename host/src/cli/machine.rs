//! A device with the kernels loaded: what most commands start with.

use super::failure::Failure;
use std::path::PathBuf;
use warpfold::device::{Device, DeviceChoice, DeviceError, Module};
use warpfold::lesson::LessonError;
use warpfold::ptx::PtxSet;
use warpfold::reducer::ReduceError;

/// A device and the kernels on it.
#[derive(Debug)]
pub struct Machine {
    /// The device.
    pub device: Device,
    /// The kernels, for the newest architecture that the device can run.
    pub module: Module,
}

impl Machine {
    /// Opens the device that was asked for and loads the kernels that were asked for.
    pub fn open(choice: DeviceChoice, ptx: &KernelsArguments) -> Result<Self, Failure> {
        Self::load(choice, &ptx.read()?)
    }

    /// Opens the device that was asked for and loads kernels that have been read.
    pub fn load(choice: DeviceChoice, ptx: &PtxSet) -> Result<Self, Failure> {
        let device = Device::open(&choice)?;
        let module = device.load(ptx.newest_for(&device)?)?;
        Ok(Self { device, module })
    }
}

/// Which PTX of the kernels a command takes; every command that loads them has this option.
#[derive(clap::Args, Debug)]
pub struct KernelsArguments {
    /// Folder with PTX of the kernels that was built elsewhere (kernels.sm_80.ptx and the like), in place of what this program
    /// carries
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

impl KernelsArguments {
    /// The PTX, with a warning on standard error if it is not that of the sources.
    pub fn read(&self) -> Result<PtxSet, Failure> {
        let (ptx, command) = match &self.ptx_dir {
            None => (
                PtxSet::embedded(),
                "`cargo xtask build-ptx` builds it again",
            ),
            Some(folder) => (
                PtxSet::in_folder(folder).map_err(Failure::input)?,
                "build that of --ptx-dir again",
            ),
        };
        if ptx.is_older_than_sources() {
            eprintln!("warpfold: the kernels have changed since their PTX was built; {command}");
        }
        Ok(ptx)
    }
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

impl From<ReduceError> for Failure {
    fn from(error: ReduceError) -> Self {
        match error {
            ReduceError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}
