//! Barriers in shared memory, which count threads that arrive and bytes that asynchronous copies bring.
//!
//! An mbarrier's 64 bits are opaque to the guest. Here: bit 63 the phase, bits 40 to 59 the arrivals that each phase expects, bits
//! 20 to 39 those still pending, bits 0 to 19 the bytes still to come, as a number offset by [`NO_BYTES`].

use super::access::Seen;
use super::block::Block;
use super::site::{Faulty, Site};
use crate::code::{Mbarrier, MbarrierKind};
use crate::error::Fault;
use crate::observer::{AccessKind, AccessOrder, Observer, Scope};
use crate::types::Space;

const FIELD: u64 = (1 << 20) - 1;
const PENDING_SHIFT: u32 = 20;
const EXPECTED_SHIFT: u32 = 40;
const PHASE: u64 = 1 << 63;
/// The byte count of a barrier that waits for none: counts may fall below before they rise.
const NO_BYTES: u64 = 1 << 19;

/// An mbarrier's fields.
#[derive(Clone, Copy)]
struct Fields {
    phase: u64,
    expected: u64,
    pending: u64,
    bytes: u64,
}

impl Fields {
    fn of(word: u64) -> Self {
        Self {
            phase: word & PHASE,
            expected: word >> EXPECTED_SHIFT & FIELD,
            pending: word >> PENDING_SHIFT & FIELD,
            bytes: word & FIELD,
        }
    }

    /// The word; a phase for which all have come gives way to the next.
    fn word(mut self) -> u64 {
        if self.pending == 0 && self.bytes == NO_BYTES {
            self.phase ^= PHASE;
            self.pending = self.expected;
        }
        self.phase
            | self.expected << EXPECTED_SHIFT
            | self.pending << PENDING_SHIFT
            | self.bytes & FIELD
    }
}

/// Arrivals that are pending in a state that `mbarrier.arrive` returned.
pub(super) fn pending_count(state: u64) -> u64 {
    Fields::of(state).pending
}

/// What an operation makes of a barrier.
pub(super) fn apply(kind: MbarrierKind, word: u64, operand: u64) -> u64 {
    let mut fields = Fields::of(word);
    match kind {
        MbarrierKind::Init => {
            let count = operand & FIELD;
            return count << EXPECTED_SHIFT | count << PENDING_SHIFT | NO_BYTES;
        }
        MbarrierKind::Expect => {
            // More bytes to come never complete a phase.
            return word & !FIELD | fields.bytes.wrapping_add(operand) & FIELD;
        }
        MbarrierKind::Complete => fields.bytes = fields.bytes.wrapping_sub(operand) & FIELD,
        MbarrierKind::Arrive { dropped } => {
            fields.pending = fields.pending.saturating_sub(operand);
            if dropped {
                fields.expected = fields.expected.saturating_sub(operand);
            }
        }
        MbarrierKind::ExpectAndArrive => {
            fields.bytes = fields.bytes.wrapping_add(operand) & FIELD;
            fields.pending = fields.pending.saturating_sub(1);
        }
        MbarrierKind::TestState | MbarrierKind::TestParity => return word,
    }
    fields.word()
}

impl<O: Observer> Block<'_, '_, O> {
    /// Executes an operation on barriers in memory, lane by lane.
    pub(super) fn mbarrier(&mut self, site: Site, mbarrier: &Mbarrier) -> Faulty<()> {
        if mbarrier.after_copies {
            self.wait_for_copies(site, false, None);
        }
        let mut seen = Seen::default();
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let address = registers.address(&mbarrier.address, lane);
            if mbarrier.tests() {
                self.finish_copies_for(mbarrier.address.place, address);
            }
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let operand = mbarrier.operand.map_or(1, |row| registers.get(row, lane));
            let target = self
                .target(
                    site,
                    lane,
                    mbarrier.address.place,
                    address,
                    8,
                    AccessKind::Atomic,
                )
                .map_err(|fault| (fault, lane as u32))?;
            if target.space != Space::Shared {
                let message = format!(
                    "an mbarrier in {} memory, where it must be in shared memory",
                    target.space.name()
                );
                return Err((Fault::BadOperand(message), lane as u32));
            }
            seen.add(lane, &target);
            let old = target
                .region
                .update(target.offset, |word| apply(mbarrier.kind, word, operand));
            let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
            if let Some(state) = mbarrier.state {
                registers.wide[state as usize][lane] = old;
            }
            if let Some(predicate) = mbarrier.predicate {
                let is_over = match mbarrier.kind {
                    MbarrierKind::TestState => (old ^ operand) & PHASE != 0,
                    _ => old >> 63 != operand & 1,
                };
                let bits = &mut registers.predicates[predicate as usize];
                *bits = *bits & !(1 << lane) | u32::from(is_over) << lane;
            }
        }
        let (kind, order) = match mbarrier.kind {
            MbarrierKind::Init => (AccessKind::Store, AccessOrder::Weak),
            MbarrierKind::TestState | MbarrierKind::TestParity => {
                (AccessKind::Load, AccessOrder::AcquireRelease(Scope::Gpu))
            }
            _ => (AccessKind::Atomic, AccessOrder::AcquireRelease(Scope::Gpu)),
        };
        self.report(site, kind, order, 8, &seen);
        Ok(())
    }
}
