//! A GPU's memory.

use super::{Gpu, session::Session};
use crate::device::{DeviceError, IPC_HANDLE_BYTES};
use cust::{
    error::CudaError,
    memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer},
    sys,
};
use std::rc::Rc;
use warpfold_driver::{Failure, check};

/// Part of a GPU's memory; freed when it is dropped.
pub(in crate::device) struct Allocation {
    // Dropped before the session, whose context owns the memory.
    memory: DeviceBuffer<u8>,
    session: Rc<Session>,
}

impl Allocation {
    pub(super) fn new(session: &Rc<Session>, bytes: usize) -> Result<Self, DeviceError> {
        session.activate()?;
        Ok(Self {
            // SAFETY: any bytes are valid `u8`s, and what they mean is up to `Buffer`, whose elements are plain data.
            memory: unsafe { DeviceBuffer::uninitialized(bytes) }
                .map_err(|error| no_room(bytes, error))?,
            session: session.clone(),
        })
    }

    pub(in crate::device) fn address(&self) -> u64 {
        self.memory.as_device_ptr().as_raw()
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    pub(in crate::device) fn is_of(&self, gpu: &Gpu) -> bool {
        Rc::ptr_eq(&self.session, &gpu.session)
    }

    /// By which another process opens the memory.
    pub(in crate::device) fn ipc_handle(&self) -> Result<[u8; IPC_HANDLE_BYTES], DeviceError> {
        self.session.activate()?;
        let mut handle = sys::CUipcMemHandle {
            reserved: [0; IPC_HANDLE_BYTES],
        };
        // SAFETY: `handle` may be written, and the address is that of an allocation.
        check(unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.address()) })?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }

    /// Copies as many bytes as the allocation has.
    pub(in crate::device) fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.session.activate()?;
        Ok(self.memory.copy_from(bytes)?)
    }

    /// Copies as many bytes as the allocation has.
    pub(in crate::device) fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.session.activate()?;
        Ok(self.memory.copy_to(bytes)?)
    }

    /// Queues a copy between allocations of one size.
    pub(in crate::device) fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        if !Rc::ptr_eq(&self.session, &source.session) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()?;
        // SAFETY: whatever touches either side later is queued behind the copy, on the session's stream or on the default stream
        // that waits for it; freeing memory waits for the whole device.
        unsafe {
            self.memory
                .async_copy_from(&source.memory, &self.session.stream)?;
        }
        Ok(())
    }
}

fn no_room(bytes: usize, error: CudaError) -> DeviceError {
    match error {
        CudaError::OutOfMemory => DeviceError::NoRoom {
            bytes,
            failure: Failure::last_or(error as u32),
        },
        other => other.into(),
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Where this fails, so does the release of the memory, which the context then keeps until it goes itself.
        let _ = self.session.activate();
    }
}
