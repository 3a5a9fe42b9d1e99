//! Memory of the program's own that the driver keeps in place.

use super::session::Session;
use crate::device::DeviceError;
use std::{ffi::c_void, rc::Rc};
use warpfold_driver::sys;

/// Pages that are locked until this is dropped.
pub(in crate::device) struct PageLock {
    address: *mut c_void,
    session: Rc<Session>,
}

impl PageLock {
    /// # Safety
    /// As for [`crate::device::Device::lock_pages`].
    pub(super) unsafe fn new(
        session: &Rc<Session>,
        memory: *mut [u8],
    ) -> Result<Self, DeviceError> {
        session.activate()?;
        let address = memory.cast::<c_void>();
        // SAFETY: the memory is allocated and stays so until this value is dropped, as the caller promises; 0 asks for nothing but the lock.
        unsafe { sys::cuMemHostRegister_v2(address, memory.len(), 0) }?;
        Ok(Self {
            address,
            session: session.clone(),
        })
    }
}

impl Drop for PageLock {
    fn drop(&mut self) {
        // Copies may still be reading. Where that cannot be waited for, for example after a kernel fault, the lock goes with its context.
        if self.session.wait_for_all().is_err() {
            return;
        }
        // SAFETY: the memory was locked there, once, and nothing copies from it any more.
        let _ = unsafe { sys::cuMemHostUnregister(self.address) };
    }
}
