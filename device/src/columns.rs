//! Reductions of the columns of a matrix, whose rows lie one after another.
//!
//! Each thread loads vectors of 16 bytes, and keeps a state for each of the columns that a vector covers. The neighbours of a thread have
//! the neighbouring columns, so that a warp loads adjacent memory; the rows are shared by the rows of threads of a block, and by several
//! blocks if there are few columns. [`Layout`] says how.
//!
//! *Narrow matrices are folded.* Where rows lie side by side and a block is wider than one, several of them are taken as one long row, in
//! which the columns repeat. A matrix of 3 columns is loaded as fast as an array, and a row may begin anywhere.
//!
//! *Few rows are taken side by side.* Of two or three rows a thread loads vectors of every row before it uses the first, and hands the
//! results through shared memory, so that a warp writes neighbours. Of one row each lane loads single values and writes their results:
//! results may be larger than values. Where only the place counts, the compiler leaves the loads out.
//!
//! Other rows whose distance is no multiple of 16 bytes are loaded value by value, by neighbouring lanes from adjacent places.

use crate::lanes::{WARP_SIZE, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator, combine_all};
use crate::rows::Rows;
use crate::thread::{
    block_dim_x, block_idx_x, global_index, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x,
};
use crate::unroll::{array, each};
use crate::vector::{self, Loaded};

/// Rows that a thread loads from before it uses the first vector.
const LOADS: usize = 4;
/// The most values that a vector has.
const MOST_LANES: usize = 16;
/// The most blocks of a grid that shares strips, in numbers of those that run at once.
const MOST_ROUNDS: usize = 4;
/// States of other blocks that a thread loads before it uses the first, of up to 8 bytes, and of more.
const SMALL_STATES: usize = 16;
const LARGE_STATES: usize = 8;
/// Bytes of vectors.
const BYTES: usize = 16;
/// Bytes of shared memory for the states of a block.
const STAGE_BYTES: usize = 32 << 10;

/// The most threads of a block, a multiple of 32: as many as have room for their states in 32 KiB of shared memory, up to 256.
pub const fn most_threads<T: Loaded, O: Operator<T>>() -> u32 {
    let bytes = T::LANES * size_of::<O::State>();
    let threads = match STAGE_BYTES.checked_div(bytes) {
        Some(threads) => threads,
        None => 256,
    };
    if threads >= 256 {
        256
    } else {
        threads as u32 / 32 * 32
    }
}

/// Blocks that are to fit on a multiprocessor, which leaves a thread 80 registers; 255 where its states alone would
/// take most of those.
///
/// As many blocks, on each multiprocessor, are a good grid.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    if T::LANES * size_of::<O::State>() <= 64 {
        768 / most_threads::<T, O>()
    } else {
        256 / most_threads::<T, O>()
    }
}

/// The states that a block of [`most_threads`] has room for.
pub const fn stage_length<T: Loaded, O: Operator<T>>() -> usize {
    most_threads::<T, O>() as usize * T::LANES
}

/// How the blocks and their threads lie over a matrix.
///
/// A block has `width` threads side by side, and as many such rows of threads as fit into it. They cover a strip of columns, one vector
/// wide for each thread; `slices` blocks share the rows of a strip, and the last of them to come finishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many threads of a block are side by side.
    pub width: u32,
    /// How many rows are taken as one: 1, or more where rows lie side by side.
    pub fold: u32,
    /// How many blocks share a strip.
    pub slices: u32,
}

impl Layout {
    /// The layout for a matrix of vectors of `lanes` values: blocks of `block` threads, at least 32, and about as many of them as
    /// `blocks` if the strips are fewer.
    pub const fn new(
        lanes: usize,
        rows: usize,
        columns: usize,
        stride: usize,
        block: u32,
        blocks: u32,
    ) -> Self {
        let (block, most) = (block as usize, block as usize * lanes);
        // As many rows as make whole vectors.
        let mut unit = lanes;
        while unit > 1 && (unit / 2 * columns).is_multiple_of(lanes) {
            unit /= 2;
        }
        let folded = if stride == columns && columns > 0 {
            most / columns / unit * unit
        } else {
            0
        };
        // Whole vectors of single rows are as good, and leave no threads over.
        let fold = if folded > 1 && (unit > 1 || columns < 32 * lanes) {
            folded
        } else {
            1
        };
        let vectors = columns.div_ceil(lanes);
        let width = if fold > 1 {
            fold * columns / lanes
        } else {
            let mut width = if block < 32 { block } else { 32 };
            // Few rows need no more rows of threads, and many columns no narrow strips.
            while 2 * width <= block
                && (block / width > rows || vectors / (2 * width) >= blocks as usize)
            {
                width *= 2;
            }
            width
        };
        let strips = if fold > 1 {
            1
        } else {
            columns.div_ceil(width * lanes)
        };
        let height = block / width;
        let shared = Shared {
            strips,
            lines: rows.div_ceil(fold).div_ceil(height),
            group: if fold > 1 { columns } else { width * lanes },
            block,
            blocks: if blocks == 0 { 1 } else { blocks as usize },
        };
        Self {
            width: width as u32,
            fold: fold as u32,
            slices: shared.slices() as u32,
        }
    }

    /// Columns of a strip; of a folded matrix, those of all rows that are taken as one.
    pub const fn span(self, lanes: usize) -> usize {
        self.width as usize * lanes
    }

    /// The number of strips.
    pub const fn strips(self, lanes: usize, columns: usize) -> usize {
        if self.fold > 1 {
            1
        } else {
            columns.div_ceil(self.span(lanes))
        }
    }

    /// The number of blocks of `block` threads.
    pub const fn grid(
        self,
        lanes: usize,
        rows: usize,
        columns: usize,
        stride: usize,
        block: u32,
    ) -> usize {
        let strips = self.strips(lanes, columns) * self.slices as usize;
        if self.takes_few_rows(lanes, rows, stride, block) {
            strips.div_ceil(vectors_of_few(lanes, rows))
        } else {
            strips
        }
    }

    /// Whether there are so few rows, one to three, that they are taken side by side.
    #[inline(always)]
    const fn takes_few_rows(self, lanes: usize, rows: usize, stride: usize, block: u32) -> bool {
        lanes > 1
            && rows > 0
            && rows < LOADS
            && self.width == block
            && block.is_multiple_of(WARP_SIZE)
            && self.fold == 1
            && (rows == 1 || stride.is_multiple_of(lanes))
    }

    /// How many states the blocks hand to each other, in global memory.
    pub const fn states(self, lanes: usize, columns: usize) -> usize {
        if self.slices > 1 {
            self.strips(lanes, columns) * self.slices as usize * self.span(lanes)
        } else {
            0
        }
    }
}

/// Strips that blocks share.
#[derive(Clone, Copy)]
struct Shared {
    strips: usize,
    /// Vectors that a thread loads where a strip has one block.
    lines: usize,
    /// The columns of a strip, each of which has a state in the end.
    group: usize,
    /// Threads of a block.
    block: usize,
    /// The blocks that run at once.
    blocks: usize,
}

impl Shared {
    /// How many blocks share a strip: those with which a thread waits least for memory.
    const fn slices(self) -> usize {
        if self.strips == 0 {
            return 1;
        }
        // Each thread is to have vectors enough to load several at once, and most blocks are to run at once.
        let of_lines = self.lines.div_ceil(LOADS);
        let of_blocks = MOST_ROUNDS * self.blocks / self.strips;
        let most = if of_lines < of_blocks {
            of_lines
        } else {
            of_blocks
        };
        // As many as run at once; others have to be better by a tenth.
        let at_once = self.blocks / self.strips;
        let mut best = if at_once <= 1 || at_once > most {
            1
        } else {
            at_once
        };
        let mut least = 9 * self.waits(best);
        let mut count = 1;
        while count <= most {
            if 10 * self.waits(count) < least {
                (best, least) = (count, 10 * self.waits(count));
            }
            count += 1 + count / 32;
        }
        best
    }

    /// About how many times the last thread to end has waited for memory, where this many blocks share a strip.
    const fn waits(self, slices: usize) -> usize {
        let rounds = (slices * self.strips).div_ceil(self.blocks);
        let lines = self.lines.div_ceil(slices);
        // Where few blocks load, several vectors at once take as long as one.
        let of_several = if 3 * slices * self.strips < self.blocks {
            1
        } else {
            2
        };
        let of_values = rounds * (lines / LOADS * of_several + lines % LOADS);
        if slices == 1 {
            return of_values;
        }
        // The ticket, and the states.
        of_values + 2 + (slices * self.group).div_ceil(LARGE_STATES * self.block)
    }
}

/// Vectors of each row that a thread loads before it uses the first, where it has so few rows whole. Vectors of 16 small values are loaded
/// one at a time: the code for each is long. Of one row this only says how large the grid is.
const fn vectors_of_few(lanes: usize, rows: usize) -> usize {
    if lanes > 8 { 1 } else { LOADS / rows }
}

/// Reduces each column, in one launch.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. The grid and the layout are those of [`Layout`] for the
///   matrix, or others with the same meaning: with a `fold` above 1 the rows lie side by side, `fold · columns` is `width` vectors, and
///   there is one strip. A block has at least `width` threads and [`most_threads`] at most.
/// - Nothing writes the matrix; `results` points to one result per column, which nothing else touches.
/// - `stage` points to [`stage_length`] states in shared memory, which the block uses for nothing else.
/// - With more than one slice, `states` points to [`Layout::states`] states, and `counters` to a word per strip that is 0; nothing else
///   touches them. The counters are 0 again afterwards.
#[inline(always)]
pub unsafe fn columns<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    layout: Layout,
    states: *mut O::State,
    counters: *mut u32,
    results: *mut O::Output,
    stage: *mut O::State,
) {
    if layout.takes_few_rows(T::LANES, matrix.rows, matrix.stride, block_dim_x()) {
        // SAFETY: the caller's promise.
        return unsafe {
            match (matrix.rows, vectors_of_few(T::LANES, 2) > 1) {
                (1, _) => one_row(operator, matrix, results),
                (2, true) => few_rows::<2, { LOADS / 2 }, T, O>(operator, matrix, results, stage),
                (2, false) => few_rows::<2, 1, T, O>(operator, matrix, results, stage),
                _ => few_rows::<3, 1, T, O>(operator, matrix, results, stage),
            }
        };
    }
    let (tid, block) = (thread_idx_x() as usize, block_dim_x() as usize);
    let (width, slices) = (layout.width as usize, layout.slices as usize);
    let height = block / width;
    let (x, y) = (tid % width, tid / width);
    let strips = (grid_dim_x() / layout.slices) as usize;
    let (strip, slice) = (
        block_idx_x() as usize % strips,
        block_idx_x() as usize / strips,
    );
    let strip = Strip::new(matrix, layout, strips, strip * layout.span(T::LANES), x);
    let group = if strip.is_folded {
        matrix.columns
    } else {
        strip.span
    };

    // SAFETY: the caller's promise; between two uses of a state by different threads there is a barrier, and of another block a ticket.
    unsafe {
        if y < height {
            let mine = strip.fold(operator, slice * height + y, slices * height);
            each(
                T::LANES,
                #[inline(always)]
                |lane| *stage.add(y * strip.span + strip.place_of(lane)) = mine[lane],
            );
        }
        sync_threads();
        combine_groups(operator, stage, height * (strip.span / group), group);

        if slices > 1 {
            let states = states.add((strip.first / strip.span) * slices * strip.span);
            let mut place = tid;
            while place < group {
                *states.add(slice * strip.span + place) = *stage.add(place);
                place += block;
            }
            sync_threads();
            let counter = counters.add(strip.first / strip.span);
            let is_last = tid == 0 && draw_ticket(counter) as usize == slices - 1;
            if !sync_threads_or(is_last) {
                return;
            }
            if tid == 0 {
                store_relaxed(counter, 0);
            }
            // The threads for each column, if there are more threads than columns.
            let parts = if group < block { block / group } else { 1 };
            place = tid;
            while place < parts * group {
                let (part, states) = (place / group, states.add(place % group));
                let slices = (part, slices, parts);
                *stage.add(place) = if size_of::<O::State>() <= 8 {
                    combine_slices::<SMALL_STATES, _>(operator, states, strip.span, slices)
                } else {
                    combine_slices::<LARGE_STATES, _>(operator, states, strip.span, slices)
                };
                place += block;
            }
            sync_threads();
            combine_groups(operator, stage, parts, group);
        }

        let mut place = tid;
        while place < group {
            let column = strip.column(place);
            if column < matrix.columns {
                *results.add(column) = operator.finish(*stage.add(place), matrix.rows as u64);
            }
            place += block;
        }
    }
}

/// Reduces columns of one value each. Neighbouring threads have neighbouring columns, and a thread loads several values before it uses the
/// first.
///
/// # Safety
/// As for [`columns()`]; the matrix has one row.
#[inline(always)]
unsafe fn one_row<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    results: *mut O::Output,
) {
    const VALUES: usize = 2 * LOADS;
    let block = block_dim_x() as usize;
    let mut first = block_idx_x() as usize * VALUES * block + thread_idx_x() as usize;
    // SAFETY: the caller's promise; the columns are those of the matrix.
    unsafe {
        let write = |column: usize, value: T| {
            *results.add(column) = operator.finish(operator.lift(value, 0), 1);
        };
        while first < matrix.columns {
            if first + (VALUES - 1) * block < matrix.columns {
                let loaded: [T; VALUES] = array(|place| *matrix.input.add(first + place * block));
                each(VALUES, |place| write(first + place * block, loaded[place]));
            } else {
                let mut column = first;
                while column < matrix.columns {
                    write(column, *matrix.input.add(column));
                    column += block;
                }
            }
            first += grid_dim_x() as usize * VALUES * block;
        }
    }
}

/// Reduces columns of `ROWS` values. Each warp takes 32 · `VECTORS` neighbouring vectors of each row at a time, all of which are loaded
/// before the first is used, and hands the states through shared memory, so that it writes neighbouring results.
///
/// # Safety
/// As for [`columns()`]; the matrix has as many rows, whose vectors lie at multiples of 16 bytes alike.
#[inline(always)]
unsafe fn few_rows<const ROWS: usize, const VECTORS: usize, T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    results: *mut O::Output,
    stage: *mut O::State,
) {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let shift = matrix.input as usize % BYTES / size_of::<T>();
    let count = (matrix.columns + shift).div_ceil(T::LANES);
    let warps = (grid_dim_x() * (block_dim_x() / WARP_SIZE)) as usize;
    let mut first = global_index() / WARP * WARP * VECTORS;
    // SAFETY: the caller's promise. A warp has a part of the stage. Where all vectors of a warp are columns wholly they are loaded at once,
    // elsewhere each value that is there.
    unsafe {
        let stage = stage.add((thread_idx_x() / WARP_SIZE) as usize * WARP * T::LANES);
        let is_whole = |vector: usize| {
            let start = vector * T::LANES;
            start >= shift && start + T::LANES <= matrix.columns + shift
        };
        while first < count {
            // The column of the first value of a vector; below 0 it wraps around.
            let start = |vector: usize| ((first + vector * WARP) * T::LANES).wrapping_sub(shift);
            let mine = |vector: usize| start(vector).wrapping_add(lane * T::LANES);
            if is_whole(first) && is_whole(first + VECTORS * WARP - 1) {
                let loaded = array::<_, VECTORS>(
                    #[inline(always)]
                    |vector| {
                        array::<T::Vector, ROWS>(
                            #[inline(always)]
                            |row| {
                                let place = row * matrix.stride + mine(vector);
                                vector::load(matrix.input.add(place))
                            },
                        )
                    },
                );
                each(
                    VECTORS,
                    #[inline(always)]
                    |vector| {
                        each(
                            T::LANES,
                            #[inline(always)]
                            |of| {
                                let values =
                                    array::<_, ROWS>(|row| T::value(loaded[vector][row], of));
                                *stage.add(lane * T::LANES + of) =
                                    operator.lift_spaced(values, 0, 1);
                            },
                        );
                        write_columns(operator, matrix, start(vector), results, stage);
                    },
                );
            } else {
                let mut vector = 0;
                while vector < VECTORS {
                    let mut of = 0;
                    while of < T::LANES {
                        let column = mine(vector).wrapping_add(of);
                        let mut state = operator.identity();
                        let mut row = 0;
                        while column < matrix.columns && row < ROWS {
                            let value = *matrix.input.add(row * matrix.stride + column);
                            state = operator.combine(state, operator.lift(value, row as u64));
                            row += 1;
                        }
                        *stage.add(lane * T::LANES + of) = state;
                        of += 1;
                    }
                    write_columns(operator, matrix, start(vector), results, stage);
                    vector += 1;
                }
            }
            first += warps * WARP * VECTORS;
        }
    }
}

/// Lanes of a warp.
const WARP: usize = WARP_SIZE as usize;

/// Writes the results of the columns that the vectors of a warp cover, from `start` on, in neighbouring lanes.
///
/// # Safety
/// The whole warp makes the call, after its lanes have written the states of those columns to `stage`.
#[inline(always)]
unsafe fn write_columns<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    start: usize,
    results: *mut O::Output,
    stage: *const O::State,
) {
    let mut place = (thread_idx_x() % WARP_SIZE) as usize;
    // SAFETY: the caller's promise; the warp waits for itself between the writes and the reads, both ways.
    unsafe {
        sync_warp();
        while place < WARP * T::LANES {
            let column = start.wrapping_add(place);
            if column < matrix.columns {
                *results.add(column) = operator.finish(*stage.add(place), matrix.rows as u64);
            }
            place += WARP;
        }
        sync_warp();
    }
}

/// A strip of a matrix as one of its threads sees it. A row here is of the matrix, or the `fold` rows that are taken as one.
#[derive(Clone, Copy)]
struct Strip<T> {
    matrix: Rows<T>,
    fold: usize,
    is_folded: bool,
    /// Whether vectors are loaded; if not, each lane of a thread is `width` columns after the one before.
    is_aligned: bool,
    /// The distance of two rows.
    line: usize,
    /// How far the input begins after a multiple of 16 bytes. So much earlier begins the strip.
    shift: usize,
    /// The columns of the strip: from `first` − `shift` on.
    first: usize,
    span: usize,
    width: usize,
    x: usize,
}

impl<T: Loaded> Strip<T> {
    #[inline(always)]
    fn new(matrix: Rows<T>, layout: Layout, strips: usize, first: usize, x: usize) -> Self {
        let (fold, is_folded) = (layout.fold as usize, layout.fold > 1);
        let line = if is_folded {
            fold * matrix.columns
        } else {
            matrix.stride
        };
        let after = matrix.input as usize % BYTES;
        // A row that begins after a multiple of 16 bytes may go beyond the last strip by a part of a vector.
        let fits = matrix.columns + after / size_of::<T>() <= strips * layout.span(T::LANES);
        let is_aligned = T::LANES > 1
            && after.is_multiple_of(size_of::<T>())
            && (line.is_multiple_of(T::LANES) || matrix.rows == 1)
            && (is_folded || fits);
        Self {
            matrix,
            fold,
            is_folded,
            is_aligned,
            line,
            shift: if is_aligned {
                after / size_of::<T>()
            } else {
                0
            },
            first,
            span: layout.span(T::LANES),
            width: layout.width as usize,
            x,
        }
    }

    /// The place of a lane in the strip.
    #[inline(always)]
    fn place_of(&self, lane: usize) -> usize {
        if self.is_aligned {
            self.x * T::LANES + lane
        } else {
            self.x + lane * self.width
        }
    }

    /// The column at a place of the strip; one that the matrix does not have for places before and after it.
    #[inline(always)]
    fn column(&self, place: usize) -> usize {
        if self.is_folded {
            ((place + self.line - self.shift) as u32 % self.matrix.columns as u32) as usize
        } else {
            (self.first + place).wrapping_sub(self.shift)
        }
    }

    /// How many values come before that of a lane in a row, and which row of the matrix it is in; before the first, both are below 0 and
    /// wrap around.
    #[inline(always)]
    fn before(&self, lane: usize) -> (usize, u64) {
        let place = self.first + self.place_of(lane);
        let row = if self.is_folded {
            let rows = (place + self.line - self.shift) as u32 / self.matrix.columns as u32;
            u64::from(rows).wrapping_sub(self.fold as u64)
        } else {
            0
        };
        (place.wrapping_sub(self.shift), row)
    }

    /// Whether a lane's place in a row, which has this many values before it, is one of the matrix.
    #[inline(always)]
    fn has(&self, row: usize, before: usize) -> bool {
        if self.is_folded {
            (row * self.line).wrapping_add(before) < self.matrix.rows * self.matrix.columns
        } else {
            before < self.matrix.columns
        }
    }

    /// Which rows this thread's vector is wholly in, from and to, and the end of those that it is in at all.
    #[inline(always)]
    fn rows(&self) -> (usize, usize, usize) {
        let Rows { rows, columns, .. } = self.matrix;
        let start = self.first + self.place_of(0);
        if start >= columns + self.shift && !self.is_folded {
            return (0, 0, 0);
        }
        if !self.is_folded {
            let is_whole =
                self.is_aligned && start >= self.shift && start - self.shift + T::LANES <= columns;
            return if is_whole {
                (0, rows, rows)
            } else {
                (0, 0, rows)
            };
        }
        let end = rows * columns + self.shift;
        let all = end.div_ceil(self.line);
        if !self.is_aligned {
            return (0, 0, all);
        }
        let whole = if start + T::LANES <= end {
            (end - start - T::LANES) / self.line + 1
        } else {
            0
        };
        ((start < self.shift).into(), whole, all)
    }

    /// The states of this thread's columns, of the rows from `rank` on that are `of` apart; identities where there is no column.
    ///
    /// # Safety
    /// Nothing writes the matrix.
    #[inline(always)]
    unsafe fn fold<O: Operator<T>>(
        &self,
        operator: O,
        rank: usize,
        of: usize,
    ) -> [O::State; MOST_LANES] {
        let (first_whole, whole, all) = self.rows();
        let (fold, start) = (self.fold as u64, self.before(0).0);
        let mut states = [operator.identity(); MOST_LANES];
        // The first index of a lane. Where indices move, each lane counts from 0, and its state is moved at the end.
        let from = |lane: usize| self.before(lane).1;
        let from_here = |lane: usize| if O::INDICES_MOVE { 0 } else { from(lane) };
        // A first row that is not whole comes last: the main loop then needs fewer registers.
        let is_head = rank < first_whole;
        let mut row = if is_head { rank + of } else { rank };
        let (step, index_step) = (of * self.line, of as u64 * fold);
        let place_of = |row: usize| {
            let place = (row * self.line).wrapping_add(start);
            self.matrix.input.wrapping_add(place)
        };
        let mut place = place_of(row);
        // SAFETY: vectors are loaded of the rows that they are a whole part of, and of the others each value that is there.
        let load = |place: *const T| unsafe { vector::load(place) };
        while row + (LOADS - 1) * of < whole {
            let vectors: [T::Vector; LOADS] = array(|index| load(place.wrapping_add(index * step)));
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let values: [[T; 1]; LOADS] = array(|index| [T::value(vectors[index], lane)]);
                    let index = (row as u64 * fold).wrapping_add(from_here(lane));
                    states[lane] = operator.accumulate(states[lane], values, index, index_step);
                },
            );
            row += LOADS * of;
            place = place.wrapping_add(LOADS * step);
        }
        let rest = row;
        row = if is_head { rank } else { rest };
        while row < all {
            let is_whole = row >= first_whole && row < whole;
            let vector = is_whole.then(|| load(place_of(row)));
            each(
                T::LANES,
                #[inline(always)]
                |lane| {
                    let before = self.before(lane).0;
                    let value = match vector {
                        Some(vector) => Some(T::value(vector, lane)),
                        None if self.has(row, before) => {
                            let place = (row * self.line).wrapping_add(before);
                            // SAFETY: as above.
                            Some(unsafe { *self.matrix.input.add(place) })
                        }
                        None => None,
                    };
                    if let Some(value) = value {
                        let index = (row as u64 * fold).wrapping_add(from_here(lane));
                        states[lane] = operator.combine(states[lane], operator.lift(value, index));
                    }
                },
            );
            row = if row < rest { rest } else { row + of };
        }
        if O::INDICES_MOVE {
            each(
                T::LANES,
                #[inline(always)]
                |lane| states[lane] = operator.moved(states[lane], from(lane)),
            );
        }
        states
    }
}

/// Combines groups of as many states, place by place, into the first; a barrier comes after each step.
///
/// # Safety
/// All threads of the block make the call, after a barrier; `stage` points to that many states in shared memory.
#[inline(always)]
unsafe fn combine_groups<S: Copy>(
    operator: impl Combine<S>,
    stage: *mut S,
    groups: usize,
    group: usize,
) {
    let mut groups = groups;
    while groups > 1 {
        let half = groups.div_ceil(2);
        let mut place = thread_idx_x() as usize;
        while place < (groups - half) * group {
            // SAFETY: the caller's promise; only this thread writes the one place, and nobody the other one.
            unsafe {
                let other = *stage.add(place + half * group);
                *stage.add(place) = operator.combine(*stage.add(place), other);
            }
            place += block_dim_x() as usize;
        }
        sync_threads();
        groups = half;
    }
}

/// The states of the slices from `part` on that are `parts` apart, combined; they lie `pitch` apart.
///
/// # Safety
/// The states are there, and nothing writes them.
#[inline(always)]
unsafe fn combine_slices<const STATES: usize, S: Copy>(
    operator: impl Combine<S>,
    states: *const S,
    pitch: usize,
    (part, slices, parts): (usize, usize, usize),
) -> S {
    let mut state = operator.identity();
    let mut slice = part;
    // SAFETY: the caller's promise.
    unsafe {
        while slice + (STATES - 1) * parts < slices {
            let loaded: [S; STATES] = array(|index| *states.add((slice + index * parts) * pitch));
            state = operator.combine(state, combine_all(operator, loaded));
            slice += STATES * parts;
        }
        while slice < slices {
            state = operator.combine(state, *states.add(slice * pitch));
            slice += parts;
        }
    }
    state
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// The layout for columns of `f32` on a GPU that runs 396 blocks of 256 threads at once.
    fn layout(rows: usize, columns: usize) -> Layout {
        Layout::new(4, rows, columns, columns, 256, 396)
    }

    /// Few columns are shared by blocks as soon as each thread has a few vectors, and by no more than have some.
    #[test]
    fn few_columns_are_shared_however_few_rows_there_are() {
        for (rows, columns) in [
            (4096, 256),
            (1 << 14, 64),
            (1 << 16, 16),
            (1 << 18, 4),
            (1 << 20, 1),
        ] {
            let layout = layout(rows, columns);
            let blocks = layout.grid(4, rows, columns, columns, 256);
            assert!(
                (32..=256).contains(&blocks),
                "{rows} × {columns}: {layout:?}"
            );
        }
        assert_eq!(layout(64, 16).slices, 1);
        assert_eq!(layout(0, 16).slices, 1);
    }

    /// Many rows get as many blocks as run at once, and hardly any that wait for others to end.
    #[test]
    fn the_gpu_is_full_where_there_is_enough_to_do() {
        for bits in [12, 14, 16, 18, 20, 22, 24, 26] {
            let (rows, columns) = (1 << bits, 1 << (28 - bits));
            let layout = layout(rows, columns);
            let blocks = layout.grid(4, rows, columns, columns, 256);
            let rounds = blocks.div_ceil(396);
            assert!(
                10 * blocks >= 9 * rounds * 396,
                "{rows} × {columns}: {layout:?}, {blocks}"
            );
        }
    }
}
