//! Parts of a device's memory that kernels read.

use super::backend::Backend;
use super::buffer::{Buffer, MemoryOn};
use super::{Argument, Device, DeviceError, Stream};
#[cfg(feature = "cudarc")]
use super::{cudarc_memory::Access, stream::StreamOn};
use bytemuck::Pod;
use std::ops::{Bound, Range, RangeBounds};
use std::{fmt, marker::PhantomData};

/// Elements side by side in the memory of a device: some of those of a [`Buffer`], or memory that other code has allocated.
///
/// None of the functions here waits or queues anything.
pub struct Slice<'a, T> {
    owner: Owner<'a>,
    address: u64,
    length: usize,
    elements: PhantomData<&'a [T]>,
}

/// Whose memory it is.
#[derive(Clone, Copy)]
pub(super) enum Owner<'a> {
    Buffer(&'a MemoryOn),
    /// Other code, which has said which device the memory is on.
    Device(&'a Device),
    /// A `cudarc::driver::CudaSlice`.
    #[cfg(feature = "cudarc")]
    Cudarc(&'a dyn super::cudarc_memory::CudarcMemory),
    /// A `cust::memory::DeviceBuffer`, which safe code may free on any stream as soon as it is no longer borrowed.
    #[cfg(feature = "cust")]
    CustBuffer,
    /// Memory of `cust` that somebody has promised to keep.
    #[cfg(feature = "cust")]
    CustSlice,
}

impl<T: Pod> Buffer<T> {
    /// A part of the buffer, by the indices of its elements.
    ///
    /// # Panics
    /// The range is not inside the buffer.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Slice<'_, T> {
        Slice::from(self).slice(range)
    }
}

impl<'a, T: Pod> Slice<'a, T> {
    /// Memory that other code has allocated: `length` elements from `address` on, which is a `CUdeviceptr` on a GPU.
    ///
    /// The other code keeps the memory and frees it. Checked here: the address is aligned for the elements and, on a GPU, the driver knows
    /// it as memory of this GPU.
    ///
    /// ```no_run
    /// # use warpfold::device::{Device, DeviceError, Slice};
    /// # fn sum(device: &Device, address_in_torch: u64) -> Result<(), DeviceError> {
    /// // SAFETY: the tensor has 1000 floats there, and is kept and left unchanged until the sum is made.
    /// let values: Slice<'_, f32> = unsafe { Slice::from_raw(device, address_in_torch, 1000) }?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::Misaligned`], [`DeviceError::TooLarge`], [`DeviceError::NotDeviceMemory`] or [`DeviceError::OtherDevice`].
    ///
    /// # Safety
    /// Until everything that is given the slice, or a part or copy of it, has ended on the device (work that is only queued may end after
    /// the lifetime `'a`):
    /// - all `length` elements are memory that kernels in the GPU's primary context can read;
    /// - nothing writes them, except before or after that work in the order of its stream.
    ///
    /// On the emulator every access is checked, and any call is sound.
    pub unsafe fn from_raw(
        device: &'a Device,
        address: u64,
        length: usize,
    ) -> Result<Self, DeviceError> {
        let bytes = length.checked_mul(size_of::<T>()).map(|bytes| bytes as u64);
        if bytes.and_then(|bytes| address.checked_add(bytes)).is_none() {
            return Err(DeviceError::TooLarge { length });
        }
        let alignment = align_of::<T>() as u64;
        if !address.is_multiple_of(alignment) {
            return Err(DeviceError::Misaligned { address, alignment });
        }
        if let Backend::Gpu(gpu) = &device.backend
            && length > 0
        {
            gpu.check_address(address)?;
        }
        Ok(Self::new(Owner::Device(device), address, length))
    }

    pub(super) fn new(owner: Owner<'a>, address: u64, length: usize) -> Self {
        Self {
            owner,
            address,
            length,
            elements: PhantomData,
        }
    }

    /// A part of the slice, by the indices of its elements.
    ///
    /// # Panics
    /// The range is not inside the slice.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        let (address, length) = part_of::<T>((self.address, self.length), range);
        Self::new(self.owner, address, length)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The same memory as bytes.
    pub(crate) fn bytes(self) -> Slice<'a, u8> {
        Slice::new(self.owner, self.address, self.length * size_of::<T>())
    }

    /// The argument that tells a kernel where the slice begins.
    pub fn argument(&self) -> Argument {
        Argument::Address(self.address)
    }

    /// The address by which kernels know its first element, as [`Buffer::address`].
    pub fn address(&self) -> u64 {
        self.address
    }

    /// [`DeviceError::OtherDevice`] if the elements are in the memory of another device.
    pub(crate) fn check_device(&self, device: &Device) -> Result<(), DeviceError> {
        let is_there = match self.owner {
            Owner::Buffer(memory) => memory.is_of(&device.backend),
            Owner::Device(owner) => owner.backend.is_same(&device.backend),
            #[cfg(feature = "cudarc")]
            Owner::Cudarc(memory) => {
                matches!(&device.backend, Backend::Gpu(gpu) if gpu.has_context(memory.context()))
            }
            #[cfg(feature = "cust")]
            Owner::CustBuffer | Owner::CustSlice => match &device.backend {
                Backend::Gpu(gpu) => self.is_empty() || gpu.has_allocated(self.address)?,
                Backend::Emulator(_) => false,
            },
        };
        if is_there {
            Ok(())
        } else {
            Err(DeviceError::OtherDevice)
        }
    }

    /// Waits until what the owner of the memory has queued for it is done, where it has a stream of its own.
    #[cfg_attr(
        not(any(feature = "cudarc", feature = "cust")),
        allow(unused_variables, reason = "no other code has streams then")
    )]
    pub(crate) fn wait_for_owner(
        &self,
        device: &Device,
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        match self.owner {
            Owner::Buffer(_) | Owner::Device(_) => Ok(()),
            #[cfg(any(feature = "cudarc", feature = "cust"))]
            _ => {
                self.read_by(device, Some(stream), || Ok::<(), DeviceError>(()))?;
                stream.synchronize()
            }
        }
    }

    /// Runs `queue`, which queues a kernel on this stream, or on the device's own; the kernel reads the slice. What the owner of the
    /// memory queued before comes before the kernel, and what it queues later, such as the freeing of the memory, comes after it. Where
    /// only waiting can ensure that, this waits for the stream.
    pub(crate) fn read_by<E: From<DeviceError>>(
        &self,
        device: &Device,
        stream: Option<&Stream>,
        queue: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        #[cfg(feature = "cudarc")]
        if let Owner::Cudarc(memory) = self.owner {
            return in_order_of(Access::Read(memory), device, stream, queue);
        }
        let queued = queue();
        #[cfg(feature = "cust")]
        if let (Owner::CustBuffer, Some(stream)) = (self.owner, stream) {
            stream.synchronize()?;
        }
        let _ = (device, stream);
        queued
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
        Self::new(
            Owner::Buffer(&buffer.memory),
            buffer.address(),
            buffer.len(),
        )
    }
}

impl<T> fmt::Debug for Slice<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Slice")
            .field("address", &format_args!("{:#x}", self.address))
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Runs `queue`, which queues a kernel on this stream, or on the device's own; the kernel has this access to memory of `cudarc`. The order is
/// that of [`Slice::read_by`].
#[cfg(feature = "cudarc")]
pub(super) fn in_order_of<E: From<DeviceError>>(
    access: Access<'_>,
    device: &Device,
    stream: Option<&Stream>,
    queue: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let stream = match stream.map(|stream| &stream.0) {
        None => None,
        Some(StreamOn::Gpu(stream)) => Some(stream),
        Some(StreamOn::Emulator(_)) => return Err(DeviceError::OtherDevice.into()),
    };
    match &device.backend {
        Backend::Gpu(gpu) if gpu.has_context(access.memory().context()) => {
            gpu.in_order_of(access, stream, queue)
        }
        _ => Err(DeviceError::OtherDevice.into()),
    }
}

/// The part of so many elements from an address on: its address and its length.
///
/// # Panics
/// The range is not inside.
pub(super) fn part_of<T>(
    (address, length): (u64, usize),
    range: impl RangeBounds<usize>,
) -> (u64, usize) {
    let Range { start, end } = range_within(range, length);
    (address + (start * size_of::<T>()) as u64, end - start)
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
