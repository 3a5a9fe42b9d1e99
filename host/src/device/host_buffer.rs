//! Memory of the host that a device knows.

use super::{Argument, Device, DeviceError, Kind, emulator, gpu};
use bytemuck::Pod;
use std::{fmt, marker::PhantomData};

/// What kind of memory a [`HostBuffer`] is. Ordinary memory, a `Vec`, is pageable: the system may move it to disk, so that the driver
/// has to copy it once more before a device can fetch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMemory {
    /// Page-locked: it stays where it is, so that the device copies it by itself, while the host goes on.
    PageLocked,
    /// Page-locked, and written past the caches of the host, whose reads of it are slow.
    WriteCombined,
    /// Page-locked, and in the address space of the device: kernels read it across the bus, and nothing is copied (zero-copy).
    Mapped,
    /// Unified: one address for host and device; the driver moves its pages to whoever touches them.
    Managed,
}

/// Elements in memory of the host that a device knows; freed when it is dropped.
///
/// The host comes to the elements by copies, [`Self::write`] and [`Self::read`], which wait until the device has done everything that
/// is queued: the two never touch the memory at the same time. On the emulator, memory is memory, of whatever kind.
pub struct HostBuffer<T> {
    pub(super) memory: Memory,
    kind: HostMemory,
    length: usize,
    element: PhantomData<T>,
}

pub(super) enum Memory {
    Gpu(gpu::HostAllocation),
    Emulator(emulator::Allocation),
}

impl<T: Pod> HostBuffer<T> {
    pub(super) fn allocate(
        device: &Device,
        kind: HostMemory,
        length: usize,
    ) -> Result<Self, DeviceError> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or(DeviceError::TooLarge { length })?;
        let memory = match &device.kind {
            Kind::Gpu(gpu) => Memory::Gpu(gpu.allocate_on_host(kind, bytes)?),
            Kind::Emulator(emulator) => Memory::Emulator(emulator.allocate(bytes)?),
        };
        Ok(Self {
            memory,
            kind,
            length,
            element: PhantomData,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What kind of memory it is.
    pub fn kind(&self) -> HostMemory {
        self.kind
    }

    /// The argument that tells a kernel where this buffer begins.
    ///
    /// # Errors
    /// The memory is neither mapped nor managed: kernels cannot reach it.
    pub fn argument(&self) -> Result<Argument, DeviceError> {
        match self.kind {
            HostMemory::Mapped | HostMemory::Managed => Ok(Argument::Address(match &self.memory {
                Memory::Gpu(allocation) => allocation.address(),
                Memory::Emulator(allocation) => allocation.address(),
            })),
            HostMemory::PageLocked | HostMemory::WriteCombined => Err(DeviceError::NotMapped),
        }
    }

    /// Waits until the device is idle, then copies `elements` in.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or a kernel that was queued has faulted.
    pub fn write(&mut self, elements: &[T]) -> Result<(), DeviceError> {
        DeviceError::check_length(self.length, elements.len())?;
        let bytes = bytemuck::cast_slice(elements);
        match &mut self.memory {
            Memory::Gpu(allocation) => allocation.write(bytes),
            Memory::Emulator(allocation) => allocation.write(bytes),
        }
    }

    /// Waits until the device is idle, then copies all elements out.
    ///
    /// # Errors
    /// A kernel that was queued has faulted.
    pub fn read(&self) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.length];
        self.read_into(&mut elements)?;
        Ok(elements)
    }

    /// As [`Self::read`], into `elements`.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or a kernel that was queued has faulted.
    pub fn read_into(&self, elements: &mut [T]) -> Result<(), DeviceError> {
        DeviceError::check_length(self.length, elements.len())?;
        let bytes = bytemuck::cast_slice_mut(elements);
        match &self.memory {
            Memory::Gpu(allocation) => allocation.read(bytes),
            Memory::Emulator(allocation) => allocation.read(bytes),
        }
    }
}

impl<T> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HostBuffer")
            .field("kind", &self.kind)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
