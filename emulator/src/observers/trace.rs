//! Records everything that threads do to one another: accesses with their values, exchanges of registers, barriers.

use crate::observer::{
    AccessEvent, AccessKind, BlockEvent, CollectiveEvent, ExchangeEvent, Observer, ReleaseEvent,
    ValuesEvent,
};
use crate::registers::each_lane;
use crate::types::Space;

/// What a launch did, event by event. It grows with every access: for launches of a few thousand threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The blocks, in the order of their indices: x first.
    pub blocks: Vec<BlockTrace>,
}

/// What one block did, in the order in which the emulator did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTrace {
    /// `%ctaid` of the block.
    pub index: [u32; 3],
    /// `%ntid`: its shape.
    pub shape: [u32; 3],
    /// Its events.
    pub events: Vec<TraceEvent>,
}

/// Something that lanes of a warp did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// They accessed memory.
    Access {
        /// The warp's number in its block.
        warp: u32,
        /// The PTX line, counted from 1.
        line: u32,
        /// What the access does.
        kind: AccessKind,
        /// Where the addresses point, never generic.
        space: Space,
        /// Bytes that each lane accesses.
        bytes: u32,
        /// The lanes that took part, in ascending order.
        lanes: Vec<LaneAccess>,
    },
    /// They got values from each other's registers: by a shuffle, or by a reduction over the warp.
    Exchange {
        /// The warp's number in its block.
        warp: u32,
        /// The PTX line, counted from 1.
        line: u32,
        /// The lanes that took part, in ascending order.
        lanes: Vec<LaneExchange>,
    },
    /// They met at a warp barrier.
    WarpBarrier {
        /// The warp's number in its block.
        warp: u32,
        /// The lanes that met: bit i for lane i.
        lanes: u32,
    },
    /// All had arrived at a block-wide barrier.
    BlockBarrier {
        /// Who arrived: warps with their lanes, in the order of arrival.
        arrived: Vec<(u32, u32)>,
    },
}

/// One lane's part in an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneAccess {
    /// The lane.
    pub lane: u32,
    /// The address of its access.
    pub address: u64,
    /// What it loaded or stored, or what its atomic operation left in memory: one for each element of a vector.
    pub values: Vec<u64>,
}

/// One lane's part in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneExchange {
    /// The lane.
    pub lane: u32,
    /// The lanes whose values its result is made of: bit i for lane i.
    pub sources: u32,
    /// What it brought itself.
    pub value: u32,
}

impl Trace {
    fn push(&mut self, event: TraceEvent) {
        if let Some(block) = self.blocks.last_mut() {
            block.events.push(event);
        }
    }
}

impl Observer for Trace {
    const ACCESSES: bool = true;
    const VALUES: bool = true;

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.blocks.sort_by_key(|block| {
            let [x, y, z] = block.index;
            [z, y, x]
        });
    }

    fn block(&mut self, event: BlockEvent) {
        self.blocks.push(BlockTrace {
            index: event.index,
            shape: event.shape,
            events: Vec::new(),
        });
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        let mut lanes = Vec::new();
        each_lane(event.lanes, |lane| {
            lanes.push(LaneAccess {
                lane: lane as u32,
                address: event.addresses[lane],
                values: Vec::new(),
            });
        });
        self.push(TraceEvent::Access {
            warp: event.warp,
            line: event.line,
            kind: event.kind,
            space: event.space,
            bytes: event.bytes,
            lanes,
        });
    }

    fn values(&mut self, event: ValuesEvent<'_>) {
        let block = self.blocks.last_mut();
        if let Some(TraceEvent::Access { lanes, .. }) =
            block.and_then(|block| block.events.last_mut())
        {
            for access in lanes {
                access.values.push(event.values[access.lane as usize]);
            }
        }
    }

    fn exchange(&mut self, event: ExchangeEvent<'_>) {
        let mut lanes = Vec::new();
        each_lane(event.lanes, |lane| {
            lanes.push(LaneExchange {
                lane: lane as u32,
                sources: event.sources[lane],
                value: event.values[lane],
            });
        });
        self.push(TraceEvent::Exchange {
            warp: event.warp,
            line: event.line,
            lanes,
        });
    }

    fn collective(&mut self, event: CollectiveEvent) {
        if event.is_barrier {
            self.push(TraceEvent::WarpBarrier {
                warp: event.warp,
                lanes: event.lanes,
            });
        }
    }

    fn release(&mut self, event: ReleaseEvent<'_>) {
        self.push(TraceEvent::BlockBarrier {
            arrived: event.arrived.to_vec(),
        });
    }
}
