//! Where variables lie, and how much room there is for them.

/// The most parameters of a function, in bytes (PTX ISA §5.1.6.2).
pub(super) const MAX_PARAMETER_BYTES: u64 = 32_764;
/// The most local memory of a thread.
pub(crate) const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// What the local memory of a frame is a multiple of, in place and in length.
pub(super) const LOCAL_ALIGN: u32 = 16;

/// Lays variables out one after another.
#[derive(Default, Clone, Copy)]
pub(super) struct Layout {
    /// Where the next one goes.
    pub next: u64,
    /// Where the last one ends.
    pub bytes: u64,
}

impl Layout {
    /// The offset of a variable. No variable has more than 2^40 bytes.
    pub fn place(&mut self, bytes: u64, align: u64) -> u64 {
        let offset = self.next.next_multiple_of(align.max(1));
        self.next = offset.saturating_add(bytes).min(1 << 40);
        self.bytes = self.bytes.max(self.next);
        offset
    }
}
