//! Memory of a device.

use super::backend::Backend;
use super::{Argument, DeviceError, emulator, gpu};
use bytemuck::Pod;
use std::{fmt, marker::PhantomData};

/// Elements in the memory of a device; freed when it is dropped, which waits until the device is idle.
pub struct Buffer<T> {
    pub(super) memory: MemoryOn,
    length: usize,
    element: PhantomData<T>,
}

pub(super) enum MemoryOn {
    Gpu(gpu::Allocation),
    Emulator(emulator::Allocation),
}

impl MemoryOn {
    /// Whether it was allocated there.
    pub(super) fn is_of(&self, backend: &Backend) -> bool {
        match (self, backend) {
            (Self::Gpu(memory), Backend::Gpu(gpu)) => gpu.owns(memory),
            (Self::Emulator(memory), Backend::Emulator(emulator)) => emulator.owns(memory),
            _ => false,
        }
    }
}

impl<T: Pod> Buffer<T> {
    pub(super) fn allocate(backend: &Backend, length: usize) -> Result<Self, DeviceError> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or(DeviceError::TooLarge { length })?;
        let memory = match backend {
            Backend::Gpu(gpu) => MemoryOn::Gpu(gpu.allocate(bytes)?),
            Backend::Emulator(emulator) => MemoryOn::Emulator(emulator.allocate(bytes)?),
        };
        Ok(Self {
            memory,
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

    /// The size in bytes.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// The argument that tells a kernel where this buffer begins.
    pub fn argument(&self) -> Argument {
        Argument::Address(self.address())
    }

    /// The address by which kernels know this buffer; on a GPU its `CUdeviceptr`, good for any code in this process that uses the GPU's
    /// primary context, as long as the buffer lives. 0 on a GPU if there are no elements.
    pub fn address(&self) -> u64 {
        match &self.memory {
            MemoryOn::Gpu(allocation) => allocation.address(),
            MemoryOn::Emulator(allocation) => allocation.address(),
        }
    }

    /// Waits for everything that is queued, then copies `elements` from the host. What is queued or launched from then on sees them.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or the copy fails.
    pub fn write(&mut self, elements: &[T]) -> Result<(), DeviceError> {
        DeviceError::check_length(self.length, elements.len())?;
        let bytes = bytemuck::cast_slice(elements);
        match &mut self.memory {
            MemoryOn::Gpu(allocation) => allocation.write(bytes),
            MemoryOn::Emulator(allocation) => allocation.write(bytes),
        }
    }

    /// Waits for everything that is queued, then copies all elements to the host.
    ///
    /// # Errors
    /// The copy fails, for example after a kernel faulted.
    pub fn read(&self) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.length];
        self.read_into(&mut elements)?;
        Ok(elements)
    }

    /// As [`Self::read`], of the first `count` elements, or of all if there are fewer.
    pub(crate) fn read_first(&self, count: usize) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); count.min(self.length)];
        let bytes = bytemuck::cast_slice_mut(&mut elements);
        match &self.memory {
            MemoryOn::Gpu(allocation) => allocation.read(bytes)?,
            MemoryOn::Emulator(allocation) => allocation.read(bytes)?,
        }
        Ok(elements)
    }

    /// Waits for everything that is queued, then copies all elements to `elements` on the host.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or the copy fails.
    pub fn read_into(&self, elements: &mut [T]) -> Result<(), DeviceError> {
        DeviceError::check_length(self.length, elements.len())?;
        let bytes = bytemuck::cast_slice_mut(elements);
        match &self.memory {
            MemoryOn::Gpu(allocation) => allocation.read(bytes),
            MemoryOn::Emulator(allocation) => allocation.read(bytes),
        }
    }

    /// Copies all elements from another buffer of the same device and length, without a detour through the host.
    ///
    /// On a GPU the copy is only queued, on the device's own stream: launches by [`Kernel::launch`](super::Kernel::launch), copies of this kind
    /// and downloads that follow see it finished.
    ///
    /// # Errors
    /// The buffers differ in length or device, or the copy fails.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        DeviceError::check_length(self.length, source.length)?;
        match (&mut self.memory, &source.memory) {
            (MemoryOn::Gpu(target), MemoryOn::Gpu(source)) => target.copy_from(source),
            (MemoryOn::Emulator(target), MemoryOn::Emulator(source)) => target.copy_from(source),
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Buffer")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
