//! Loaded modules and the kernels in them.

use super::emulator::{EmulatedKernel, EmulatedModule};
use super::gpu::{GpuKernel, GpuModule};
use super::{Argument, DeviceError, Shape, Times, Timing, Watch};
use std::fmt;
use std::rc::Rc;
use warpfold_emulator::Nothing;

/// PTX loaded into a device; unloaded when it, every kernel taken from it and every graph with such a kernel are dropped. Unloading waits
/// until the device is idle.
pub struct Module(pub(super) ModuleOn);

pub(super) enum ModuleOn {
    Gpu(Rc<GpuModule>),
    Emulator(Box<EmulatedModule>),
}

impl Module {
    /// The kernel whose `.entry` has this name.
    ///
    /// # Errors
    /// The module has no such entry, or the device cannot run it.
    pub fn kernel(&self, entry: &str) -> Result<Kernel, DeviceError> {
        let on = match &self.0 {
            ModuleOn::Gpu(module) => KernelOn::Gpu(GpuKernel::of(module, entry)?),
            ModuleOn::Emulator(module) => KernelOn::Emulator(module.kernel(entry)?),
        };
        Ok(Kernel {
            entry: entry.to_owned(),
            on,
        })
    }
}

/// One kernel, ready to launch.
pub struct Kernel {
    entry: String,
    on: KernelOn,
}

pub(super) enum KernelOn {
    Gpu(GpuKernel),
    Emulator(EmulatedKernel),
}

impl Kernel {
    /// The name of its `.entry`.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    pub(super) fn on(&self) -> &KernelOn {
        &self.on
    }

    /// Registers of each thread, as the driver's compiler has given them out; `None` on the emulator, which has as many as PTX names.
    pub fn registers(&self) -> Option<u32> {
        match &self.on {
            KernelOn::Gpu(kernel) => Some(kernel.registers()),
            KernelOn::Emulator(_) => None,
        }
    }

    /// Shared memory that each block has, whatever the launch asks for, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        match &self.on {
            KernelOn::Gpu(kernel) => kernel.static_shared_bytes(),
            KernelOn::Emulator(kernel) => kernel.static_shared_bytes(),
        }
    }

    /// How many blocks of a launch in this shape are resident on a multiprocessor at once. The emulator answers for a multiprocessor of
    /// sm_90 on which registers suffice.
    ///
    /// # Errors
    /// A shape that the device cannot launch.
    pub fn resident_blocks(&self, shape: &Shape) -> Result<u32, DeviceError> {
        match &self.on {
            KernelOn::Gpu(kernel) => kernel.resident_blocks(shape),
            KernelOn::Emulator(kernel) => Ok(kernel.resident_blocks(shape)),
        }
    }

    /// Queues the kernel on the device's own stream and waits for its end.
    ///
    /// # Errors
    /// A shape or arguments that do not fit the kernel or the device (nothing has run then), or a fault of the running kernel
    /// ([`DeviceError::is_fault`]). After a fault a GPU answers every later call of the process with the same error.
    ///
    /// # Safety
    /// A GPU checks neither addresses nor what an argument means. The caller vouches that, launched in this shape with these arguments,
    /// the kernel reads and writes only inside live [`Buffer`](super::Buffer)s and [`HostBuffer`](super::HostBuffer)s of the same device, and
    /// leaves in them values that their element types may hold. The number and sizes of the arguments are checked here (on a GPU where the emulator's parser knows all of the PTX).
    /// On the emulator every access is checked, and any call is sound.
    pub unsafe fn launch(&self, shape: &Shape, arguments: &[Argument]) -> Result<(), DeviceError> {
        match &self.on {
            // SAFETY: the caller's contract is the same.
            KernelOn::Gpu(kernel) => unsafe { kernel.launch(shape, arguments) },
            KernelOn::Emulator(kernel) => kernel.observe(shape, arguments, &mut Nothing),
        }
    }

    /// Launches the kernel again and again on a GPU, times each launch with events on the device, and waits for the last.
    ///
    /// `prepare` runs before each launch, outside the timed region; for a kernel that works in place it copies fresh input with
    /// [`Buffer::copy_from`](super::Buffer::copy_from). One more launch, the first, is not timed.
    ///
    /// # Errors
    /// As [`Self::launch`]; whatever `prepare` returns; and [`DeviceError::NoTimes`] on the emulator, whose speed says nothing about a GPU's.
    ///
    /// # Safety
    /// As [`Self::launch`], for every launch as `prepare` leaves the buffers.
    pub unsafe fn time(
        &self,
        shape: &Shape,
        arguments: &[Argument],
        timing: &Timing,
        prepare: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<Times, DeviceError> {
        match &self.on {
            // SAFETY: the caller's contract is the same.
            KernelOn::Gpu(kernel) => unsafe { kernel.time(shape, arguments, timing, prepare) },
            KernelOn::Emulator(_) => Err(DeviceError::NoTimes),
        }
    }

    /// Runs the kernel to its end on the emulator while `observer` watches, for example [`Counters`](super::Counters).
    ///
    /// # Errors
    /// As [`Self::launch`], and [`DeviceError::NotObservable`] on a GPU.
    pub fn observe(
        &self,
        shape: &Shape,
        arguments: &[Argument],
        observer: &mut dyn Watch,
    ) -> Result<(), DeviceError> {
        match &self.on {
            KernelOn::Gpu(_) => Err(DeviceError::NotObservable),
            KernelOn::Emulator(kernel) => kernel.observe(shape, arguments, observer),
        }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Module")
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Kernel").field(&self.entry).finish()
    }
}
