//! Reductions of the rows of a matrix: for long rows, for shorter ones, and for short ones that lie side by side.
//!
//! | function | a row is reduced by | rows | reads |
//! |---|---|---|---|
//! | [`by_blocks`] | one block, or several that take a turn each | long; few, if they are very long | vectors, with heads and tails |
//! | [`aligned`] | one block | long, each of whole vectors | vectors alone |
//! | [`by_lanes`] | 1 to 32 lanes of a warp | of some vectors | vectors, with heads and tails; of one or two vectors for each lane, several rows at once |
//! | [`packed`] | 1 to 32 lanes, out of shared memory | of any number of elements, up to a tile, without gaps | vectors, whatever the length of a row |
//!
//! All give the same results up to the grouping of a row's values. Indices and counts are those within the row.

use crate::block::{self, Memory, Scratch};
use crate::grid::{Part, Turn};
use crate::lanes::{WARP_SIZE, sync_lanes};
use crate::operator::Operator;
use crate::slots::Slots;
use crate::thread::{
    block_dim_x, block_idx_x, block_idx_x_from_here_on, block_idx_y, global_index, grid_dim_x,
    sync_threads, thread_idx_x, wait_for_earlier_launches,
};
use crate::tile::{self, Bytes, Section, Tile};
use crate::unroll::{array, each};
use crate::vector::{self, Kept, Loaded, Quad, Share};

/// Vectors that a thread loads before it uses the first.
const LOADS: usize = 4;

/// Where the rows of a matrix lie: row r is `columns` values from `input + r · stride` on.
#[derive(Clone, Copy, Debug)]
pub struct Rows<T> {
    /// The first value of the first row.
    pub input: *const T,
    /// How many rows.
    pub rows: usize,
    /// How many values each has.
    pub columns: usize,
    /// The distance of two rows in values.
    pub stride: usize,
}

/// Matrices of one shape that a launch reduces the columns of, each `distance` values after the one before, which may be less than a matrix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The blocks of each matrix: those of the grid, if there is one.
    pub blocks: u32,
    /// From the first value of a matrix to that of the next.
    pub distance: usize,
}

impl Batch {
    /// Which matrix this block has, and which of the matrix's blocks it is. That is found where the call stands, and not kept for the next: where values
    /// are loaded there is hardly a register left.
    #[inline(always)]
    pub(crate) fn of_block(self) -> (u32, u32) {
        let index = block_idx_x_from_here_on();
        if self.blocks == grid_dim_x() {
            (0, index)
        } else {
            (index / self.blocks, index % self.blocks)
        }
    }
}

impl<T> Rows<T> {
    /// Of matrices like this one, each `distance` values after the one before, that of this block's row of blocks, and where its results are: one for
    /// each row of each matrix.
    #[inline(always)]
    pub fn of_blocks<R>(self, distance: usize, results: *mut R) -> (Self, *mut R) {
        let number = block_idx_y() as usize;
        let input = self.input.wrapping_add(number * distance);
        let results = results.wrapping_add(number * self.rows);
        (Self { input, ..self }, results)
    }
}

impl<T: Loaded> Rows<T> {
    /// Whether the rows [are aligned](are_aligned).
    #[inline(always)]
    pub fn is_aligned(&self) -> bool {
        are_aligned(T::LANES, self.input as usize, (self.columns, self.stride))
    }
}

/// Whether each row begins at a multiple of 16 bytes and is made of whole vectors, each of several values: of `lanes`. `input` is the
/// address of the first row, and a row has `columns` values, `stride` after the one before.
#[inline(always)]
pub fn are_aligned(lanes: usize, input: usize, (columns, stride): (usize, usize)) -> bool {
    lanes > 1
        && columns.is_multiple_of(lanes)
        && stride.is_multiple_of(lanes)
        && input.is_multiple_of(size_of::<Quad>())
}

/// Reduces each row by a block at a time, or by `parts` blocks, of which the one that began last finishes the row.
///
/// For a row: its vectors, one barrier of the block's reduction and one before the next row. With several parts also what a [`Turn`] costs. A
/// [`Scratch`] is faster here than raking: sums of 2^18 bytes of `f64` take 1.78 µs in graphs on an H200, and took 1.95 raked.
///
/// # Safety
/// - Every thread of the grid makes the call, once, those of a row of blocks with the same arguments. A block has no more threads than `scratch` is for, and `parts` is
///   not 0.
/// - Nothing writes the rows; `results` points to one result per row, which nothing else touches.
/// - With more than one part, `slots` points to those of a state for each part of each row, all empty, and `counters` to a word per row that
///   is 0; nothing else touches them. They are so again afterwards.
#[inline(always)]
pub unsafe fn by_blocks<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    parts: u32,
    slots: *mut u64,
    counters: *mut u32,
    results: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    let blocks = Share::of_blocks();
    let mut place = blocks.rank;
    if place >= matrix.rows * parts as usize {
        return wait_for_earlier_launches();
    }
    while place < matrix.rows * parts as usize {
        // A division of 64 bits takes longer than a load.
        let (row, part) = if parts == 1 {
            (place, 0)
        } else if place < parts as usize {
            (0, place as u32)
        } else {
            (place / parts as usize, (place % parts as usize) as u32)
        };
        let share = Share {
            rank: part as usize * block_dim_x() as usize + thread_idx_x() as usize,
            of: parts as usize * block_dim_x() as usize,
        };
        // SAFETY: the caller's promise; there is a barrier between two uses of the scratch memory.
        unsafe {
            let slots = Slots::new(slots, matrix.rows * parts as usize);
            let part = Part {
                rank: part,
                of: parts,
            };
            let counter = counters.wrapping_add(row);
            let begin = || Turn::draw(part, slots, row * parts as usize, counter);
            let values = (matrix.input.add(row * matrix.stride), matrix.columns, 0);
            let (turn, mine) =
                vector::fold_after::<LOADS, T, O, _>(operator, values, share, Kept::ALL, begin);
            if let Some(state) = turn.reduce(operator, mine, matrix.columns as u64, scratch) {
                *results.add(row) = operator.finish(state, matrix.columns as u64);
            }
        }
        sync_threads();
        place += blocks.of;
    }
}

/// Reduces each row by a block of its own, where the rows [are aligned](are_aligned).
///
/// As [`by_blocks`], but without what other rows need: of a sum of `f32`, a block has 41 instructions before its first load instead of 148, and
/// a thread 32 registers instead of 61, so that twice as many blocks run at once (compiled for sm_90).
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. The grid has a block for each row, and the size of a block is a
///   multiple of 32, `BLOCK` at most.
/// - The rows are aligned, and nothing writes them; `results` points to one result per row, which nothing else touches.
#[inline(always)]
pub unsafe fn aligned<T: Loaded, O: Operator<T>, const BLOCK: u32>(
    operator: O,
    matrix: Rows<T>,
    results: *mut O::Output,
    scratch: Scratch<O::State, BLOCK>,
) {
    let (row, columns) = (block_idx_x() as usize, matrix.columns);
    wait_for_earlier_launches();
    // SAFETY: the caller's promise.
    unsafe {
        let values = matrix.input.add(row * matrix.stride);
        let mine =
            vector::fold_aligned::<LOADS, T, O>(operator, values, columns, Share::of_block());
        let state = block::reduce_whole_warps(operator, mine, scratch);
        if thread_idx_x() == 0 {
            *results.add(row) = operator.finish(state, columns as u64);
        }
    }
}

/// Reduces each row by `lanes` neighbouring lanes of a warp, without shared memory and without a barrier.
///
/// # Safety
/// - Every thread of the grid makes the call, once, those of a row of blocks with the same arguments. The size of a block is a multiple of 32, and `lanes` a power
///   of two up to 32.
/// - Nothing writes the rows; `results` points to one result per row, which nothing else touches.
#[inline(always)]
pub unsafe fn by_lanes<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    lanes: u32,
    results: *mut O::Output,
) {
    let group = Section::of(lanes);
    if matrix.is_aligned() {
        let rows = rows_at_once(T::LANES, matrix.columns, lanes);
        // SAFETY: the caller's promise; the rows are aligned.
        unsafe {
            if rows == LOADS {
                return several::<1, LOADS, T, O>(operator, matrix, group, results);
            }
            if rows == LOADS / 2 {
                return several::<2, { LOADS / 2 }, T, O>(operator, matrix, group, results);
            }
        }
    }
    let at_once = (WARP_SIZE / lanes) as usize;
    let warps = Share::of_grid().of / WARP_SIZE as usize;
    // The first row of the warp, so that all its lanes go on as long as one has a row.
    let mut first = global_index() / WARP_SIZE as usize * at_once;
    while first < matrix.rows {
        let row = first + group.index as usize;
        let share = Share {
            rank: group.rank as usize,
            of: lanes as usize,
        };
        // SAFETY: the caller's promise; the whole warp makes the calls, each lane for a row that there is.
        unsafe {
            let mine = if row < matrix.rows {
                let values = matrix.input.add(row * matrix.stride);
                vector::fold::<LOADS, T, O>(operator, values, matrix.columns, 0, share)
            } else {
                operator.identity()
            };
            let state = group.reduce(operator, mine);
            if group.rank == 0 && row < matrix.rows {
                *results.add(row) = operator.finish(state, matrix.columns as u64);
            }
        }
        first += warps * at_once;
    }
}

/// How many rows [`by_lanes`] takes at once with each section of so many lanes, if they [are aligned](are_aligned): several of one or two vectors for each
/// lane. Such a vector has `lanes_of_vector` values, and a row `columns`.
#[inline(always)]
pub const fn rows_at_once(lanes_of_vector: usize, columns: usize, lanes: u32) -> usize {
    let at_once = lanes as usize * lanes_of_vector;
    if columns == at_once {
        LOADS
    } else if columns == 2 * at_once {
        LOADS / 2
    } else {
        1
    }
}

/// Reduces rows of `VECTORS` vectors for each lane of a section, which loads `ROWS` of them before it uses the first.
///
/// # Safety
/// As for [`by_lanes`]; every row begins at a multiple of 16 bytes.
#[inline(always)]
unsafe fn several<const VECTORS: usize, const ROWS: usize, T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    group: Section,
    results: *mut O::Output,
) {
    let at_once = (WARP_SIZE / group.lanes) as usize;
    let warps = Share::of_grid().of / WARP_SIZE as usize;
    let last = matrix.rows.wrapping_sub(1);
    let step = group.lanes as usize * T::LANES;
    let mine = group.rank as usize * T::LANES;
    let mut first = global_index() / WARP_SIZE as usize * at_once * ROWS;
    while first < matrix.rows {
        let row = |number: usize| first + number * at_once + group.index as usize;
        // SAFETY: the caller's promise; the whole warp makes the calls. Beyond the last row that one is loaded once more, so that all
        // loads are under way together.
        unsafe {
            let rows = array::<_, ROWS>(
                #[inline(always)]
                |number| {
                    let row = if row(number) < last {
                        row(number)
                    } else {
                        last
                    };
                    let values = matrix.input.add(row * matrix.stride + mine);
                    array::<T::Vector, VECTORS>(
                        #[inline(always)]
                        |vector| *values.add(vector * step).cast(),
                    )
                },
            );
            let states = array::<O::State, ROWS>(
                #[inline(always)]
                |number| {
                    let mut state = T::lift(operator, rows[number][0], mine as u64);
                    each(
                        VECTORS - 1,
                        #[inline(always)]
                        |before| {
                            let index = (before + 1) * step + mine;
                            let vector = rows[number][before + 1];
                            state = T::accumulate(operator, state, [vector], index as u64, 0);
                        },
                    );
                    state
                },
            );
            let states = group.reduce_each(operator, states);
            each(
                ROWS,
                #[inline(always)]
                |number| {
                    if group.rank == 0 && row(number) < matrix.rows {
                        *results.add(row(number)) =
                            operator.finish(states[number], matrix.columns as u64);
                    }
                },
            );
        }
        first += warps * at_once * ROWS;
    }
}

/// Vectors that a warp keeps in shared memory, and with the gaps between them.
const TILE: usize = tile::VECTORS;
const TILE_WITH_GAPS: usize = TILE + TILE / 8;

/// The bytes of the longest row that [`packed`] reduces: a tile of a warp holds it wherever it begins.
pub const PACKED_BYTES: usize = (TILE - 1) * size_of::<Quad>();

/// The most threads of a block of [`packed`], each warp of which has a tile.
pub const PACKED_BLOCK: u32 = 256;

/// The vectors of the shared memory of [`packed`].
pub const PACKED_VECTORS: usize = TILE_WITH_GAPS * (PACKED_BLOCK / WARP_SIZE) as usize;

/// Reduces rows that lie side by side, through shared memory.
///
/// Each warp copies as many rows as a tile holds, in vectors, whatever the length of a row; then a row is reduced by one lane, or, where
/// a tile holds fewer rows than 32, by as many as keep three quarters of the warp busy at least. After every eight vectors of a tile a gap of one spreads the
/// rows over the banks. No barrier of the block.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. The size of a block is a multiple of 32 up to [`PACKED_BLOCK`].
/// - `input` points to `rows · columns` values that nothing writes; a row has at least one, and [`PACKED_BYTES`] bytes at most. `results`
///   points to one result per row, which nothing else touches.
/// - `tiles` points to [`PACKED_VECTORS`] vectors in shared memory, which the block uses for nothing else.
#[inline(always)]
pub unsafe fn packed<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    rows: usize,
    columns: usize,
    results: *mut O::Output,
    tiles: *mut Quad,
) {
    // Values that go over the bounds of vectors.
    if T::LANES == 1 || !(input as usize).is_multiple_of(size_of::<T>()) {
        let matrix = Rows {
            input,
            rows,
            columns,
            stride: columns,
        };
        // SAFETY: the caller's promise.
        return unsafe { by_lanes(operator, matrix, 1, results) };
    }
    let columns = columns as u32;
    let row_bytes = columns * size_of::<T>() as u32;
    let is_aligned = (input as usize | row_bytes as usize).is_multiple_of(size_of::<Quad>());
    let room = (TILE as u32 - u32::from(!is_aligned)) * size_of::<Quad>() as u32;
    let fits = room / row_bytes;
    // As few lanes for a row as leave no more than a quarter of the warp idle.
    let mut lanes = 1;
    while fits * lanes < WARP_SIZE / 4 * 3 {
        lanes *= 2;
    }
    // What is left after the rows that all lanes reduce together is worth a round of its own if three quarters of the lanes take part.
    let at_once = WARP_SIZE / lanes;
    let left = fits % at_once;
    let of_tile = if 4 * left >= 3 * at_once {
        fits
    } else {
        fits - left
    };

    let group = Section::of(lanes);
    let lane = thread_idx_x() % WARP_SIZE;
    let tile = Tile::<true> {
        // SAFETY: the caller's promise: there is one for each warp of the block.
        vectors: unsafe { tiles.add((thread_idx_x() / WARP_SIZE) as usize * TILE_WITH_GAPS) },
    };
    let whole = Bytes {
        start: input as usize,
        end: input as usize + rows * row_bytes as usize,
    };
    let warps = Share::of_grid().of / WARP_SIZE as usize;
    let mut first = global_index() / WARP_SIZE as usize * of_tile as usize;
    while first < rows {
        let left = rows - first;
        let count = if left < of_tile as usize {
            left as u32
        } else {
            of_tile
        };
        let start = whole.start + first * row_bytes as usize;
        // SAFETY: the caller's promise; `count` rows fit into the tile after what comes before them in their first vector. The whole warp
        // makes the calls, and waits for itself between the writes of the tile and the reads, both ways.
        unsafe {
            let shift = tile.fill::<T>(start, count * row_bytes, whole, lane);
            sync_lanes(u32::MAX);

            let mut row = group.index;
            // The same number of rounds in each lane.
            let mut of_warp = 0;
            while of_warp < count {
                let mine = if row < count {
                    let offset = shift + row * row_bytes;
                    tile.fold_row::<T, O>(operator, offset, columns, is_aligned, group)
                } else {
                    operator.identity()
                };
                let state = group.reduce(operator, mine);
                if group.rank == 0 && row < count {
                    *results.add(first + row as usize) = operator.finish(state, u64::from(columns));
                }
                row += WARP_SIZE / lanes;
                of_warp += WARP_SIZE / lanes;
            }
            sync_lanes(u32::MAX);
        }
        first += warps * of_tile as usize;
    }
}
