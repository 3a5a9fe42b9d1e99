//! Reductions of segments of an array, which offsets divide. A value takes about as much work in short segments as in long ones.
//!
//! | file | what it has |
//! |---|---|
//! | `path.rs` | the path along values and ends of segments, of which each warp gets an equal part |
//! | `part.rs` | how a warp reduces its part: a tile at a time, and a tile in passes |
//! | `marks.rs` | the marks where segments end in a pass |
//! | `fold.rs` | the fold of a pass, each lane a chunk of neighbouring values |
//! | `places.rs` | the same for the place of the least or greatest value |
//! | `warp.rs` | what a warp has, and how it loads values and ends |
//! | `crossing.rs` | segments that cross warps and blocks |
//! | `memory.rs` | the shared memory of a block |
//!
//! *Equal work.* A segment may be empty or have all values, so warps get equal parts of a path instead of segments. The path goes along
//! the values, and each end of a segment adds [`FEWEST_STEPS_OF_END`] steps or more. A binary search finds where a warp begins: half a warp
//! compares 16 places at once.
//!
//! *A tile at a time.* Tiles begin at vectors, so that a warp loads the next tile before it reduces this one. A tile in which nothing ends
//! stays in registers, and the states of the lanes are combined at the next end. Any other tile is copied to shared memory. A lane has a
//! chunk of neighbouring values there, and a byte marks each value after which a segment ends. The lanes fold their chunks, and begin anew after
//! each mark. One scan over the lanes combines what crosses chunks. No barrier of the block is needed.
//!
//! *What crosses warps.* The last block to come combines the states of segments that go beyond a warp's part.

mod crossing;
mod fold;
mod marks;
mod memory;
mod part;
mod path;
mod places;
mod warp;

use crate::lanes::WARP_SIZE;
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::Operator;
use crate::thread::{grid_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::tile::Tile;
use crate::vector::Loaded;
pub use crossing::Workspace;
use crossing::{finish_crossing, join_warps};
#[doc(hidden)]
pub use memory::{FIRST_SLOTS, MARKS, VECTORS, WARPS, bounds, slots};
use memory::{MARKS_OF_WARP, VECTORS_OF_TILE, bounds_of_warp, picks_values, slots_of_warp};
pub use memory::{Memory, THREADS, resident, tile};
use path::List;
pub use path::{FEWEST_STEPS_OF_END, Offsets};
use warp::Warp;

/// The fewest steps of the path that the end of a segment is: more where values are picked. On an H200, argmax of a giant
/// among segments of 4 values was made at 65, 68 and 70 % of the reading speed with 8, 12 and 16 steps for each end.
const fn fewest_steps_of_end<T: Loaded, O: Operator<T>>() -> usize {
    if picks_values::<T, O>() {
        FEWEST_STEPS_OF_END * 3 / 2
    } else {
        FEWEST_STEPS_OF_END
    }
}

/// Reduces each segment, in one launch.
///
/// The operator must be commutative. Indices and counts are those within the segment. The values of a segment that spans warps are
/// grouped by warps, so that the rounding of floats depends on the grid, and is the same in every run.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments; the size of a block is a multiple of 32 up to [`THREADS`].
/// - `offsets` has `count + 1` places, which do not decrease, and `input` has values from the first to the last; nothing writes
///   either. `results` points to one result per segment, and nothing else touches it or the workspace.
/// - `memory` is that of [`segment_memory!`](crate::segment_memory!) for this operator.
#[inline(always)]
pub unsafe fn segments<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    offsets: Offsets,
    count: usize,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    if count == 0 {
        return;
    }
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    // SAFETY: the caller's promise; a last block comes after all others.
    unsafe {
        let list = List {
            offsets,
            count,
            from: offsets.get(0),
            to: offsets.get(count),
        };
        let part = list.part(fewest_steps_of_end::<T, O>());
        let warp_in_block = warp as usize;
        let states = memory.states.add(2 * warp_in_block);
        if lane == 0 {
            *states = operator.identity();
            *states.add(1) = operator.identity();
            *memory.places.add(2 * warp_in_block) = part.start.segment;
            *memory.places.add(2 * warp_in_block + 1) = part.end.segment;
        }
        let is_aligned = T::LANES == 1 || (input as usize).is_multiple_of(size_of::<T>());
        Warp {
            operator,
            input,
            list,
            part,
            results,
            tile: Tile {
                vectors: memory.tiles.add(warp_in_block * VECTORS_OF_TILE),
            },
            marks: memory.marks.add(warp_in_block * MARKS_OF_WARP),
            first_slots: memory.first_slots.add(warp_in_block * WARP_SIZE as usize),
            bounds: memory.bounds.add(warp_in_block * bounds_of_warp::<T, O>()),
            slots: memory.slots.add(warp_in_block * slots_of_warp::<T, O>()),
            first: states,
            rest: states.add(1),
            is_aligned,
        }
        .reduce();
        sync_threads();
        if thread_idx_x() == 0 {
            join_warps(operator, list, workspace, results, memory);
        }
        sync_threads();
        let is_last = thread_idx_x() == 0 && draw_ticket(workspace.counter) == grid_dim_x() - 1;
        if sync_threads_or(is_last) {
            finish_crossing(operator, list, workspace, results, memory);
            if thread_idx_x() == 0 {
                store_relaxed(workspace.counter, 0);
            }
        }
    }
}
