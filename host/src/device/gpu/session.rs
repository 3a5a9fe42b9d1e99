//! What everything made from one opened GPU shares.

use super::GpuInformation;
use crate::device::DeviceError;
use cust::{
    context::{Context, CurrentContext},
    device::Device,
    memory::DeviceBuffer,
    stream::{Stream, StreamFlags},
};
use std::cell::RefCell;

/// The context and the one stream on which launches, copies within the device and events are queued in order.
///
/// Uploads and downloads use the context's default stream, which waits for this one and which this one waits for.
pub(super) struct Session {
    // Fields are dropped in this order: the context goes last.
    cache_flush: RefCell<Option<DeviceBuffer<u8>>>,
    pub(super) stream: Stream,
    context: Context,
    pub(super) device: Device,
    pub(super) information: GpuInformation,
}

impl Session {
    pub(super) fn new(device: Device, information: GpuInformation) -> Result<Self, DeviceError> {
        let context = Context::new(device)?;
        CurrentContext::set_current(&context)?;
        Ok(Self {
            cache_flush: RefCell::new(None),
            stream: Stream::new(StreamFlags::DEFAULT, None)?,
            context,
            device,
            information,
        })
    }

    /// Makes this GPU the one that calls on this thread mean; another may have been used in between.
    pub(super) fn activate(&self) -> Result<(), DeviceError> {
        Ok(CurrentContext::set_current(&self.context)?)
    }

    /// Waits for everything that is queued on any stream.
    pub(super) fn wait_for_all(&self) -> Result<(), DeviceError> {
        self.activate()?;
        Ok(CurrentContext::synchronize()?)
    }

    /// Queues an overwrite of twice the L2 cache, so that it holds nothing of use to the next kernel.
    pub(super) fn flush_cache(&self) -> Result<(), DeviceError> {
        let bytes = 2 * self.information.l2_bytes as usize;
        let mut cache_flush = self.cache_flush.borrow_mut();
        let buffer = match &mut *cache_flush {
            Some(buffer) => buffer,
            none => {
                // SAFETY: nothing ever reads the buffer.
                none.insert(unsafe { DeviceBuffer::uninitialized(bytes)? })
            }
        };
        // SAFETY: nothing but this function touches the buffer, and everything is queued on the one stream.
        unsafe { buffer.set_8_async(0, &self.stream)? };
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The fields are released in the current context. After a kernel fault this fails, as releasing them does; the driver
        // frees everything with the context.
        let _ = self.activate();
    }
}
