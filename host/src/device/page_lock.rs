//! Memory of the program's own, kept in place for copies.

use super::backend::Backend;
use super::{Device, DeviceError, gpu};
use std::fmt;

/// Pages of the program's own memory that a GPU copies from while the host goes on; locked until this is dropped, which waits until the GPU is
/// idle.
pub struct PageLock {
    /// None on the emulator, which copies at once.
    _lock: Option<gpu::PageLock>,
}

impl Device {
    /// Locks the pages of memory that the program has, so that copies from there ([`Stream::upload_part`](super::Stream::upload_part)) go at
    /// the speed of the link beside the host's work. The host reads and writes the memory as before. On the emulator it does nothing.
    ///
    /// # Errors
    /// The system locks no more pages, or the driver refuses.
    ///
    /// # Safety
    /// The memory is allocated, and is not freed before the lock is dropped.
    pub unsafe fn lock_pages(&self, memory: *mut [u8]) -> Result<PageLock, DeviceError> {
        let lock = match &self.backend {
            // SAFETY: the caller's contract is the same.
            Backend::Gpu(gpu) => Some(unsafe { gpu.lock_pages(memory) }?),
            Backend::Emulator(_) => None,
        };
        Ok(PageLock { _lock: lock })
    }
}

impl fmt::Debug for PageLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PageLock")
    }
}
