//! Parts of a device's memory that kernels write.

use super::buffer::Buffer;
#[cfg(feature = "cudarc")]
use super::cudarc_memory::{Access, CudarcMemoryMut};
#[cfg(feature = "cudarc")]
use super::slice::in_order_of;
use super::slice::{Owner, part_of};
use super::{Device, DeviceError, Slice, Stream};
use bytemuck::Pod;
use std::ops::RangeBounds;
use std::{fmt, marker::PhantomData};

/// Elements side by side in the memory of a device that a kernel writes: those of a [`Buffer`], or memory that other code has allocated.
///
/// None of the functions here waits or queues anything.
///
/// ```
/// use warpfold::device::{Device, DeviceChoice, SliceMut};
/// use warpfold::{Matrix, Reduction, operator::Max};
///
/// let device = Device::open(&DeviceChoice::Emulator)?;
/// let (stream, values) = (device.stream()?, device.upload(&[1_i32, 4, 2, 8, 5, 7])?);
/// let mut of_two_tables = device.allocate::<i32>(4)?;
/// let second = SliceMut::from(&mut of_two_tables).slice(2..);
/// Reduction::new(&device, Max)?.queue_rows(&stream, &values, Matrix::contiguous(2, 3), second)?;
/// assert_eq!(of_two_tables.read()?[2..], [4, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SliceMut<'a, T> {
    owner: OwnerMut<'a>,
    address: u64,
    length: usize,
    elements: PhantomData<&'a mut [T]>,
}

/// Whose memory it is.
pub(super) enum OwnerMut<'a> {
    /// What these owners' memory needs is the same for a kernel that writes it.
    AsRead(Owner<'a>),
    /// A `cudarc::driver::CudaSlice`.
    #[cfg(feature = "cudarc")]
    Cudarc(&'a mut dyn CudarcMemoryMut),
}

impl<'a, T: Pod> From<&'a mut Buffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        let (address, length) = (buffer.address(), buffer.len());
        let owner = OwnerMut::AsRead(Owner::Buffer(&buffer.memory));
        Self::new(owner, address, length)
    }
}

impl<'a, T: Pod> SliceMut<'a, T> {
    /// Memory that other code has allocated, as [`Slice::from_raw`] takes it: `length` elements from `address` on.
    ///
    /// ```no_run
    /// # use warpfold::device::{Device, SliceMut, Stream};
    /// # use warpfold::{Reduction, operator::Mean};
    /// # fn mean(device: &Device, stream: &Stream, values: &warpfold::Buffer<f32>, address_in_torch: u64) -> Result<(), warpfold::Error> {
    /// // SAFETY: the tensor has one float there, and is kept and left alone until the mean is made.
    /// let result = unsafe { SliceMut::<f32>::from_raw(device, address_in_torch, 1) }?;
    /// Reduction::new(device, Mean)?.queue(stream, values, result)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Slice::from_raw`].
    ///
    /// # Safety
    /// Until everything that is given the slice has ended on the device (work that is only queued may end after the lifetime `'a`):
    /// - all `length` elements are memory that kernels in the GPU's primary context can write;
    /// - nothing else reads or writes them, except before or after that work in the order of its stream.
    ///
    /// On the emulator every access is checked, and any call is sound.
    pub unsafe fn from_raw(
        device: &'a Device,
        address: u64,
        length: usize,
    ) -> Result<Self, DeviceError> {
        // SAFETY: the caller's contract has that one.
        unsafe { Slice::<T>::from_raw(device, address, length)? };
        let owner = OwnerMut::AsRead(Owner::Device(device));
        Ok(Self::new(owner, address, length))
    }

    pub(super) fn new(owner: OwnerMut<'a>, address: u64, length: usize) -> Self {
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

    /// The address by which kernels know its first element, as [`Buffer::address`].
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Runs `queue`, which queues a kernel on this stream, or on the device's own; the kernel writes the slice. The order is that of
    /// [`Slice::read_by`].
    pub(crate) fn written_by<E: From<DeviceError>>(
        self,
        device: &Device,
        stream: Option<&Stream>,
        queue: impl FnOnce(Slice<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.owner {
            OwnerMut::AsRead(owner) => {
                let slice = Slice::new(owner, self.address, self.length);
                slice.read_by(device, stream, || queue(slice))
            }
            #[cfg(feature = "cudarc")]
            OwnerMut::Cudarc(memory) => {
                let slice = Slice::new(Owner::Device(device), self.address, self.length);
                in_order_of(Access::Write(memory), device, stream, || queue(slice))
            }
        }
    }
}

impl<T> fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SliceMut")
            .field("address", &format_args!("{:#x}", self.address))
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
