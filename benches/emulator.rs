//! The emulator's speed: warp instructions per second on every lesson of the ladder, n = 2^20, block 512, without observers.
//!
//! `one_core` launches with one host thread, `all_cores` with all there are. The input lies in memory that the launch before
//! has touched. Each kernel's sum is verified before it is timed.

mod step;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use step::Step;
use warpfold::ptx::PtxSet;
use warpfold::{oracle, random};
use warpfold_emulator::{Counters, Nothing};
use warpfold_kernels::catalogue::{Module, Part, lessons_of};

const N: usize = 1 << 20;
/// The architecture of the PTX: the newest, because a step of the ladder needs it.
const SM: u32 = 90;

fn ladder(criterion: &mut Criterion) {
    warpfold_plot::register_letters();
    let embedded = PtxSet::embedded();
    let ptx = embedded
        .built_for(Module::Kernels, SM)
        .expect("PTX for this architecture is built");
    let values = random::i32_values(N, 42).expect("four mebibytes fit");
    let sum = oracle::cpu_sequential(&values);
    for (group, threads) in [("one_core", 1), ("all_cores", 0)] {
        let mut group = criterion.benchmark_group(format!("emulator/{group}"));
        group.sample_size(10);
        for lesson in lessons_of(Part::Ladder) {
            let step = Step::new(ptx, lesson, &values, threads);
            let mut counters = Counters::default();
            step.run(&mut counters);
            assert_eq!(step.sum(), sum, "{}", lesson.id);
            group.throughput(Throughput::Elements(counters.inst_executed));
            group.bench_function(lesson.id, |bencher| {
                bencher.iter(|| black_box(&step).run(&mut Nothing));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, ladder);
criterion_main!(benches);
