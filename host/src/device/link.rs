//! How two devices are connected.

/// What kernels of one device may do with the memory of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLink {
    /// Whether they may read and write it ([`Device::enable_peer_access`](super::Device::enable_peer_access)).
    pub has_access: bool,
    /// Whether the link carries out atomic operations by itself, as NVLink does. Where it does not, stores and loads of system scope still
    /// work.
    pub has_atomics: bool,
    /// How the driver rates the link: 0 for the fastest kind that there is here.
    pub rank: u32,
}

impl PeerLink {
    /// The link of a device to itself.
    pub(super) const SAME: Self = Self {
        has_access: true,
        has_atomics: true,
        rank: 0,
    };
    /// No link.
    pub(super) const NONE: Self = Self {
        has_access: false,
        has_atomics: false,
        rank: 0,
    };
}
