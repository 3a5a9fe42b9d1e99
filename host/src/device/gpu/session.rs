//! What everything made from one opened GPU shares.

use super::GpuInformation;
use crate::device::DeviceError;
use cust::sys::{self, CUlimit};
use cust::{
    context::{Context, CurrentContext},
    device::Device,
    memory::DeviceBuffer,
    stream::{Stream, StreamFlags},
};
use std::cell::RefCell;
use warpfold_driver::check;

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

    /// Makes room for so many grids launched by kernels, where there is not enough. It stays for the session.
    ///
    /// Answers what is wrong where the GPU has no such room.
    pub(super) fn make_room_for_grids(&self, grids: u64) -> Result<(), String> {
        const LIMIT: CUlimit = CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
        let room = || {
            let mut room = 0;
            // SAFETY: `room` may be written.
            check(unsafe { sys::cuCtxGetLimit(&raw mut room, LIMIT) }).map(|()| room as u64)
        };
        let more = || {
            if room()? < grids {
                let grids = usize::try_from(grids).unwrap_or(usize::MAX);
                // SAFETY: the driver checks the value.
                check(unsafe { sys::cuCtxSetLimit(LIMIT, grids) })?;
            }
            room()
        };
        let needs = format!("its kernels may have {grids} grids waiting or running at a time");
        match more() {
            Ok(room) if room >= grids => Ok(()),
            Ok(room) => Err(format!("{needs}, and the GPU has room for {room}")),
            Err(failure) => Err(format!("{needs}, and the GPU has not the room ({failure})")),
        }
    }

    /// Queues an overwrite of twice the L2 cache, so that it holds nothing of use to the next kernel on this stream.
    pub(super) fn flush_cache(&self, stream: &Stream) -> Result<(), DeviceError> {
        let bytes = 2 * self.information.l2_bytes as usize;
        let mut cache_flush = self.cache_flush.borrow_mut();
        let buffer = match &mut *cache_flush {
            Some(buffer) => buffer,
            none => {
                // SAFETY: nothing ever reads the buffer.
                none.insert(unsafe { DeviceBuffer::uninitialized(bytes)? })
            }
        };
        // SAFETY: nothing but this function touches the buffer, and what it holds means nothing, whichever stream writes it last.
        unsafe { buffer.set_8_async(0, stream)? };
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
