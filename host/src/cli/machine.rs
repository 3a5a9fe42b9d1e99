//! A device with the kernels loaded: what most commands start with.

use super::failure::Failure;
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
    /// Opens the device that was asked for and loads the kernels.
    pub fn open(choice: DeviceChoice) -> Result<Self, Failure> {
        let device = Device::open(&choice)?;
        let ptx = kernels_ptx();
        let module = device.load(ptx.newest_for(&device)?)?;
        Ok(Self { device, module })
    }
}

/// The kernels' PTX, with a warning on standard error if it is not that of the sources.
pub fn kernels_ptx() -> PtxSet {
    let ptx = PtxSet::embedded();
    if ptx.is_older_than_sources() {
        eprintln!(
            "warpfold: the kernels have changed since their PTX was built; `cargo xtask build-ptx` builds it again"
        );
    }
    ptx
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
