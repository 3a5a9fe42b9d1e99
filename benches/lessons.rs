//! Device times of every lesson on a GPU, by events, and of the CPU references: one group per part of the course, one id per
//! lesson and size.
//!
//! `warm` launches again and again on one buffer, so that a small input stays in the L2 cache; `cold` overwrites the cache before
//! each launch, outside the timed region. A kernel that works in place gets fresh input before each launch, outside it as well,
//! which warms the cache. Every result is verified before and after the timing. Blocks have 512 threads, and a parameter its
//! usual value.
//!
//! Sizes: `WARPFOLD_BENCH_SIZES=2^16,2^24,2^30 cargo bench --bench lessons -- ladder/shuffle`.
//! Without a GPU the CPU references are all there is to time; the groups of the GPU are skipped, with a line that says so.

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use std::hint::black_box;
use std::time::Duration;
use warpfold::device::{Device, DeviceChoice, Timing};
use warpfold::machine::Machine;
use warpfold::ptx::PtxSet;
use warpfold_course::case::{LoadedCase, Measured};
use warpfold_course::lesson::{LessonError, LoadedLesson};
use warpfold_course::oracle::{CPU_REFERENCES, cpu_sequential};
use warpfold_course::prepared::Prepared;
use warpfold_course::random;
use warpfold_course::reducible::{Reducible, with_reducible};
use warpfold_course::size::parse_count;
use warpfold_kernels::catalogue::{Lesson, Part, Reduction, Task, lessons_of};

const BLOCK: u32 = 512;
const SEED: u64 = 42;
/// The sizes unless the environment says otherwise.
const USUAL_SIZES: &str = "2^16,2^20,2^24,2^26";
/// Launches that are queued one behind the other: each has two events.
const MOST_QUEUED: u64 = 1000;

fn sizes() -> Vec<usize> {
    let sizes = std::env::var("WARPFOLD_BENCH_SIZES").unwrap_or_else(|_| USUAL_SIZES.to_owned());
    let parsed: Result<Vec<usize>, String> = sizes.split(',').map(parse_count).collect();
    parsed.unwrap_or_else(|error| {
        eprintln!("WARPFOLD_BENCH_SIZES: {error}");
        std::process::exit(2)
    })
}

fn cpu_references(criterion: &mut Criterion) {
    warpfold_plot::register_letters();
    let mut group = criterion.benchmark_group("cpu");
    for n in sizes() {
        let mut values = random::i32_values(n, SEED).expect("there is memory for the values");
        let sum = cpu_sequential(&values);
        group.throughput(Throughput::Bytes(size_of_val(&values[..]) as u64));
        for reference in CPU_REFERENCES {
            let pristine = values.clone();
            assert_eq!((reference.sum)(&mut values), sum, "{}", reference.id);
            values.copy_from_slice(&pristine);
            // One that works in place goes on with what it left: other numbers, the same work.
            group.bench_function(BenchmarkId::new(reference.id, n), |bencher| {
                bencher.iter(|| (reference.sum)(black_box(&mut values)));
            });
            values.copy_from_slice(&pristine);
        }
    }
}

fn on_a_gpu(criterion: &mut Criterion) {
    let machine = match Device::open(&DeviceChoice::Gpu(0)) {
        Ok(device) => Machine::new(device, PtxSet::embedded()),
        Err(error) => {
            eprintln!("The groups of the GPU are skipped: {error}.");
            return;
        }
    };
    for part in Part::ALL {
        if lessons_of(part).is_empty() {
            continue;
        }
        let mut group = criterion.benchmark_group(format!("{part:?}").to_lowercase());
        for n in sizes() {
            for lesson in lessons_of(part)
                .iter()
                .filter(|lesson| !lesson.emulator_only)
            {
                let timed = match &lesson.task {
                    Task::Reduction(reduction) => {
                        with_reducible!(reduction.element_type, T => {
                            reduce::<T>(&mut group, &machine, lesson, reduction, n)
                        })
                    }
                    Task::Demonstration(_) => demonstrate(&mut group, &machine, lesson, n),
                };
                if let Err(error) = timed {
                    eprintln!("{} is skipped at n = {n}: {error}.", lesson.id);
                }
            }
        }
        group.finish();
    }
}

fn reduce<T: Reducible>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    machine: &Machine,
    lesson: &'static Lesson,
    reduction: &Reduction,
    n: usize,
) -> Result<(), LessonError> {
    let variant = lesson.usual(BLOCK);
    if reduction
        .most_elements(variant)
        .is_some_and(|most| n as u64 > most)
    {
        return Ok(());
    }
    let values =
        T::random(reduction.operator, n, SEED).map_err(|_| LessonError::HostMemory { n })?;
    let mut loaded = LoadedLesson::new(machine, lesson, variant, &values)?;
    assert!(loaded.launch()?.is_right(), "{} at n = {n}", lesson.id);
    group.throughput(Throughput::Bytes(size_of_val(&values[..]) as u64));
    bench(group, lesson, n, |timing| {
        let run = loaded.time(timing)?;
        assert!(run.is_right(), "{} at n = {n}", lesson.id);
        Ok(elapsed(&run.measured))
    });
    Ok(())
}

fn demonstrate(
    group: &mut BenchmarkGroup<'_, WallTime>,
    machine: &Machine,
    lesson: &'static Lesson,
    n: usize,
) -> Result<(), LessonError> {
    let variant = lesson.usual(BLOCK);
    let multiprocessors = machine.device().multiprocessors();
    let prepared = Prepared::new(lesson, variant, n, SEED, multiprocessors)?;
    let (Some(mut loaded), Some(case)) = (prepared.load(machine, lesson)?, &prepared.case) else {
        return Ok(());
    };
    let check = |loaded: &LoadedCase| -> Result<(), LessonError> {
        let verdict = (prepared.judge)(&loaded.outputs())?;
        assert_eq!(verdict.mistake, None, "{} at n = {n}", lesson.id);
        Ok(())
    };
    loaded.first()?;
    check(&loaded)?;
    group.throughput(Throughput::Bytes(case.bytes()));
    bench(group, lesson, n, |timing| {
        let times = loaded.time(timing)?;
        check(&loaded)?;
        Ok(Duration::from_secs_f64(
            times.elapsed_ms.iter().sum::<f64>() / 1e3,
        ))
    });
    Ok(())
}

/// Benches launches, warm and cold; `time` makes some and gives their device time in all.
fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    lesson: &Lesson,
    n: usize,
    mut time: impl FnMut(&Timing) -> Result<Duration, LessonError>,
) {
    for (cache, cold) in [("warm", false), ("cold", true)] {
        group.bench_function(format!("{}/{n}/{cache}", lesson.id), |bencher| {
            bencher.iter_custom(|launches| {
                let mut left = launches;
                let mut elapsed = Duration::ZERO;
                while left > 0 {
                    let repeat = left.min(MOST_QUEUED);
                    let timing = Timing {
                        repeat: repeat as usize,
                        cold,
                    };
                    elapsed +=
                        time(&timing).unwrap_or_else(|error| panic!("{}: {error}", lesson.id));
                    left -= repeat;
                }
                elapsed
            });
        });
    }
}

fn elapsed(measured: &Measured) -> Duration {
    match measured {
        Measured::Times(times) => {
            Duration::from_secs_f64(times.elapsed_ms.iter().sum::<f64>() / 1e3)
        }
        other => panic!("a GPU gives times, and not {other:?}"),
    }
}

criterion_group! {
    name = lessons;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = cpu_references, on_a_gpu
}
criterion_main!(lessons);
