//! The emulator at work on what does not change from run to run, for `cargo xtask bench-check` to count its instructions under
//! valgrind: every step of the ladder with one host thread, some of them watched by observers, and the reading of their PTX.
//!
//! `emulator-work kernels.sm_90.ptx` prints a line of JSON for each piece of work, in order. All of it, and nothing else, is done
//! inside of [`counted`], which is called once for each.

mod step;
#[path = "../xtask/src/bench_check/work.rs"]
mod work;

use std::hint::black_box;
use std::{env, fs, process};
use step::Step;
use warpfold_emulator::{Counters, Module, Nothing, Profile, Racecheck};
use warpfold_kernels::catalogue::{Part, lessons_of};
use work::Work;

/// Elements of the input.
const N: i32 = 1 << 16;
/// Steps that are watched as well: one in global memory, one in shared memory, one with atomics, one with
/// asynchronous copies.
const WATCHED: [&str; 4] = [
    "interleaved",
    "complete_unroll_shared",
    "single_pass",
    "flagship_bulk",
];

/// What valgrind looks for: it counts between entering and leaving this function.
#[inline(never)]
fn counted(piece_of_work: &mut dyn FnMut()) {
    piece_of_work();
    // Or else the call above, being the last, becomes a jump, and this function has been left before the work is done.
    black_box(());
}

fn main() {
    let Some(file) = env::args_os().nth(1) else {
        eprintln!("usage: emulator-work FILE.ptx");
        process::exit(2);
    };
    let ptx = fs::read_to_string(&file).unwrap_or_else(|error| {
        eprintln!("cannot read {}: {error}", file.display());
        process::exit(2)
    });
    parse(&ptx);
    launch(&ptx);
}

fn parse(ptx: &str) {
    let mut module = None;
    counted(&mut || module = Some(Module::parse(ptx)));
    module
        .expect("the work is done")
        .expect("the PTX of the kernels is right");
    report("PTX parsed", ptx.lines().count() as u64, "line");
}

fn launch(ptx: &str) {
    // Any numbers: what a sum executes does not depend on them.
    let values: Vec<i32> = (0..N)
        .map(|index| index.wrapping_mul(0x3779_b97f))
        .collect();
    let sum = values.iter().copied().fold(0, i32::wrapping_add);
    for lesson in lessons_of(Part::Ladder) {
        let step = Step::new(ptx, lesson, &values, 1);
        let mut counters = Counters::default();
        step.run(&mut counters);
        assert_eq!(step.sum(), sum, "{}", lesson.id);
        let report = |name: String| report(&name, counters.inst_executed, "warp instruction");

        counted(&mut || step.run(&mut Nothing));
        report(lesson.id.to_owned());
        if WATCHED.contains(&lesson.id) {
            counted(&mut || step.run(&mut Profile::default()));
            report(format!("{}, profiled", lesson.id));
            counted(&mut || step.run(&mut Racecheck::new()));
            report(format!("{}, checked for races", lesson.id));
        }
    }
}

fn report(name: &str, units: u64, unit: &str) {
    let work = Work {
        name: name.to_owned(),
        units,
        unit: unit.to_owned(),
    };
    let json = serde_json::to_string(&work).expect("a piece of work has a JSON form");
    println!("{json}");
}
