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

/// Such memory that a kernel writes.
pub(super) trait CudarcMemoryMut: CudarcMemory {
    /// Lets the memory's stream wait for what reads or writes the memory, and notes a write at this point of it.
    fn touch_mut(&mut self);
}

/// Memory, and what a kernel does with it.
pub(super) enum Access<'a> {
    Read(&'a dyn CudarcMemory),
    Write(&'a mut dyn CudarcMemoryMut),
}

impl Access<'_> {
    /// The memory.
    pub(super) fn memory(&self) -> &dyn CudarcMemory {
        match self {
            Self::Read(memory) => *memory,
            Self::Write(memory) => &**memory,
        }
    }

    /// Lets the memory's stream wait for what must come before, and notes the access at this point of it.
    pub(super) fn touch(&mut self) {
        match self {
            Self::Read(memory) => memory.touch(),
            Self::Write(memory) => memory.touch_mut(),
        }
    }
}
