//! Asynchronous copies, which are pending from their issue until a thread waits for them.
//!
//! A GPU may complete a copy at any moment between the two. Here it is made as late as possible, so that a thread that reads the
//! destination too early reads what was there before. Under a random schedule it is made at any moment. A copy that completes on an
//! mbarrier of another block is made at once, because no thread of this block waits for that mbarrier.

mod finish;
mod issue;

use super::block::Block;
use super::copies::{Pending, UNCOMMITTED};
use crate::address::Where;
use crate::observer::Observer;
use crate::registers::each_lane;
use crate::simt::site::Site;
use crate::window::{self, RANK_SHIFT};

impl<O: Observer> Block<'_, '_, O> {
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
        let mbarrier = self.shared_offset(place, mbarrier);
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
                let part = pending.take(lanes);
                self.finish_copy(&part);
                index += 1;
            }
        }
    }

    /// The address in shared memory, of one that may be generic; one in the block's own is without its rank.
    fn shared_offset(&self, place: Where, address: u64) -> u64 {
        let address = match place {
            Where::Generic => address.wrapping_sub(window::SHARED),
            _ => address,
        };
        match address >> RANK_SHIFT {
            rank if rank == u64::from(self.rank()) + 1 => address & ((1 << RANK_SHIFT) - 1),
            _ => address,
        }
    }
}
