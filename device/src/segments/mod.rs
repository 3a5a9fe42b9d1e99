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
//! | `crossing.rs` | segments that cross warps and strips |
//! | `memory.rs` | the shared memory of a block |
//!
//! *Equal work.* A segment may be empty or have all values, so warps get equal parts of a path instead of segments. The path goes along
//! the values, and each end of a segment adds [`FEWEST_STEPS_OF_END`] steps or more. A binary search finds where a warp begins: half a warp
//! compares 16 places at once.
//!
//! *A block for each multiprocessor.* A block has as many warps as run at once. Its parts of the path are spread over the array, a strip of
//! neighbouring ones here and there, so that all blocks have about as many long segments, and as many short ones.
//!
//! *A tile at a time.* Tiles begin at vectors, so that a warp loads the next tile before it reduces this one. A tile in which nothing ends
//! stays in registers, and the states of the lanes are combined at the next end. Any other tile is copied to shared memory. A lane has a
//! chunk of neighbouring values there, and a byte marks each value after which a segment ends. The lanes fold their chunks, and begin anew after
//! each mark. One scan over the lanes combines what crosses chunks. No barrier of the block is needed.
//!
//! *What crosses warps.* A thread for each strip combines the states of segments that go beyond a warp's part, and the last block to come those
//! that go beyond strips.

mod crossing;
mod fold;
mod marks;
mod memory;
mod part;
mod path;
mod places;
mod warp;

use crate::lanes::{WARP_SIZE, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::Operator;
use crate::shuffle::shuffle_index;
use crate::thread::{block_dim_x, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::tile::Tile;
use crate::vector::Loaded;
pub use crossing::Workspace;
use crossing::{finish_crossing, join_strip};
pub use memory::{Memory, bytes, threads, tile};
pub use path::{FEWEST_STEPS_OF_END, Offsets};
use path::{List, Strips};
use warp::Warp;

/// How many segments there are: as many as `counted` says, which an earlier kernel has left, and `most` at most; `most` if it is null.
///
/// # Safety
/// `counted` is null, or points to a word that nothing writes.
#[inline(always)]
pub unsafe fn count(most: usize, counted: *const u64) -> usize {
    if counted.is_null() {
        return most;
    }
    // SAFETY: the caller's promise.
    let count = unsafe { *counted } as usize;
    if count < most { count } else { most }
}

/// Reduces each segment, in one launch.
///
/// The operator must be commutative. Indices and counts are those within the segment. The values of a segment that spans warps are
/// grouped by warps, so that the rounding of floats depends on the grid, and is the same in every run.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments; the size of a block is a multiple of 32 up to [`threads`].
/// - `offsets` has `count + 1` places, which do not decrease, and `input` has values from the first to the last; nothing writes
///   either. `results` points to one result per segment, and nothing else touches it or the workspace.
/// - `memory` is the block's dynamic shared memory: as much as [`bytes`] says.
#[inline(always)]
pub unsafe fn segments<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    offsets: Offsets,
    count: usize,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory,
) {
    if count == 0 {
        return;
    }
    let lane = thread_idx_x() % WARP_SIZE;
    // SAFETY: all lanes are here. The assembler knows that it is the same in all of them.
    let warp = unsafe { shuffle_index(thread_idx_x() / WARP_SIZE, 0) } as usize;
    let of_block = memory.of_block::<O::State>();
    // SAFETY: the caller's promise; a last block comes after all others.
    unsafe {
        let list = List {
            offsets,
            count,
            from: offsets.get(0),
            to: offsets.get(count),
        };
        let strips = Strips::of((block_dim_x() / WARP_SIZE) as usize);
        let part = list.part::<T, O>(strips, warp);
        let states = of_block.states.add(2 * warp);
        if lane == 0 {
            *states = operator.identity();
            *states.add(1) = operator.identity();
            *of_block.places.add(warp) = [part.start.segment as u64, part.end.segment as u64];
        }
        sync_warp();
        let of_warp = memory.of_warp::<T, O>(warp);
        Warp {
            operator,
            input,
            list,
            part,
            results,
            tile: Tile {
                vectors: of_warp.tile,
            },
            marks: of_warp.marks,
            first_slots: of_warp.first_slots,
            bounds: of_warp.bounds,
            slots: of_warp.slots,
            first: states,
            rest: states.add(1),
            is_aligned: T::LANES == 1 || (input as usize).is_multiple_of(size_of::<T>()),
        }
        .reduce();
        sync_threads();
        let strip = thread_idx_x() as usize;
        if strip < strips.count() {
            join_strip(operator, list, workspace, results, of_block, strips, strip);
        }
        sync_threads();
        let is_last = thread_idx_x() == 0 && draw_ticket(workspace.counter) == grid_dim_x() - 1;
        if sync_threads_or(is_last) {
            finish_crossing(operator, list, workspace, results, of_block, strips);
            if thread_idx_x() == 0 {
                store_relaxed(workspace.counter, 0);
            }
        }
    }
}
