//! What the completion of asynchronous copies orders.
//!
//! No thread makes a copy that tells an mbarrier. Whoever has waited for the mbarrier knows the copy, and all that the issuing thread
//! had done before the issue. So the copies of a warp that tell one mbarrier have a clock of their own, under a number past those of
//! the block's warps, and each completion ticks it. The copy itself knows what its thread knew at the issue. A thread that issues a
//! copy and waits for its group knows it by then: such a copy counts as the thread's own. The read of a multicast, which tells several
//! mbarriers, counts as made at the issue.

use std::sync::Arc;

use super::clocks::{Clocks, Knowledge};
use crate::observer::{AccessOrder, CopyEvent, Scope};
use crate::observers::Map;
use crate::registers::{LANES, each_lane};

/// First value of these clocks, beyond all of those that threads have.
const FIRST: u32 = 1 << 31;

/// A lane's copy that tells an mbarrier, at its completion.
#[derive(Debug)]
pub(super) struct Completed {
    pub lane: u32,
    /// Whose clock it goes by.
    pub clock_of: u32,
    pub clock: u32,
    /// What was before it: all that its thread knew when it issued it.
    pub known: Arc<Knowledge>,
}

/// What a copy hands on at its completion.
#[derive(Debug)]
pub(super) struct Issued {
    /// To those who wait for the mbarrier: all that its thread knew, and the copy.
    pub all: Option<Arc<Knowledge>>,
    /// To those who read what a reduction leaves: what its thread had done before its fences, by their scope.
    pub fenced: Vec<(Scope, Arc<Knowledge>)>,
}

/// A block's copies.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// By number and lane, of copies that hand on anything.
    issued: Map<(u64, u32), Issued>,
    /// By warp and mbarrier: a clock's number and its value.
    clocks: Map<(u32, u64), (u32, u32)>,
    /// Those that tell an mbarrier, of the copies that are being completed.
    pub completing: Vec<Completed>,
    /// Whether they are of a multicast.
    pub is_multicast: bool,
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
        self.is_multicast = event.is_multicast;
        if self.issued.is_empty() {
            return;
        }
        each_lane(event.lanes, |lane| {
            let issued = self.issued.remove(&(event.number, lane as u32));
            let Some(mut issued) = issued else {
                return;
            };
            if let (Some(all), Some(mbarriers)) = (&mut issued.all, event.mbarriers) {
                let known = Arc::clone(all);
                let unused = (first + self.clocks.len() as u32, FIRST);
                let clock = self.clocks.entry((event.warp, mbarriers[lane]));
                let (clock_of, clock) = clock.or_insert(unused);
                *clock += 1;
                let thread = *clock_of * LANES as u32 + lane as u32;
                Arc::make_mut(all).add_thread(clocks.block(), thread, *clock);
                self.completing.push(Completed {
                    lane: lane as u32,
                    clock_of: *clock_of,
                    clock: *clock,
                    known,
                });
            }
            hand_on(lane, &issued);
        });
    }
}
