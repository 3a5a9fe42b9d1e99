//! What threads did in a launch, as far as a picture of one place needs it.

use std::collections::BTreeMap;
use std::ops::Range;

use warpfold_emulator::{
    AccessEvent, AccessKind, BarrierEvent, BlockEvent, InstructionEvent, Observer, ReleaseEvent,
    Space, Wants,
};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// Records who accesses some bytes of memory, who comes to barriers, and where every lane was last.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The bytes that are watched.
    pub watched: Option<(Space, Range<u64>)>,
    /// The blocks that have begun, in that order.
    pub blocks: Vec<BlockRecord>,
}

/// What one block did.
#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    pub index: [u32; 3],
    pub shape: [u32; 3],
    /// Block-wide barriers that it has passed.
    pub step: usize,
    pub accesses: Vec<Access>,
    pub arrivals: Vec<Arrival>,
    /// By warp and lane: the PTX line of what it executed last; 0 for nothing.
    pub last: BTreeMap<u32, [u32; LANES]>,
}

/// A thread's access to what is watched.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub step: usize,
    /// The thread's number in its block.
    pub thread: u32,
    /// The PTX line.
    pub line: u32,
    pub kind: AccessKind,
    pub bytes: Range<u64>,
}

/// Lanes of a warp come to a block-wide barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub step: usize,
    pub warp: u32,
    /// The PTX line.
    pub line: u32,
    pub lanes: u32,
    /// The lanes of the warp that have not exited.
    pub live: u32,
}

impl Record {
    pub(crate) fn new(watched: Option<(Space, Range<u64>)>) -> Self {
        Self {
            watched,
            blocks: Vec::new(),
        }
    }

    pub(crate) fn block_at(&self, index: [u32; 3]) -> Option<&BlockRecord> {
        self.blocks.iter().find(|block| block.index == index)
    }
}

impl Observer for Record {
    fn wants(&self) -> Wants {
        Wants {
            values: false,
            in_order: true,
            ..Wants::ACCESSES
        }
    }

    fn fork(&self) -> Self {
        Self::new(self.watched.clone())
    }

    fn merge(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
    }

    fn block(&mut self, event: BlockEvent) {
        self.blocks.push(BlockRecord {
            index: event.index,
            shape: event.shape,
            step: 0,
            accesses: Vec::new(),
            arrivals: Vec::new(),
            last: BTreeMap::new(),
        });
    }

    fn instruction(&mut self, event: InstructionEvent) {
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let last = block.last.entry(event.warp).or_insert([0; LANES]);
        for lane in lanes(event.lanes) {
            last[lane] = event.line;
        }
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        let (Some((space, watched)), Some(block)) = (&self.watched, self.blocks.last_mut()) else {
            return;
        };
        if event.space != *space {
            return;
        }
        for lane in lanes(event.lanes) {
            let first = event.addresses[lane];
            let bytes = first..first + u64::from(event.bytes);
            if bytes.start < watched.end && watched.start < bytes.end {
                block.accesses.push(Access {
                    step: block.step,
                    thread: event.warp * LANES as u32 + lane as u32,
                    line: event.line,
                    kind: event.kind,
                    bytes,
                });
            }
        }
    }

    fn barrier(&mut self, event: BarrierEvent) {
        if let Some(block) = self.blocks.last_mut() {
            block.arrivals.push(Arrival {
                step: block.step,
                warp: event.warp,
                line: event.line,
                lanes: event.lanes,
                live: event.live,
            });
        }
    }

    fn release(&mut self, _: ReleaseEvent<'_>) {
        if let Some(block) = self.blocks.last_mut() {
            block.step += 1;
        }
    }
}

/// The lanes of a mask, in ascending order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}
