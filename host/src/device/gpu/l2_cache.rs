//! The L2 cache of a GPU.

use super::{information::attribute, session::Session};
use crate::device::{DeviceError, L2Cache};
use std::rc::Rc;
use warpfold_driver::sys::{self, CUdevice, CUdevice_attribute, CUlimit};

pub(super) fn of(device: CUdevice) -> Result<L2Cache, DeviceError> {
    let attribute = |which| attribute(device, which).map(|value| value as usize);
    Ok(L2Cache {
        bytes: attribute(CUdevice_attribute::L2_CACHE_SIZE)?,
        most_persisting_bytes: attribute(CUdevice_attribute::MAX_PERSISTING_L2_CACHE_SIZE)?,
        most_window_bytes: attribute(CUdevice_attribute::MAX_ACCESS_POLICY_WINDOW_SIZE)?,
    })
}

/// Part of the cache, set aside until this is dropped.
pub(in crate::device) struct SetAside {
    session: Rc<Session>,
    bytes: usize,
}

impl SetAside {
    pub(super) fn new(session: &Rc<Session>, bytes: usize) -> Result<Self, DeviceError> {
        session.activate()?;
        limit(bytes)?;
        // From here on the limit is taken back, whatever comes.
        let mut set_aside = Self {
            session: session.clone(),
            bytes,
        };
        // SAFETY: the count may be written, and a context is current.
        unsafe { sys::cuCtxGetLimit(&raw mut set_aside.bytes, CUlimit::PERSISTING_L2_CACHE_SIZE) }?;
        Ok(set_aside)
    }

    pub(in crate::device) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        // What fails here fails after a kernel fault, and the context goes with all its limits.
        if self.session.wait_for_all().is_ok() {
            // SAFETY: a context is current.
            let _ = unsafe { sys::cuCtxResetPersistingL2Cache() };
            let _ = limit(0);
        }
    }
}

/// Sets how much of the cache persisting accesses have for themselves.
fn limit(bytes: usize) -> Result<(), DeviceError> {
    // SAFETY: a context is current, and the driver checks the value.
    Ok(unsafe { sys::cuCtxSetLimit(CUlimit::PERSISTING_L2_CACHE_SIZE, bytes) }?)
}
