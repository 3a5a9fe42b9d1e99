//! Asynchronous copies, which are pending from their issue until somebody waits for them.
//!
//! A GPU may complete a copy at any moment between the two. Here it is made as late as can be, so that who reads its destination
//! too early reads what was there before; under a random schedule, at any moment.

use std::sync::atomic::{Ordering, fence};

use super::access::{Faulty, Seen};
use super::block::Block;
use super::cluster::RANK_SHIFT;
use super::execute::Site;
use super::mbarrier::apply;
use super::spaces::Target;
use crate::error::Fault;
use crate::memory::window;
use crate::observer::{
    AccessEvent, AccessKind, AccessOrder, CopyEvent, Observer, Scope, ValuesEvent,
};
use crate::program::{Address, AsyncCopy, MbarrierKind, Where};
use crate::registers::{LANES, each_lane};

/// No group: not committed yet.
const UNCOMMITTED: u32 = u32::MAX;

/// A copy by lanes of a warp that is not complete.
#[derive(Debug)]
struct Pending {
    warp: u32,
    line: u32,
    lanes: u32,
    is_bulk: bool,
    from: Side,
    to: Side,
    /// Where the mbarrier is, in shared memory, that is told of the bytes.
    completes: Option<[u64; LANES]>,
    /// Each lane's group of copies that it is in.
    group: [u32; LANES],
}

/// One end of a copy.
#[derive(Clone, Debug)]
struct Side {
    place: Where,
    addresses: [u64; LANES],
    bytes: [u32; LANES],
}

/// A block's copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// In the order of their issue.
    pending: Vec<Pending>,
    /// How many groups each lane of a warp has committed, of small copies and of bulk copies.
    committed: Vec<[[u32; LANES]; 2]>,
}

impl Copies {
    pub fn begin(&mut self, warps: usize) {
        self.pending.clear();
        self.committed.clear();
        self.committed.resize(warps, [[0; LANES]; 2]);
    }

    pub fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

impl<O: Observer> Block<'_, '_, O> {
    /// Issues copies of a warp's lanes: what they name is checked now.
    pub(super) fn issue_copy(&mut self, site: Site, copy: &AsyncCopy) -> Faulty<()> {
        let side = |address: &Address| Side {
            place: address.place,
            addresses: [0; LANES],
            bytes: [0; LANES],
        };
        let mut pending = Pending {
            warp: site.warp as u32,
            line: site.line,
            lanes: site.lanes,
            is_bulk: copy.is_bulk,
            from: side(&copy.from),
            to: side(&copy.to),
            completes: copy.completes.map(|_| [0; LANES]),
            group: [UNCOMMITTED; LANES],
        };
        for lane in (0..LANES).filter(|lane| site.lanes >> lane & 1 == 1) {
            self.check_copy(site, copy, lane, &mut pending)
                .map_err(|fault| (fault, lane as u32))?;
        }
        self.observer.copy(pending.event());
        // Nobody here will look at an mbarrier of another block.
        let elsewhere = pending
            .completes
            .is_some_and(|mbarriers| mbarriers.iter().any(|address| address >> RANK_SHIFT != 0));
        if elsewhere {
            self.finish_copy(&pending);
        } else {
            self.copies.pending.push(pending);
        }
        Ok(())
    }

    /// Takes one lane's operands.
    fn check_copy(
        &self,
        site: Site,
        copy: &AsyncCopy,
        lane: usize,
        pending: &mut Pending,
    ) -> Result<(), Fault> {
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let bytes = registers.narrow[copy.bytes as usize][lane];
        let is_ignored = |code| registers.predicate(code) >> lane & 1 == 1;
        let source_bytes = match copy.ignored {
            Some(code) if is_ignored(code) => 0,
            _ => registers.narrow[copy.source_bytes as usize][lane],
        };
        let unit = if copy.is_bulk { 16 } else { bytes.max(4) };
        if copy.is_bulk && !bytes.is_multiple_of(16) {
            let message = format!("a bulk copy of {bytes} bytes, which is no multiple of 16");
            return Err(Fault::BadOperand(message));
        }
        if source_bytes > bytes {
            let message = format!("a copy of {bytes} bytes from a source of {source_bytes}");
            return Err(Fault::BadOperand(message));
        }
        for (side, operand, bytes, kind) in [
            (
                &mut pending.from,
                &copy.from,
                source_bytes,
                AccessKind::Load,
            ),
            (&mut pending.to, &copy.to, bytes, AccessKind::Store),
        ] {
            let address = registers.address(operand, lane);
            // Both addresses are aligned to the unit, whatever the length.
            if !address.is_multiple_of(u64::from(unit)) {
                return Err(Fault::Misaligned {
                    access: kind.name(),
                    bytes: unit as usize,
                    space: operand.place.space(),
                    address,
                });
            }
            (side.addresses[lane], side.bytes[lane]) = (address, bytes);
            self.check_range(site, lane, operand.place, address, u64::from(bytes), kind)?;
        }
        if let (Some(mbarriers), Some(operand)) = (&mut pending.completes, &copy.completes) {
            let address = registers.address(operand, lane);
            self.target(site, lane, operand.place, address, 8, AccessKind::Atomic)?;
            mbarriers[lane] = shared_offset(operand.place, address);
        }
        Ok(())
    }

    /// Finds the fault of a range that is not inside one region: at its first word, or at the first behind the region.
    fn check_range(
        &self,
        site: Site,
        lane: usize,
        place: Where,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Result<(), Fault> {
        if bytes == 0 {
            return Ok(());
        }
        let target = self.target(
            site,
            lane,
            place,
            address,
            bytes.min(4).next_power_of_two(),
            kind,
        )?;
        let inside = target.region.bytes - target.offset;
        if bytes > inside {
            let behind = address + inside / 4 * 4;
            self.target(site, lane, place, behind, 4, kind)?;
        }
        Ok(())
    }

    /// `commit_group`: the lanes' copies since the last one are a group.
    pub(super) fn commit_copies(&mut self, site: Site, bulk: bool) {
        let committed = &mut self.copies.committed[site.warp][usize::from(bulk)];
        for pending in &mut self.copies.pending {
            if pending.warp as usize == site.warp && pending.is_grouped(bulk) {
                each_lane(site.lanes & pending.lanes, |lane| {
                    if pending.group[lane] == UNCOMMITTED {
                        pending.group[lane] = committed[lane];
                    }
                });
            }
        }
        each_lane(site.lanes, |lane| {
            committed[lane] = committed[lane].wrapping_add(1)
        });
    }

    /// `wait_group`: all groups of the lanes but the last `but` are complete; without a number, all copies, committed or not.
    pub(super) fn wait_for_copies(&mut self, site: Site, bulk: bool, but: Option<u32>) {
        if !self.copies.are_pending() {
            return;
        }
        let committed = self.copies.committed[site.warp][usize::from(bulk)];
        self.finish_copies(|pending| {
            let mut lanes = 0;
            if pending.warp as usize == site.warp && pending.is_grouped(bulk) {
                each_lane(site.lanes & pending.lanes, |lane| {
                    let group = pending.group[lane];
                    let over = but.is_none_or(|but| {
                        group != UNCOMMITTED && committed[lane].wrapping_sub(group) > but
                    });
                    lanes |= u32::from(over) << lane;
                });
            }
            lanes
        });
    }

    /// Somebody looks at an mbarrier: what it waits for is there.
    pub(super) fn finish_copies_for(&mut self, place: Where, mbarrier: u64) {
        let mbarrier = shared_offset(place, mbarrier);
        self.finish_copies(|pending| {
            let mut lanes = 0;
            if let Some(completes) = &pending.completes {
                each_lane(pending.lanes, |lane| {
                    lanes |= u32::from(completes[lane] == mbarrier) << lane;
                });
            }
            lanes
        });
    }

    /// The oldest copy is there: nobody knows when.
    pub(super) fn finish_oldest_copy(&mut self) {
        let mut first = true;
        self.finish_copies(|pending| {
            if std::mem::take(&mut first) {
                pending.lanes
            } else {
                0
            }
        });
    }

    /// All copies are there: the block ends.
    pub(super) fn finish_all_copies(&mut self) {
        self.finish_copies(|pending| pending.lanes);
    }

    /// Completes the copies of those lanes that are picked for each.
    fn finish_copies(&mut self, mut pick: impl FnMut(&Pending) -> u32) {
        let mut index = 0;
        while let Some(pending) = self.copies.pending.get_mut(index) {
            let lanes = pick(pending);
            if lanes == 0 {
                index += 1;
            } else if lanes == pending.lanes {
                let pending = self.copies.pending.remove(index);
                self.finish_copy(&pending);
            } else {
                pending.lanes &= !lanes;
                let part = Pending {
                    lanes,
                    from: pending.from.clone(),
                    to: pending.to.clone(),
                    ..*pending
                };
                self.finish_copy(&part);
                index += 1;
            }
        }
    }

    /// Moves the bytes, tells observers, and then the mbarrier.
    fn finish_copy(&mut self, copy: &Pending) {
        let site = Site {
            warp: copy.warp as usize,
            frame: 0,
            lanes: copy.lanes,
            line: copy.line,
            clock: 0,
        };
        self.observer.copied(copy.event());
        let mut values: Vec<[u64; LANES]> = Vec::new();
        each_lane(copy.lanes, |lane| {
            // The ranges were inside of one region each when the copy was issued, and memory stays where it is while a kernel runs.
            let from = self.side(site, lane, &copy.from, AccessKind::Load);
            let Some(to) = self.side(site, lane, &copy.to, AccessKind::Store) else {
                return;
            };
            for at in (0..copy.to.bytes[lane]).step_by(4) {
                let there = copy.from.bytes[lane].saturating_sub(at).min(4);
                let word = from.as_ref().map_or(0, |from| {
                    let offset = from.offset + u64::from(at);
                    match there {
                        4 => from.region.load(offset),
                        _ => (0..there).fold(0, |word, byte| {
                            let value: u8 = from.region.load(offset + u64::from(byte));
                            word | u32::from(value) << (8 * byte)
                        }),
                    }
                });
                to.region.store(to.offset + u64::from(at), word);
                if O::VALUES {
                    let element = (at / 4) as usize;
                    if values.len() <= element {
                        values.push([0; LANES]);
                    }
                    values[element][lane] = u64::from(word);
                }
            }
        });
        if O::ACCESSES {
            self.tell_of_copy(site, AccessKind::Load, &copy.from, &values);
            self.tell_of_copy(site, AccessKind::Store, &copy.to, &values);
        }
        let Some(mbarriers) = &copy.completes else {
            return;
        };
        fence(Ordering::SeqCst);
        each_lane(copy.lanes, |lane| {
            let kind = AccessKind::Atomic;
            let mut seen = Seen::default();
            if let Ok(target) = self.target(site, lane, Where::Shared, mbarriers[lane], 8, kind) {
                seen.add(lane, &target);
                target.region.update(target.offset, |word| {
                    apply(MbarrierKind::Complete, word, copy.to.bytes[lane].into())
                });
            }
            self.report(
                site,
                kind,
                AccessOrder::AcquireRelease(Scope::Gpu),
                8,
                &seen,
            );
        });
    }

    /// Where one side of a lane's copy begins; nowhere for a copy of nothing.
    fn side(&self, site: Site, lane: usize, side: &Side, kind: AccessKind) -> Option<Target<'_>> {
        if side.bytes[lane] == 0 {
            return None;
        }
        self.target(site, lane, side.place, side.addresses[lane], 1, kind)
            .ok()
    }

    /// Tells the observer of one side: an access of all lanes that copy as many bytes.
    fn tell_of_copy(&mut self, site: Site, kind: AccessKind, side: &Side, values: &[[u64; LANES]]) {
        let mut rest = site.lanes;
        while rest != 0 {
            let bytes = side.bytes[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            each_lane(rest, |lane| {
                lanes |= u32::from(side.bytes[lane] == bytes) << lane
            });
            rest &= !lanes;
            if bytes == 0 {
                continue;
            }
            self.observer.access(AccessEvent {
                warp: site.warp as u32,
                line: site.line,
                kind,
                order: AccessOrder::Weak,
                space: side.place.space(),
                bytes,
                lanes,
                addresses: &side.addresses,
            });
            for values in values.iter().take(bytes.div_ceil(4) as usize) {
                self.observer.values(ValuesEvent {
                    warp: site.warp as u32,
                    lanes,
                    values,
                });
            }
        }
    }
}

impl Pending {
    /// Whether it belongs to the groups of its kind; what an mbarrier is told of does not.
    fn is_grouped(&self, bulk: bool) -> bool {
        self.is_bulk == bulk && self.completes.is_none()
    }

    fn event(&self) -> CopyEvent<'_> {
        CopyEvent {
            warp: self.warp,
            line: self.line,
            lanes: self.lanes,
            from_space: self.from.place.space(),
            from: &self.from.addresses,
            from_bytes: &self.from.bytes,
            to_space: self.to.place.space(),
            to: &self.to.addresses,
            to_bytes: &self.to.bytes,
        }
    }
}

/// The address in shared memory, of one that may be generic.
fn shared_offset(place: Where, address: u64) -> u64 {
    match place {
        Where::Generic => address.wrapping_sub(window::SHARED),
        _ => address,
    }
}
