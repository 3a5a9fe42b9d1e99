//! What lets other code work on a GPU beside the kernels here: a library in this process, or another process.
//!
//! Such code shares the device's memory, and nothing here can check what it does with it; its callers vouch for it.

use super::{Buffer, DeviceError, Stream, buffer::Memory, stream::StreamOn};
use std::ffi::c_void;

/// Bytes of the handle by which another process opens a buffer: a `CUipcMemHandle`.
pub const IPC_HANDLE_BYTES: usize = 64;

impl Stream {
    /// The driver's handle (`CUstream`, or `cudaStream_t`), by which a library queues its work on this stream. It is good while this
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

impl<T> Buffer<T> {
    /// By which another process opens this buffer (`cuIpcOpenMemHandle`). It is good while this buffer lives; the memory behind it may
    /// begin before the buffer, with what else the driver has put there, where the buffer is smaller than 2 MiB.
    ///
    /// # Errors
    /// [`DeviceError::NoForeignCode`] on the emulator, and the driver's refusal on systems without such handles.
    pub fn ipc_handle(&self) -> Result<[u8; IPC_HANDLE_BYTES], DeviceError> {
        match &self.memory {
            Memory::Gpu(allocation) => allocation.ipc_handle(),
            Memory::Emulator(_) => Err(DeviceError::NoForeignCode),
        }
    }
}
