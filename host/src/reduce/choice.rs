//! What a table of measurements says of rows.

/// How the rows of a matrix are shared out. The numbers of blocks are for a GPU with [`MULTIPROCESSORS`]; others have as many in proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By warps, through shared memory.
    Packed {
        /// Threads of a block.
        block: u32,
        /// The most blocks.
        blocks: u32,
    },
    /// Each by so many lanes of a warp.
    Lanes {
        /// The lanes.
        lanes: u32,
        /// The most blocks.
        blocks: u32,
    },
    /// Each by a block.
    Whole {
        /// Threads of a block.
        block: u32,
    },
    /// Each by as many blocks as make so many in all.
    Shared {
        /// Threads of a block.
        block: u32,
        /// The blocks in all.
        blocks: u32,
    },
}

/// The multiprocessors of the GPU that the choices were measured on.
pub const MULTIPROCESSORS: u32 = 132;

/// What an operator does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It takes it into one accumulator of 32 or 64 bits, no larger than two values of 32 bits.
    Little,
    /// It has more to keep.
    Much,
}

/// What was measured of an operator that does so much work, over values of so many bytes.
pub struct Measured {
    pub work: Work,
    pub value_bytes: usize,
    /// For 2^m bytes in all, on so large a GPU, and rows of 2^n bytes at least, the fastest way.
    pub rows: &'static [(u32, &'static [(u32, Choice)])],
    /// For a single row of 2^n bytes at least: threads of a block, and blocks.
    pub single: &'static [(u32, u32, u32)],
}

/// The last line of a table that is for so many bytes.
pub fn line_of<L: Copy>(table: &[L], bytes: usize, exponent: impl Fn(&L) -> u32) -> L {
    let of_bytes = bytes.max(1).ilog2();
    let after = table.partition_point(|line| exponent(line) <= of_bytes);
    table[after.saturating_sub(1)]
}
