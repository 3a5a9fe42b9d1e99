//! Reductions of the columns of a matrix, whose rows lie one after another.
//!
//! Each thread loads vectors of 16 bytes, and keeps a state for each of the columns that a vector covers. The neighbours of a thread have
//! the neighbouring columns, so that a warp loads adjacent memory; the rows are shared by the rows of threads of a block, and by several
//! blocks if there are few columns. [`Layout`] says how.
//!
//! *Narrow matrices are folded.* Where rows lie side by side and a block is wider than one, several of them are taken as one long row, in
//! which the columns repeat. A matrix of 3 columns is loaded as fast as an array, and a row may begin anywhere.
//!
//! *Few rows are taken side by side.* Of two to four rows a thread loads vectors of every row before it uses the first. Of one row each lane
//! loads single values and writes their results: results may be larger than values. Where only the place counts, the compiler leaves the
//! loads out.
//!
//! *A word for a column while rows are loaded.* A vector of small values covers 8 or 16 columns, whose states take most registers, and more
//! instructions for each value than there is time for. So operators that have [short states](Operator::VALUES_OF_SHORT) keep those instead: argmax a
//! value and a row in one word, of which the greater is the better one, and the mean of small integers their sum. The threads of a block combine
//! them, and make a state of what each column comes to. On an H200 argmax of 64 rows of 2^23 `bf16` took 296 µs this way, and 585 with states; the
//! mean of 65536 rows of 16384 `i8` 258 and 409. A block has no more rows than a short state has room for.
//!
//! *Whoever has all rows of a column writes its result.* Where that is a thread, states go through no shared memory, and results are written in
//! vectors. On an H200 argmax of four rows of 2^26 `f32` took 376 µs this way, and 451 through shared memory.
//!
//! *Rows may begin anywhere.* Where their distance is no multiple of 16 bytes, or a row is no number of whole vectors, a thread has the columns of a
//! vector all the same, and loads it word by word. What it loads beyond its row lies between two rows: of the first row and of the last, it loads values
//! one by one where something else would come before or after. On an H200 sums of 4095 rows of 65537 `f32` reach 91 % of the speed of reading alone
//! this way, and 21 % with values loaded row by row.

mod few_rows;
mod layout;
mod strip;
mod write;

use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator};
use crate::rows::{Batch, Rows};
use crate::thread::{block_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::unroll::each;
use crate::vector::Loaded;
use core::marker::PhantomData;
use few_rows::{few_rows, one_row};
use layout::{LARGE_STATES, MOST_LANES, SMALL_STATES, vectors_of_few};
pub use layout::{LOADS, Layout, Limits, most_threads, resident, stage_length};
use strip::{Strip, combine_groups, combine_slices};

/// Reduces each column of a matrix, or of each of several, in one launch.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments. The layout is that of [`Layout`] for a matrix, whose grid is the
///   blocks of the `batch` for each matrix, or others with the same meaning: with a `fold` above 1 the rows lie side by side, `fold · columns` is
///   `width` vectors, and there is one strip. A block has at least `width` threads and [`most_threads`] at most, and no more rows than [`Limits::rows`], which
///   counts `fold` rows for each line of a block, also if it has fewer, and one line more.
/// - Nothing writes the matrices, of which `matrix` is the first, and what lies between the rows of one may be read; `results` points to one result
///   for each column of each matrix, which nothing else touches.
/// - `stage` points to [`stage_length`] states in shared memory, which the block uses for nothing else.
/// - With more than one slice, `states` points to [`Layout::states`] states for each matrix, and `counters` to a word that is 0 for each strip of
///   each; nothing else touches them. The counters are 0 again afterwards.
#[inline(always)]
pub unsafe fn columns<T: Loaded, O: Operator<T>>(
    operator: O,
    matrix: Rows<T>,
    batch: Batch,
    layout: Layout,
    (states, counters): (*mut O::State, *mut u32),
    results: *mut O::Output,
    stage: *mut O::State,
) {
    let (number, block) = batch.of_block();
    let blocks = batch.blocks;
    let among = (block, blocks);
    if layout.takes_few_rows(T::LANES, matrix.rows, matrix.stride, block_dim_x()) {
        // SAFETY: the caller's promise.
        return unsafe {
            let number = number as usize;
            let input = matrix.input.wrapping_add(number * batch.distance);
            let results = results.wrapping_add(number * matrix.columns);
            let matrix = Rows { input, ..matrix };
            match (matrix.rows, vectors_of_few(T::LANES, 2)) {
                (1, _) => one_row(operator, matrix, among, results),
                (2, 2) => few_rows::<2, 2, T, O>(operator, matrix, among, results),
                (2, _) => few_rows::<2, 1, T, O>(operator, matrix, among, results),
                (3, 2) => few_rows::<3, 2, T, O>(operator, matrix, among, results),
                (3, _) => few_rows::<3, 1, T, O>(operator, matrix, among, results),
                (_, 2) => few_rows::<4, 2, T, O>(operator, matrix, among, results),
                (_, _) => few_rows::<4, 1, T, O>(operator, matrix, among, results),
            }
        };
    }
    let Layout { width, slices, .. } = layout;
    let strips = blocks / slices;
    let (strip, slice) = (block % strips, block / strips);
    let (tid, block) = (thread_idx_x(), block_dim_x());
    let height = block / width;
    let (x, y) = (tid % width, tid / width);
    let strip = Strip::new(matrix, batch, layout, (strip, strips), x);
    let span = strip.span;
    let group = if strip.is_folded {
        matrix.columns as u32
    } else {
        span
    };
    // Whether a thread has all rows of its columns.
    let has_all_rows = height * slices == 1 && !strip.is_folded;

    // Of a block's rows, which take turns with those of the others, the one at a place.
    let lines = height * layout.fold;
    let row_of = |slice: u32, place: u32| {
        let turn = u64::from(place / lines) * u64::from(slices) + u64::from(slice);
        turn * u64::from(lines) + u64::from(place % lines)
    };
    let results_of = |number: u32| results.wrapping_add(number as usize * matrix.columns);
    let (short_stage, has_shorts) = (stage.cast::<u32>(), O::VALUES_OF_SHORT > 0);

    // SAFETY: the caller's promise; between two uses of a state by different threads there is a barrier, and of another block a ticket.
    unsafe {
        if y < height {
            let (rank, of) = (slice * height + y, slices * height);
            let (rank, of) = (rank as usize, of as usize);
            let first = (y * span) as usize;
            if has_shorts {
                let places = (y * layout.fold, lines);
                let shorts = strip.fold_shorts(operator, (rank, of), places);
                if has_all_rows {
                    let states = states_of::<T, O>(operator, shorts);
                    strip.write(operator, states, results_of(batch.of_block().0));
                } else {
                    strip.leave(shorts, short_stage.add(first));
                }
            } else {
                let states = strip.fold(operator, rank, of);
                if has_all_rows {
                    strip.write(operator, states, results_of(batch.of_block().0));
                } else {
                    strip.leave(states, stage.add(first));
                }
            }
        }
        if has_all_rows {
            return;
        }
        sync_threads();
        let groups = height * (span / group);
        if has_shorts {
            combine_groups(Shorts::new(operator), short_stage, groups, group);
        } else {
            combine_groups(operator, stage, groups, group);
        }
        let (number, block_of_matrix) = batch.of_block();
        let results = results_of(number);
        let slice = block_of_matrix / strips;
        // Among the strips of all matrices.
        let number = number * strips + block_of_matrix % strips;
        // What the block comes to.
        let of_block = |place: u32| {
            if has_shorts {
                let first = strip.row_of_line(place);
                let index_of = |row| row_of(slice, row).wrapping_add(first);
                operator.of_short(*short_stage.add(place as usize), index_of)
            } else {
                *stage.add(place as usize)
            }
        };
        let write = |place: u32, state: O::State| {
            let column = strip.column(place);
            if column < matrix.columns {
                *results.add(column) = operator.finish(state, matrix.rows as u64);
            }
        };

        let mut place = tid;
        if slices == 1 {
            while place < group {
                write(place, of_block(place));
                place += block;
            }
            return;
        }

        let states = states.add(number as usize * slices as usize * group as usize);
        while place < group {
            *states.add(slice as usize * group as usize + place as usize) = of_block(place);
            place += block;
        }
        sync_threads();
        let counter = counters.add(number as usize);
        let is_last = tid == 0 && draw_ticket(counter) == slices - 1;
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
            let (part, states) = (place / group, states.add((place % group) as usize));
            let slices = (part, slices, parts);
            let state = if size_of::<O::State>() <= 8 {
                combine_slices::<SMALL_STATES, _>(operator, states, group, slices)
            } else {
                combine_slices::<LARGE_STATES, _>(operator, states, group, slices)
            };
            if parts == 1 {
                write(place, state);
            } else {
                *stage.add(place as usize) = state;
            }
            place += block;
        }
        if parts == 1 {
            return;
        }
        sync_threads();
        combine_groups(operator, stage, parts, group);
        if tid < group {
            write(tid, *stage.add(tid as usize));
        }
    }
}

/// The states of short ones whose places are rows.
#[inline(always)]
fn states_of<T: Loaded, O: Operator<T>>(
    operator: O,
    shorts: [u32; MOST_LANES],
) -> [O::State; MOST_LANES] {
    let mut states = [operator.identity(); MOST_LANES];
    each(
        T::LANES,
        #[inline(always)]
        |lane| states[lane] = operator.of_short(shorts[lane], u64::from),
    );
    states
}

/// Short states as what an operator combines.
struct Shorts<T, O>(O, PhantomData<T>);

impl<T, O> Shorts<T, O> {
    #[inline(always)]
    fn new(operator: O) -> Self {
        Self(operator, PhantomData)
    }
}

impl<T, O: Copy> Clone for Shorts<T, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O: Copy> Copy for Shorts<T, O> {}

impl<T, O: Operator<T>> Combine<u32> for Shorts<T, O> {
    #[inline(always)]
    fn identity(self) -> u32 {
        self.0.short_identity()
    }
    #[inline(always)]
    fn combine(self, left: u32, right: u32) -> u32 {
        self.0.combine_short(left, right)
    }
}
