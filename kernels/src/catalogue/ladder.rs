//! The ladder: the sum of `i32` values, one idea a step.

use super::{
    ElementType, Entries, Finish, Geometry, Lesson, Operator, Parameter, Part, Reduction, Task,
};

/// Why steps 5 to 7 are exhibits.
const NO_WARP_BARRIER: Option<&str> = Some(
    "the lanes of the last warp exchange sums through volatile accesses without a warp barrier, which is a data race: \
     since Volta (sm_70) a warp need not run in lockstep",
);

/// The sum of `i32` values by blocks that take eight elements a thread and only read their input.
pub(super) const SUM: Reduction = Reduction {
    operator: Operator::Sum,
    element_type: ElementType::I32,
    geometry: Geometry::Tiles {
        elements_per_thread: 8,
    },
    finish: Finish::PartialPerBlock,
    in_place: false,
    shared_bytes_per_thread: 0,
};

/// The same by no more blocks than run at once, which load 16 bytes four times a tile.
pub(super) const RESIDENT_SUM: Reduction = Reduction {
    geometry: Geometry::Resident {
        elements_per_thread: 16,
        threads_per_multiprocessor: 2048,
    },
    ..SUM
};

/// The sum by blocks that overwrite it, and take so many elements a thread.
const fn sum_in_place(elements_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        in_place: true,
        ..SUM
    })
}

/// What the lessons of the ladder have in common; each row states the rest.
pub(super) const LADDER: Lesson = Lesson {
    id: "",
    part: Part::Ladder,
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    parameter: None,
    task: sum_in_place(8),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "neighbored",
        step: "1",
        title: "neighbours add up",
        change: "the tree of sums, in place: thread i works when i is a multiple of twice the stride, which doubles from 1",
        file: "kernels/src/l01_neighbored.rs",
        entries: Entries::AnyBlock("neighbored"),
        task: sum_in_place(1),
        ..LADDER
    },
    Lesson {
        id: "neighbored_less",
        step: "2",
        title: "whole warps retire",
        change: "the same sums, done by the first threads of the block instead of by every other one",
        needs: &["neighbored"],
        file: "kernels/src/l02_neighbored_less.rs",
        entries: Entries::AnyBlock("neighbored_less"),
        task: sum_in_place(1),
        ..LADDER
    },
    Lesson {
        id: "interleaved",
        step: "3",
        title: "neighbours read neighbours",
        change: "the stride halves from half the block to 1, so that neighbouring threads touch neighbouring words",
        needs: &["neighbored_less"],
        file: "kernels/src/l03_interleaved.rs",
        entries: Entries::AnyBlock("interleaved"),
        task: sum_in_place(1),
        ..LADDER
    },
    Lesson {
        id: "unroll2",
        step: "4",
        title: "two elements a thread",
        change: "each thread first adds two elements, loaded independently, so that half the blocks do the work",
        needs: &["interleaved"],
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll2"),
        task: sum_in_place(2),
        ..LADDER
    },
    Lesson {
        id: "unroll4",
        step: "4",
        title: "four elements a thread",
        change: "four elements instead of two",
        needs: &["unroll2"],
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll4"),
        task: sum_in_place(4),
        ..LADDER
    },
    Lesson {
        id: "unroll8",
        step: "4",
        title: "eight elements a thread",
        change: "eight elements instead of four",
        needs: &["unroll4"],
        file: "kernels/src/l04_unroll.rs",
        entries: Entries::AnyBlock("unroll8"),
        ..LADDER
    },
    Lesson {
        id: "unroll_warps8",
        step: "5",
        title: "the last warp alone",
        change: "below stride 64 the first warp finishes alone, with volatile accesses and no block barrier",
        needs: &["unroll8"],
        file: "kernels/src/l05_unroll_warps8.rs",
        entries: Entries::AnyBlock("unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "unroll_warps8_sync",
        step: "5b",
        title: "the last warp in step",
        change: "a warp barrier between the steps of the last warp instead of volatile accesses",
        needs: &["unroll_warps8"],
        file: "kernels/src/l05b_unroll_warps8_sync.rs",
        entries: Entries::AnyBlock("unroll_warps8_sync"),
        ..LADDER
    },
    Lesson {
        id: "complete_unroll_warps8",
        step: "6",
        title: "the loop written out",
        change: "step 5 with its loop written out, each step under a test of the block size",
        needs: &["unroll_warps8"],
        file: "kernels/src/l06_complete_unroll_warps8.rs",
        entries: Entries::AnyBlock("complete_unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "complete_unroll",
        step: "7",
        title: "the block size in the type",
        change: "the block size is a const generic, and its tests vanish when the kernel is compiled",
        needs: &["complete_unroll_warps8"],
        file: "kernels/src/l07_complete_unroll.rs",
        entries: Entries::PerBlock(&[
            (64, "complete_unroll_64"),
            (128, "complete_unroll_128"),
            (256, "complete_unroll_256"),
            (512, "complete_unroll_512"),
            (1024, "complete_unroll_1024"),
        ]),
        exhibit: NO_WARP_BARRIER,
        ..LADDER
    },
    Lesson {
        id: "complete_unroll_shared",
        step: "8",
        title: "the tree in shared memory",
        change: "the tree runs in shared memory, and the input is only read",
        needs: &["complete_unroll"],
        file: "kernels/src/l08_complete_unroll_shared.rs",
        entries: Entries::PerBlock(&[
            (64, "complete_unroll_shared_64"),
            (128, "complete_unroll_shared_128"),
            (256, "complete_unroll_shared_256"),
            (512, "complete_unroll_shared_512"),
            (1024, "complete_unroll_shared_1024"),
        ]),
        task: Task::Reduction(SUM),
        ..LADDER
    },
    Lesson {
        id: "shuffle",
        step: "9",
        title: "registers talk to registers",
        change: "each warp adds up by shuffles, and only one word per warp goes through shared memory",
        needs: &["complete_unroll_shared"],
        file: "kernels/src/l09_shuffle.rs",
        entries: Entries::PerBlock(&[
            (64, "shuffle_64"),
            (128, "shuffle_128"),
            (256, "shuffle_256"),
            (512, "shuffle_512"),
            (1024, "shuffle_1024"),
        ]),
        task: Task::Reduction(SUM),
        ..LADDER
    },
    Lesson {
        id: "vectorized",
        step: "10",
        title: "sixteen bytes a load",
        change: "loads of 16 bytes, and only as many blocks as run at once, each of which goes on through the input",
        needs: &["shuffle"],
        file: "kernels/src/l10_vectorized.rs",
        entries: Entries::PerBlock(&[
            (64, "vectorized_64"),
            (128, "vectorized_128"),
            (256, "vectorized_256"),
            (512, "vectorized_512"),
            (1024, "vectorized_1024"),
        ]),
        task: Task::Reduction(RESIDENT_SUM),
        ..LADDER
    },
    Lesson {
        id: "single_pass",
        step: "11",
        title: "the whole sum in one launch",
        change: "the last block to finish, which a ticket tells, adds up the partial sums of all, in their order",
        needs: &["vectorized"],
        file: "kernels/src/l11_single_pass.rs",
        entries: Entries::PerBlock(&[
            (64, "single_pass_64"),
            (128, "single_pass_128"),
            (256, "single_pass_256"),
            (512, "single_pass_512"),
            (1024, "single_pass_1024"),
        ]),
        task: Task::Reduction(Reduction {
            finish: Finish::OneLaunch,
            ..RESIDENT_SUM
        }),
        ..LADDER
    },
    Lesson {
        id: "flagship",
        step: "12",
        title: "hand in and leave",
        change: "a block adds its sum to the total and waits for no answer; two totals take turns; the input may begin anywhere",
        needs: &["single_pass"],
        file: "kernels/src/l12_flagship.rs",
        entries: Entries::PerParameter(&[(2, "flagship_2_i32"), (8, "flagship_8_i32")]),
        parameter: Some(Parameter {
            name: "loads",
            meaning: "loads of 16 bytes that a thread has on their way at once",
            values: &[2, 8],
            usual: 8,
        }),
        task: Task::Reduction(Reduction {
            geometry: Geometry::TilesTimesParameter {
                elements_per_thread: 4,
            },
            finish: Finish::TotalInTurns,
            ..SUM
        }),
        ..LADDER
    },
    Lesson {
        id: "flagship_bulk",
        step: "12b",
        title: "copies that nobody waits for",
        change: "asynchronous bulk copies fill a ring of tiles in shared memory while the threads add up the last one",
        needs: &["flagship"],
        file: "kernels/src/l12b_bulk.rs",
        entries: Entries::AnyBlock("flagship_bulk_i32"),
        task: Task::Reduction(Reduction {
            geometry: Geometry::Resident {
                elements_per_thread: 16,
                threads_per_multiprocessor: 1024,
            },
            finish: Finish::TotalInTurns,
            shared_bytes_per_thread: 192,
            ..SUM
        }),
        least_sm: 90,
        ..LADDER
    },
];
