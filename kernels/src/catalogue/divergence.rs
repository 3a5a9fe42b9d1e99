//! Threads of one warp on different ways.

use super::ladder::{LADDER, SUM};
use super::{Entries, Geometry, Lesson, Part, Reduction, Task};

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {}

/// The block sums, which differ in their tree alone.
const BLOCK_REDUCE: Lesson = Lesson {
    part: Part::Divergence,
    step: "4",
    file: "kernels/src/d04_block_reduce.rs",
    task: Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        shared_bytes_per_thread: 4,
        ..SUM
    }),
    ..LADDER
};

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "block_reduce_1",
        title: "a tree of scattered threads",
        change: "the threads at work are scattered over all warps: half of every branch is idle lanes",
        needs: &["neighbored", "shared_dynamic"],
        entries: Entries::AnyBlock("block_reduce_1"),
        ..BLOCK_REDUCE
    },
    Lesson {
        id: "block_reduce_2",
        title: "a tree of whole warps",
        change: "the same numbers of accesses and barriers, with the threads at work side by side",
        needs: &["block_reduce_1", "interleaved"],
        entries: Entries::AnyBlock("block_reduce_2"),
        ..BLOCK_REDUCE
    },
];
