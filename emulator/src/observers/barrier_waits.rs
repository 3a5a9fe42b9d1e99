//! How long warps wait for each other at barriers, where instructions stand in for time.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::observer::{BarrierEvent, BlockEvent, InstructionEvent, Observer, ReleaseEvent, Wants};
use crate::registers::{LANES, each_lane};

/// Barriers of a block.
const BARRIERS: usize = 16;

/// What the warps of a block did before a barrier let them go on.
///
/// An untimed machine has no stall cycles. But the warps that meet at a barrier have each executed a number of instructions
/// since the barrier before. Were all instructions equally long, and were every warp to execute without pause, the one with the
/// most would arrive last, and each other would wait for as many instructions as it has fewer. That does not depend on the
/// order in which warps are emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierWait {
    /// How often a barrier completed.
    pub releases: u64,
    /// The instructions for which its warps worked or waited: those of the slowest, times the warps.
    pub slots: u64,
    /// The part of them for which warps waited.
    pub waiting: u64,
}

impl BarrierWait {
    /// The share of the warps that waits, on average over the time until the slowest arrives: from 0 to 1; `None` if no
    /// barrier completed.
    pub fn share(&self) -> Option<f64> {
        (self.slots != 0).then(|| self.waiting as f64 / self.slots as f64)
    }
}

impl AddAssign for BarrierWait {
    fn add_assign(&mut self, other: Self) {
        self.releases += other.releases;
        self.slots += other.slots;
        self.waiting += other.waiting;
    }
}

/// [`BarrierWait`] for each PTX line with a block-wide barrier.
#[derive(Clone, Debug, Default)]
pub struct BarrierWaits {
    /// For each warp of the block, the instructions since the last barrier that it waited at.
    executed: Vec<u64>,
    /// The warps that wait at each of the block's barriers: bit i for warp i, of at most 32.
    waiting: [u32; BARRIERS],
    /// The line at which a warp arrived last: that of the barrier that is released next.
    line: u32,
    lines: BTreeMap<u32, BarrierWait>,
}

impl BarrierWaits {
    /// The barriers of one line.
    pub fn at(&self, line: u32) -> BarrierWait {
        self.lines.get(&line).copied().unwrap_or_default()
    }

    /// All barriers together.
    pub fn total(&self) -> BarrierWait {
        let mut total = BarrierWait::default();
        for wait in self.lines.values() {
            total += *wait;
        }
        total
    }
}

impl Observer for BarrierWaits {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::LITTLE
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (line, wait) in other.lines {
            *self.lines.entry(line).or_default() += wait;
        }
    }

    fn block(&mut self, event: BlockEvent) {
        let threads = event.shape.iter().product::<u32>() as usize;
        self.waiting = [0; BARRIERS];
        self.executed.clear();
        self.executed.resize(threads.div_ceil(LANES), 0);
    }

    #[inline(always)]
    fn instruction(&mut self, event: InstructionEvent) {
        self.executed[event.warp as usize] += 1;
    }

    fn barrier(&mut self, event: BarrierEvent) {
        self.line = event.line;
        if event.waits {
            self.waiting[event.barrier as usize] |= 1 << event.warp;
        }
    }

    fn release(&mut self, event: ReleaseEvent<'_>) {
        let own = |&(warp, _): &(u32, u32)| self.executed[warp as usize];
        let slowest = event.arrived.iter().map(own).max().unwrap_or(0);
        let waiting = std::mem::take(&mut self.waiting[event.barrier as usize]);
        let mut worked = 0;
        each_lane(waiting, |warp| {
            worked += std::mem::take(&mut self.executed[warp])
        });
        let slots = slowest * u64::from(waiting.count_ones());
        *self.lines.entry(self.line).or_default() += BarrierWait {
            releases: 1,
            slots,
            waiting: slots - worked,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_wait_for_the_slowest() {
        let mut waits = BarrierWaits::default();
        assert_eq!(waits.total().share(), None);
        waits.block(BlockEvent {
            shape: [100, 1, 1],
            cluster_blocks: 1,
            ..BlockEvent::default()
        });
        // Four warps execute 5, 10, 10 and 7 instructions; the second arrives in two parts.
        for (warp, instructions) in [(0, 5), (1, 10), (2, 10), (3, 7)] {
            for line in 1..=instructions {
                waits.instruction(InstructionEvent {
                    warp,
                    line,
                    lanes: 1,
                    active: 1,
                    live: 1,
                });
            }
        }
        let arrived = [(0, !0), (1, 1), (1, !1), (2, !0), (3, 0xf)];
        for (warp, lanes) in arrived {
            waits.barrier(BarrierEvent {
                warp,
                line: 20,
                lanes,
                live: lanes,
                barrier: 0,
                aligned: true,
                waits: true,
            });
        }
        let release = ReleaseEvent {
            barrier: 0,
            arrived: &arrived,
        };
        waits.release(release);
        let wait = BarrierWait {
            releases: 1,
            slots: 40,
            waiting: 8,
        };
        assert_eq!((waits.at(20), waits.at(21)), (wait, BarrierWait::default()));
        assert_eq!(wait.share(), Some(0.2));
        // A warp that only arrives makes others wait, and waits for nobody.
        waits.executed = vec![10, 4, 0, 0];
        for (warp, waits_itself) in [(0, false), (1, true)] {
            waits.barrier(BarrierEvent {
                warp,
                line: 30,
                lanes: !0,
                live: !0,
                barrier: 1,
                aligned: true,
                waits: waits_itself,
            });
        }
        waits.release(ReleaseEvent {
            barrier: 1,
            arrived: &[(0, !0), (1, !0)],
        });
        assert_eq!((waits.at(30).slots, waits.at(30).waiting), (10, 6));
        assert_eq!(waits.executed, [10, 0, 0, 0]);
    }
}
