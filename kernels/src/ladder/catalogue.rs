//! The ladder: the sum of `i32` values, one idea a step.

use crate::lesson::{
    ElementType, Entries, Finish, Geometry, Lesson, Operator, Parameter, Part, Reduction, Task,
    pages, per_block,
};

pages! { "ladder":
    NEIGHBORED_PAGE "1" "Neighbours add up" "l01_neighbored";
    NEIGHBORED_LESS_PAGE "2" "Whole warps retire" "l02_neighbored_less";
    INTERLEAVED_PAGE "3" "Neighbours read neighbours" "l03_interleaved";
    UNROLL_PAGE "4" "Two, four, eight elements a thread" "l04_unroll";
    UNROLL_WARPS8_PAGE "5" "The last warp alone" "l05_unroll_warps8";
    UNROLL_WARPS8_SYNC_PAGE "5b" "The last warp in step" "l05b_unroll_warps8_sync";
    COMPLETE_UNROLL_WARPS8_PAGE "6" "The loop written out" "l06_complete_unroll_warps8";
    COMPLETE_UNROLL_PAGE "7" "The block size in the type" "l07_complete_unroll";
    COMPLETE_UNROLL_SHARED_PAGE "8" "The tree in shared memory" "l08_complete_unroll_shared";
    SHUFFLE_PAGE "9" "Registers talk to registers" "l09_shuffle";
    VECTORIZED_PAGE "10" "Sixteen bytes a load" "l10_vectorized";
    SINGLE_PASS_PAGE "11" "The whole sum in one launch" "l11_single_pass";
    FLAGSHIP_PAGE "12" "The flagship" "l12_flagship";
    ACCUMULATE_PAGE "12a" "What the flagship knows of a type" "l12a_accumulate";
    BULK_PAGE "12b" "Copies that nobody waits for" "l12b_bulk";
    DETERMINISTIC_PAGE "12c" "The same bits every time" "l12c_deterministic";
}

/// Why steps 5 to 7 are exhibits.
const NO_WARP_BARRIER: Option<&str> = Some(
    "the lanes of the last warp exchange sums through volatile accesses without a warp barrier, which is a data race: \
     since Volta (sm_70) a warp need not run in lockstep",
);

/// The sum of `i32` values by blocks that take eight elements a thread and only read their input.
pub(crate) const SUM: Reduction = Reduction {
    operator: Operator::Sum,
    element_type: ElementType::I32,
    partial_type: ElementType::I32,
    result_type: ElementType::I32,
    geometry: Geometry::Tiles {
        elements_per_thread: 8,
    },
    finish: Finish::PartialPerBlock,
    in_place: false,
    shared_bytes_per_thread: 0,
};

/// The same by no more blocks than run at once, with four loads of 16 bytes per thread and tile.
pub(crate) const RESIDENT_SUM: Reduction = Reduction {
    geometry: Geometry::Resident {
        elements_per_thread: 16,
        threads_per_multiprocessor: 2048,
    },
    ..SUM
};

/// The sum by blocks that overwrite the input, with this many elements per thread.
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
pub(crate) const LADDER: Lesson = Lesson {
    id: "",
    part: Part::Ladder,
    module: Part::Ladder.module(),
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 1,
    parameter: None,
    task: sum_in_place(8),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "neighbored",
        title: "neighbours add up",
        change: "the tree of sums, in place: thread i works when i is a multiple of twice the stride, which doubles from 1",
        entries: Entries::AnyBlock("neighbored"),
        task: sum_in_place(1),
        ..LADDER.on(&NEIGHBORED_PAGE)
    },
    Lesson {
        id: "neighbored_less",
        title: "whole warps retire",
        change: "the same sums, done by the first threads of the block instead of by every other one",
        needs: &["neighbored"],
        entries: Entries::AnyBlock("neighbored_less"),
        task: sum_in_place(1),
        ..LADDER.on(&NEIGHBORED_LESS_PAGE)
    },
    Lesson {
        id: "interleaved",
        title: "neighbours read neighbours",
        change: "the stride halves from half the block to 1, so that neighbouring threads touch neighbouring words",
        needs: &["neighbored_less"],
        entries: Entries::AnyBlock("interleaved"),
        task: sum_in_place(1),
        ..LADDER.on(&INTERLEAVED_PAGE)
    },
    Lesson {
        id: "unroll2",
        title: "two elements a thread",
        change: "each thread first adds two elements, loaded independently, so that half the blocks do the work",
        needs: &["interleaved"],
        entries: Entries::AnyBlock("unroll2"),
        task: sum_in_place(2),
        ..LADDER.on(&UNROLL_PAGE)
    },
    Lesson {
        id: "unroll4",
        title: "four elements a thread",
        change: "four elements instead of two",
        needs: &["unroll2"],
        entries: Entries::AnyBlock("unroll4"),
        task: sum_in_place(4),
        ..LADDER.on(&UNROLL_PAGE)
    },
    Lesson {
        id: "unroll8",
        title: "eight elements a thread",
        change: "eight elements instead of four",
        needs: &["unroll4"],
        entries: Entries::AnyBlock("unroll8"),
        ..LADDER.on(&UNROLL_PAGE)
    },
    Lesson {
        id: "unroll_warps8",
        title: "the last warp alone",
        change: "below stride 64 the first warp finishes alone, with volatile accesses and no block barrier",
        needs: &["unroll8"],
        entries: Entries::AnyBlock("unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER.on(&UNROLL_WARPS8_PAGE)
    },
    Lesson {
        id: "unroll_warps8_sync",
        title: "the last warp in step",
        change: "a warp barrier between the steps of the last warp instead of volatile accesses",
        needs: &["unroll_warps8"],
        entries: Entries::AnyBlock("unroll_warps8_sync"),
        ..LADDER.on(&UNROLL_WARPS8_SYNC_PAGE)
    },
    Lesson {
        id: "complete_unroll_warps8",
        title: "the loop written out",
        change: "step 5 with its loop written out, each step under a test of the block size",
        needs: &["unroll_warps8"],
        entries: Entries::AnyBlock("complete_unroll_warps8"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER.on(&COMPLETE_UNROLL_WARPS8_PAGE)
    },
    Lesson {
        id: "complete_unroll",
        title: "the block size in the type",
        change: "the block size is a const generic, and its tests vanish when the kernel is compiled",
        needs: &["complete_unroll_warps8"],
        entries: per_block!("complete_unroll"),
        exhibit: NO_WARP_BARRIER,
        ..LADDER.on(&COMPLETE_UNROLL_PAGE)
    },
    Lesson {
        id: "complete_unroll_shared",
        title: "the tree in shared memory",
        change: "the tree runs in shared memory, and the input is only read",
        needs: &["complete_unroll"],
        entries: per_block!("complete_unroll_shared"),
        task: Task::Reduction(SUM),
        ..LADDER.on(&COMPLETE_UNROLL_SHARED_PAGE)
    },
    Lesson {
        id: "shuffle",
        title: "registers talk to registers",
        change: "each warp adds up by shuffles, and only one word per warp goes through shared memory",
        needs: &["complete_unroll_shared"],
        entries: per_block!("shuffle"),
        task: Task::Reduction(SUM),
        ..LADDER.on(&SHUFFLE_PAGE)
    },
    Lesson {
        id: "vectorized",
        title: "sixteen bytes a load",
        change: "loads of 16 bytes, and only as many blocks as run at once, each of which takes further tiles",
        needs: &["shuffle"],
        entries: per_block!("vectorized"),
        task: Task::Reduction(RESIDENT_SUM),
        ..LADDER.on(&VECTORIZED_PAGE)
    },
    Lesson {
        id: "single_pass",
        title: "the whole sum in one launch",
        change: "the last block to finish, which a ticket identifies, adds up all partial sums, in their order",
        needs: &["vectorized"],
        entries: per_block!("single_pass"),
        task: Task::Reduction(Reduction {
            finish: Finish::OneLaunch,
            ..RESIDENT_SUM
        }),
        ..LADDER.on(&SINGLE_PASS_PAGE)
    },
    Lesson {
        id: "flagship",
        title: "add and leave",
        change: "a block adds its sum to the total and waits for no answer; two totals take turns; the input may begin anywhere",
        needs: &["single_pass"],
        entries: Entries::PerParameter(&[(2, "flagship_2_i32"), (8, "flagship_8_i32")]),
        least_block: 32,
        parameter: Some(Parameter {
            name: "loads",
            meaning: "loads of 16 bytes that a thread has in flight at once",
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
        ..LADDER.on(&FLAGSHIP_PAGE)
    },
    Lesson {
        id: "flagship_bulk",
        title: "copies that nobody waits for",
        change: "asynchronous bulk copies fill a ring of tiles in shared memory while the threads add up the last one",
        needs: &["flagship"],
        entries: Entries::AnyBlock("flagship_bulk_i32"),
        least_block: 32,
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
        ..LADDER.on(&BULK_PAGE)
    },
];
