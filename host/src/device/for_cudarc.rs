//! Memory and streams of `cudarc`, as they are.

use super::backend::Backend;
use super::cudarc_memory::{CudarcMemory, CudarcMemoryMut};
use super::slice::Owner;
use super::slice_mut::OwnerMut;
use super::{Device, DeviceError, Slice, SliceMut, StreamRef};
use bytemuck::Pod;
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice,
};
use std::ffi::c_void;
use std::sync::Arc;

macro_rules! memory {
    ($($memory:ty),*) => { $(
        // SAFETY: the memory holds its stream in an `Arc`, from which both are taken.
        unsafe impl<T> CudarcMemory for $memory {
            fn context(&self) -> *mut c_void {
                DeviceSlice::stream(self).context().cu_ctx().cast()
            }

            fn stream(&self) -> *mut c_void {
                DeviceSlice::stream(self).cu_stream().cast()
            }

            fn touch(&self) {
                drop(self.device_ptr(DeviceSlice::stream(self)));
            }
        }

        /// Neither waits nor queues. The memory stays `cudarc`'s; what reads the slice comes after what has been queued to write
        /// it, and before what is queued to write or free it later, whichever streams these are on.
        ///
        /// That the memory is in a device's primary context, which `CudaContext::new` retains, is checked when that device is to read it.
        impl<'a, T: Pod> From<&'a $memory> for Slice<'a, T> {
            fn from(memory: &'a $memory) -> Self {
                let (address, _) = memory.device_ptr(DeviceSlice::stream(memory));
                Self::new(Owner::Cudarc(memory), address, memory.len())
            }
        }
    )* };
}

memory! { CudaSlice<T>, CudaView<'_, T>, CudaViewMut<'_, T> }

macro_rules! written_memory {
    ($($memory:ty),*) => { $(
        impl<T> CudarcMemoryMut for $memory {
            fn touch_mut(&mut self) {
                let stream = Arc::clone(DeviceSlice::stream(self));
                drop(self.device_ptr_mut(&stream));
            }
        }

        /// Neither waits nor queues. The memory stays `cudarc`'s; what writes the slice comes after what has been queued to read or write
        /// it, and before what is queued later, whichever streams these are on.
        ///
        /// That the memory is in a device's primary context is checked when that device is to write it.
        impl<'a, T: Pod> From<&'a mut $memory> for SliceMut<'a, T> {
            fn from(memory: &'a mut $memory) -> Self {
                let (stream, length) = (Arc::clone(DeviceSlice::stream(memory)), memory.len());
                let (address, _) = memory.device_ptr_mut(&stream);
                Self::new(OwnerMut::Cudarc(memory), address, length)
            }
        }
    )* };
}

written_memory! { CudaSlice<T>, CudaViewMut<'_, T> }

/// Neither waits nor queues. The stream stays `cudarc`'s. While `cudarc` captures it, nothing can be queued on it
/// ([`DeviceError::ForeignCapture`]): [`StreamRef::from_raw`] takes the promise that this needs.
///
/// # Errors
/// [`DeviceError::OtherDevice`] if it is not in the GPU's primary context.
impl<'a> TryFrom<(&Device, &'a CudaStream)> for StreamRef<'a> {
    type Error = DeviceError;

    fn try_from((device, stream): (&Device, &'a CudaStream)) -> Result<Self, DeviceError> {
        if !matches!(&device.backend, Backend::Gpu(gpu) if gpu.has_context(stream.context().cu_ctx().cast()))
        {
            return Err(DeviceError::OtherDevice);
        }
        // SAFETY: the stream is borrowed for as long as the result.
        unsafe { Self::lent(device, stream.cu_stream().cast()) }
    }
}
