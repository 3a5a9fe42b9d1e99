//! Memory of a device.

use super::{Argument, Device, DeviceError, emulator, gpu};
use bytemuck::Pod;
use std::ops::{Bound, Range, RangeBounds};
use std::{fmt, marker::PhantomData};

/// Elements in the memory of a device; freed when it is dropped.
pub struct Buffer<T> {
    pub(super) memory: Memory,
    length: usize,
    element: PhantomData<T>,
}

pub(super) enum Memory {
    Gpu(gpu::Allocation),
    Emulator(emulator::Allocation),
}

impl<T: Pod> Buffer<T> {
    pub(super) fn allocate(device: &Device, length: usize) -> Result<Self, DeviceError> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .ok_or(DeviceError::TooLarge { length })?;
        let memory = match device {
            Device::Gpu(gpu) => Memory::Gpu(gpu.allocate(bytes)?),
            Device::Emulator(emulator) => Memory::Emulator(emulator.allocate(bytes)?),
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

    fn address(&self) -> u64 {
        match &self.memory {
            Memory::Gpu(allocation) => allocation.address(),
            Memory::Emulator(allocation) => allocation.address(),
        }
    }

    /// Copies `elements` from the host.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or the copy fails.
    pub fn write(&mut self, elements: &[T]) -> Result<(), DeviceError> {
        self.check_length(elements.len())?;
        let bytes = bytemuck::cast_slice(elements);
        match &mut self.memory {
            Memory::Gpu(allocation) => allocation.write(bytes),
            Memory::Emulator(allocation) => allocation.write(bytes),
        }
    }

    /// Copies all elements to the host.
    ///
    /// # Errors
    /// The copy fails, for example after a kernel faulted.
    pub fn read(&self) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.length];
        self.read_into(&mut elements)?;
        Ok(elements)
    }

    /// Copies all elements to `elements` on the host.
    ///
    /// # Errors
    /// `elements` are not exactly as many as the buffer has, or the copy fails.
    pub fn read_into(&self, elements: &mut [T]) -> Result<(), DeviceError> {
        self.check_length(elements.len())?;
        let bytes = bytemuck::cast_slice_mut(elements);
        match &self.memory {
            Memory::Gpu(allocation) => allocation.read(bytes),
            Memory::Emulator(allocation) => allocation.read(bytes),
        }
    }

    /// Copies all elements from another buffer of the same device and length, without a detour through the host.
    ///
    /// On a GPU the copy is only queued: launches, copies and downloads that follow see it finished.
    ///
    /// # Errors
    /// The buffers differ in length or device, or the copy fails.
    pub fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        self.check_length(source.length)?;
        match (&mut self.memory, &source.memory) {
            (Memory::Gpu(target), Memory::Gpu(source)) => target.copy_from(source),
            (Memory::Emulator(target), Memory::Emulator(source)) => target.copy_from(source),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    fn check_length(&self, given: usize) -> Result<(), DeviceError> {
        if given == self.length {
            Ok(())
        } else {
            Err(DeviceError::LengthMismatch {
                length: self.length,
                given,
            })
        }
    }
}

/// Some of the elements of a buffer, side by side: what a kernel gets to see of it.
#[derive(Debug)]
pub struct Slice<'a, T> {
    buffer: &'a Buffer<T>,
    start: usize,
    length: usize,
}

impl<T: Pod> Buffer<T> {
    /// A part of the buffer, by the indices of its elements.
    ///
    /// # Panics
    /// The range is not inside the buffer.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Slice<'_, T> {
        let Range { start, end } = range_within(range, self.length);
        Slice {
            buffer: self,
            start,
            length: end - start,
        }
    }
}

impl<T: Pod> Slice<'_, T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The argument that tells a kernel where the slice begins.
    pub fn argument(&self) -> Argument {
        let offset = (self.start * size_of::<T>()) as u64;
        Argument::Address(self.buffer.address() + offset)
    }

    /// [`DeviceError::OtherDevice`] if the buffer is in the memory of another device.
    pub(crate) fn check_device(&self, device: &Device) -> Result<(), DeviceError> {
        match (&self.buffer.memory, device) {
            (Memory::Gpu(memory), Device::Gpu(gpu)) if memory.is_of(gpu) => Ok(()),
            (Memory::Emulator(memory), Device::Emulator(emulator)) if memory.is_of(emulator) => {
                Ok(())
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

impl<T> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<'_, T> {}

impl<'a, T: Pod> From<&'a Buffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.slice(..)
    }
}

/// The range of indices below `length` that is meant.
fn range_within(range: impl RangeBounds<usize>, length: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    assert!(
        start <= end && end <= length,
        "the range {start}..{end} is not inside a buffer of {length} elements"
    );
    start..end
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Buffer")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
