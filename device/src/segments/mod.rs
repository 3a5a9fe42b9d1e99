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
//! | `crossing.rs` | segments that cross parts |
//! | `memory.rs` | the shared memory of a warp |
//!
//! *Equal work.* A segment may be empty or have all values, so warps get equal parts of a path instead of segments. The path goes along
//! the values, and each end of a segment adds [`FEWEST_STEPS_OF_END`] steps or more. A search finds where a part begins: half a warp
//! compares 16 places at once. Of a long path the warps get 5/8 that way; the rest is handed out in ever shorter parts to those that are done.
//!
//! *A tile at a time.* Tiles begin at vectors, so that a warp loads the next tile before it reduces this one. A tile in which nothing ends
//! stays in registers, and the states of the lanes are combined at the next end. Any other tile is copied to shared memory. A lane has a
//! chunk of neighbouring values there, and a byte marks each value after which a segment ends. The lanes fold their chunks, and begin anew after
//! each mark. One scan over the lanes combines what crosses chunks. No barrier of the block is needed.
//!
//! *What crosses parts.* The warp that is done last of 128 neighbouring parts combines the states of segments that go beyond one of them, and
//! the one that is done last of all those that are left. Warps never wait for one another.

mod crossing;
mod fold;
mod marks;
mod memory;
mod part;
mod path;
mod places;
mod warp;

use crate::lanes::{WARP_SIZE, sync_warp};
use crate::memory::draw_turn;
use crate::opaque::from_here_on;
use crate::operator::Operator;
use crate::shuffle::shuffle_index;
use crate::thread::{global_index, thread_idx_x};
use crate::tile::Tile;
use crate::vector::Loaded;
use crossing::leave;
pub use crossing::{Workspace, counters, records};
#[doc(hidden)]
pub use memory::vectors;
pub use memory::{Kept, Memory, THREADS, resident, tile};
use memory::{OfWarp, picks_values};
pub use path::{FEWEST_STEPS_OF_END, Offsets};
use path::{List, Part};
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
/// The operator must be commutative. Indices and counts are those within the segment. The values of a segment that spans parts are
/// grouped by parts, so that the rounding of floats depends on the grid, and is the same in every run, whichever warp has which part.
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
    memory: Memory,
) {
    if count == 0 {
        return;
    }
    // SAFETY: the caller's promise; each part is one warp's, and so is its shared memory.
    unsafe {
        {
            let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
            let list = List {
                offsets,
                count,
                from: offsets.get(0),
                to: offsets.get(count),
            };
            let path = list.path(fewest_steps_of_end::<T, O>(), tile::<T>());
            if lane == 0 {
                *memory.of_warp::<T, O>(warp as usize).kept = Kept {
                    path,
                    from: list.from,
                    to: list.to,
                    number: global_index() / WARP_SIZE as usize,
                    part: Part::NONE,
                };
            }
        }
        loop {
            // What is computed from these is not kept from part to part, for which there are not enough registers.
            let thread = from_here_on(thread_idx_x());
            let (warp, lane) = ((thread / WARP_SIZE) as usize, thread % WARP_SIZE);
            let OfWarp {
                tile,
                marks,
                slots,
                states,
                kept,
                first_slots,
                bounds,
            } = memory.of_warp::<T, O>(warp);
            sync_warp();
            let Kept {
                path,
                from,
                to,
                number,
                ..
            } = *kept;
            let list = List {
                offsets,
                count,
                from,
                to,
            };
            let part = list.part(path, number);
            sync_warp();
            if lane == 0 {
                *states = operator.identity();
                *states.add(1) = operator.identity();
                (*kept).part = part;
            }
            sync_warp();
            if !part.is_empty() {
                Warp {
                    operator,
                    input,
                    list,
                    kept,
                    results,
                    tile: Tile { vectors: tile },
                    marks,
                    first_slots,
                    bounds,
                    slots,
                    first: states,
                    rest: states.add(1),
                    lane,
                    is_aligned: T::LANES == 1 || (input as usize).is_multiple_of(size_of::<T>()),
                }
                .reduce(part.start);
            }

            let thread = from_here_on(thread_idx_x());
            let (warp, lane) = ((thread / WARP_SIZE) as usize, thread % WARP_SIZE);
            let OfWarp { states, kept, .. } = memory.of_warp::<T, O>(warp);
            sync_warp();
            let Kept {
                path, number, part, ..
            } = *kept;
            // Before this part is counted, so that all numbers have been drawn when the last part is.
            let mut next = path.parts;
            if path.parts > path.warps {
                let mut drawn = 0;
                if lane == 0 {
                    drawn = draw_turn(workspace.counters);
                }
                next = path.warps + shuffle_index(drawn, 0) as usize;
            }
            sync_warp();
            if lane == 0 {
                (*kept).number = next;
            }
            leave(
                operator,
                offsets,
                workspace,
                results,
                (number, path.parts),
                (states, states.add(1)),
                (part.start.segment, part.end.segment),
            );
            if next >= path.parts {
                break;
            }
        }
    }
}
