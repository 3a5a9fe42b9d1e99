//! Memory of the host that a device knows.

use super::backend::Backend;
use super::{Argument, DeviceError, HostMemory, emulator, gpu};
use bytemuck::Pod;
use std::{fmt, marker::PhantomData};

/// Elements in memory of the host that a device knows; freed when it is dropped.
///
/// The host reads and writes the elements by copies, [`Self::write`] and [`Self::read`], which wait until the device has done everything
/// that is queued: the two never touch the memory at the same time. On the emulator all kinds are the same.
pub struct HostBuffer<T> {
    pub(super) memory: HostMemoryOn,
    kind: HostMemory,
    length: usize,
    element: PhantomData<T>,
}

pub(super) enum HostMemoryOn {
    Gpu(gpu::HostAllocation),
    Emulator(emulator::Allocation),
}

impl HostMemoryOn {
    /// Whether it was allocated there.
    pub(super) fn is_of(&self, backend: &Backend) -> bool {
        match (self, backend) {
            (Self::Gpu(memory), Backend::Gpu(gpu)) => gpu.owns_on_host(memory),
            (Self::Emulator(memory), Backend::Emulator(emulator)) => emulator.owns(memory),
            _ => false,
        }
    }
}

impl<T: Pod> HostBuffer<T> {
    pub(super) fn allocate(
        backend: &Backend,
        kind: HostMemory,
        length: usize,
    ) -> Result<Self, DeviceError> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or(DeviceError::TooLarge { length })?;
        let memory = match backend {
            Backend::Gpu(gpu) => HostMemoryOn::Gpu(gpu.allocate_on_host(kind, bytes)?),
            Backend::Emulator(emulator) => HostMemoryOn::Emulator(emulator.allocate(bytes)?),
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
                HostMemoryOn::Gpu(allocation) => allocation.address(),
                HostMemoryOn::Emulator(allocation) => allocation.address(),
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
            HostMemoryOn::Gpu(allocation) => allocation.write(bytes),
            HostMemoryOn::Emulator(allocation) => allocation.write(bytes),
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
            HostMemoryOn::Gpu(allocation) => allocation.read(bytes),
            HostMemoryOn::Emulator(allocation) => allocation.read(bytes),
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
