//! Every lesson, with every block size, on inputs of every awkward length, against the CPU: on the emulator, and on the
//! first GPU where there is one. Without a GPU its half is counted as ignored.

#[path = "lessons/replay.rs"]
mod replay;
#[path = "lessons/tested.rs"]
mod tested;

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRunner};
use replay::Launch;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tested::Tested;
use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold::ptx::PtxSet;
use warpfold_course::case::Measured;
use warpfold_course::data::Data;
use warpfold_course::lesson::{self, LessonError};
use warpfold_course::prepared::PreparedLesson;
use warpfold_course::random;
use warpfold_course::wide::with_reduction;
use warpfold_kernels::catalogue::{
    BLOCK_SIZES, Lesson, Operator, Part, PtxText, Reduction, Task, Variant, find, lessons,
};

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = Device::open(&DeviceChoice::Gpu(0)).is_ok();
    let mut trials = vec![
        Trial::test("emulator::a_wrong_kernel_is_found_out", || {
            a_wrong_kernel_is_found_out();
            Ok(())
        }),
        Trial::test("emulator::a_lesson_takes_its_own_type_only", || {
            a_lesson_takes_its_own_type_only();
            Ok(())
        }),
        Trial::test("emulator::a_generic_body_costs_nothing", || {
            a_generic_body_costs_nothing();
            Ok(())
        }),
        Trial::test(
            "emulator::a_single_pass_gives_the_same_float_in_every_run",
            || {
                a_single_pass_gives_the_same_float_in_every_run();
                Ok(())
            },
        ),
    ];
    for lesson in lessons() {
        for (machine, choice) in [
            ("emulator", DeviceChoice::Emulator),
            ("gpu", DeviceChoice::Gpu(0)),
        ] {
            let lesson_trials = match &lesson.task {
                _ if lesson.emulator_only && choice != DeviceChoice::Emulator => {
                    vec![refusal_trial(machine, choice, lesson)]
                }
                Task::Reduction(reduction) => with_reduction!(reduction, T => {
                    trials_of::<T>(machine, choice, lesson, reduction)
                }),
                Task::Demonstration(_) => demonstration_trials(machine, choice, lesson),
            };
            let is_ignored = choice != DeviceChoice::Emulator && !has_gpu;
            trials.extend(
                lesson_trials
                    .into_iter()
                    .map(|trial| trial.with_ignored_flag(is_ignored)),
            );
        }
    }
    if !has_gpu {
        eprintln!("No GPU here: the tests named gpu::… are skipped, and counted as ignored.");
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A lesson that no GPU runs is refused there, before anything is launched.
fn refusal_trial(machine: &str, choice: DeviceChoice, lesson: &'static Lesson) -> Trial {
    Trial::test(format!("{machine}::{}::is_refused", lesson.id), move || {
        let machine = open(choice);
        let variant = lesson.usual(BLOCK_SIZES[0]);
        let multiprocessors = machine.multiprocessors();
        let refusal = PreparedLesson::new(lesson, variant, 1000, 1, multiprocessors)
            .and_then(|prepared| prepared.run(&machine, None))
            .expect_err("no GPU runs it");
        assert!(
            refusal.to_string().contains("--device emulator"),
            "{refusal}"
        );
        Ok(())
    })
}

/// One trial for each block size, one for any input, and those that only the type has.
fn trials_of<T: Tested>(
    machine: &str,
    choice: DeviceChoice,
    lesson: &'static Lesson,
    reduction: &'static Reduction,
) -> Vec<Trial> {
    let mut trials: Vec<Trial> = BLOCK_SIZES
        .into_iter()
        .map(|block| {
            let name = format!("{machine}::{}::block_{block}", lesson.id);
            Trial::test(name, move || {
                for variant in lesson.variants_of(block) {
                    awkward_lengths::<T>(choice, lesson, reduction, variant);
                }
                Ok(())
            })
        })
        .collect();
    let name = format!("{machine}::{}::any_input", lesson.id);
    trials.push(Trial::test(name, move || {
        any_input::<T>(choice, lesson, reduction)
    }));
    let name = format!("{machine}::{}::other_data", lesson.id);
    trials.push(Trial::test(name, move || {
        other_data::<T>(choice, lesson, reduction);
        Ok(())
    }));
    let name = format!("{machine}::{}::special_values", lesson.id);
    trials.push(Trial::test(name, move || {
        special_values::<T>(choice, lesson, reduction);
        Ok(())
    }));
    trials
}

/// One trial for each block size, with every value of the lesson's parameter.
fn demonstration_trials(
    machine: &str,
    choice: DeviceChoice,
    lesson: &'static Lesson,
) -> Vec<Trial> {
    BLOCK_SIZES
        .into_iter()
        .map(|block| {
            let name = format!("{machine}::{}::block_{block}", lesson.id);
            Trial::test(name, move || {
                let machine = open(choice);
                for variant in lesson.variants_of(block) {
                    for n in lengths(block) {
                        check_demonstration(&machine, lesson, variant, n);
                    }
                }
                Ok(())
            })
        })
        .collect()
}

/// The demonstration must do what its judge expects.
#[track_caller]
fn check_demonstration(machine: &Device, lesson: &'static Lesson, variant: Variant, n: usize) {
    let place = format!("{}, {variant:?}, n {n}", lesson.id);
    let multiprocessors = machine.multiprocessors();
    let run = PreparedLesson::new(
        lesson,
        variant,
        n,
        u64::from(variant.block),
        multiprocessors,
    )
    .and_then(|prepared| prepared.run(machine, None))
    .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(run.verdict.mistake, None, "{place}");
}

/// The lesson must give the CPU's result. The input buffer has exactly as many elements as the kernel is told and the
/// other exactly one per block, so on the emulator a kernel that strays by one element is a fault.
#[track_caller]
fn check<T: Tested>(machine: &Device, lesson: &Lesson, variant: Variant, values: &[T]) {
    let place = format!("{}, {variant:?}, n {}", lesson.id, values.len());
    let run = lesson::run::<T>(machine, lesson, variant, values, None)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(
        run.is_right(),
        "{place}: {:?} instead of {}, to within {:?}",
        run.result,
        run.expected(),
        run.tolerance()
    );
    // Once more without the oracle that the lesson was judged by.
    let launch = Launch {
        lesson,
        block: variant.block as usize,
        blocks: run.blocks as usize,
    };
    for expected in [T::replay(&launch, values), T::plainly(&launch, values)]
        .into_iter()
        .flatten()
    {
        assert!(
            T::are_same(run.result, expected),
            "{place}: {:?} and not {expected:?}",
            run.result
        );
    }
}

/// The machine of this thread, whose kernels are loaded once for all its trials.
fn open(choice: DeviceChoice) -> Rc<Device> {
    thread_local! {
        static OPENED: RefCell<Vec<(DeviceChoice, Rc<Device>)>> = const { RefCell::new(Vec::new()) };
    }
    OPENED.with_borrow_mut(|opened| {
        let known = opened.iter().find(|(known, _)| *known == choice);
        if let Some((_, machine)) = known {
            return machine.clone();
        }
        let device = Device::open(&choice).expect("the device was there a moment ago");
        let machine = Rc::new(device);
        opened.push((choice, machine.clone()));
        machine
    })
}

/// The greatest of [`lengths`].
const LONGEST: usize = (1 << 17) + 13;

/// Random values for an operator, drawn once for all lessons that a thread tests: fewer are the first of them.
fn random<T: Tested>(operator: Operator) -> Rc<Vec<T>> {
    type Drawn = HashMap<(TypeId, Operator), Rc<dyn Any>>;
    thread_local! {
        static DRAWN: RefCell<Drawn> = RefCell::default();
    }
    DRAWN.with_borrow_mut(|drawn| {
        let key = (TypeId::of::<T>(), operator);
        let values = drawn.entry(key).or_insert_with(|| {
            Rc::new(T::random(operator, LONGEST, 1).expect("there is memory for them"))
        });
        values.clone().downcast().expect("the key has the type")
    })
}

/// Numbers of elements that end in the middle of something. The most are those that make more than 2000 of the smallest blocks, and more
/// than 100 of any other.
fn lengths(block: u32) -> [usize; 14] {
    let most = if block == BLOCK_SIZES[0] {
        LONGEST
    } else {
        block as usize * 128 + 13
    };
    let block = block as usize;
    [
        0,
        1,
        2,
        31,
        32,
        33,
        block - 1,
        block,
        block + 1,
        8 * block - 1,
        8 * block,
        8 * block + 1,
        12345,
        most,
    ]
}

fn awkward_lengths<T: Tested>(
    choice: DeviceChoice,
    lesson: &Lesson,
    reduction: &Reduction,
    variant: Variant,
) {
    let machine = open(choice);
    let most = reduction.most_elements(variant);
    let values = random::<T>(reduction.operator);
    for n in lengths(variant.block) {
        let values = &values[..n];
        if most.is_none_or(|most| n as u64 <= most) {
            check(&machine, lesson, variant, values);
        } else {
            let refusal = lesson::run::<T>(&machine, lesson, variant, values, None).unwrap_err();
            let of_one_block = matches!(refusal, LessonError::MoreThanOneBlock { .. });
            assert!(of_one_block, "{}, n {n}: {refusal}", lesson.id);
        }
    }
    if let Some(most) = most {
        for n in [most as usize - 1, most as usize] {
            check(&machine, lesson, variant, &values[..n]);
        }
    }
}

/// The inputs that texts use.
fn other_data<T: Tested>(choice: DeviceChoice, lesson: &Lesson, reduction: &Reduction) {
    let machine = open(choice);
    let variant = lesson.usual(128);
    let n = reduction
        .most_elements(variant)
        .map_or(12_345, |most| most as usize);
    let bytes = Data::Bytes { seed: 1 };
    for data in [Data::Ones, Data::Iota, Data::Small { seed: 1 }, bytes] {
        let values: Vec<T> = data
            .values(reduction.operator, n)
            .expect("there is memory for them");
        check(&machine, lesson, variant, &values);
    }
}

/// Any values, any length and any block size; a failure is reduced to its smallest form.
fn any_input<T: Tested>(
    choice: DeviceChoice,
    lesson: &Lesson,
    reduction: &Reduction,
) -> Result<(), Failed> {
    let machine = open(choice);
    let variants: Vec<Variant> = lesson.variants().collect();
    let inputs = (select(variants), T::any_values());
    // The file of past failures would lie beside this one; the seed in the report does the same.
    let config = Config {
        // The instances of a generic body share their code.
        cases: if lesson.part == Part::Operators {
            8
        } else {
            24
        },
        failure_persistence: None,
        // A list of values draws a seed for each of them, which takes a cipher longer than the lesson.
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&inputs, |(variant, mut values)| {
            if let Some(most) = reduction.most_elements(variant) {
                values.truncate(most as usize);
            }
            check(&machine, lesson, variant, &values);
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}

/// A special value in the first and the last place, in another lane, another warp and another tile than the first; then
/// two of them, which may cancel; then nothing else.
fn special_values<T: Tested>(choice: DeviceChoice, lesson: &Lesson, reduction: &Reduction) {
    const BLOCK: u32 = 64;
    let machine = open(choice);
    let variant = lesson.usual(BLOCK);
    let n = 8 * BLOCK as usize + 100;
    let n = reduction
        .most_elements(variant)
        .map_or(n, |most| n.min(most as usize));
    let others = &random::<T>(reduction.operator)[..n];
    for special in T::special_values() {
        for place in [0, 1, 40, 64, 8 * 64, n - 1] {
            let mut values = others.to_vec();
            values[place.min(n - 1)] = special;
            check(&machine, lesson, variant, &values);
            if place == 40 {
                for second in T::special_values() {
                    values[n / 2] = second;
                    check(&machine, lesson, variant, &values);
                }
            }
        }
        check(&machine, lesson, variant, &vec![special; n]);
        check(&machine, lesson, variant, &[special]);
    }
}

/// The check itself must be able to fail: the eightfold grid of one kernel leaves half of the elements to no block of another.
fn a_wrong_kernel_is_found_out() {
    let unroll8 = find("unroll8").expect("unroll8 is a lesson");
    let machine = with_kernel_for_another(PtxText::Kernels, "unroll4", "unroll8");
    let run = lesson::run(&machine, unroll8, unroll8.usual(64), &[1_i32; 4096], None);
    let run = run.expect("it runs");
    assert_eq!((run.result, run.oracle.exact), (2048, Some(4096)));
    assert!(!run.is_right());
    // The same of floats: a sum of this many is not taken for rounding.
    let shared = find("complete_unroll_shared_sum_f32").expect("it is a lesson");
    let [of_128, of_64] = [128, 64].map(|block| format!("complete_unroll_shared_sum_f32_{block}"));
    let machine = with_kernel_for_another(PtxText::Operators, &of_128, &of_64);
    let run = lesson::run(&machine, shared, shared.usual(64), &[1.0_f32; 400], None);
    let run = run.expect("it runs");
    assert!(!run.is_right(), "{}", run.result);
}

/// The emulator with a module in which one kernel has the name of another, which is gone.
fn with_kernel_for_another(module: PtxText, kernel: &str, other: &str) -> Device {
    let embedded = PtxSet::embedded();
    let text = embedded
        .built_for(module, 80)
        .expect("there is PTX for sm_80");
    let [entry, name] = [kernel, other].map(|name| format!(".entry {name}("));
    assert!(
        text.contains(&entry) && text.contains(&name),
        "both are in the PTX"
    );
    let text = text.replace(&name, ".entry gone(").replace(&entry, &name);
    // SAFETY: only the emulator runs it, which checks every access.
    let ptx = unsafe { PtxSet::from_texts([(module, 80, text)]) };
    let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    device.with_ptx(ptx)
}

/// A kernel would take the bits of any type for its own.
fn a_lesson_takes_its_own_type_only() {
    let machine = open(DeviceChoice::Emulator);
    let lesson = find("shuffle").expect("shuffle is a lesson");
    let error = lesson::run(&machine, lesson, lesson.usual(64), &[1.0_f32; 10], None).unwrap_err();
    assert!(matches!(error, LessonError::ElementType { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "`shuffle` is built for i32 elements, not for f32 elements"
    );
}

/// A generic body does what the step of the ladder does, instruction for instruction; so do the sums of floats. Where the ladder
/// has the block size as a constant and the generic body reads it, they do the same to memory, and the generic body takes a few
/// instructions more.
fn a_generic_body_costs_nothing() {
    let machine = open(DeviceChoice::Emulator);
    let n = 12_345;
    let integers = random::i32_values(n, 5).expect("there is memory for the values");
    let floats = random::f32_values(n, 5).expect("there is memory for the values");
    let counters_of = |step: &str, block| {
        (
            counters(&machine, step, block, &integers),
            counters(&machine, &format!("{step}_sum_i32"), block, &integers),
            counters(&machine, &format!("{step}_sum_f32"), block, &floats),
        )
    };
    for block in BLOCK_SIZES {
        for step in ["interleaved", "complete_unroll_shared"] {
            let (of_ladder, of_integers, of_floats) = counters_of(step, block);
            assert_eq!(of_ladder, of_integers, "{step}, block {block}");
            assert_eq!(of_ladder, of_floats, "{step}, block {block}");
        }
        for step in ["shuffle", "vectorized", "single_pass"] {
            let (of_ladder, of_integers, of_floats) = counters_of(step, block);
            let place = format!("{step}, block {block}");
            assert_eq!(of_integers, of_floats, "{place}");
            assert_eq!(of_ladder.global(), of_integers.global(), "{place}");
            // A flag takes four bytes or one, as the compiler likes.
            let wavefronts = (
                of_ladder.shared().wavefronts,
                of_integers.shared().wavefronts,
            );
            assert_eq!(wavefronts.0, wavefronts.1, "{place}");
            assert_eq!(of_ladder.barriers, of_integers.barriers, "{place}");
            let more = of_integers.inst_executed as f64 / of_ladder.inst_executed as f64;
            assert!((1.0..1.3).contains(&more), "{place}: {more}");
        }
    }
}

/// The last block adds up the partials in an order of its own, whichever block that is.
fn a_single_pass_gives_the_same_float_in_every_run() {
    let machine = open(DeviceChoice::Emulator);
    let lesson = find("single_pass_sum_f32").expect("it is a lesson");
    let values = random::f32_values(100_000, 5).expect("there is memory for the values");
    let sum = || {
        let run = lesson::run(&machine, lesson, lesson.usual(64), &values, None);
        run.expect("it runs").result.to_bits()
    };
    let first = sum();
    for _ in 0..20 {
        assert_eq!(sum(), first);
    }
}

/// What the emulator counts of a right run.
fn counters<T: Tested>(
    machine: &Device,
    id: &str,
    block: u32,
    values: &[T],
) -> warpfold_emulator::Counters {
    let lesson = find(id).unwrap_or_else(|| panic!("{id} is a lesson"));
    let variant = lesson.usual(block);
    let run = lesson::run(machine, lesson, variant, values, None).expect("it runs");
    assert!(run.is_right(), "{id}");
    match run.measured {
        Measured::Counters { counters, .. } => counters,
        other => panic!("the emulator counts, and gave {other:?}"),
    }
}
