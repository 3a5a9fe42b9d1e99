//! Asynchronous copies, complete as soon as they are issued, and barriers in shared memory.
//!
//! An mbarrier's 64 bits are opaque to the guest. Here: bit 63 the phase, bits 40 to 59 the arrivals that each phase expects, bits
//! 20 to 39 those still pending, bits 0 to 19 the bytes still to come, as a number offset by [`NO_BYTES`].

use std::sync::atomic::{Ordering, fence};

use super::access::{Faulty, Seen};
use super::block::Block;
use super::execute::Site;
use crate::error::Fault;
use crate::observer::{AccessKind, AccessOrder, Observer};
use crate::program::*;
use crate::registers::LANES;

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
fn apply(kind: MbarrierKind, word: u64, operand: u64) -> u64 {
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
        let mut seen = Seen::default();
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let address = registers.address(&mbarrier.address, lane);
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
                (AccessKind::Load, AccessOrder::AcquireRelease)
            }
            _ => (AccessKind::Atomic, AccessOrder::AcquireRelease),
        };
        self.report(site, kind, order, 8, &seen);
        Ok(())
    }

    /// Copies bytes for each lane, at once, and tells the barrier that waits for them.
    pub(super) fn async_copy(&mut self, site: Site, copy: &AsyncCopy) -> Faulty<()> {
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let fail = |fault: Fault| (fault, lane as u32);
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let to = registers.address(&copy.to, lane);
            let from = registers.address(&copy.from, lane);
            let bytes = u64::from(registers.narrow[copy.bytes as usize][lane]);
            let source_bytes = u64::from(registers.narrow[copy.source_bytes as usize][lane]);
            let unit = if copy.is_bulk { 16 } else { bytes.max(4) };
            if copy.is_bulk && !bytes.is_multiple_of(16) {
                let message = format!("a bulk copy of {bytes} bytes, which is no multiple of 16");
                return Err(fail(Fault::BadOperand(message)));
            }
            if source_bytes > bytes {
                let message = format!("a copy of {bytes} bytes from a source of {source_bytes}");
                return Err(fail(Fault::BadOperand(message)));
            }
            // Both addresses are aligned to the unit, whatever the length.
            for (address, place, access) in [
                (from, copy.from.place, "load"),
                (to, copy.to.place, "store"),
            ] {
                if !address.is_multiple_of(unit) {
                    let fault = Fault::Misaligned {
                        access,
                        bytes: unit as usize,
                        space: place.space(),
                        address,
                    };
                    return Err(fail(fault));
                }
            }
            let mut at = 0;
            while at < bytes {
                let value = if at < source_bytes {
                    self.copied_word(site, lane, copy.from.place, from + at, None)
                } else {
                    Ok(0)
                };
                let value = value.map_err(fail)?;
                self.copied_word(site, lane, copy.to.place, to + at, Some(value))
                    .map_err(fail)?;
                at += 4;
            }
            if let Some(completes) = &copy.completes {
                fence(Ordering::SeqCst);
                let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
                let address = registers.address(completes, lane);
                let target = self
                    .target(site, lane, completes.place, address, 8, AccessKind::Atomic)
                    .map_err(fail)?;
                let mut seen = Seen::default();
                seen.add(lane, &target);
                target.region.update(target.offset, |word| {
                    apply(MbarrierKind::Complete, word, bytes)
                });
                self.report(
                    site,
                    AccessKind::Atomic,
                    AccessOrder::AcquireRelease,
                    8,
                    &seen,
                );
            }
        }
        Ok(())
    }

    /// Loads a word of a copy, or stores one.
    fn copied_word(
        &mut self,
        site: Site,
        lane: usize,
        place: Where,
        address: u64,
        store: Option<u32>,
    ) -> Result<u32, Fault> {
        let kind = match store {
            Some(_) => AccessKind::Store,
            None => AccessKind::Load,
        };
        let target = self.target(site, lane, place, address, 4, kind)?;
        let mut seen = Seen::default();
        seen.add(lane, &target);
        let value = match store {
            Some(value) => {
                target.region.store(target.offset, value);
                value
            }
            None => target.region.load::<u32>(target.offset),
        };
        if O::VALUES {
            let mut values = [0; LANES];
            values[lane] = u64::from(value);
            seen.values.push(values);
        }
        self.report(site, kind, AccessOrder::Weak, 4, &seen);
        Ok(value)
    }
}
