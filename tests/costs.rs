//! What the headings "Cost" of the lessons say of one block over a whole tile, counted on the emulator.

use warpfold::Device;
use warpfold::device::{Counters, DeviceChoice};
use warpfold_course::case::Measured;
use warpfold_course::lesson;
use warpfold_course::reducible::Reducible;
use warpfold_course::wide::with_reduction;
use warpfold_kernels::catalogue::{Part, lessons_of};

/// What the threads of one block do, added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// Words of global memory.
    loads: u64,
    stores: u64,
    atomics: u64,
    /// Words of shared memory.
    shared_loads: u64,
    shared_stores: u64,
    /// Barriers that the whole block comes to.
    barriers: u64,
}

/// A tree in global memory.
const fn in_global(loads: u64, stores: u64, barriers: u64) -> Cost {
    Cost {
        loads,
        stores,
        atomics: 0,
        shared_loads: 0,
        shared_stores: 0,
        barriers,
    }
}

/// The input read once, one result, and the rest in shared memory: accesses of either kind, barriers.
const fn in_shared(loads: u64, shared_loads: u64, shared_stores: u64, barriers: u64) -> Cost {
    Cost {
        shared_loads,
        shared_stores,
        ..in_global(loads, 1, barriers)
    }
}

/// An atomic addition for the one store of the result.
const fn with_atomic(cost: Cost) -> Cost {
    Cost {
        stores: cost.stores - 1,
        atomics: 1,
        ..cost
    }
}

/// The cost by id, block size and parameter.
fn documented(id: &str, b: u64, parameter: u64) -> Option<Cost> {
    let log = u64::from(b.ilog2());
    let warps = b / 32;
    let unroll = |k: u64| in_global(k * b + 2 * b - 1, 2 * b, log + 1);
    let tree = |loads: u64| in_shared(loads, 2 * b - 1, 2 * b - 1, log + 1);
    let shuffles = |loads: u64| in_shared(loads, warps, warps, 1);
    Some(match id {
        "neighbored" | "neighbored_less" | "interleaved" | "block_reduce_1" | "block_reduce_2" => {
            in_global(2 * b - 1, b, log)
        }
        "unroll2" => unroll(2),
        "unroll4" => unroll(4),
        "unroll8" => unroll(8),
        "unroll_warps8_sync" => in_global(8 * b + 2 * (b - 64) + 224, 2 * b + 97, log - 5),
        "complete_unroll_shared" => in_shared(8 * b, 2 * (b - 64) + 224, 2 * b + 96, log - 5),
        "shuffle" | "redux" => shuffles(8 * b),
        "vectorized" => shuffles(16 * b),
        "in_flight" | "in_flight_bounded" => shuffles(64 * b),
        // The one block is the last, and comes to the rest as well.
        "single_pass" => Cost {
            atomics: 2,
            stores: 2,
            ..in_shared(16 * b + 1, 2 * warps + b, 2 * warps + 1, 3)
        },
        "flagship" => Cost {
            atomics: 1,
            ..shuffles(4 * parameter * b)
        },
        "naive_atomic" => Cost {
            atomics: b,
            ..in_global(b, 0, 0)
        },
        "warp_aggregated_atomic" => Cost {
            atomics: warps,
            ..in_global(b, 0, 0)
        },
        "block_aggregated_atomic" => with_atomic(shuffles(b)),
        "blocked" | "strided" => in_global(4 * b - 1, 2 * b, log + 1),
        "segmented_blocked" | "segmented_strided" => {
            with_atomic(in_global(4 * b - 1, 2 * b, log + 1))
        }
        "shared_dynamic" => tree(2 * b),
        "segmented_shared" => with_atomic(tree(2 * b)),
        "coarse" => with_atomic(tree(2 * parameter * b)),
        "tile_partition" => {
            let t = parameter;
            let steps = u64::from(t.ilog2());
            // A tile's tree stores T words a step and loads T/2, T/4 … 1; the first tile has one more of them.
            let trees = b / t + 1;
            let tiles = b / t;
            with_atomic(in_shared(
                16 * b,
                trees * (t - 1) + tiles,
                trees * steps * t + tiles,
                2,
            ))
        }
        "block_group" => with_atomic(in_shared(16 * b, b - 1, b * log, 2 * log)),
        // Tiles of four, and in each tile of 32 one of eight that reduces their sums, with an atomic of its own.
        "nested_tiles" => Cost {
            atomics: warps,
            stores: 0,
            ..in_shared(
                16 * b,
                b / 4 * 3 + warps * (8 + 7),
                b * 2 + warps * (8 + 24),
                0,
            )
        },
        "warp_shuffle_down" => shuffles(b),
        "warp_shuffle_xor" => in_shared(b, warps * warps, warps, 1),
        // The word once, for the one block need not wait, and its own partial.
        "grid_sync" => Cost {
            atomics: 2,
            stores: 2,
            ..in_shared(16 * b + 2, 2 * warps, 2 * warps, 3)
        },
        _ => return None,
    })
}

#[test]
fn one_block_over_a_whole_tile_costs_what_is_documented() {
    let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    let machine = device;
    for part in [Part::Ladder, Part::Roads, Part::Divergence, Part::Memory] {
        for lesson in lessons_of(part) {
            let Some(reduction) = lesson.reduction() else {
                continue;
            };
            for variant in lesson.variants() {
                let b = u64::from(variant.block);
                let parameter = u64::from(variant.parameter.unwrap_or(0));
                let Some(expected) = documented(lesson.id, b, parameter) else {
                    // The exhibits stand beside the right form of the same thing, and bulk copies are no loads of a thread.
                    let copies = lesson.id == "flagship_bulk";
                    assert!(
                        lesson.exhibit.is_some() || copies,
                        "{} has no cost",
                        lesson.id
                    );
                    continue;
                };
                let n = reduction.elements_per_thread(variant) * b;
                let (measured, blocks) = with_reduction!(reduction, T => {
                    let values = T::random(reduction.operator, n as usize, 1)
                        .expect("there is memory for them");
                    let run = lesson::run::<T>(&machine, lesson, variant, &values, None);
                    let run = run.expect("it runs");
                    (run.measured, run.blocks)
                });
                let Measured::Counters { counters, .. } = measured else {
                    panic!("the emulator counts, and gave {measured:?}");
                };
                assert_eq!(blocks, 1, "{} {variant:?}", lesson.id);
                assert_eq!(cost(&counters, b), expected, "{} {variant:?}", lesson.id);
            }
        }
    }
}

/// What was counted of one block of `b` threads. All values have 4 bytes.
fn cost(counters: &Counters, b: u64) -> Cost {
    Cost {
        loads: counters.global_loads.bytes / 4,
        stores: counters.global_stores.bytes / 4,
        atomics: counters.atomics,
        shared_loads: counters.shared_loads.bytes / 4,
        shared_stores: counters.shared_stores.bytes / 4,
        barriers: counters.barriers / (b / 32),
    }
}
