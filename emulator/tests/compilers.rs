//! Kernels as compilers make them, against what an H200 gave for the same PTX and the same arguments (`data/README.md`).

#[path = "data/by_value.rs"]
mod by_value;
mod common;
#[path = "data/functions.rs"]
mod functions;

use common::{Machine, block};
use warpfold_emulator::{Fault, Launch, LaunchError, Nothing, Observer, PrintEvent, Wants, launch};

const BASICS: &str = include_str!("data/basics.nvcc.sm_80.ptx");
const HEAP: &str = include_str!("data/heap.nvcc.sm_90.ptx");
const PAIRS: &str = include_str!("data/pairs.nvcc.sm_100.ptx");
const BY_VALUE_BY_CLANG: &str = include_str!("data/by_value.clang.sm_80.ptx");
const BY_VALUE_BY_RUSTC: &str = include_str!("data/by_value.rustc.sm_80.ptx");
const FUNCTIONS: &str = include_str!("data/functions.rustc.sm_80.ptx");
const SYNC: &str = include_str!("data/sync.nvcc.sm_80.ptx");

/// A launch as a line of the data describes it, and the contents of its buffers after it.
struct Recorded<'a> {
    module: &'a str,
    entry: &'a str,
    threads: u32,
    shared: u32,
    arguments: Vec<(&'a str, &'a str)>,
    results: Vec<Vec<u32>>,
}

fn recorded() -> Vec<Recorded<'static>> {
    let mut launches: Vec<Recorded<'static>> = Vec::new();
    for line in include_str!("data/nvcc.h200.txt").lines() {
        if let Some(words) = line.strip_prefix("= ") {
            let words = words
                .split(' ')
                .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"));
            launches
                .last_mut()
                .expect("a launch before its results")
                .results
                .push(words.collect());
            continue;
        }
        let mut fields = line.split(' ');
        let mut field = || fields.next().expect("a field");
        let (module, entry) = (field(), field());
        let (threads, shared) = (
            field().parse().expect("threads"),
            field().parse().expect("bytes"),
        );
        let arguments = fields
            .map(|argument| argument.split_once(':').expect("kind:value"))
            .collect();
        launches.push(Recorded {
            module,
            entry,
            threads,
            shared,
            arguments,
            results: Vec::new(),
        });
    }
    launches
}

fn bytes_of(kind: &str, value: &str) -> Vec<u8> {
    match kind {
        "i32" => value.parse::<i32>().expect("i32").to_le_bytes().to_vec(),
        "i64" => value.parse::<i64>().expect("i64").to_le_bytes().to_vec(),
        "f32" => value.parse::<f32>().expect("f32").to_le_bytes().to_vec(),
        "f64" => value.parse::<f64>().expect("f64").to_le_bytes().to_vec(),
        _ => (0..value.len() / 2)
            .map(|i| u8::from_str_radix(&value[2 * i..2 * i + 2], 16).expect("hexadecimal"))
            .collect(),
    }
}

/// The buffers after a launch.
fn run(machine: &mut Machine, recorded: &Recorded<'_>, threads: usize) -> Vec<Vec<u32>> {
    let mut buffers = Vec::new();
    let mut arguments = Vec::new();
    for &(kind, value) in &recorded.arguments {
        arguments.push(if kind == "buf" {
            let buffer = machine.buffer(&vec![0u32; value.parse::<usize>().expect("bytes") / 4]);
            buffers.push(buffer);
            buffer.address.to_le_bytes().to_vec()
        } else {
            bytes_of(kind, value)
        });
    }
    let shape = Launch {
        dynamic_shared_bytes: recorded.shared,
        threads,
        ..block(recorded.threads)
    };
    let kernel = machine
        .program
        .kernel(recorded.entry)
        .unwrap_or_else(|error| panic!("{error}"));
    launch(&kernel, &machine.memory, &shape, &arguments, &mut Nothing)
        .unwrap_or_else(|error| panic!("{}: {error}", recorded.entry));
    buffers
        .into_iter()
        .map(|buffer| machine.read(buffer))
        .collect()
}

/// Functions that the hardware approximates; the emulator's results are nearer to the truth.
fn is_approximate(entry: &str) -> bool {
    matches!(entry, "floats" | "fast_floats" | "doubles")
}

#[track_caller]
fn compare(module: &str, source: &str) {
    for recorded in recorded()
        .iter()
        .filter(|recorded| recorded.module == module)
    {
        let mut machine = Machine::new(source);
        let results = run(&mut machine, recorded, 1);
        if !is_approximate(recorded.entry) {
            assert_eq!(results, recorded.results, "{}", recorded.entry);
            continue;
        }
        for (index, (seen, wanted)) in results[0].iter().zip(&recorded.results[0]).enumerate() {
            let (seen, wanted) = if recorded.entry == "doubles" {
                if index % 2 == 0 {
                    continue;
                }
                let double = |words: &[u32]| {
                    f64::from_bits(u64::from(words[index]) << 32 | u64::from(words[index - 1]))
                };
                (double(&results[0]), double(&recorded.results[0]))
            } else {
                (
                    f64::from(f32::from_bits(*seen)),
                    f64::from(f32::from_bits(*wanted)),
                )
            };
            let bound = match recorded.entry {
                "doubles" => 1e-13,
                "floats" => 1e-5,
                // `__tanf` near its poles.
                _ => 1e-3,
            };
            assert!(
                (seen - wanted).abs() <= bound * wanted.abs(),
                "{} of thread {index}: {seen} and not {wanted}",
                recorded.entry
            );
        }
    }
}

#[test]
fn everyday_kernels_by_nvcc() {
    compare("basics", BASICS);
}

#[test]
fn kernels_that_synchronise_by_nvcc() {
    compare("sync", SYNC);
}

#[test]
fn structures_by_value_by_clang() {
    compare("by_value", BY_VALUE_BY_CLANG);
}

/// What threads print, in the order of the calls.
#[derive(Default)]
struct Prints(Vec<(u32, String)>);

impl Observer for Prints {
    fn wants(&self) -> Wants {
        Wants::LITTLE
    }
    fn fork(&self) -> Self {
        Self::default()
    }
    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
    fn print(&mut self, event: PrintEvent<'_>) {
        self.0.push((event.thread[0], event.text.to_owned()));
    }
}

#[test]
fn printing() {
    let mut machine = Machine::new(SYNC);
    let out = machine.buffer(&[0u32; 4]);
    let kernel = machine.program.kernel("prints").unwrap();
    let arguments = [
        out.address.to_le_bytes().to_vec(),
        2i32.to_le_bytes().to_vec(),
    ];
    let mut prints = Prints::default();
    launch(&kernel, &machine.memory, &block(4), &arguments, &mut prints).unwrap();
    let line = |thread: u32, x: &str| {
        (
            thread,
            format!("thread {thread} of 4: hello {x}|7   |00ff x -5000000000 %\n"),
        )
    };
    let plain = |thread: u32| (thread, "plain\n".to_owned());
    assert_eq!(
        prints.0,
        [
            line(0, " 0.00"),
            line(1, " 1.50"),
            plain(0),
            plain(1),
            plain(2),
            plain(3)
        ]
    );
    // The result is the number of arguments.
    assert_eq!(machine.read::<u32>(out), [0; 4]);
}

#[test]
fn assertions() {
    let mut machine = Machine::new(SYNC);
    let out = machine.buffer(&[0u32; 64]);
    let kernel = machine.program.kernel("asserts").unwrap();
    let run = |limit: i32| {
        let arguments = [
            out.address.to_le_bytes().to_vec(),
            limit.to_le_bytes().to_vec(),
        ];
        launch(
            &kernel,
            &machine.memory,
            &block(64),
            &arguments,
            &mut Nothing,
        )
    };
    run(64).unwrap();
    let Err(LaunchError::Trap(trap)) = run(40) else {
        panic!("thread 40 asserts")
    };
    assert_eq!(trap.thread, [40, 0, 0]);
    assert_eq!(
        trap.fault,
        Fault::Assertion {
            condition: "(int)threadIdx.x < n && \"too many threads\"".to_owned(),
            file: "sync.cu".to_owned(),
            line: 26,
            function: "void asserts(int *, int)".to_owned(),
        }
    );
}

/// The same Rust functions on the host and, by rustc, in the emulator: every thread calls one with its number.
#[test]
fn functions_by_rustc() {
    type Function = fn(u32) -> u64;
    let all: [(&str, Function); 6] = [
        ("branches", functions::branches),
        ("wide", functions::wide),
        ("floats", functions::floats),
        ("objects", functions::objects),
        ("recursion", functions::recursion),
        ("tables", functions::tables),
    ];
    let mut machine = Machine::new(FUNCTIONS);
    for (name, function) in all {
        let out = machine.buffer(&[0u64; 500]);
        machine
            .launch(name, &block(500), &[out.address])
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (i, seen) in machine.read::<u64>(out).into_iter().enumerate() {
            assert_eq!(seen, function(i as u32), "{name} of {i}");
        }
    }
}

#[test]
fn a_large_value_by_rustc() {
    let mut machine = Machine::new(BY_VALUE_BY_RUSTC);
    let out = machine.buffer(&[0u64; 100]);
    machine
        .launch("by_value", &block(100), &[out.address])
        .unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u64> = (0..100).map(by_value::by_value).collect();
    assert_eq!(machine.read::<u64>(out), expected);
}

/// A failed bounds check is a trap.
#[test]
fn a_slice_by_rustc() {
    let mut machine = Machine::new(FUNCTIONS);
    let out = machine.buffer(&[0u64; 64]);
    machine
        .launch("out_of_bounds", &block(64), &[out.address, 64])
        .unwrap();
    assert_eq!(machine.read::<u64>(out), (0..64).collect::<Vec<_>>());
    let error = machine.launch("out_of_bounds", &block(64), &[out.address, 50]);
    let Err(LaunchError::Trap(trap)) = error else {
        panic!("thread 50 is outside")
    };
    assert_eq!((&trap.fault, trap.thread), (&Fault::Trap, [50, 0, 0]));
}

/// Every thread keeps a list of its own and frees it.
#[test]
fn lists_on_the_heap() {
    let mut machine = Machine::new(HEAP);
    let out = machine.buffer(&[0u32; 256]);
    let arguments = [
        out.address.to_le_bytes().to_vec(),
        10i32.to_le_bytes().to_vec(),
    ];
    let kernel = machine.program.kernel("lists").unwrap();
    let launch_on = |threads: usize| {
        let shape = Launch {
            threads,
            ..common::shape(4, 64)
        };
        launch(&kernel, &machine.memory, &shape, &arguments, &mut Nothing)
            .unwrap_or_else(|error| panic!("{error}"));
        let sums: Vec<u32> = machine.read(out);
        for (i, &sum) in sums.iter().enumerate() {
            let wanted = (0..10)
                .rev()
                .fold(0, |sum, step| sum * 3 + i as u32 % 64 + step);
            assert_eq!(sum, wanted, "thread {i}");
        }
    };
    launch_on(1);
    launch_on(2);
}

/// What one launch allocates, the next one frees.
#[test]
fn the_heap_outlives_a_launch() {
    let mut machine = Machine::new(HEAP);
    let rows = machine.buffer(&[0u64; 3]);
    let out = machine.buffer(&[0u32; 300]);
    let length = 100i32.to_le_bytes().to_vec();
    let [rows_argument, out_argument] =
        [rows, out].map(|buffer| buffer.address.to_le_bytes().to_vec());
    let run = |entry: &str, arguments: &[Vec<u8>]| {
        let kernel = machine.program.kernel(entry).unwrap();
        let shape = common::shape(3, 32);
        launch(&kernel, &machine.memory, &shape, arguments, &mut Nothing)
    };
    run("keep", &[rows_argument.clone(), length.clone()]).unwrap();
    let take = [rows_argument, length, out_argument];
    run("take", &take).unwrap();
    let wanted = (0..300u32).map(|i| (99 - i % 100).pow(2) + i / 100);
    assert_eq!(machine.read::<u32>(out), wanted.collect::<Vec<_>>());
    let Err(LaunchError::Trap(trap)) = run("take", &take) else {
        panic!("the rows are gone")
    };
    assert!(
        matches!(trap.fault, Fault::Freed { by: None, .. }),
        "{trap}"
    );
}

/// The heap of 8 MiB, as CUDA has it, gives a certain number of pieces and no more; pieces that were freed it gives again.
#[test]
fn the_heap_has_a_limit() {
    let mut machine = Machine::new(HEAP);
    let out = machine.buffer(&[0u32]);
    for bytes in [1 << 20, 1 << 20, 1 << 12, 1000, 24] {
        machine
            .launch("exhaust", &block(1), &[out.address, bytes])
            .unwrap();
        let pieces = (8 << 20) / bytes.next_multiple_of(16);
        assert_eq!(
            u64::from(machine.read::<u32>(out)[0]),
            pieces,
            "{bytes} bytes each"
        );
    }
    machine.memory = machine.memory.with_heap(1 << 16);
    machine
        .launch("exhaust", &block(1), &[out.address, 256])
        .unwrap();
    assert_eq!(machine.read::<u32>(out), [256]);
}

/// Sums and products of two singles at once.
#[test]
fn pairs_of_singles() {
    let mut machine = Machine::new(PAIRS);
    let values = [
        1.0,
        0.1,
        -3.5,
        1e-40,
        16_777_217.0,
        -0.0,
        f32::MAX,
        1.0 / 3.0,
    ];
    let input: Vec<f32> = (0..6 * 32)
        .map(|i| values[i * 5 % 8] * (1.0 + i as f32 / 64.0))
        .collect();
    let data = machine.buffer(&input);
    let out = machine.buffer(&vec![0f32; 24 * 32]);
    machine
        .launch("pairs", &block(32), &[out.address, data.address])
        .unwrap();
    let results: Vec<f32> = machine.read(out);
    for thread in 0..32 {
        for half in 0..2 {
            let [a, b, c] = [0, 2, 4].map(|at| input[6 * thread + at + half]);
            let exact = [a + b, a * b, libm::fmaf(a, b, c)];
            for (operation, nearest) in exact.into_iter().enumerate() {
                let at = |mode: usize| results[24 * thread + 8 * operation + 2 * mode + half];
                let [rn, rz, rm, rp] = [0, 1, 2, 3].map(at);
                assert_eq!(rn.to_bits(), nearest.to_bits(), "{a} {b} {c}");
                assert!(
                    rm <= rn && rn <= rp && (rp == rm || rp == rm.next_up()),
                    "{rm} {rn} {rp}"
                );
                assert_eq!(
                    rz.to_bits(),
                    if rn > 0.0 { rm } else { rp }.to_bits(),
                    "{rm} {rz} {rp}"
                );
            }
        }
    }
}
