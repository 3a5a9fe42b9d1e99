//! Which kernel reduces which shape, in how many blocks: as data.

use crate::matrix::{Along, Matrix};
use crate::sum::Mode;
use warpfold_device::columns::Layout;
use warpfold_device::fixed::{self, Strips};
use warpfold_device::rows::{PACKED_BLOCK, PACKED_BYTES};
use warpfold_device::segments;

/// A launch of one of the kernels that `warpfold_device::reductions!` makes of an operator.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub way: Way,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub block: u32,
}

/// What reduces a row or a column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// So many blocks for a row.
    Blocks(u32),
    /// So many lanes of a warp, a power of two.
    Lanes(u32),
    /// A warp takes as many rows as its tile in shared memory holds; they lie side by side.
    Packed,
    /// Threads side by side, each for the columns of a vector.
    Columns(Layout),
    /// A block for each chunk of a row, in the fixed order.
    FixedBlocks,
    /// So many lanes for a short row, in the fixed order.
    FixedLanes(u32),
    /// Strips of columns side by side, in the fixed order.
    FixedColumns(Strips),
    /// Warps with equal parts of all segments.
    Segments,
    /// A lane, a warp or several for a segment, in the fixed order.
    FixedSegments,
}

/// Of what is to be reduced, what the choice depends on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// Where the rows are.
    pub matrix: Matrix,
    /// What becomes one result.
    pub along: Along,
    /// The order that the values are combined in.
    pub mode: Mode,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Bytes of a state.
    pub state_bytes: usize,
    /// Values that a vector has.
    pub lanes: usize,
    /// The most threads of a block that reduces columns.
    pub most_threads: u32,
    /// How many of those blocks a multiprocessor has room for.
    pub resident: u32,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

/// Bytes of a vector, which one load brings.
const VECTOR: usize = 16;
/// Bytes that a thread has under way at once: four vectors.
const THREAD_BYTES: usize = 4 * VECTOR;

/// Threads of a block that reduces a row or a part of one.
#[derive(Clone, Copy)]
struct LongRows {
    /// Where a row has several blocks.
    block: u32,
    /// The blocks of the grid for each multiprocessor, where a row has several.
    per_multiprocessor: usize,
    /// Where a row has one block, and where that row is at most [`LONG_OF_ONE`] bytes long.
    block_of_one: [u32; 2],
}

/// Of operators that do little for a value, like the sum of `f32`. A grid has as many blocks as run at once eight times, so that the
/// last to end keep no multiprocessor waiting for long.
const LITTLE_WORK: LongRows = LongRows {
    block: 512,
    per_multiprocessor: 32,
    block_of_one: [512, 256],
};

/// Of the others, which do best with few blocks that go on for long.
const MUCH_WORK: LongRows = LongRows {
    block: 256,
    per_multiprocessor: 6,
    block_of_one: [128, 128],
};

/// Bytes of the rows of which a block of 512 threads has too little to do.
const LONG_OF_ONE: usize = 1 << 15;
/// Blocks on each multiprocessor for a single row.
const BLOCKS_OF_ONE_ROW: usize = 4;

/// The longest rows that a warp or less of it reduces, in bytes, and those that go through shared memory if they don't begin at vectors.
/// Longer ones have blocks of their own.
const LONGEST_PACKED: usize = 512;
const LONGEST_OF_WARP: usize = 8192;
/// A lane of a warp reduces four vectors of a row of at most so many vectors, and eight of a longer one.
const FEW_VECTORS: usize = 16;
/// Blocks of warps on each multiprocessor, which go on from row to row where rows are shorter than a thread's four vectors, or packed. There
/// are as many as needed for other rows.
const BLOCKS_OF_WARPS: usize = 32;
const BLOCKS_OF_PACKED: usize = 16;
const BLOCK_OF_WARPS: u32 = 256;

/// The most blocks of a grid; they go on from row to row.
const MOST_BLOCKS: usize = 1 << 20;

impl Problem {
    /// The launch for these rows or columns, of which there is at least one.
    pub fn choose(&self) -> Launch {
        match (self.along, self.mode) {
            (Along::Columns, Mode::Fast) => self.choose_for_columns(),
            (Along::Columns, Mode::Deterministic) => self.choose_for_columns_in_order(),
            (Along::Rows, Mode::Fast) => self.choose_for_rows(),
            (Along::Rows, Mode::Deterministic) => self.choose_in_order(),
        }
    }

    fn choose_for_rows(&self) -> Launch {
        let Matrix {
            rows,
            columns,
            stride,
        } = self.matrix;
        let bytes = columns * self.value_bytes;
        let begins_at_vectors = bytes.is_multiple_of(VECTOR) || VECTOR.is_multiple_of(bytes.max(1));
        if stride == columns && rows > 1 && bytes <= LONGEST_PACKED && !begins_at_vectors {
            const { assert!(LONGEST_PACKED <= PACKED_BYTES && BLOCK_OF_WARPS <= PACKED_BLOCK) };
            return self.of_warps(Way::Packed, (PACKED_BYTES / bytes).max(1), BLOCKS_OF_PACKED);
        }
        if bytes <= LONGEST_OF_WARP {
            let vectors = bytes.div_ceil(VECTOR);
            let of_lane = if vectors <= FEW_VECTORS { 4 } else { 8 };
            let lanes = vectors.div_ceil(of_lane).next_power_of_two().min(32);
            let most = if bytes < THREAD_BYTES {
                BLOCKS_OF_WARPS
            } else {
                MOST_BLOCKS
            };
            return self.of_warps(Way::Lanes(lanes as u32), 32 / lanes, most);
        }
        let does_little = self.value_bytes >= 4 && self.state_bytes <= self.value_bytes;
        let measured = if does_little { LITTLE_WORK } else { MUCH_WORK };
        let multiprocessors = self.multiprocessors as usize;
        let blocks = match rows {
            1 if does_little => BLOCKS_OF_ONE_ROW,
            _ => measured.per_multiprocessor,
        };
        let batches = bytes.div_ceil(measured.block as usize * THREAD_BYTES);
        let parts = (blocks * multiprocessors).div_ceil(rows).min(batches);
        Launch {
            way: Way::Blocks(parts as u32),
            blocks: rows.saturating_mul(parts).min(MOST_BLOCKS) as u32,
            block: match parts {
                1 => measured.block_of_one[usize::from(bytes <= LONG_OF_ONE)],
                _ => measured.block,
            },
        }
    }

    fn choose_for_columns(&self) -> Launch {
        let Matrix {
            rows,
            columns,
            stride,
        } = self.matrix;
        let block = self.most_threads;
        let blocks = self.resident * self.multiprocessors;
        let layout = Layout::new(self.lanes, rows, columns, stride, block, blocks);
        Launch {
            way: Way::Columns(layout),
            blocks: layout.grid(self.lanes, columns) as u32,
            block,
        }
    }

    fn choose_in_order(&self) -> Launch {
        let Matrix { rows, columns, .. } = self.matrix;
        if columns <= fixed::SHORT {
            let lanes = columns.next_power_of_two().min(32);
            return self.of_warps(Way::FixedLanes(lanes as u32), 32 / lanes, BLOCKS_OF_WARPS);
        }
        Launch {
            way: Way::FixedBlocks,
            blocks: rows
                .saturating_mul(columns.div_ceil(fixed::CHUNK))
                .min(MOST_BLOCKS) as u32,
            block: fixed::BLOCK,
        }
    }

    fn choose_for_columns_in_order(&self) -> Launch {
        let Matrix { rows, columns, .. } = self.matrix;
        let strips = Strips::new(columns);
        let chunks = rows.div_ceil(fixed::CHUNK).max(1);
        Launch {
            way: Way::FixedColumns(strips),
            blocks: strips
                .count(columns)
                .saturating_mul(chunks)
                .min(MOST_BLOCKS) as u32,
            block: fixed::BLOCK,
        }
    }

    /// Blocks of warps that take so many rows at once, and at most so many of them for each multiprocessor.
    fn of_warps(&self, way: Way, rows_of_warp: usize, most: usize) -> Launch {
        let rows_of_block = rows_of_warp * (BLOCK_OF_WARPS / 32) as usize;
        let needed = self.matrix.rows.div_ceil(rows_of_block);
        Launch {
            way,
            blocks: needed
                .min(most.saturating_mul(self.multiprocessors as usize))
                .min(MOST_BLOCKS) as u32,
            block: BLOCK_OF_WARPS,
        }
    }
}

/// The launch for segments whose values and ends are so many steps together. In any order: as many warps as there are tiles, and no more
/// blocks than run at once. In the fixed one: a warp for 32 segments, or for what begins in a chunk of values.
#[doc(hidden)]
pub fn choose_for_segments(
    mode: Mode,
    (count, values): (usize, usize),
    tile: usize,
    multiprocessors: u32,
) -> Launch {
    let warps_of_block = (segments::THREADS / 32) as usize;
    let (way, warps, most) = match mode {
        Mode::Fast => {
            let tiles = count.saturating_add(values).div_ceil(tile);
            (Way::Segments, tiles, segments::RESIDENT as usize)
        }
        Mode::Deterministic => {
            let warps = count.div_ceil(32).max(values.div_ceil(fixed::CHUNK));
            (Way::FixedSegments, warps, BLOCKS_OF_WARPS)
        }
    };
    Launch {
        way,
        blocks: warps
            .div_ceil(warps_of_block)
            .clamp(1, most * multiprocessors as usize) as u32,
        block: segments::THREADS,
    }
}

/// The grid and the block for the part of an array that one of several devices has: as for a single long row.
pub(crate) fn choose_for_part(problem: &Problem) -> Grid {
    match problem.choose() {
        Launch {
            way: Way::Blocks(_),
            blocks,
            block,
        } => Grid { blocks, block },
        _ => Grid {
            blocks: 1,
            block: BLOCK_OF_WARPS,
        },
    }
}

/// The grid and the block for the pairs of two arrays: in any order as for a single row of as many bytes.
pub(crate) fn choose_for_pairs(
    mode: Mode,
    n: usize,
    value_bytes: usize,
    multiprocessors: u32,
) -> Grid {
    match mode {
        Mode::Fast => {
            let batch = LITTLE_WORK.block as usize * THREAD_BYTES;
            let batches = (2 * n * value_bytes).div_ceil(batch);
            Grid {
                blocks: batches.clamp(1, BLOCKS_OF_ONE_ROW * multiprocessors as usize) as u32,
                block: LITTLE_WORK.block,
            }
        }
        Mode::Deterministic => Grid {
            blocks: n.div_ceil(fixed::CHUNK).clamp(1, MOST_BLOCKS) as u32,
            block: fixed::BLOCK,
        },
    }
}

/// Blocks, and threads of each.
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) block: u32,
}
