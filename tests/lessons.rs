//! Every lesson, with every block size, on inputs of every awkward length, against the CPU reference: on the emulator,
//! and on the first GPU where there is one. Without a GPU its half is counted as ignored.

use libtest_mimic::{Arguments, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use warpfold::device::{Device, DeviceChoice, Module};
use warpfold::ptx::PtxSet;
use warpfold::{lesson, random};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Entries, LESSONS, Lesson};

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = Device::open(&DeviceChoice::Gpu(0)).is_ok();
    let mut trials = vec![Trial::test("emulator::a_wrong_kernel_is_found_out", || {
        a_wrong_kernel_is_found_out();
        Ok(())
    })];
    for lesson in LESSONS {
        for (machine, choice) in [
            ("emulator", DeviceChoice::Emulator),
            ("gpu", DeviceChoice::Gpu(0)),
        ] {
            let is_ignored = choice != DeviceChoice::Emulator && !has_gpu;
            for block in BLOCK_SIZES {
                let name = format!("{machine}::{}::block_{block}", lesson.id);
                let trial = Trial::test(name, move || {
                    awkward_lengths(choice, lesson, block);
                    Ok(())
                });
                trials.push(trial.with_ignored_flag(is_ignored));
            }
            let trial = Trial::test(format!("{machine}::{}::any_input", lesson.id), move || {
                any_input(choice, lesson)
            });
            trials.push(trial.with_ignored_flag(is_ignored));
        }
    }
    if !has_gpu {
        eprintln!("No GPU here: the tests named gpu::… are skipped, and counted as ignored.");
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The lesson must give the CPU's sum. The input buffer has exactly as many elements as the kernel is told and the
/// other exactly one per block, so on the emulator a kernel that strays by one element is a fault.
#[track_caller]
fn check(device: &Device, kernels: &Module, lesson: &Lesson, block: u32, values: &[i32]) {
    let n = values.len();
    let run = lesson::run(device, kernels, lesson, block, values, None)
        .unwrap_or_else(|error| panic!("{}, block {block}, n {n}: {error}", lesson.id));
    assert_eq!(run.sum, run.expected, "{}, block {block}, n {n}", lesson.id);
    assert_eq!(
        run.expected,
        values
            .iter()
            .fold(0, |sum: i32, value| sum.wrapping_add(*value))
    );
}

fn open(choice: DeviceChoice) -> (Device, Module) {
    let device = Device::open(&choice).expect("the device was there a moment ago");
    let ptx = PtxSet::embedded();
    let text = ptx
        .newest_for(&device)
        .expect("there is PTX for the device");
    let kernels = device.load(text).expect("the kernels load");
    (device, kernels)
}

fn awkward_lengths(choice: DeviceChoice, lesson: &Lesson, block: u32) {
    let (device, kernels) = open(choice);
    let block_elements = block as usize;
    for n in [
        0,
        1,
        2,
        31,
        32,
        33,
        block_elements - 1,
        block_elements,
        block_elements + 1,
        8 * block_elements - 1,
        8 * block_elements,
        8 * block_elements + 1,
        12345,
        (1 << 17) + 13,
    ] {
        let values =
            random::i32_values(n, u64::from(block)).expect("there is memory for the values");
        check(&device, &kernels, lesson, block, &values);
    }
}

/// Any values, any length and any block size; a failure is reduced to its smallest form.
fn any_input(choice: DeviceChoice, lesson: &Lesson) -> Result<(), libtest_mimic::Failed> {
    let (device, kernels) = open(choice);
    let inputs = (
        prop::sample::select(BLOCK_SIZES.as_slice()),
        prop::collection::vec(any::<i32>(), 0..20_000),
    );
    // The file of past failures would lie beside this one; the seed in the report does the same.
    let config = Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&inputs, |(block, values)| {
            check(&device, &kernels, lesson, block, &values);
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}

/// The check itself must be able to fail: the eightfold grid of one kernel leaves half of the elements to no block of another.
fn a_wrong_kernel_is_found_out() {
    let (device, kernels) = open(DeviceChoice::Emulator);
    let unroll8 = warpfold_kernels::catalogue::find("unroll8").expect("unroll8 is a lesson");
    let wrong = Lesson {
        entries: Entries::AnyBlock("unroll4"),
        ..*unroll8
    };
    let run = lesson::run(&device, &kernels, &wrong, 64, &[1; 4096], None).expect("it runs");
    assert_eq!((run.sum, run.expected, run.is_right()), (2048, 4096, false));
}
