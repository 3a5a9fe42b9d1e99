//! The emulator's speed: warp instructions per second on every lesson of the ladder, n = 2^20, block 512, without observers.
//!
//! `one_core` launches with one host thread, `all_cores` with all there are. The input lies in memory that the launch before
//! has touched. Each kernel's sum is verified before it is timed.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use warpfold::ptx::PtxSet;
use warpfold::{oracle, random};
use warpfold_emulator::{
    Counters, Kernel, Launch, Memory, Module, Nothing, Observer, Program, launch,
};
use warpfold_kernels::catalogue::{Finish, Lesson, Module as KernelModule, Part, lessons_of};

const N: usize = 1 << 20;
const BLOCK: u32 = 512;

/// A launch of a lesson in an emulated memory.
struct Prepared {
    memory: Memory,
    arguments: Vec<Vec<u8>>,
    partials: u64,
    shape: Launch,
    values: Vec<i32>,
}

impl Prepared {
    fn new(lesson: &Lesson, threads: usize) -> Self {
        let values = random::i32_values(N, 42).expect("four mebibytes fit");
        let reduction = lesson.reduction().expect("the ladder reduces");
        let grid = reduction.blocks(N as u64, lesson.usual(BLOCK), 8) as u32;
        let mut memory = Memory::new();
        let input = memory.allocate(4 * N).expect("it fits");
        let partials = memory.allocate(4 * grid as usize).expect("it fits");
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        memory.write(input, &bytes).expect("it was allocated");
        let mut arguments = vec![input, partials, N as u64];
        if reduction.finish == Finish::OneLaunch {
            for _ in ["total", "counter"] {
                let word = memory.allocate(8).expect("it fits");
                memory.write(word, &[0; 8]).expect("it was allocated");
                arguments.push(word);
            }
        }
        Self {
            memory,
            arguments: arguments
                .into_iter()
                .map(|argument| argument.to_le_bytes().to_vec())
                .collect(),
            partials,
            shape: Launch {
                grid: [grid, 1, 1],
                block: [BLOCK, 1, 1],
                dynamic_shared_bytes: 0,
                nesting: warpfold_emulator::Nesting::default(),
                threads,
                max_steps: 0,
                cooperative: false,
            },
            values,
        }
    }

    fn run(&self, kernel: &Kernel, observer: &mut impl Observer) {
        launch(kernel, &self.memory, &self.shape, &self.arguments, observer)
            .expect("the kernel is right");
    }

    fn sum(&self) -> i32 {
        let mut bytes = vec![0; 4 * self.shape.grid[0] as usize];
        self.memory
            .read(self.partials, &mut bytes)
            .expect("it was allocated");
        bytes
            .chunks_exact(4)
            .map(|word| i32::from_le_bytes(word.try_into().expect("four bytes")))
            .fold(0, i32::wrapping_add)
    }
}

fn ladder(criterion: &mut Criterion) {
    let embedded = PtxSet::embedded();
    let text = embedded
        .built_for(KernelModule::Kernels, 80)
        .expect("sm_80 is built");
    for (group, threads) in [("one_core", 1), ("all_cores", 0)] {
        let mut group = criterion.benchmark_group(format!("emulator/{group}"));
        group.sample_size(10);
        for lesson in lessons_of(Part::Ladder) {
            let mut prepared = Prepared::new(lesson, threads);
            let module = Module::parse(text).expect("the PTX is right");
            let program = Program::load(module, &mut prepared.memory).expect("it loads");
            let entry = lesson
                .entry(lesson.usual(BLOCK))
                .expect("every lesson has blocks of 512");
            let kernel = program
                .kernel(entry)
                .expect("the emulator knows every instruction");
            let mut counters = Counters::default();
            prepared.run(&kernel, &mut counters);
            assert_eq!(
                prepared.sum(),
                oracle::cpu_sequential(&prepared.values),
                "{}",
                lesson.id
            );
            group.throughput(Throughput::Elements(counters.inst_executed));
            // In-place kernels work on what the launch before left: other numbers, the same instructions.
            group.bench_function(lesson.id, |bencher| {
                bencher.iter(|| prepared.run(black_box(&kernel), &mut Nothing));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, ladder);
criterion_main!(benches);
