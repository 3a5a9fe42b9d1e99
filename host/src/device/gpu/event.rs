//! Events of a GPU.

use super::{queue::Mark, recording::Recording, session::Session};
use crate::device::DeviceError;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// An event that takes times.
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

    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    pub(in crate::device) fn synchronize(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        Ok(self.mark.synchronize()?)
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
