//! Asynchronous copies, which are pending from their issue until somebody waits for them.
//!
//! A GPU may complete a copy at any moment between the two. Here it is made as late as can be, so that who reads its destination
//! too early reads what was there before; under a random schedule, at any moment. What completes on an mbarrier of another block
//! is made at once, for nobody here will look at that.

mod finish;
mod issue;

use super::block::Block;
use super::execute::Site;
use crate::address::Where;
use crate::observer::{AccessKind, AccessOrder, CopyEvent, Observer};
use crate::program::{AsyncCopy, Reduction};
use crate::registers::{LANES, each_lane};
use crate::types::Space;
use crate::window::{self, RANK_SHIFT};

/// No group: not committed yet.
const UNCOMMITTED: u32 = u32::MAX;

/// A copy by lanes of a warp that is not complete.
#[derive(Clone, Debug)]
struct Pending {
    /// As of [`CopyEvent`].
    number: u64,
    warp: u32,
    line: u32,
    lanes: u32,
    is_bulk: bool,
    is_multicast: bool,
    contents: Contents,
    /// Where it reads, as observers are told.
    from: Side,
    to: Side,
    reduction: Option<Reduction>,
    /// Where the mbarrier is, in shared memory, that is told of the bytes.
    completes: Option<[u64; LANES]>,
    /// Each lane's group of copies that it is in.
    group: [u32; LANES],
}

/// What a copy writes.
#[derive(Clone, Debug)]
enum Contents {
    /// So many bytes from where it reads, and zeros behind them.
    Memory([u32; LANES]),
    /// Words of the lanes' registers.
    Words(Vec<[u32; LANES]>),
}

/// One end of a copy. Addresses in the block's own shared memory are without its rank.
#[derive(Clone, Debug)]
struct Side {
    place: Where,
    addresses: [u64; LANES],
    bytes: [u32; LANES],
}

/// A block's copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// How many have been issued.
    issued: u64,
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

    /// The line of a copy that is not complete and that reads or writes some of these bytes of global memory.
    pub fn line_of_one_at(&self, base: u64, bytes: u64) -> Option<u32> {
        let reaches = |side: &Side, lane: usize| {
            let (first, length) = (side.addresses[lane], u64::from(side.bytes[lane]));
            side.place.space() == Space::Global && first < base + bytes && base < first + length
        };
        let is_one = |copy: &&Pending| {
            (0..LANES).any(|lane| {
                copy.lanes >> lane & 1 == 1
                    && (reaches(&copy.from, lane) || reaches(&copy.to, lane))
            })
        };
        Some(self.pending.iter().find(is_one)?.line)
    }

    pub fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

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

impl Pending {
    /// The copies of a warp's lanes, of which nothing is known yet.
    fn new(site: Site, copy: &AsyncCopy, from: Where) -> Self {
        let side = |place| Side {
            place,
            addresses: [0; LANES],
            bytes: [0; LANES],
        };
        Self {
            number: 0,
            warp: site.warp as u32,
            line: site.line,
            lanes: site.lanes,
            is_bulk: copy.is_bulk,
            is_multicast: copy.multicast.is_some(),
            contents: Contents::Memory([0; LANES]),
            from: side(from),
            to: side(match copy.to.place {
                // Only what goes into shared memory has generic addresses.
                Where::Generic => Where::ClusterShared,
                place => place,
            }),
            reduction: copy.reduction,
            completes: copy.completes.map(|_| [0; LANES]),
            group: [UNCOMMITTED; LANES],
        }
    }

    /// Takes lanes out of it.
    fn take(&mut self, lanes: u32) -> Self {
        self.lanes &= !lanes;
        Self {
            lanes,
            ..self.clone()
        }
    }

    /// Whether it belongs to the groups of its kind; what an mbarrier is told of does not.
    fn is_grouped(&self, bulk: bool) -> bool {
        self.is_bulk == bulk && self.completes.is_none()
    }

    /// Bytes of the elements that it goes by.
    fn element_bytes(&self) -> u32 {
        self.reduction
            .map_or(4, |reduction| reduction.ty.bytes() as u32)
    }

    /// How it writes, and how that is ordered.
    fn access(&self) -> (AccessKind, AccessOrder) {
        match self.reduction {
            Some(reduction) => (AccessKind::Atomic, reduction.order),
            None => (AccessKind::Store, AccessOrder::Weak),
        }
    }

    fn event(&self) -> CopyEvent<'_> {
        let (to_kind, to_order) = self.access();
        CopyEvent {
            number: self.number,
            warp: self.warp,
            line: self.line,
            lanes: self.lanes,
            from_space: self.from.place.space(),
            from: &self.from.addresses,
            from_bytes: &self.from.bytes,
            to_space: self.to.place.space(),
            to: &self.to.addresses,
            to_bytes: &self.to.bytes,
            to_kind,
            to_order,
            mbarriers: self.completes.as_ref(),
            is_multicast: self.is_multicast,
        }
    }
}
