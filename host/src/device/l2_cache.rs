//! What can be asked of the L2 cache.

use super::gpu;
use std::fmt;

/// What a device's L2 cache offers, in bytes; all 0 on the emulator, which has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct L2Cache {
    /// All of it.
    pub bytes: usize,
    /// The most of it that can be set aside for persisting accesses; 0 before sm_80.
    pub most_persisting_bytes: usize,
    /// The largest buffer that an access policy can be for.
    pub most_window_bytes: usize,
}

/// How likely a line of the cache is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessProperty {
    /// As any other.
    Normal,
    /// Unlikely to be used again: the first to be evicted.
    Streaming,
    /// Kept in the part of the cache that is set aside.
    Persisting,
}

/// What the cache does with accesses to one buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccessPolicy {
    /// What it does with them.
    pub property: AccessProperty,
    /// The fraction of them, from 0 to 1, that it does this with; the others are normal.
    pub fraction: f32,
}

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

    /// What there is where there is no cache.
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
