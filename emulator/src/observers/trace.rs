//! Records everything that threads do to one another: accesses with their values, exchanges of registers, barriers.

use crate::observer::{
    AccessEvent, AccessKind, BlockEvent, CollectiveEvent, ExchangeEvent, GridLaunchEvent,
    GridWaitEvent, Observer, ReleaseEvent, ValuesEvent, Wants,
};
use crate::registers::each_lane;
use crate::types::Space;

/// What a launch did, event by event. It grows with every access, and is meant for launches of a few thousand threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The blocks, grid by grid, in the order of their indices: x first.
    pub blocks: Vec<BlockTrace>,
}

/// What one block did, in the order in which the emulator did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTrace {
    /// The number of its grid in the launch: 0 for the host's, then 1, 2 … in the order in which kernels launch theirs.
    pub grid: u64,
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
        /// Whether asynchronous copies made it, which these lanes had issued before.
        is_copy: bool,
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
    /// A thread launched a grid.
    GridLaunch {
        /// The warp's number in its block.
        warp: u32,
        /// The lane.
        lane: u32,
        /// The number of the new grid.
        grid: u64,
    },
    /// A thread waited for grids that its block had launched, and they are complete.
    GridWait {
        /// The warp's number in its block.
        warp: u32,
        /// The lane.
        lane: u32,
        /// The numbers of the grids.
        grids: Vec<u64>,
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
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants {
            accesses: true,
            values: true,
            in_order: true,
        }
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.blocks.sort_by_key(|block| {
            let [x, y, z] = block.index;
            (block.grid, [z, y, x])
        });
    }

    fn block(&mut self, event: BlockEvent) {
        self.blocks.push(BlockTrace {
            grid: event.grid,
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
            is_copy: event.completes_copies,
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

    fn grid_launch(&mut self, event: GridLaunchEvent) {
        self.push(TraceEvent::GridLaunch {
            warp: event.warp,
            lane: event.lane,
            grid: event.grid,
        });
    }

    fn grid_wait(&mut self, event: GridWaitEvent<'_>) {
        self.push(TraceEvent::GridWait {
            warp: event.warp,
            lane: event.lane,
            grids: event.grids.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Launch, Memory, Module, Program, launch};

    #[test]
    fn a_trace_tells_who_moved_what_in_the_order_of_the_blocks() {
        let module = Module::parse(
            ".version 7.0
             .target sm_80
             .address_size 64
             .visible .entry tell(.param .u64 data) {
                 .reg .b32 %r<5>;
                 .reg .b64 %rd<4>;
                 .shared .align 8 .b8 pairs[16];
                 ld.param.u64 %rd1, [data];
                 mov.u32 %r1, %tid.x;
                 mul.wide.u32 %rd2, %r1, 8;
                 st.shared.v2.u32 [%rd2], {%r1, 7};
                 bar.sync 0;
                 shfl.sync.bfly.b32 %r2, %r1, 1, 31, 3;
                 bar.warp.sync 3;
                 atom.global.add.u32 %r3, [%rd1], 5;
                 ret;
             }",
        )
        .unwrap();
        let mut memory = Memory::new();
        let data = memory.allocate(4).unwrap();
        let program = Program::load(module, &mut memory).unwrap();
        let shape = Launch {
            grid: [3, 1, 1],
            block: [2, 1, 1],
            dynamic_shared_bytes: 0,
            nesting: launch::Nesting::default(),
            threads: 2,
            ..Launch::default()
        };
        let mut trace = Trace::default();
        launch(
            &program.kernel("tell").unwrap(),
            &memory,
            &shape,
            &[data.to_le_bytes().to_vec()],
            &mut trace,
        )
        .unwrap();

        let indices: Vec<u32> = trace.blocks.iter().map(|block| block.index[0]).collect();
        assert_eq!(indices, [0, 1, 2]);
        let [
            TraceEvent::Access {
                space: Space::Param,
                ..
            },
            TraceEvent::Access {
                kind,
                space,
                bytes,
                lanes: stored,
                ..
            },
            TraceEvent::BlockBarrier { arrived },
            TraceEvent::Exchange {
                lanes: exchanged, ..
            },
            TraceEvent::WarpBarrier { lanes: 3, .. },
            TraceEvent::Access {
                kind: AccessKind::Atomic,
                lanes: added,
                ..
            },
        ] = &trace.blocks[1].events[..]
        else {
            panic!("{:#?}", trace.blocks[1].events);
        };
        assert_eq!(
            (*kind, *space, *bytes),
            (AccessKind::Store, Space::Shared, 8)
        );
        let moved = |lane, address, values: &[u64]| LaneAccess {
            lane,
            address,
            values: values.to_vec(),
        };
        assert_eq!(stored[..], [moved(0, 0, &[0, 7]), moved(1, 8, &[1, 7])]);
        assert_eq!(arrived[..], [(0, 3)]);
        assert_eq!(
            exchanged
                .iter()
                .map(|lane| (lane.sources, lane.value))
                .collect::<Vec<_>>(),
            [(0b10, 0), (0b01, 1)]
        );
        // Block 0 was there before.
        let left: Vec<u64> = added.iter().map(|lane| lane.values[0]).collect();
        assert_eq!(left, [15, 20]);
    }
}
