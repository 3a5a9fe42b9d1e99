//! Kinds of memory of the host.

/// What kind of memory a [`HostBuffer`](super::HostBuffer) is. Ordinary memory, a `Vec`, is pageable: the system may
/// move it to disk, so the driver has to copy it once more before a device can fetch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMemory {
    /// Page-locked: the system does not move it, so the device copies it by itself while the host goes on.
    PageLocked,
    /// Page-locked, and written past the host's caches; reads by the host are slow.
    WriteCombined,
    /// Page-locked, and in the address space of the device: kernels read it across the bus, and nothing is copied (zero-copy).
    Mapped,
    /// Unified: one address for host and device; the driver moves each page to the side that touches it.
    Managed,
}
