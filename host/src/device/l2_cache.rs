//! What can be asked of the L2 cache.

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
