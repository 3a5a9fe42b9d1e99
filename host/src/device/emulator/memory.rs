//! The emulator's memory, and what is allocated there.

use crate::device::DeviceError;
use std::{cell::RefCell, rc::Rc};
use warpfold_emulator::Memory;

/// The one memory that all buffers, modules, kernels, streams and graphs of an emulator share.
#[derive(Clone)]
pub(super) struct SharedMemory(Rc<RefCell<Memory>>);

impl SharedMemory {
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(Memory::new())))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// [`DeviceError::OtherDevice`] for the memory of another emulator.
    pub(super) fn check(&self, other: &Self) -> Result<(), DeviceError> {
        if self.is_same(other) {
            Ok(())
        } else {
            Err(DeviceError::OtherDevice)
        }
    }

    pub(super) fn with<R>(&self, read: impl FnOnce(&Memory) -> R) -> R {
        read(&self.0.borrow())
    }

    pub(super) fn with_mut<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        change(&mut self.0.borrow_mut())
    }
}

/// Part of the emulator's memory; freed when it is dropped.
pub(in crate::device) struct Allocation {
    pub(super) memory: SharedMemory,
    address: u64,
    bytes: usize,
}

impl Allocation {
    pub(super) fn new(memory: &SharedMemory, bytes: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            address: memory.with_mut(|memory| memory.allocate(bytes))?,
            memory: memory.clone(),
            bytes,
        })
    }

    pub(in crate::device) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::device) fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        let address = self.address;
        Ok(self
            .memory
            .with_mut(|memory| memory.write(address, bytes))?)
    }

    pub(in crate::device) fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        Ok(self
            .memory
            .with(|memory| memory.read(self.address, bytes))?)
    }

    pub(in crate::device) fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.memory.check(&source.memory)?;
        let (from, to, bytes) = (source.address, self.address, self.bytes);
        Ok(self
            .memory
            .with_mut(|memory| memory.copy(from, to, bytes))?)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // This cannot fail: the address came from an allocation, and is freed once.
        let _ = self.memory.with_mut(|memory| memory.free(self.address));
    }
}
