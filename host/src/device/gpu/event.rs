//! Events of a GPU.

use super::{
    queue::Mark,
    recording::{Recording, of_captures},
    session::Session,
};
use crate::device::DeviceError;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use warpfold_driver::sys::CUevent;

/// An event that records times.
pub(in crate::device) struct Event {
    // Dropped before the session, whose context owns it.
    mark: Mark,
    /// The capture that it was last recorded in, while that is under way.
    pub(super) recording: RefCell<Weak<Recording>>,
    session: Rc<Session>,
}

impl Event {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        Ok(Self {
            mark: Mark::timed()?,
            recording: RefCell::default(),
            session: session.clone(),
        })
    }

    /// # Safety
    /// As for [`crate::device::Event::from_raw`].
    pub(super) unsafe fn from_raw(session: &Rc<Session>, handle: CUevent) -> Self {
        Self {
            // SAFETY: the caller's contract is the same.
            mark: unsafe { Mark::borrowed(handle) },
            recording: RefCell::default(),
            session: session.clone(),
        }
    }

    pub(in crate::device) fn handle(&self) -> CUevent {
        self.mark.handle()
    }

    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    pub(in crate::device) fn synchronize(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        self.mark.synchronize().map_err(of_captures)
    }

    pub(in crate::device) fn is_reached(&self) -> Result<bool, DeviceError> {
        self.session.activate()?;
        self.mark.is_reached().map_err(of_captures)
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
