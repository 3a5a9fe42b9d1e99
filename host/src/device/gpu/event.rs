//! Events of a GPU.

use super::session::Session;
use crate::device::DeviceError;
use cust::sys;
use std::{ptr, rc::Rc};
use warpfold_driver::check;

/// An event that takes times. That of `cust` does not give its handle, which streams need to wait for it.
pub(in crate::device) struct Event {
    handle: sys::CUevent,
    pub(super) session: Rc<Session>,
}

impl Event {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written; without flags the event takes times.
        check(unsafe { sys::cuEventCreate(&raw mut handle, 0) })?;
        Ok(Self {
            handle,
            session: session.clone(),
        })
    }

    pub(super) fn handle(&self) -> sys::CUevent {
        self.handle
    }

    pub(in crate::device) fn synchronize(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        // SAFETY: the event is alive.
        Ok(check(unsafe { sys::cuEventSynchronize(self.handle) })?)
    }

    pub(in crate::device) fn elapsed_ms_since(&self, start: &Self) -> Result<f64, DeviceError> {
        if !Rc::ptr_eq(&self.session, &start.session) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()?;
        let mut elapsed_ms = 0.0;
        // SAFETY: both events are alive, and the time may be written; the driver checks that both have been reached.
        check(unsafe { sys::cuEventElapsedTime(&raw mut elapsed_ms, start.handle, self.handle) })?;
        Ok(f64::from(elapsed_ms))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // Where these fail, the event goes with its context.
        let _ = self.session.activate();
        // SAFETY: the handle comes from the driver, which keeps what a stream that waits for the event still needs of it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.handle) };
    }
}
