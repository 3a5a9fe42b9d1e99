//! Memory and streams of `cust`, as they are.

use super::slice::Owner;
use super::slice_mut::OwnerMut;
use super::{Device, DeviceError, Slice, SliceMut, StreamRef};
use bytemuck::Pod;
use cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
use cust::stream::Stream;

/// Neither waits nor queues. The memory stays `cust`'s.
///
/// Work that is queued to read the slice is waited for, because `DeviceBuffer::drop_async` may free the memory at any time after the
/// borrow. [`Slice::from_cust`] makes slices whose reads are only queued.
///
/// That the memory is in a device's primary context, which `cust::context::Context::new` retains, is checked when that device is to
/// read it.
impl<'a, T: Pod + DeviceCopy> From<&'a DeviceBuffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        Self::new(
            Owner::CustBuffer,
            buffer.as_device_ptr().as_raw(),
            buffer.len(),
        )
    }
}

/// Neither waits nor queues. The memory stays `cust`'s.
///
/// Work that is queued to write the slice is waited for, as what reads one is.
impl<'a, T: Pod + DeviceCopy> From<&'a mut DeviceBuffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        let address = buffer.as_device_ptr().as_raw();
        Self::new(OwnerMut::AsRead(Owner::CustBuffer), address, buffer.len())
    }
}

impl<'a, T: Pod + DeviceCopy> Slice<'a, T> {
    /// A [`DeviceBuffer`] or a part of one, which [`Sum::queue`](crate::sum::Sum::queue) does not wait for.
    /// `Slice::from(&buffer).slice(range)` makes one without `unsafe`.
    ///
    /// # Safety
    /// The buffer lives, and nothing writes it, until everything that is given the slice, or a part or copy of it, has ended on the
    /// device. The lifetime `'a` does not ensure it: work may still be queued when it ends, and `cust`'s slices do not borrow their
    /// buffer.
    pub unsafe fn from_cust(slice: &'a DeviceSlice<T>) -> Self {
        Self::new(
            Owner::CustSlice,
            slice.as_device_ptr().as_raw(),
            slice.len(),
        )
    }
}

/// Neither waits nor queues. The stream stays `cust`'s. While other code captures it, nothing can be queued on it
/// ([`DeviceError::ForeignCapture`]): [`StreamRef::from_raw`] takes the promise that this needs.
///
/// # Errors
/// [`DeviceError::OtherDevice`] if it is not in the GPU's primary context.
impl<'a> TryFrom<(&Device, &'a Stream)> for StreamRef<'a> {
    type Error = DeviceError;

    fn try_from((device, stream): (&Device, &'a Stream)) -> Result<Self, DeviceError> {
        // SAFETY: the stream is borrowed for as long as the result.
        match unsafe { Self::lent(device, stream.as_inner().cast()) } {
            Err(DeviceError::NoForeignCode) => Err(DeviceError::OtherDevice),
            made => made,
        }
    }
}
