//! Part of the L2 cache, set aside.

use super::gpu;
use std::fmt;

/// Part of the L2 cache, set aside for persisting accesses; given back, and emptied, when this is dropped.
pub struct PersistingL2 {
    // Held for what its end does.
    _set_aside: Option<gpu::SetAside>,
    bytes: usize,
}

impl PersistingL2 {
    pub(super) fn of_gpu(set_aside: gpu::SetAside) -> Self {
        Self {
            bytes: set_aside.bytes(),
            _set_aside: Some(set_aside),
        }
    }

    /// Of the emulator, which has no cache.
    pub(super) fn of_emulator() -> Self {
        Self {
            bytes: 0,
            _set_aside: None,
        }
    }

    /// How much is set aside: the device rounds what it is asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for PersistingL2 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PersistingL2")
            .field("bytes", &self.bytes)
            .finish()
    }
}
