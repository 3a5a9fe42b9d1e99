//! The emulator's speed: warp instructions per second on every lesson of the ladder, n = 2^20, block 512.
//!
//! `one_core` launches with one host thread, `all_cores` with all there are, both without observers; `profile` and `racecheck`
//! launch with one host thread and that observer. The input lies in memory that the launch before has touched. Each kernel's
//! sum is verified before it is timed.

mod step;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use step::Step;
use warpfold::ptx::PtxSet;
use warpfold_course::{oracle, random};
use warpfold_emulator::{Counters, Nothing, Observer, Profile, Racecheck};
use warpfold_kernels::catalogue::{Part, PtxText, lessons_of};

const N: usize = 1 << 20;
/// The architecture of the PTX: the newest, because a step of the ladder needs it.
const SM: u32 = 90;

fn ladder(criterion: &mut Criterion) {
    warpfold_plot::register_letters();
    let embedded = PtxSet::embedded();
    let ptx = embedded
        .built_for(PtxText::Kernels, SM)
        .expect("PTX for this architecture is built");
    let values = random::i32_values(N, 42).expect("four mebibytes fit");
    let sum = oracle::cpu_sequential(&values);
    let mut group = |name: &str, threads: usize, launch: fn(&Step)| {
        let mut group = criterion.benchmark_group(format!("emulator/{name}"));
        group.sample_size(10);
        for lesson in lessons_of(Part::Ladder) {
            let step = Step::new(ptx, lesson, &values, threads);
            let mut counters = Counters::default();
            step.run(&mut counters);
            assert_eq!(step.sum(), sum, "{}", lesson.id);
            group.throughput(Throughput::Elements(counters.inst_executed));
            group.bench_function(lesson.id, |bencher| {
                bencher.iter(|| launch(black_box(&step)));
            });
        }
        group.finish();
    };
    group("one_core", 1, observed::<Nothing>);
    group("all_cores", 0, observed::<Nothing>);
    group("profile", 1, observed::<Profile>);
    group("racecheck", 1, observed::<Racecheck>);
}

fn observed<O: Observer + Default>(step: &Step) {
    let mut observer = O::default();
    step.run(&mut observer);
    black_box(observer);
}

criterion_group!(benches, ladder);
criterion_main!(benches);
