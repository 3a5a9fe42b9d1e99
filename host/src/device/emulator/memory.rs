//! The emulator's memory, and what is allocated there.

use crate::device::DeviceError;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use warpfold_emulator::Memory;

/// The one memory that all buffers, modules, kernels, streams and graphs of an emulator share, and those of the devices beside it.
#[derive(Clone)]
pub(super) struct SharedMemory {
    own: Rc<RefCell<Memory>>,
    /// Those of a group, its own included.
    group: Rc<RefCell<Vec<Weak<RefCell<Memory>>>>>,
}

impl SharedMemory {
    pub(super) fn new() -> Self {
        Self::of_group(1).remove(0)
    }

    /// Memories of devices that share one address space.
    pub(super) fn of_group(count: u8) -> Vec<Self> {
        let group = Rc::default();
        let memories = (0..count).map(|device| Self {
            own: Rc::new(RefCell::new(Memory::of_device(device))),
            group: Rc::clone(&group),
        });
        let memories: Vec<Self> = memories.collect();
        let all = memories.iter().map(|memory| Rc::downgrade(&memory.own));
        *group.borrow_mut() = all.collect();
        memories
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.own, &other.own)
    }

    /// Whether the two are of one group, so that kernels of each may reach the other.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.group, &other.group)
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
        read(&self.own.borrow())
    }

    pub(super) fn with_mut<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        change(&mut self.own.borrow_mut())
    }

    /// With the memories of the devices beside it as well.
    pub(super) fn with_peers<R>(&self, read: impl FnOnce(&Memory, &[&Memory]) -> R) -> R {
        let peers = self.beside();
        let peers: Vec<_> = peers.iter().map(|peer| peer.borrow()).collect();
        let peers: Vec<&Memory> = peers.iter().map(|peer| &**peer).collect();
        read(&self.own.borrow(), &peers)
    }

    /// With the memories of all devices of the group, to change them.
    pub(super) fn with_all_mut<R>(&self, change: impl FnOnce(&mut [&mut Memory]) -> R) -> R {
        let all = self.beside();
        let mut all: Vec<_> = all.iter().map(|memory| memory.borrow_mut()).collect();
        let mut all: Vec<&mut Memory> = all.iter_mut().map(|memory| &mut **memory).collect();
        change(&mut all)
    }

    /// Those of the group that are alive, its own included.
    fn beside(&self) -> Vec<Rc<RefCell<Memory>>> {
        let group = self.group.borrow();
        group.iter().filter_map(Weak::upgrade).collect()
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

    /// The bytes fit into the allocation from `at` on.
    pub(in crate::device) fn write_part(
        &mut self,
        bytes: &[u8],
        at: usize,
    ) -> Result<(), DeviceError> {
        let address = self.address + at as u64;
        Ok(self
            .memory
            .with_mut(|memory| memory.write(address, bytes))?)
    }

    /// Copies from the memory of this device or of one beside it.
    pub(in crate::device) fn copy_from_peer(&mut self, source: &Self) -> Result<(), DeviceError> {
        let mut bytes = vec![0; self.bytes];
        source.read(&mut bytes)?;
        self.write(&bytes)
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
