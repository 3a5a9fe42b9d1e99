//! Kinds of memory of the host.

/// What kind of memory a [`HostBuffer`](super::HostBuffer) is. Ordinary memory, a `Vec`, is pageable: the system may move it to disk, so that the driver
/// has to copy it once more before a device can fetch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMemory {
    /// Page-locked: it stays where it is, so that the device copies it by itself, while the host goes on.
    PageLocked,
    /// Page-locked, and written past the caches of the host, whose reads of it are slow.
    WriteCombined,
    /// Page-locked, and in the address space of the device: kernels read it across the bus, and nothing is copied (zero-copy).
    Mapped,
    /// Unified: one address for host and device; the driver moves its pages to whoever touches them.
    Managed,
}
