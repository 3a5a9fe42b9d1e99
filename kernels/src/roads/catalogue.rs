//! Other roads to the same sum.

use crate::ladder::catalogue::{LADDER, RESIDENT_SUM, SUM};
use crate::lesson::{
    Entries, Finish, Geometry, Lesson, Parameter, Part, Reduction, Task, pages, per_block,
};

pages! { "roads":
    NAIVE_ATOMIC_PAGE "1" "Everybody adds to one word" "r01_naive_atomic";
    WARP_AGGREGATED_ATOMIC_PAGE "2" "One atomic for a warp" "r02_warp_aggregated_atomic";
    BLOCK_AGGREGATED_ATOMIC_PAGE "3" "One atomic for a block" "r03_block_aggregated_atomic";
    BLOCKED_PAGE "4" "One block, a pair of elements a thread" "r04_blocked";
    STRIDED_PAGE "5" "One block, neighbours read neighbours" "r05_strided";
    SHARED_DYNAMIC_PAGE "6" "One block, memory by the launch" "r06_shared_dynamic";
    SEGMENTED_SHARED_PAGE "7" "Any length, in segments" "r07_segmented_shared";
    SEGMENTED_BLOCKED_PAGE "8" "The pairs of road 4, in segments" "r08_segmented_blocked";
    SEGMENTED_STRIDED_PAGE "9" "The strides of road 5, in segments" "r09_segmented_strided";
    COARSE_PAGE "10" "Coarser threads" "r10_coarse";
    TILE_PARTITION_PAGE "11" "A block in tiles" "r11_tile_partition";
    WARP_SHUFFLE_PAGE "12" "Down or across" "r12_warp_shuffle";
    GRID_SYNC_PAGE "13" "A barrier for the whole grid" "r13_grid_sync";
    REDUX_PAGE "14" "A warp in one instruction" "r14_redux";
    GROUPS_PAGE "15" "Groups within groups" "r15_groups";
}

/// What the lessons of this part have in common; each row states the rest.
const ROAD: Lesson = Lesson {
    part: Part::Roads,
    module: Part::Roads.module(),
    task: partials(1),
    ..LADDER
};

/// This many elements per thread, and a partial sum for each block.
const fn partials(elements_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        ..SUM
    })
}

/// This many elements per thread, and each block adds its sum to the total.
const fn total(elements_per_thread: u32, shared_bytes_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        finish: Finish::Total,
        shared_bytes_per_thread,
        ..SUM
    })
}

/// Any number of blocks, each with a word of scratch memory for each thread, which add to the total.
const GROUPS: Task = Task::Reduction(Reduction {
    finish: Finish::Total,
    shared_bytes_per_thread: 4,
    ..RESIDENT_SUM
});

/// The same as [`total`], by a tree that overwrites the input.
const fn total_in_place(elements_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread,
        },
        finish: Finish::Total,
        in_place: true,
        ..SUM
    })
}

/// One block, which takes two elements a thread and leaves one sum.
const fn one_block(in_place: bool, shared_bytes_per_thread: u32) -> Task {
    Task::Reduction(Reduction {
        geometry: Geometry::OneBlock {
            elements_per_thread: 2,
        },
        in_place,
        shared_bytes_per_thread,
        ..SUM
    })
}

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "naive_atomic",
        title: "everybody adds to one word",
        change: "one atomic addition for each element: the shortest kernel, and all n of them queue up",
        needs: &[],
        entries: Entries::AnyBlock("naive_atomic"),
        task: total(1, 0),
        ..ROAD.on(&NAIVE_ATOMIC_PAGE)
    },
    Lesson {
        id: "warp_aggregated_atomic",
        title: "one atomic for a warp",
        change: "a warp adds up by shuffles before one lane adds to the total",
        needs: &["naive_atomic", "shuffle"],
        entries: Entries::AnyBlock("warp_aggregated_atomic"),
        least_block: 32,
        task: total(1, 0),
        ..ROAD.on(&WARP_AGGREGATED_ATOMIC_PAGE)
    },
    Lesson {
        id: "block_aggregated_atomic",
        title: "one atomic for a block",
        change: "a block adds up as in step 9 before one thread adds to the total",
        needs: &["warp_aggregated_atomic"],
        entries: per_block!("block_aggregated_atomic"),
        task: total(1, 0),
        ..ROAD.on(&BLOCK_AGGREGATED_ATOMIC_PAGE)
    },
    Lesson {
        id: "blocked",
        title: "a pair of elements a thread",
        change: "one block, whose thread i owns element 2i; the stride doubles, and the threads at work are scattered",
        needs: &["neighbored"],
        entries: Entries::AnyBlock("blocked"),
        task: one_block(true, 0),
        ..ROAD.on(&BLOCKED_PAGE)
    },
    Lesson {
        id: "strided",
        title: "the same, side by side",
        change: "one block, whose stride halves from B, so that threads at work and words stay side by side",
        needs: &["blocked", "interleaved"],
        entries: Entries::AnyBlock("strided"),
        task: one_block(true, 0),
        ..ROAD.on(&STRIDED_PAGE)
    },
    Lesson {
        id: "shared_dynamic",
        title: "memory by the launch",
        change: "one block, whose tree runs in shared memory of a size that the launch sets; the first addition comes with the loads",
        needs: &["strided", "complete_unroll_shared"],
        entries: Entries::AnyBlock("shared_dynamic"),
        task: one_block(false, 4),
        ..ROAD.on(&SHARED_DYNAMIC_PAGE)
    },
    Lesson {
        id: "segmented_shared",
        title: "any length, in segments",
        change: "a block for each 2B elements, which adds its sum to the total atomically",
        needs: &["shared_dynamic", "naive_atomic"],
        entries: Entries::AnyBlock("segmented_shared"),
        task: total(2, 4),
        ..ROAD.on(&SEGMENTED_SHARED_PAGE)
    },
    Lesson {
        id: "segmented_blocked",
        title: "road 4 in segments",
        change: "the scattered tree at a size that can be measured",
        needs: &["blocked", "segmented_shared"],
        entries: Entries::AnyBlock("segmented_blocked"),
        task: total_in_place(2),
        ..ROAD.on(&SEGMENTED_BLOCKED_PAGE)
    },
    Lesson {
        id: "segmented_strided",
        title: "road 5 in segments",
        change: "the same loads and stores as the road before, in fewer sectors and by whole warps",
        needs: &["strided", "segmented_blocked"],
        entries: Entries::AnyBlock("segmented_strided"),
        task: total_in_place(2),
        ..ROAD.on(&SEGMENTED_STRIDED_PAGE)
    },
    Lesson {
        id: "coarse",
        title: "coarser threads",
        change: "each thread adds up 2K elements before the tree: K times fewer trees, barriers and atomics",
        needs: &["segmented_shared"],
        entries: Entries::PerParameter(&[
            (1, "coarse_1"),
            (2, "coarse_2"),
            (4, "coarse_4"),
            (8, "coarse_8"),
        ]),
        parameter: Some(Parameter {
            name: "k",
            meaning: "pairs of elements that a thread adds up before the tree",
            values: &[1, 2, 4, 8],
            usual: 4,
        }),
        task: Task::Reduction(Reduction {
            geometry: Geometry::TilesTimesParameter {
                elements_per_thread: 2,
            },
            finish: Finish::Total,
            shared_bytes_per_thread: 4,
            ..SUM
        }),
        ..ROAD.on(&COARSE_PAGE)
    },
    Lesson {
        id: "tile_partition",
        title: "a block in tiles",
        change: "a group of threads as a value, with a barrier of its own: a function that takes one needs to know nothing else",
        needs: &["vectorized", "segmented_shared"],
        entries: Entries::PerParameter(&[
            (1, "tile_partition_1"),
            (2, "tile_partition_2"),
            (4, "tile_partition_4"),
            (8, "tile_partition_8"),
            (16, "tile_partition_16"),
            (32, "tile_partition_32"),
        ]),
        least_block: 32,
        parameter: Some(Parameter {
            name: "tile",
            meaning: "threads of a tile",
            values: &[1, 2, 4, 8, 16, 32],
            usual: 32,
        }),
        task: GROUPS,
        ..ROAD.on(&TILE_PARTITION_PAGE)
    },
    Lesson {
        id: "warp_shuffle_down",
        title: "down a warp",
        change: "shuffles down leave the sum in one lane, so thread 0 has the sum of the block",
        needs: &["shuffle"],
        entries: Entries::AnyBlock("warp_shuffle_down"),
        least_block: 32,
        task: partials(1),
        ..ROAD.on(&WARP_SHUFFLE_PAGE)
    },
    Lesson {
        id: "warp_shuffle_xor",
        title: "across a warp",
        change: "shuffles across leave the sum in every lane, so every thread has the sum of the block",
        needs: &["warp_shuffle_down"],
        entries: Entries::AnyBlock("warp_shuffle_xor"),
        least_block: 32,
        task: partials(1),
        ..ROAD.on(&WARP_SHUFFLE_PAGE)
    },
    Lesson {
        id: "grid_sync",
        title: "a barrier for the whole grid",
        change: "a cooperative launch lets all blocks wait for one another, so that block 0 can finish",
        needs: &["single_pass"],
        entries: per_block!("grid_sync"),
        task: Task::Reduction(Reduction {
            geometry: Geometry::Resident {
                elements_per_thread: 16,
                threads_per_multiprocessor: 1024,
            },
            finish: Finish::OneLaunch,
            ..SUM
        }),
        cooperative: true,
        ..ROAD.on(&GRID_SYNC_PAGE)
    },
    Lesson {
        id: "redux",
        title: "a warp in one instruction",
        change: "since sm_80 the sum of a warp is one instruction, instead of five shuffles and five additions",
        needs: &["shuffle"],
        entries: per_block!("redux"),
        task: partials(8),
        least_sm: 80,
        ..ROAD.on(&REDUX_PAGE)
    },
    Lesson {
        id: "block_group",
        title: "the block as a group",
        change: "one function reduces any group that has ranks, a size and a barrier: here the whole block",
        needs: &["tile_partition"],
        entries: Entries::AnyBlock("block_group"),
        least_block: 32,
        task: GROUPS,
        ..ROAD.on(&GROUPS_PAGE)
    },
    Lesson {
        id: "nested_tiles",
        title: "groups within groups",
        change: "the same function for tiles of four within tiles of 32, whose barriers keep to their warp",
        needs: &["block_group"],
        entries: Entries::AnyBlock("nested_tiles"),
        least_block: 32,
        task: GROUPS,
        ..ROAD.on(&GROUPS_PAGE)
    },
];
