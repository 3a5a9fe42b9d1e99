//! The order of launches that share memory.

use super::kernel::{Kernel, KernelOn};
use super::stream::{Stream, StreamOn};
use super::{Argument, DeviceError, Shape, gpu};
use std::cell::Cell;

/// The order of launches that share memory, on whichever streams they are queued: each comes after the one before.
///
/// Launches on one stream have that order anyway. What is queued on another waits for all that is queued on the device. A captured launch
/// has no place in this order: whoever launches its graph keeps it.
#[derive(Debug, Default)]
pub(crate) struct StreamOrder {
    /// The stream of the last launch, unless that has been waited for.
    last: Cell<Option<gpu::StreamIdentity>>,
}

impl StreamOrder {
    /// Queues a kernel on a stream; without one it goes to the device's own, and is waited for.
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub(crate) unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        match stream {
            Some(stream) => {
                self.continue_on(stream)?;
                // SAFETY: the caller's contract is the same.
                unsafe { stream.launch(kernel, shape, arguments) }
            }
            None => {
                self.wait_for_last(kernel)?;
                // SAFETY: as above.
                unsafe { kernel.launch(shape, arguments) }
            }
        }
    }

    /// Before work on a stream. Whether the stream had to be told to wait.
    pub(crate) fn continue_on(&self, stream: &Stream) -> Result<bool, DeviceError> {
        // The emulator runs each operation at once.
        let StreamOn::Gpu(stream) = &stream.0 else {
            return Ok(false);
        };
        let identity = stream.identity();
        if self.last.get() == Some(identity) || stream.is_capturing()? {
            return Ok(false);
        }
        let is_other = self.last.get().is_some();
        if is_other {
            stream.follow_all()?;
        }
        self.last.set(Some(identity));
        Ok(is_other)
    }

    fn wait_for_last(&self, kernel: &Kernel) -> Result<(), DeviceError> {
        match kernel.on() {
            KernelOn::Gpu(kernel) if self.last.get().is_some() => kernel.wait_for_all()?,
            _ => {}
        }
        self.last.set(None);
        Ok(())
    }
}
