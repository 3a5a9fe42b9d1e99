//! The L2 cache of a GPU.

use super::session::Session;
use crate::device::{DeviceError, L2Cache};
use cust::{
    device::Device,
    sys::{self, CUdevice_attribute, CUlimit},
};
use std::rc::Rc;
use warpfold_driver::check;

pub(super) fn of(device: Device) -> Result<L2Cache, DeviceError> {
    // `cust` does not know the attributes of sm_80.
    let attribute = |attribute| -> Result<usize, DeviceError> {
        let mut value = 0;
        // SAFETY: `value` may be written, and the device is one that the driver has counted.
        check(unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) })?;
        Ok(value.unsigned_abs() as usize)
    };
    Ok(L2Cache {
        bytes: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        most_persisting_bytes: attribute(
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
        )?,
        most_window_bytes: attribute(
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE,
        )?,
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
        check(unsafe {
            sys::cuCtxGetLimit(
                &raw mut set_aside.bytes,
                CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
            )
        })?;
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
    Ok(check(unsafe {
        sys::cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes)
    })?)
}
