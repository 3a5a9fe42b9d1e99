//! Running one lesson on several devices at once: each reduces a part of the input, and the host combines their results.

use crate::case::Measured;
use crate::lesson::{self, LessonError, LessonRun, LoadedLesson};
use crate::oracle::Oracle;
use crate::reducible::{Plain, Reducible};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use warpfold::Device;
use warpfold::device::{DeviceChoice, Timing};
use warpfold::ptx::PtxSet;
use warpfold_kernels::catalogue::{Lesson, Operator, Variant};

/// Reduces `values` by a lesson on several devices at the same time, each of which has a thread of its own here and the kernels of `ptx`,
/// and verifies the result of all.
///
/// The run is as of one device: the blocks of all together, the times of the slowest device, and the counters of all. GPUs begin with the
/// timed launches together.
///
/// # Errors
/// As [`lesson::run`], and a device that cannot be opened. Of several errors, that of the first device is returned.
pub fn run<T: Reducible + Sync>(
    devices: &[DeviceChoice],
    ptx: &PtxSet,
    lesson: &Lesson,
    variant: Variant,
    values: &[T],
    timing: Option<Timing>,
) -> Result<LessonRun<T>, LessonError> {
    let reduction = lesson
        .reduction()
        .ok_or(LessonError::NoReduction { lesson: lesson.id })?;
    let tile = reduction.elements_per_thread(variant) as usize * variant.block as usize;
    let load = |device: &Device, part: &[T]| LoadedLesson::new(device, lesson, variant, part);
    let parts = run_parts(devices, ptx, values, tile, timing, load)?;
    let oracle = T::oracle(reduction, variant, values);
    Ok(combine(reduction.operator, parts, oracle))
}

/// As [`run`], by what [`warpfold::sum()`] launches on each device.
///
/// # Errors
/// As [`lesson::of_sum`], and a device that cannot be opened.
pub fn of_sum<T: Plain + Sync>(
    devices: &[DeviceChoice],
    ptx: &PtxSet,
    values: &[T],
    timing: Option<Timing>,
) -> Result<LessonRun<T>, LessonError> {
    let parts = run_parts(devices, ptx, values, 1, timing, lesson::of_sum)?;
    let oracle = Oracle::new(Operator::Sum, values);
    Ok(combine(Operator::Sum, parts, oracle))
}

/// What each device makes of its part.
fn run_parts<T: Reducible + Sync>(
    devices: &[DeviceChoice],
    ptx: &PtxSet,
    values: &[T],
    tile: usize,
    timing: Option<Timing>,
    load: impl Fn(&Device, &[T]) -> Result<LoadedLesson<T>, LessonError> + Sync,
) -> Result<Vec<LessonRun<T>>, LessonError> {
    let count = NonZeroUsize::new(devices.len()).unwrap_or(NonZeroUsize::MIN);
    let begin = Barrier::new(devices.len());
    let run_part = |choice: &DeviceChoice, part: Range<usize>| {
        let prepared = || {
            let device = Device::open(choice)?.with_ptx(ptx.clone());
            let mut loaded = load(&device, &values[part])?;
            loaded.launch()?;
            Ok::<_, LessonError>(loaded)
        };
        let prepared = prepared();
        // Who has failed comes here too, so that the others do not wait in vain.
        begin.wait();
        prepared?.run_again(timing)
    };
    let run_part = &run_part;
    thread::scope(|scope| {
        let parts = devices.iter().zip(parts(values.len(), count, tile));
        let threads: Vec<_> = parts
            .map(|(choice, part)| scope.spawn(move || run_part(choice, part)))
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|run| run.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

fn combine<T: Reducible>(
    operator: Operator,
    runs: Vec<LessonRun<T>>,
    oracle: T::Oracle,
) -> LessonRun<T> {
    let results: Vec<T::Result> = runs.iter().map(|run| run.result).collect();
    LessonRun {
        blocks: runs.iter().map(|run| run.blocks).sum(),
        result: T::Result::finish(operator, &results),
        leftover: runs.iter().find_map(|run| run.leftover.clone()),
        oracle,
        // The host's last step rounds once more.
        roundings: 1 + runs.iter().map(|run| run.roundings).max().unwrap_or(0),
        measured: together(runs.into_iter().map(|run| run.measured)),
    }
}

/// Neighbouring parts of `n` elements, one for each device: as many to each as whole tiles allow.
pub fn parts(n: usize, devices: NonZeroUsize, tile: usize) -> Vec<Range<usize>> {
    let tile = tile.max(1);
    let tiles = n.div_ceil(tile);
    let begin = |device: usize| {
        let before = tiles as u128 * device as u128 / devices.get() as u128;
        n.min(before as usize * tile)
    };
    (0..devices.get())
        .map(|device| begin(device)..begin(device + 1))
        .collect()
}

/// The times of the slowest, or the counters of all.
fn together(all: impl Iterator<Item = Measured>) -> Measured {
    all.fold(Measured::Nothing, |together, measured| {
        match (together, measured) {
            (Measured::Nothing, measured) | (measured, Measured::Nothing) => measured,
            (Measured::Times(one), Measured::Times(other)) => {
                let is_slower = other.median_ms() > one.median_ms();
                Measured::Times(if is_slower { other } else { one })
            }
            (
                Measured::Counters {
                    mut counters,
                    mut grids,
                    emulated_in_ms,
                },
                Measured::Counters {
                    counters: more,
                    grids: more_grids,
                    emulated_in_ms: other_ms,
                },
            ) => {
                counters += more;
                grids += more_grids;
                Measured::Counters {
                    counters,
                    grids,
                    emulated_in_ms: emulated_in_ms.max(other_ms),
                }
            }
            // A GPU and an emulator: only the times are times.
            (times @ Measured::Times(_), _) | (_, times @ Measured::Times(_)) => times,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::wide::with_reduction;
    use warpfold_kernels::catalogue;

    fn emulators(count: usize) -> Vec<DeviceChoice> {
        vec![DeviceChoice::Emulator; count]
    }

    #[test]
    fn parts_are_whole_tiles_beside_each_other() {
        let three = NonZeroUsize::new(3).expect("it is not 0");
        assert_eq!(parts(100, three, 10), [0..30, 30..60, 60..100]);
        assert_eq!(parts(15, three, 10), [0..0, 0..10, 10..15]);
        assert_eq!(parts(0, three, 10), [0..0, 0..0, 0..0]);
    }

    #[test]
    fn lessons_are_right_on_several_devices() {
        for id in ["unroll8", "flagship", "shuffle_sum_f32", "wide_sum_i32"] {
            let lesson = catalogue::find(id).expect("it is there");
            let reduction = lesson.reduction().expect("it reduces");
            with_reduction!(reduction, T => {
                let data = Data::Random { seed: 3 };
                let values = data.values::<T>(reduction.operator, 50_001).expect("it fits");
                let run = |count| {
                    let (ptx, variant) = (PtxSet::embedded(), lesson.usual(128));
                    let run = run(&emulators(count), &ptx, lesson, variant, &values, None);
                    run.expect("it runs")
                };
                let (alone, together) = (run(1), run(3));
                assert!(alone.is_right() && together.is_right(), "{id}");
                assert!(together.blocks >= alone.blocks, "{id}");
                let Measured::Counters { counters, grids, .. } = together.measured else {
                    panic!("an emulator counts");
                };
                assert!(counters.inst_executed > 0 && grids.threads > 0, "{id}");
            });
        }
    }

    #[test]
    fn the_library_s_sum_is_right_on_several_devices() {
        let values: Vec<f32> = (0..40_000).map(|value| (value % 100) as f32).collect();
        for count in [1, 2, 5] {
            let run = of_sum(&emulators(count), &PtxSet::embedded(), &values, None);
            let run = run.expect("it runs");
            assert!(run.is_right());
            assert_eq!(run.result, 40_000.0 * 49.5);
        }
    }

    #[test]
    fn the_first_error_is_told() {
        let lesson = catalogue::find("unroll8").expect("it is there");
        let run = run::<i32>(
            &emulators(2),
            &PtxSet::embedded(),
            lesson,
            lesson.usual(7),
            &[1; 100],
            None,
        );
        assert!(matches!(run, Err(LessonError::BlockSize { block: 7, .. })));
    }
}
