//! The library's kernels on a device: which PTX it runs. Each kernel is loaded when it is first needed, and nothing else with it, so
//! that the driver's compiler has little to do.

use crate::device::{Device, DeviceError, Emulator, Kernel, Module};
use crate::ptx::{PtxError, PtxSet, stays_together};
use std::cell::RefCell;
use std::collections::HashMap;
use warpfold_kernels::catalogue;

/// Why there is no kernel for a device, or why the device failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no PTX of the module for the device.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refuses, or fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The PTX that a device takes its kernels from.
#[derive(Debug)]
struct Kernels {
    ptx: PtxSet,
    /// What is loaded: a kernel of a module by its entry, or all of a module whose kernels launch one another.
    loaded: RefCell<HashMap<(catalogue::Module, Option<String>), Module>>,
}

impl Default for Kernels {
    fn default() -> Self {
        PtxSet::embedded().into()
    }
}

impl From<PtxSet> for Kernels {
    fn from(ptx: PtxSet) -> Self {
        Self {
            ptx,
            loaded: Default::default(),
        }
    }
}

impl Device {
    /// The same device with other PTX for the kernels than this library carries.
    pub fn with_ptx(self, ptx: PtxSet) -> Self {
        self.attach(Kernels::from(ptx));
        self
    }

    /// The emulator with the same PTX, to observe what a GPU does not show.
    pub fn on_emulator(&self) -> Self {
        Self::from(Emulator::new(None)).with_ptx(self.ptx_set())
    }

    /// The PTX of a module for the newest architecture that the device can run.
    ///
    /// # Errors
    /// There is none, or the device is older than every text.
    pub fn ptx(&self, module: catalogue::Module) -> Result<String, PtxError> {
        let kernels = self.attached::<Kernels>();
        kernels.ptx.newest_for(module, self.sm()).map(str::to_owned)
    }

    fn ptx_set(&self) -> PtxSet {
        self.attached::<Kernels>().ptx.clone()
    }

    /// The compute capability that a module's kernels are built for on this device: its own, or that of older PTX.
    pub fn sm_of(&self, module: catalogue::Module) -> u32 {
        let kernels = self.attached::<Kernels>();
        let built = kernels.ptx.architectures(module);
        let runnable = built.filter(|&sm| sm <= self.sm());
        runnable.max().unwrap_or_else(|| self.sm())
    }

    /// A kernel of the library, by its module and entry. The first time, it is loaded, which waits for the driver's compiler.
    ///
    /// # Errors
    /// There is no PTX of the module for the device, the device refuses it, or it has no such entry.
    pub fn kernel(&self, module: catalogue::Module, entry: &str) -> Result<Kernel, Error> {
        let kernels = self.attached::<Kernels>();
        let key = (module, (!stays_together(module)).then(|| entry.to_owned()));
        if let Some(loaded) = kernels.loaded.borrow().get(&key) {
            return Ok(loaded.kernel(entry)?);
        }
        let loaded = self.load(&kernels.ptx.newest_with(module, entry, self.sm())?)?;
        let kernel = loaded.kernel(entry)?;
        kernels.loaded.borrow_mut().insert(key, loaded);
        Ok(kernel)
    }
}
