//! What a slice needs to know of memory of `cudarc`.

use std::ffi::c_void;

/// Memory that `cudarc` keeps in order by its streams and events.
///
/// # Safety
/// The stream is of the context that [`Self::context`] gives, and lives as long as the memory.
pub(super) unsafe trait CudarcMemory {
    /// The context that it was allocated in.
    fn context(&self) -> *mut c_void;

    /// The memory's own stream.
    fn stream(&self) -> *mut c_void;

    /// Lets that stream wait for what writes the memory, and notes a read at this point of it.
    fn touch(&self);
}

/// The same of memory that a kernel writes.
pub(super) trait CudarcMemoryMut {
    /// As [`CudarcMemory::context`].
    fn context(&self) -> *mut c_void;

    /// As [`CudarcMemory::stream`], for as long.
    fn stream(&self) -> *mut c_void;

    /// Lets that stream wait for what reads or writes the memory, and notes a write at this point of it.
    fn touch_mut(&mut self);
}
