//! How many blocks are resident on a multiprocessor at once, as CUDA's occupancy calculation has it (`cuda_occupancy.h`).
//!
//! A multiprocessor takes a block when it has room for all of it: for its warps, for its registers, which each warp gets in whole
//! pieces from one of four parts of the register file, and for its shared memory. Whatever runs out first is the limit.

use crate::registers::LANES;

/// What a multiprocessor has, and in which pieces blocks get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// The compute capability: 90 for sm_90.
    pub sm: u32,
    /// The most warps that are resident.
    pub warps: u32,
    /// The most blocks that are resident.
    pub blocks: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Shared memory for all blocks, in bytes, where the rest of it serves as cache as little as possible.
    pub shared_bytes: u32,
    /// The most shared memory of a block, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that the system takes for each block in addition to what the block asks for, in bytes.
    pub reserved_shared_bytes_per_block: u32,
    /// Shared memory is given to blocks in pieces of this many bytes.
    pub shared_granularity: u32,
}

/// Registers are given to warps in pieces of this many.
const REGISTER_GRANULARITY: u32 = 256;
/// The parts of a multiprocessor, each with as many of its registers and its warps.
const PARTS: u32 = 4;
/// The most registers of a thread.
const MOST_REGISTERS: u32 = 255;

/// What one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockNeeds {
    /// Its threads.
    pub threads: u64,
    /// Registers of each thread, if they are known: how many a kernel takes is decided when a GPU's assembler compiles the PTX.
    pub registers: Option<u32>,
    /// Shared memory, static and dynamic, in bytes.
    pub shared_bytes: u64,
}

/// What limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Room for warps.
    Warps,
    /// Room for blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl Resource {
    /// Its name, as tables show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
        }
    }
}

/// How many blocks fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks that are resident on a multiprocessor at once: 0 where one block alone is too large.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// The most warps that a multiprocessor has room for.
    pub most_warps: u32,
    /// What there is no room of for one block more.
    pub limited_by: Vec<Resource>,
}

impl Occupancy {
    /// Resident warps of those that there is room for.
    pub fn percent(&self) -> f64 {
        100.0 * f64::from(self.warps) / f64::from(self.most_warps)
    }
}

impl Multiprocessor {
    /// Those of the compute capabilities from 7.0 on that are in wide use (*CUDA C++ Programming Guide*, "Technical Specifications per
    /// Compute Capability").
    pub const ALL: [Self; 9] = [
        Self::new(70, 64, 32, [96, 96, 0], 256),
        Self::new(75, 32, 16, [64, 64, 0], 256),
        Self::new(80, 64, 32, [164, 163, 1], 128),
        Self::new(86, 48, 16, [100, 99, 1], 128),
        Self::new(87, 48, 16, [164, 163, 1], 128),
        Self::new(89, 48, 24, [100, 99, 1], 128),
        Self::new(90, 64, 32, [228, 227, 1], 128),
        Self::new(100, 64, 32, [228, 227, 1], 128),
        Self::new(120, 48, 24, [100, 99, 1], 128),
    ];

    /// With shared memory in KiB: of all blocks, of one at most, and what the system takes.
    const fn new(sm: u32, warps: u32, blocks: u32, shared_kib: [u32; 3], granularity: u32) -> Self {
        Self {
            sm,
            warps,
            blocks,
            registers: 1 << 16,
            shared_bytes: shared_kib[0] << 10,
            shared_bytes_per_block: shared_kib[1] << 10,
            reserved_shared_bytes_per_block: shared_kib[2] << 10,
            shared_granularity: granularity,
        }
    }

    /// That of a compute capability, or `None` where it is not known.
    pub const fn of(sm: u32) -> Option<Self> {
        let mut index = 0;
        while index < Self::ALL.len() {
            if Self::ALL[index].sm == sm {
                return Some(Self::ALL[index]);
            }
            index += 1;
        }
        None
    }

    /// How many such blocks are resident at once, and what there is no room of for one more. Without the number of registers they are
    /// taken to suffice.
    pub fn occupancy(&self, block: &BlockNeeds) -> Occupancy {
        let warps = block.threads.div_ceil(LANES as u64).max(1);
        let limits = [
            (Resource::Warps, u64::from(self.warps) / warps),
            (Resource::Blocks, self.blocks.into()),
            (
                Resource::Registers,
                block
                    .registers
                    .map_or(u64::MAX, |registers| self.by_registers(registers, warps)),
            ),
            (Resource::SharedMemory, self.by_shared(block.shared_bytes)),
        ];
        let least = limits.iter().map(|&(_, blocks)| blocks).min();
        let blocks = least.unwrap_or_default();
        Occupancy {
            blocks: blocks as u32,
            warps: (blocks * warps) as u32,
            most_warps: self.warps,
            limited_by: limits
                .into_iter()
                .filter(|&(_, limit)| limit == blocks)
                .map(|(resource, _)| resource)
                .collect(),
        }
    }

    fn by_registers(&self, registers: u32, warps: u64) -> u64 {
        let of_warp = (registers * LANES as u32).next_multiple_of(REGISTER_GRANULARITY);
        // A launch is checked as if a block had as many warps in each part.
        let of_block = u64::from(of_warp) * warps.next_multiple_of(PARTS.into());
        if registers > MOST_REGISTERS || of_block > self.registers.into() {
            return 0;
        }
        let warps_of_part = (self.registers / PARTS)
            .checked_div(of_warp)
            .map_or(u64::MAX, u64::from);
        warps_of_part.saturating_mul(PARTS.into()) / warps
    }

    fn by_shared(&self, shared_bytes: u64) -> u64 {
        if shared_bytes > self.shared_bytes_per_block.into() {
            return 0;
        }
        let of_block = (shared_bytes + u64::from(self.reserved_shared_bytes_per_block))
            .next_multiple_of(self.shared_granularity.into());
        u64::from(self.shared_bytes)
            .checked_div(of_block)
            .unwrap_or(u64::MAX)
    }
}
