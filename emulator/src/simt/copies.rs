//! The asynchronous copies of a block that are not complete.

use super::site::Site;
use crate::address::Where;
use crate::code::{AsyncCopy, Reduction};
use crate::observer::{AccessKind, AccessOrder, CopyEvent};
use crate::registers::LANES;
use crate::types::Space;

/// No group: not committed yet.
pub(super) const UNCOMMITTED: u32 = u32::MAX;

/// A copy by lanes of a warp that is not complete.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// As of [`CopyEvent`].
    pub number: u64,
    pub warp: u32,
    pub line: u32,
    pub lanes: u32,
    pub is_bulk: bool,
    pub is_multicast: bool,
    pub contents: Contents,
    /// Where it reads, as observers are told.
    pub from: Side,
    pub to: Side,
    pub reduction: Option<Reduction>,
    /// Where the mbarrier is, in shared memory, that is told of the bytes.
    pub completes: Option<[u64; LANES]>,
    /// Each lane's group of copies that it is in.
    pub group: [u32; LANES],
}

/// What a copy writes.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// This many bytes from where it reads, and zeros after them.
    Memory([u32; LANES]),
    /// Words of the lanes' registers.
    Words(Vec<[u32; LANES]>),
}

/// One end of a copy. Addresses in the block's own shared memory are without its rank.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub place: Where,
    pub addresses: [u64; LANES],
    pub bytes: [u32; LANES],
}

/// A block's copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// How many have been issued.
    pub issued: u64,
    /// In the order of their issue.
    pub pending: Vec<Pending>,
    /// How many groups each lane of a warp has committed, of small copies and of bulk copies.
    pub committed: Vec<[[u32; LANES]; 2]>,
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

impl Pending {
    /// The copies of a warp's lanes, of which nothing is known yet.
    pub fn new(site: Site, copy: &AsyncCopy, from: Where) -> Self {
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
    pub fn take(&mut self, lanes: u32) -> Self {
        self.lanes &= !lanes;
        Self {
            lanes,
            ..self.clone()
        }
    }

    /// Whether it belongs to the groups of its kind; what an mbarrier is told of does not.
    pub fn is_grouped(&self, bulk: bool) -> bool {
        self.is_bulk == bulk && self.completes.is_none()
    }

    /// Bytes of the elements that it goes by.
    pub fn element_bytes(&self) -> u32 {
        self.reduction
            .map_or(4, |reduction| reduction.ty.bytes() as u32)
    }

    /// How it writes, and how that is ordered.
    pub fn access(&self) -> (AccessKind, AccessOrder) {
        match self.reduction {
            Some(reduction) => (AccessKind::Atomic, reduction.order),
            None => (AccessKind::Store, AccessOrder::Weak),
        }
    }

    pub fn event(&self) -> CopyEvent<'_> {
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
