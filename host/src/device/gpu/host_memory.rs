//! Memory of the host that a GPU knows: page-locked, or managed by the driver.

use super::session::Session;
use crate::device::{DeviceError, HostMemory};
use std::{ffi::c_void, ptr::NonNull, rc::Rc, slice};
use warpfold_driver::{Failure, sys};

/// Part of the host's memory, known to one GPU; freed when it is dropped.
pub(in crate::device) struct HostAllocation {
    host: NonNull<u8>,
    /// Where kernels find it; 0 where it is not mapped.
    device: u64,
    bytes: usize,
    managed: bool,
    session: Rc<Session>,
}

impl HostAllocation {
    pub(super) fn new(
        session: &Rc<Session>,
        kind: HostMemory,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        session.activate()?;
        let (host, device) = match kind {
            HostMemory::PageLocked => (page_locked(bytes, 0)?, 0),
            HostMemory::WriteCombined => {
                (page_locked(bytes, sys::CU_MEMHOSTALLOC_WRITECOMBINED)?, 0)
            }
            HostMemory::Mapped => mapped(bytes)?,
            HostMemory::Managed => managed(bytes)?,
        };
        Ok(Self {
            host,
            device,
            bytes,
            managed: kind == HostMemory::Managed,
            session: session.clone(),
        })
    }

    pub(in crate::device) fn address(&self) -> u64 {
        self.device
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    pub(super) fn as_ptr(&self) -> *const c_void {
        self.host.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.host.as_ptr().cast()
    }

    /// Waits until the GPU is idle, then copies as many bytes as the allocation has.
    pub(in crate::device) fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.session.wait_for_all()?;
        // SAFETY: the allocation is as long as it says and this value's own, and the GPU, which is idle, does not touch it. The bytes
        // are not read, so it does not matter what the driver left in them.
        let memory = unsafe { slice::from_raw_parts_mut(self.host.as_ptr(), self.bytes) };
        memory.copy_from_slice(bytes);
        Ok(())
    }

    /// Waits until the GPU is idle, then copies as many bytes as the allocation has.
    pub(in crate::device) fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.session.wait_for_all()?;
        // SAFETY: the allocation is as long as it says, every page of it holds what the operating system or a write has put there, and
        // the GPU, which is idle, does not touch it.
        let memory = unsafe { slice::from_raw_parts(self.host.as_ptr(), self.bytes) };
        bytes.copy_from_slice(memory);
        Ok(())
    }
}

impl Drop for HostAllocation {
    fn drop(&mut self) {
        // The GPU may still be reading or writing. Where that cannot be waited for, for example after a kernel fault, the memory goes with
        // its context.
        if self.session.wait_for_all().is_err() {
            return;
        }
        // SAFETY: the memory comes from the function that belongs to each of these two, is freed once, and nothing touches it any more.
        let _ = unsafe {
            if self.managed {
                sys::cuMemFree_v2(self.host.as_ptr() as u64)
            } else {
                sys::cuMemFreeHost(self.host.as_ptr().cast())
            }
        };
    }
}

/// The driver refuses to allocate 0 bytes.
fn at_least_1(bytes: usize) -> usize {
    bytes.max(1)
}

fn page_locked(bytes: usize, flags: u32) -> Result<NonNull<u8>, DeviceError> {
    let mut address = std::ptr::null_mut();
    // SAFETY: `address` may be written.
    unsafe { sys::cuMemHostAlloc(&raw mut address, at_least_1(bytes), flags) }
        .map_err(|failure| refusal(bytes, failure))?;
    there("cuMemHostAlloc", address.cast(), bytes)
}

fn mapped(bytes: usize) -> Result<(NonNull<u8>, u64), DeviceError> {
    let host = page_locked(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP)?;
    let mut device = 0;
    // SAFETY: `device` may be written, and `host` has just been allocated as mapped; 0 is the only value that the flags have.
    unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host.as_ptr().cast(), 0) }?;
    Ok((host, device))
}

fn managed(bytes: usize) -> Result<(NonNull<u8>, u64), DeviceError> {
    let mut address = 0;
    // SAFETY: `address` may be written.
    unsafe {
        sys::cuMemAllocManaged(
            &raw mut address,
            at_least_1(bytes),
            sys::CU_MEM_ATTACH_GLOBAL,
        )
    }
    .map_err(|failure| refusal(bytes, failure))?;
    // Host and GPU know managed memory by one address.
    let host = there("cuMemAllocManaged", address as *mut u8, bytes)?;
    Ok((host, address))
}

fn there(call: &'static str, address: *mut u8, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
    NonNull::new(address).ok_or(DeviceError::NoHostMemory {
        bytes,
        failure: Failure::new(call, Failure::OUT_OF_MEMORY),
    })
}

fn refusal(bytes: usize, failure: Failure) -> DeviceError {
    if failure.code() == Failure::OUT_OF_MEMORY {
        DeviceError::NoHostMemory { bytes, failure }
    } else {
        failure.into()
    }
}
