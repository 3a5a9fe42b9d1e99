//! What the completion of asynchronous copies orders.
//!
//! A copy that tells an mbarrier is done by nobody's thread: who has waited for the mbarrier knows of it, and of what its thread had
//! done before issuing it. So the copies of a warp that tell one mbarrier have a clock of their own, under a number behind those of the
//! block's warps, and each completion is at its next value. Who issues a copy and waits for its group knows it by then: such a copy
//! counts as the thread's own.

use std::sync::Arc;

use super::clocks::{Clocks, Knowledge};
use crate::observer::{AccessOrder, CopyEvent, Scope};
use crate::observers::Map;
use crate::registers::{LANES, each_lane, gather};

/// First value of these clocks, beyond all of those that threads have.
const FIRST: u32 = 1 << 31;

/// A clock of copies, at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyClock {
    pub clock_of: u32,
    pub clock: u32,
}

/// What a copy hands on at its completion.
#[derive(Debug)]
pub(super) struct Issued {
    /// To those who wait for the mbarrier: all that its thread knew, and the copy.
    pub all: Option<Arc<Knowledge>>,
    /// To those who read what a reduction leaves: what its thread had behind it at its fences, by their scope.
    pub fenced: Vec<(Scope, Arc<Knowledge>)>,
}

/// A block's copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// By number and lane, of copies that hand on anything.
    issued: Map<(u64, u32), Issued>,
    /// By warp and mbarrier.
    clocks: Map<(u32, u64), CopyClock>,
    /// Clocks of the copies that are being completed, with their lanes.
    completing: Vec<(u32, CopyClock)>,
}

impl Copies {
    pub fn clear(&mut self) {
        self.issued.clear();
        self.clocks.clear();
        self.completing.clear();
    }

    /// Copies are issued.
    pub fn issue(&mut self, clocks: &mut Clocks, event: &CopyEvent<'_>) {
        if event.mbarriers.is_none() && event.to_order == AccessOrder::Weak {
            return;
        }
        each_lane(event.lanes, |lane| {
            let thread = event.warp * LANES as u32 + lane as u32;
            let fenced = match event.to_order {
                AccessOrder::Weak => Vec::new(),
                order => clocks
                    .fenced(thread, order.scope())
                    .map(|(scope, knowledge)| (scope, Arc::clone(knowledge)))
                    .collect(),
            };
            let all = event.mbarriers.map(|_| {
                let mut all = Knowledge::default();
                clocks.release(thread, &mut all);
                Arc::new(all)
            });
            let issued = Issued { all, fenced };
            self.issued.insert((event.number, lane as u32), issued);
        });
    }

    /// Copies are being completed: calls `hand_on` for each lane whose copy hands on anything.
    pub fn complete(
        &mut self,
        clocks: &Clocks,
        event: &CopyEvent<'_>,
        mut hand_on: impl FnMut(usize, &Issued),
    ) {
        let first = clocks.threads().div_ceil(LANES as u32);
        self.completing.clear();
        if self.issued.is_empty() {
            return;
        }
        let mut rest = event.lanes;
        while let Some(mbarriers) = event.mbarriers
            && rest != 0
        {
            let mbarrier = mbarriers[rest.trailing_zeros() as usize];
            let lanes = rest & gather(|lane| mbarriers[lane] == mbarrier);
            rest &= !lanes;
            let unused = CopyClock {
                clock_of: first + self.clocks.len() as u32,
                clock: FIRST,
            };
            let now = self.clocks.entry((event.warp, mbarrier)).or_insert(unused);
            now.clock += 1;
            self.completing.push((lanes, *now));
        }
        each_lane(event.lanes, |lane| {
            let issued = self.issued.remove(&(event.number, lane as u32));
            let Some(mut issued) = issued else {
                return;
            };
            let of_lane = |(lanes, _): &&(u32, CopyClock)| lanes >> lane & 1 == 1;
            if let Some(all) = &mut issued.all
                && let Some((_, now)) = self.completing.iter().find(of_lane)
            {
                let thread = now.clock_of * LANES as u32 + lane as u32;
                Arc::make_mut(all).add_thread(clocks.block(), thread, now.clock);
            }
            hand_on(lane, &issued);
        });
    }

    /// The clocks of an access by lanes whose copies are being completed; those of their threads for the others.
    pub fn clocks_of(&self, lanes: u32) -> impl Iterator<Item = (u32, Option<CopyClock>)> {
        let own = self.completing.iter().fold(lanes, |own, (of, _)| own & !of);
        let others = self.completing.iter().map(|&(of, clock)| (of, Some(clock)));
        others
            .chain([(own, None)])
            .map(move |(of, clock)| (of & lanes, clock))
            .filter(|&(lanes, _)| lanes != 0)
    }
}
