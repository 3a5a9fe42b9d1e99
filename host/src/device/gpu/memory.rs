//! A GPU's memory.

use super::{queue::Queue, session::Session};
use crate::device::DeviceError;
use std::rc::Rc;
use warpfold_driver::{
    Failure,
    sys::{self, CUdeviceptr},
};

/// Bytes of the handle by which another process opens a buffer: a `CUipcMemHandle`.
pub const IPC_HANDLE_BYTES: usize = 64;

/// Part of a GPU's memory; freed when it is dropped.
pub(in crate::device) struct Allocation {
    /// 0 where there are no bytes.
    address: CUdeviceptr,
    bytes: usize,
    // Its context owns the memory.
    session: Rc<Session>,
}

impl Allocation {
    pub(super) fn new(session: &Rc<Session>, bytes: usize) -> Result<Self, DeviceError> {
        session.activate()?;
        let mut address = 0;
        if bytes > 0 {
            // SAFETY: `address` may be written, and a context is current.
            unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) }.map_err(|failure| {
                if failure.code() == Failure::OUT_OF_MEMORY {
                    DeviceError::NoRoom { bytes, failure }
                } else {
                    failure.into()
                }
            })?;
        }
        Ok(Self {
            address,
            bytes,
            session: session.clone(),
        })
    }

    pub(in crate::device) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    /// By which another process opens the memory.
    pub(in crate::device) fn ipc_handle(&self) -> Result<[u8; IPC_HANDLE_BYTES], DeviceError> {
        self.session.activate()?;
        let mut handle = sys::CUipcMemHandle {
            reserved: [0; IPC_HANDLE_BYTES],
        };
        // SAFETY: `handle` may be written, and the address is that of an allocation.
        unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.address) }?;
        Ok(handle.reserved)
    }

    /// Copies as many bytes as the allocation has.
    pub(in crate::device) fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        assert_eq!(bytes.len(), self.bytes);
        self.session.activate()?;
        if self.bytes > 0 {
            // SAFETY: both sides have this many bytes. The driver has read the host's when the call returns.
            self.session.in_order(|| unsafe {
                sys::cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), self.bytes)
            })?;
        }
        Ok(())
    }

    /// Copies the first bytes, as many as the host's side has and no more than the allocation.
    pub(in crate::device) fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        assert!(bytes.len() <= self.bytes);
        self.session.activate()?;
        if !bytes.is_empty() {
            // SAFETY: both sides have this many bytes. The driver has written the host's when the call returns.
            self.session.in_order(|| unsafe {
                sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), self.address, bytes.len())
            })?;
        }
        Ok(())
    }

    /// Queues a copy between allocations of one size.
    pub(in crate::device) fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        if !Rc::ptr_eq(&self.session, &source.session) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()?;
        self.queue_copy_from(source, &self.session.stream)
    }

    /// Queues a copy between allocations of one size and session, whose context is current.
    pub(super) fn queue_copy_from(&self, source: &Self, queue: &Queue) -> Result<(), DeviceError> {
        assert_eq!(source.bytes, self.bytes);
        if self.bytes > 0 {
            // SAFETY: both are as long as that. Whatever touches either side later is queued after the copy, on the session's stream
            // or on the default stream, which waits for it; freeing memory waits for the whole device.
            unsafe {
                sys::cuMemcpyDtoDAsync_v2(self.address, source.address, self.bytes, queue.handle())
            }?;
        }
        Ok(())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // After a kernel fault neither succeeds, and the memory goes with its context.
        let _ = self.session.activate();
        if self.bytes > 0 {
            // SAFETY: the memory was allocated here and is freed once. The call waits until the device has done what is queued.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}
