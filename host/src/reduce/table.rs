//! Which kernel reduces which shape, in how many blocks: as data.

use super::choice::{
    Choice, Gpu, MULTIPROCESSORS, THREADS_OF_COLUMNS, Work, line_of, of_shape, of_single,
};
use super::measured::TUNED;
use crate::device::Device;
use crate::matrix::{Along, Matrix};
use crate::sum::Mode;
use warpfold_device::columns::{LOADS, Layout, Limits};
use warpfold_device::fixed::{self, Strips};
use warpfold_device::rows::{PACKED_BYTES, are_aligned, rows_at_once};
use warpfold_device::segments;
use warpfold_device::vector::Kept;
use warpfold_emulator::Multiprocessor;
use warpfold_emulator::limits::SHARED_BYTES_WITHOUT_ASKING;

/// A launch of one of the kernels that `warpfold_device::reductions!` makes of an operator.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub way: Way,
    /// Blocks of the grid; of the rows of several matrices, those for each of them.
    pub blocks: u32,
    /// Threads of a block.
    pub block: u32,
}

impl Launch {
    /// This launch for so many rows, which are aligned or not: a block for each row may be of either kernel until that is known.
    pub(super) fn of_rows(self, rows: usize, are_aligned: bool) -> Self {
        match self.way {
            Way::Whole(_) if are_aligned && self.blocks as usize == rows => Self {
                way: Way::Aligned,
                ..self
            },
            Way::Whole(block) => Self {
                way: Way::Blocks(1),
                block,
                ..self
            },
            _ => self,
        }
    }

    /// Whether one launch may take the rows of several matrices, of so many values each: it may, if no two blocks share a row.
    pub(super) fn takes_matrices(self, columns: usize) -> bool {
        match self.way {
            Way::Blocks(parts) => parts == 1,
            Way::Whole(_) | Way::Lanes(_) | Way::FixedLanes(_) => true,
            Way::FixedBlocks => columns <= fixed::CHUNK,
            _ => false,
        }
    }

    /// Warps of the grid, where blocks have whole ones.
    pub(super) fn warps(self) -> usize {
        self.blocks as usize * (self.block / 32) as usize
    }
}

/// What reduces a row or a column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// This many blocks for a row.
    Blocks(u32),
    /// All blocks for a single row that the L2 cache does not hold, of which so many sixteenths are to stay there; see
    /// [`Kept`](warpfold_device::vector::Kept).
    Large(u32),
    /// A block for each row: [`Self::Aligned`] where the rows turn out to be, else [`Self::Blocks`] of this many threads.
    Whole(u32),
    /// A block for each row; the rows [are aligned](warpfold_device::rows::are_aligned).
    Aligned,
    /// This many lanes of a warp, a power of two.
    Lanes(u32),
    /// A warp takes as many rows as its tile in shared memory holds; they lie side by side.
    Packed,
    /// Threads side by side, each for the columns of a vector.
    Columns(Layout),
    /// A block for each chunk of a row, in the fixed order.
    FixedBlocks,
    /// This many lanes for a short row, in the fixed order.
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
    /// How many such matrices there are.
    pub matrices: usize,
    /// What becomes one result.
    pub along: Along,
    /// The order that the values are combined in.
    pub mode: Mode,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// How much work it is for each value.
    pub work: Work,
    /// Values that a vector has.
    pub lanes: usize,
    /// How large the blocks are that reduce columns.
    pub limits: Limits,
    /// The device's properties.
    pub gpu: Gpu,
    /// The bytes of its L2 cache; 0 where there is none.
    pub l2_bytes: u64,
}

/// Bytes of a vector, which one load brings.
const VECTOR: usize = 16;
/// The longest rows that lanes of a warp reduce if their bytes are no power of two.
const LONGEST_OF_WARP: usize = 8192;
/// A lane of a warp reduces four vectors of such a row if it has at most this many vectors, and eight of a longer one.
const FEW_VECTORS: usize = 16;
/// The threads of a block whose warps take rows of their own.
const BLOCK_OF_WARPS: u32 = 256;
/// The fewest blocks of each multiprocessor for columns of few rows, if each is to have more than one warp.
const BLOCKS_OF_FEW_ROWS: usize = 8;

/// The most blocks of each multiprocessor, where lanes of warps reduce rows or segments in the fixed order.
const BLOCKS_OF_WARPS: usize = 32;

/// How many threads of the kernel for any rows a multiprocessor has registers for. It has them for twice as many of the kernel for aligned
/// rows, with which the tables are measured.
const THREADS_OF_ANY: usize = 1024;
/// The fewest threads of a block of the kernel for any rows, where there is a block for each row.
const FEWEST_OF_ANY: u32 = 64;
/// The fewest threads of a block for a single row that the L2 cache does not hold.
const FEWEST_OF_LARGE: u32 = 512;

/// The most blocks of a grid; they go on from row to row.
const MOST_BLOCKS: usize = 1 << 20;

impl Gpu {
    pub(crate) fn of(device: &Device) -> Self {
        Self {
            multiprocessors: device.multiprocessors(),
            bytes_per_second: device.memory_bytes_per_second().map(|peak| peak as f64),
        }
    }
}

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
        let Matrix { rows, columns, .. } = self.matrix;
        let what = (self.work, self.value_bytes);
        let bytes = columns * self.value_bytes;
        let choice = if rows == 1 && self.matrices == 1 {
            let (block, blocks) = of_single(TUNED, what, bytes, self.gpu);
            Choice::Shared { block, blocks }
        } else {
            self.of_rows(bytes)
        };
        choice.launch(self)
    }

    /// The rows of all matrices.
    fn all_rows(&self) -> usize {
        self.matrix.rows.saturating_mul(self.matrices)
    }

    /// How rows of this many bytes are shared out: as was measured of as many bytes in all, or, of rows that are unlike those, by a rule.
    fn of_rows(&self, bytes: usize) -> Choice {
        let Matrix {
            columns, stride, ..
        } = self.matrix;
        let are_packed = stride == columns && self.matrices == 1;
        // The odd rows that were measured are not made of whole vectors. On an H200 sums of rows of 100 `f32`, which are, reached 94 % of the ceiling by the
        // rule and 81 by that table, and argmax 84 by the table and 70 by the rule.
        let are_by_rule = self.work == Work::Little && bytes.is_multiple_of(VECTOR);
        let is_odd_length = !bytes.is_power_of_two() && bytes <= LONGEST_OF_WARP;
        let are_odd = are_packed && is_odd_length && !are_by_rule;
        let measured = of_shape(
            TUNED,
            (self.work, self.value_bytes),
            |of| if are_odd { of.odd_rows } else { of.rows },
            bytes.saturating_mul(self.all_rows()),
            self.gpu,
        );
        // Rows of 3/2 · 2^n bytes were measured. Those of up to 17/16 · 2^n are nearer to half of that, by the ratio of the lengths.
        let nearest = if are_odd { bytes * 16 / 17 } else { bytes };
        let (_, choice) = line_of(measured, nearest, |line| line.0);
        let is_measured = are_odd || bytes.is_power_of_two() && (are_packed || bytes >= VECTOR);
        let can_be_packed = are_packed && (1..=PACKED_BYTES).contains(&bytes) && self.lanes > 1;
        match choice {
            Choice::Packed { .. } if is_measured && can_be_packed => choice,
            Choice::Lanes { .. } if is_measured => choice,
            Choice::Packed { .. } | Choice::Lanes { .. } if bytes <= LONGEST_OF_WARP => {
                let vectors = bytes.div_ceil(VECTOR);
                let of_lane = if vectors <= FEW_VECTORS { 4 } else { 8 };
                Choice::Lanes {
                    lanes: vectors.div_ceil(of_lane).next_power_of_two().min(32) as u32,
                    blocks: u32::MAX,
                }
            }
            _ => choice,
        }
    }

    /// How much of a single row of so many bytes is to stay in the L2 cache: half a cache full, if the row is up to eight times as large as the
    /// cache.
    ///
    /// Measured on an H200, whose cache has 60 MiB, in graphs of launches: half of it was kept, and three quarters partly evicted. A row of 64 MiB took
    /// 12.4 µs instead of 18.2, of 128 MiB 27.4 instead of 33.2, and of 256 MiB 59.0 instead of 62.6.
    fn kept(&self, bytes: usize) -> Kept {
        if bytes as u64 <= self.l2_bytes / 4 * 3 {
            return Kept::ALL;
        }
        match u64::from(Kept::ALL.0) * (self.l2_bytes / 2) / bytes as u64 {
            0 => Kept::ALL,
            sixteenths => Kept(sixteenths as u32),
        }
    }

    /// The launch for a single row of which so much is to stay in the L2 cache, where `launch` is best if nothing is: blocks of 512 threads at
    /// least, and no more of them than run at once.
    ///
    /// On an H200, argmax of 64 MiB in graphs took 14.3 µs by 256 blocks of 512 threads or 132 of 1024, and 18.4 by 512 of 256, as long as if nothing
    /// stayed. From memory, 256 blocks of 512 threads are as fast as 512 of 256. A likely reason is that the cache has two halves: each of few
    /// large blocks may be on the same multiprocessor in every launch, next to the half that has its values.
    fn of_large(&self, kept: Kept, launch: Launch) -> Launch {
        let block = launch.block.max(FEWEST_OF_LARGE);
        let threads = launch.blocks * launch.block;
        let at_once = self.gpu.multiprocessors * THREADS_OF_ANY as u32;
        Launch {
            way: Way::Large(kept.0),
            blocks: (threads.min(at_once) / block).max(1),
            block,
        }
    }

    fn choose_for_columns(&self) -> Launch {
        let Matrix { rows, columns, .. } = self.matrix;
        let what = (self.work, self.value_bytes);
        // Several matrices are shared out like one with all their columns.
        let bytes = (columns * self.value_bytes).saturating_mul(self.matrices);
        let all_bytes = bytes.saturating_mul(rows);
        let measured = of_shape(TUNED, what, |of| of.columns, all_bytes, self.gpu);
        let (_, choice) = line_of(measured, bytes, |line| line.0);
        self.in_one_wave(choice).launch(self)
    }

    /// Wider strips where there would be more than run at once, but not twice as many, if they are as wide as was measured: the last ones would run
    /// almost alone. Of the fastest launches that were measured, fewer than one in thirty have so many strips. Where a block is not wide enough for
    /// that, strips are narrower, so that more of them come one after another: argmax of 512 rows of 2^19 `f32` took 268 µs by 512 blocks on an H200, of which
    /// 396 run at once, and 257 by 1024.
    fn in_one_wave(&self, choice: Choice) -> Choice {
        let Choice::Columns { width, blocks } = choice else {
            return choice;
        };
        let vectors = self.matrix.columns.div_ceil(self.lanes);
        let strips = vectors
            .div_ceil(width as usize)
            .saturating_mul(self.matrices);
        let waves = strips as f64 / self.blocks_at_once() as f64;
        let width = if waves <= 1.0 || waves >= 2.0 {
            width
        } else if 2 * width <= self.limits.threads {
            2 * width
        } else {
            width / 2
        };
        Choice::Columns { width, blocks }
    }

    /// Blocks for columns that run at once.
    fn blocks_at_once(&self) -> usize {
        self.limits.resident as usize * self.gpu.multiprocessors as usize
    }

    /// Strips of about `width` threads for columns, and about this many blocks in all, of [`THREADS_OF_COLUMNS`].
    fn of_columns(&self, width: u32, blocks: usize) -> Launch {
        let Matrix {
            rows,
            columns,
            stride,
        } = self.matrix;
        let matrix = (rows, columns, stride);
        let block = if rows <= LOADS {
            self.block_of_few_rows()
        } else if self.matrices > 1 {
            self.block_of_small_matrix()
        } else {
            self.limits.threads
        };
        let blocks_of_each = |threads: usize| threads / block as usize / self.matrices;
        // Of a few more blocks than run at once, the last ones would run almost alone.
        let blocks = (
            blocks_of_each(blocks * THREADS_OF_COLUMNS as usize),
            blocks_of_each(self.blocks_at_once() * self.limits.threads as usize),
        );
        let limits = Limits {
            threads: block,
            ..self.limits
        };
        let layout = Layout::new(self.lanes, matrix, limits, width, blocks);
        let grid = layout.grid(self.lanes, rows, columns, stride, block);
        let blocks = grid.saturating_mul(self.matrices);
        Launch {
            way: Way::Columns(layout),
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            block,
        }
    }

    /// The threads of a block for one of several matrices: no more than have several vectors to load each.
    fn block_of_small_matrix(&self) -> u32 {
        let Matrix { rows, columns, .. } = self.matrix;
        let vectors = rows.saturating_mul(columns.div_ceil(self.lanes));
        let wanted = vectors.div_ceil(LOADS).next_power_of_two().max(32);
        wanted.min(self.limits.threads as usize) as u32
    }

    /// The threads of a block for columns of few rows, each warp of which works alone: fewer where there would be too few blocks to fill the GPU.
    fn block_of_few_rows(&self) -> u32 {
        let vectors = self.matrix.columns.div_ceil(self.lanes);
        let all = vectors.saturating_mul(self.matrices);
        let of_each = all / (BLOCKS_OF_FEW_ROWS * self.gpu.multiprocessors as usize);
        let wanted = of_each.min(vectors).next_power_of_two().max(32);
        wanted.min(self.limits.threads as usize) as u32
    }

    fn choose_in_order(&self) -> Launch {
        let Matrix { rows, columns, .. } = self.matrix;
        if columns <= fixed::SHORT {
            let lanes = columns.next_power_of_two().min(32);
            let most = BLOCKS_OF_WARPS * self.gpu.multiprocessors as usize;
            let way = Way::FixedLanes(lanes as u32);
            return self.of_warps(way, BLOCK_OF_WARPS, 32 / lanes, most);
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
                .saturating_mul(self.matrices)
                .min(MOST_BLOCKS) as u32,
            block: fixed::BLOCK,
        }
    }

    /// The threads of a block of the kernel for any rows, where `block` are best for aligned ones. If not all blocks run at once, half as many
    /// threads are faster: on an H200 sums of 2^14 rows of 2^14 took 242.2 µs by 256 threads and 312.8 by 1024, and aligned ones 240.8 by 1024.
    fn block_of_any(&self, block: u32) -> u32 {
        let at_once = self.gpu.multiprocessors as usize * THREADS_OF_ANY;
        if self.all_rows().saturating_mul(block as usize) <= at_once {
            return block;
        }
        (block / 2).max(FEWEST_OF_ANY)
    }

    /// Blocks of warps that each take `rows_of_warp` rows at once, and at most `most` of them; smaller ones for each of several matrices of few rows.
    fn of_warps(&self, way: Way, block: u32, rows_of_warp: usize, most: usize) -> Launch {
        let warps = self.matrix.rows.div_ceil(rows_of_warp);
        let most_threads = match self.matrices {
            1 => block as usize,
            _ => warps.next_power_of_two().saturating_mul(32),
        };
        let block = block.min(u32::try_from(most_threads).unwrap_or(u32::MAX));
        let needed = warps.div_ceil((block / 32) as usize);
        let most = (most / self.matrices).clamp(1, MOST_BLOCKS);
        Launch {
            way,
            blocks: needed.min(most) as u32,
            block,
        }
    }
}

/// As many blocks for this GPU, in proportion, as `blocks` are for one with [`MULTIPROCESSORS`].
fn in_proportion(blocks: u32, multiprocessors: u32) -> usize {
    let scaled = u64::from(blocks) * u64::from(multiprocessors);
    (scaled.div_ceil(MULTIPROCESSORS.into())).max(1) as usize
}

impl Choice {
    /// The launch that it comes to.
    #[doc(hidden)]
    pub fn launch(self, problem: &Problem) -> Launch {
        let Matrix {
            rows,
            columns,
            stride,
        } = problem.matrix;
        let bytes = columns * problem.value_bytes;
        match self {
            Self::Packed { block, blocks } => {
                let rows_of_warp = (PACKED_BYTES / bytes.max(1)).max(1);
                let most = in_proportion(blocks, problem.gpu.multiprocessors);
                problem.of_warps(Way::Packed, block, rows_of_warp, most)
            }
            Self::Lanes { lanes, blocks } => {
                let (way, most) = (
                    Way::Lanes(lanes),
                    in_proportion(blocks, problem.gpu.multiprocessors),
                );
                let may_be_aligned = are_aligned(problem.lanes, 0, (columns, stride));
                let at_once = if may_be_aligned {
                    rows_at_once(problem.lanes, columns, lanes)
                } else {
                    1
                };
                let rows_of_warp = 32 / lanes as usize * at_once;
                problem.of_warps(way, BLOCK_OF_WARPS, rows_of_warp, most)
            }
            Self::Columns { width, blocks } => {
                let blocks = in_proportion(blocks, problem.gpu.multiprocessors);
                problem.of_columns(width, blocks)
            }
            Self::Whole { block } => Launch {
                way: Way::Whole(problem.block_of_any(block)),
                blocks: rows.min(MOST_BLOCKS) as u32,
                block,
            },
            Self::Shared { block, blocks } => {
                let batches = bytes.div_ceil(block as usize * VECTOR);
                let wanted =
                    in_proportion(blocks, problem.gpu.multiprocessors).div_ceil(rows.max(1));
                let parts = wanted.clamp(1, batches.max(1));
                let launch = Launch {
                    way: Way::Blocks(parts as u32),
                    blocks: rows.saturating_mul(parts).min(MOST_BLOCKS) as u32,
                    block,
                };
                match problem.kept(bytes) {
                    kept if rows == 1 && kept != Kept::ALL => problem.of_large(kept, launch),
                    _ => launch,
                }
            }
        }
    }
}

/// What the launch for segments depends on besides them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormOfSegments {
    /// Values of a warp's tile.
    pub tile: usize,
    /// The most warps of a block.
    pub most_warps: u32,
    /// Bytes of shared memory for a block, and for each of its warps.
    pub bytes: (u32, u32),
}

/// What a device has room for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Blocks run on all of them at once.
    pub multiprocessors: u32,
    /// The most shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl Room {
    pub(super) fn of(device: &Device) -> Self {
        Self {
            multiprocessors: device.multiprocessors(),
            shared_bytes: Multiprocessor::of(device.sm())
                .map_or(SHARED_BYTES_WITHOUT_ASKING, |each| {
                    each.shared_bytes_per_block
                }),
        }
    }
}

/// The launch for `count` segments with `values` values together. In any order: a warp for each tile of steps of the path along values and
/// ends, where each end is the fewest steps that it may be, in a block for each multiprocessor and no more warps than run at once. In the fixed
/// one: a warp for 32 segments, or for what begins in a chunk of values.
#[doc(hidden)]
pub fn choose_for_segments(
    mode: Mode,
    (count, values): (usize, usize),
    form: FormOfSegments,
    room: Room,
) -> Launch {
    match mode {
        Mode::Fast => {
            let steps = count
                .saturating_mul(segments::FEWEST_STEPS_OF_END)
                .saturating_add(values);
            let warps = steps.div_ceil(form.tile);
            let (of_block, of_warp) = form.bytes;
            let most = form
                .most_warps
                .min(room.shared_bytes.saturating_sub(of_block) / of_warp)
                .max(1);
            let of_each = warps.div_ceil(room.multiprocessors as usize);
            let of_block = u32::try_from(of_each)
                .unwrap_or(u32::MAX)
                .clamp(FEW_WARPS.min(most), most);
            Launch {
                way: Way::Segments,
                blocks: warps
                    .div_ceil(of_block as usize)
                    .clamp(1, room.multiprocessors as usize) as u32,
                block: 32 * of_block,
            }
        }
        Mode::Deterministic => {
            let warps = count.div_ceil(32).max(values.div_ceil(fixed::CHUNK));
            Launch {
                way: Way::FixedSegments,
                blocks: warps
                    .div_ceil(FEW_WARPS as usize)
                    .clamp(1, BLOCKS_OF_WARPS * room.multiprocessors as usize)
                    as u32,
                block: 32 * FEW_WARPS,
            }
        }
    }
}

/// Warps of a block of few.
const FEW_WARPS: u32 = 4;

/// The launch for the part of an array that one of several devices has: as for a single long row of which nothing is to stay in the L2 cache.
pub(crate) fn choose_for_part(problem: &Problem) -> Launch {
    let problem = Problem {
        l2_bytes: 0,
        ..*problem
    };
    match problem.choose() {
        launch @ Launch {
            way: Way::Blocks(_),
            ..
        } => launch,
        _ => Launch {
            way: Way::Blocks(1),
            blocks: 1,
            block: BLOCK_OF_WARPS,
        },
    }
}

/// What the launch for the pairs of two arrays depends on: in any order it is that for a single row of as many bytes.
#[doc(hidden)]
pub fn problem_of_pairs(device: &Device, mode: Mode, n: usize, value_bytes: usize) -> Problem {
    Problem {
        matrix: Matrix::contiguous(1, 2 * n),
        matrices: 1,
        along: Along::Rows,
        mode,
        value_bytes,
        work: Work::Pairs,
        // What follows is for columns.
        lanes: 1,
        limits: Limits {
            threads: 1,
            rows: usize::MAX,
            resident: 1,
        },
        gpu: Gpu::of(device),
        l2_bytes: device.l2_bytes(),
    }
}

/// The launch for the pairs of two arrays.
pub(crate) fn choose_for_pairs(
    device: &Device,
    mode: Mode,
    n: usize,
    value_bytes: usize,
) -> Launch {
    match mode {
        Mode::Fast => problem_of_pairs(device, mode, n, value_bytes).choose(),
        Mode::Deterministic => Launch {
            way: Way::FixedBlocks,
            blocks: n.div_ceil(fixed::CHUNK).clamp(1, MOST_BLOCKS) as u32,
            block: fixed::BLOCK,
        },
    }
}

#[cfg(test)]
mod tests;
