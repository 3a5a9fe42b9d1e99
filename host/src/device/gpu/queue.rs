//! The driver's streams.

use super::event::Mark;
use std::ptr;
use warpfold_driver::{
    Failure,
    sys::{self, CUstream},
};

/// A stream of the driver, which lives as long as this value.
pub(super) struct Queue {
    handle: CUstream,
    /// Whether it ends with this value.
    owned: bool,
}

impl Queue {
    /// The default stream of whichever context is current.
    pub(super) const DEFAULT: Self = Self {
        handle: ptr::null_mut(),
        owned: false,
    };

    /// A stream of the current context.
    pub(super) fn new(flags: u32) -> Result<Self, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written; 0 is the usual priority.
        unsafe { sys::cuStreamCreateWithPriority(&raw mut handle, flags, 0) }?;
        Ok(Self {
            handle,
            owned: true,
        })
    }

    /// A stream of somebody else.
    ///
    /// # Safety
    /// The handle is that of a stream that outlives the value.
    pub(super) unsafe fn borrowed(handle: CUstream) -> Self {
        Self {
            handle,
            owned: false,
        }
    }

    pub(super) fn handle(&self) -> CUstream {
        self.handle
    }

    pub(super) fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: the stream is alive.
        unsafe { sys::cuStreamSynchronize(self.handle) }
    }

    /// Lets what is queued here from now on wait for what is queued there.
    pub(super) fn follow(&self, earlier: &Self) -> Result<(), Failure> {
        let mark = Mark::new(sys::CU_EVENT_DISABLE_TIMING)?;
        mark.record(earlier)?;
        mark.hold_back(self)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the handle comes from the driver and is destroyed once; what is queued still runs. Where this fails, the stream
            // goes with its context.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.handle) };
        }
    }
}
