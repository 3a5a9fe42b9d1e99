//! A device with the kernels: what most commands start with.

use super::failure::Failure;
use crate::ptx_folder;
use std::path::{Path, PathBuf};
use warpfold::device::{Device, DeviceChoice, DeviceError};
use warpfold::machine::{Machine, MachineError};
use warpfold::ptx::PtxSet;
use warpfold_course::lesson::LessonError;
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::hash_sources;

/// Opens the device that was asked for, with the kernels that were asked for.
pub fn open(choice: DeviceChoice, kernels: &KernelsArguments) -> Result<Machine, Failure> {
    let ptx = kernels.read()?;
    Ok(Machine::new(Device::open(&choice)?, ptx))
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

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}
