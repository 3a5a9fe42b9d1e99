//! How other code works on the same GPU: a library in this process, or another process.
//!
//! Such code shares the device's memory. Nothing here can check what it does there; its callers vouch for it.

use super::backend::Backend;
use super::buffer::{Buffer, MemoryOn};
use super::stream::{Event, EventOn, Stream, StreamOn};
use super::{Device, DeviceError, IPC_HANDLE_BYTES, gpu};
use std::{ffi::c_void, fmt, marker::PhantomData, ops::Deref};

impl Device {
    /// The GPU's primary context (`CUcontext`), which this value keeps. Libraries that use the CUDA runtime, `cudarc` and `cust` work in
    /// the same one, so pointers and streams of each can be used in the others.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator.
    pub fn raw_context(&self) -> Result<*mut c_void, DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => Ok(gpu.raw_context()),
            Backend::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }
}

/// Runs a function, and then restores the context that was current on this thread before. [`Device::open`] and what waits or queues on a
/// GPU make the GPU's own context current; other code in this thread, such as the CUDA runtime, would then take another GPU for its own.
pub fn keep_current_context<R>(function: impl FnOnce() -> R) -> R {
    let _restored = gpu::CurrentContext::get();
    function()
}

/// A stream of other code, which borrows it for `'a`.
pub struct StreamRef<'a> {
    stream: Stream,
    lender: PhantomData<&'a ()>,
}

impl StreamRef<'_> {
    /// As [`Stream::from_raw`], with a lifetime that keeps part of the promise.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there, for as long as `'a`.
    pub unsafe fn from_raw(device: &Device, handle: *mut c_void) -> Result<Self, DeviceError> {
        Ok(Self {
            // SAFETY: the caller's contract is the same.
            stream: unsafe { Stream::from_raw(device, handle) }?,
            lender: PhantomData,
        })
    }
}

#[cfg(any(feature = "cudarc", feature = "cust"))]
impl<'a> StreamRef<'a> {
    /// As [`Self::from_raw`], of a stream whose captures nobody vouches for: while other code captures it, nothing can be queued on it.
    ///
    /// # Safety
    /// The handle is that of a stream that lives for as long as `'a`.
    pub(super) unsafe fn lent(device: &Device, handle: *mut c_void) -> Result<Self, DeviceError> {
        // SAFETY: the caller's contract, and work that would need more is refused.
        let mut lent = unsafe { Self::from_raw(device, handle) }?;
        if let StreamOn::Gpu(stream) = &mut lent.stream.0 {
            stream.only_lend();
        }
        Ok(lent)
    }
}

impl Deref for StreamRef<'_> {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.stream
    }
}

impl fmt::Debug for StreamRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StreamRef")
    }
}

impl Stream {
    /// A stream of other code, by the driver's handle (`CUstream`, or `cudaStream_t`); null is the default stream. The other code keeps the
    /// stream and destroys it. Neither waits nor queues.
    ///
    /// Work that is queued on it comes after earlier uploads and before later downloads, as on a stream of the device's own. This holds
    /// for streams that the driver calls non-blocking too, but not while they are captured. That the stream is in the GPU's primary
    /// context is checked here.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`], [`DeviceError::NoForeignCode`] on the emulator, or what the driver says.
    ///
    /// # Safety
    /// The handle is that of a stream that lives as long as the value, and that of no other while work is under way which was queued by it.
    /// Where the stream takes part in a capture that other code has begun,
    /// or that another value for the same stream has joined, whoever launches the graph keeps its kernels loaded and its memory allocated,
    /// and no copy to or from the host's memory is under way on a stream that joins the capture.
    pub unsafe fn from_raw(device: &Device, handle: *mut c_void) -> Result<Self, DeviceError> {
        match &device.backend {
            // SAFETY: the caller's contract is the same.
            Backend::Gpu(gpu) => Ok(Self(StreamOn::Gpu(unsafe { gpu.stream_from_raw(handle) }?))),
            Backend::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }

    /// The driver's handle (`CUstream`, or `cudaStream_t`), by which a library queues its work on this stream. It is valid while this
    /// stream lives.
    ///
    /// A library that uses the CUDA runtime finds the buffers of this device under the addresses that kernels get
    /// ([`Buffer::argument`]), because both are in the GPU's primary context.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator.
    pub fn raw(&self) -> Result<*mut c_void, DeviceError> {
        match &self.0 {
            StreamOn::Gpu(stream) => Ok(stream.handle().cast()),
            StreamOn::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }
}

impl Event {
    /// An event of other code, by the driver's handle (`CUevent`, or `cudaEvent_t`): for example, one that another thread has made with
    /// its own [`Device`]. The other code keeps the event and destroys it. Neither waits nor queues.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator.
    ///
    /// # Safety
    /// The handle is that of an event in the GPU's primary context that lives as long as the value. Where other code records it in a
    /// capture and a stream of this device waits for it, whoever launches the graph keeps its kernels loaded and its memory allocated.
    pub unsafe fn from_raw(device: &Device, handle: *mut c_void) -> Result<Self, DeviceError> {
        match &device.backend {
            // SAFETY: the caller's contract is the same.
            Backend::Gpu(gpu) => Ok(Self(EventOn::Gpu(unsafe { gpu.event_from_raw(handle) }))),
            Backend::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }

    /// The driver's handle (`CUevent`, or `cudaEvent_t`). It is valid while this event lives.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator.
    pub fn raw(&self) -> Result<*mut c_void, DeviceError> {
        match &self.0 {
            EventOn::Gpu(event) => Ok(event.handle().cast()),
            EventOn::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }
}

impl<T> Buffer<T> {
    /// The handle by which another process opens this buffer (`cuIpcOpenMemHandle`). It is valid while this buffer lives. What it opens
    /// may begin before the buffer: the driver puts buffers smaller than 2 MiB side by side.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator, and the driver's refusal on systems without such handles.
    pub fn ipc_handle(&self) -> Result<[u8; IPC_HANDLE_BYTES], DeviceError> {
        match &self.memory {
            MemoryOn::Gpu(allocation) => allocation.ipc_handle(),
            MemoryOn::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }
}
