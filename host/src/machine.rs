//! A device with the kernels' PTX: where lessons run.

use crate::device::{Device, DeviceChoice, DeviceError, Kernel, Module};
use crate::ptx::{PtxError, PtxSet};
use std::cell::OnceCell;
use warpfold_kernels::catalogue::{self, Lesson};

/// A device and the PTX of the kernels, of which each module is loaded when the first lesson needs it.
#[derive(Debug)]
pub struct Machine {
    device: Device,
    ptx: PtxSet,
    loaded: [OnceCell<Module>; catalogue::Module::ALL.len()],
}

/// Why a machine has no kernels of a module.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineError {
    /// There is no PTX of the module for the device.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refuses the PTX.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Machine {
    /// A device with this PTX.
    pub fn new(device: Device, ptx: PtxSet) -> Self {
        Self {
            device,
            ptx,
            loaded: Default::default(),
        }
    }

    /// The emulator with the same PTX: what a GPU cannot tell of its kernels, it can.
    ///
    /// # Errors
    /// None that is known: the emulator always opens.
    pub fn on_emulator(&self) -> Result<Self, DeviceError> {
        let emulator = Device::open(&DeviceChoice::Emulator)?;
        Ok(Self::new(emulator, self.ptx.clone()))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The PTX of a module for the newest architecture that the device can run.
    ///
    /// # Errors
    /// There is none, or the device is older than each.
    pub fn ptx(&self, module: catalogue::Module) -> Result<&str, PtxError> {
        self.ptx.newest_for(module, self.device.sm())
    }

    /// Whether a lesson runs here: neither the device nor its PTX is older than the lesson needs.
    pub fn runs(&self, lesson: &Lesson) -> bool {
        lesson.least_sm <= self.sm(lesson.part.module())
    }

    /// The compute capability that a module's kernels here are built for: that of the device, or that of older PTX for it.
    pub fn sm(&self, module: catalogue::Module) -> u32 {
        let built = self.ptx.architectures(module);
        let runnable = built.filter(|&sm| sm <= self.device.sm());
        runnable.max().unwrap_or_else(|| self.device.sm())
    }

    /// A module, loaded into the device.
    ///
    /// # Errors
    /// There is no PTX of it for the device, or the device refuses it.
    pub fn module(&self, module: catalogue::Module) -> Result<&Module, MachineError> {
        let cell = &self.loaded[module as usize];
        if let Some(loaded) = cell.get() {
            return Ok(loaded);
        }
        let loaded = self.device.load(self.ptx(module)?)?;
        Ok(cell.get_or_init(|| loaded))
    }

    /// The kernel of that entry.
    ///
    /// # Errors
    /// As [`Self::module`]; and the module has no such entry.
    pub fn kernel(&self, module: catalogue::Module, entry: &str) -> Result<Kernel, MachineError> {
        Ok(self.module(module)?.kernel(entry)?)
    }
}
