//! Events of a GPU.

use super::{queue::Queue, session::Session};
use crate::device::DeviceError;
use std::{ptr, rc::Rc};
use warpfold_driver::{
    Failure,
    sys::{self, CUevent},
};

/// An event of the current context.
pub(super) struct Mark(CUevent);

impl Mark {
    pub(super) fn new(flags: u32) -> Result<Self, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written.
        unsafe { sys::cuEventCreate(&raw mut handle, flags) }?;
        Ok(Self(handle))
    }

    /// One that takes times.
    pub(super) fn timed() -> Result<Self, Failure> {
        Self::new(0)
    }

    pub(super) fn record(&self, queue: &Queue) -> Result<(), Failure> {
        // SAFETY: both are alive.
        unsafe { sys::cuEventRecord(self.0, queue.handle()) }
    }

    /// Lets what is queued from now on wait for it.
    pub(super) fn hold_back(&self, queue: &Queue) -> Result<(), Failure> {
        // SAFETY: both are alive, and the driver keeps what it needs of the event. 0 is the only value that the flags have.
        unsafe { sys::cuStreamWaitEvent(queue.handle(), self.0, 0) }
    }

    pub(super) fn elapsed_ms_since(&self, start: &Self) -> Result<f64, Failure> {
        let mut elapsed_ms = 0.0;
        // SAFETY: both events are alive, and the time may be written; the driver checks that both have been reached.
        unsafe { sys::cuEventElapsedTime(&raw mut elapsed_ms, start.0, self.0) }?;
        Ok(f64::from(elapsed_ms))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: the handle comes from the driver, which keeps what a stream that waits for the event still needs of it. Where this
        // fails, the event goes with its context.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// An event that takes times.
pub(in crate::device) struct Event {
    // Dropped before the session, whose context owns it.
    mark: Mark,
    pub(super) session: Rc<Session>,
}

impl Event {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        Ok(Self {
            mark: Mark::timed()?,
            session: session.clone(),
        })
    }

    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    pub(in crate::device) fn synchronize(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        // SAFETY: the event is alive.
        Ok(unsafe { sys::cuEventSynchronize(self.mark.0) }?)
    }

    pub(in crate::device) fn elapsed_ms_since(&self, start: &Self) -> Result<f64, DeviceError> {
        if !Rc::ptr_eq(&self.session, &start.session) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()?;
        Ok(self.mark.elapsed_ms_since(&start.mark)?)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // Where this fails, so does the end of the event.
        let _ = self.session.activate();
    }
}
