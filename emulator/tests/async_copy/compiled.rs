//! Asynchronous copies, the barriers they complete on, and half-precision floats, as nvcc compiles them for sm_90.

use warpfold_emulator::{Launch, Memory, Module, Nothing, Program, launch};

const PTX: &str = include_str!("../data/async.nvcc.sm_90.ptx");

/// Runs an entry that takes an input, an output and the input's length; returns the output.
fn run(entry: &str, grid: u32, block: u32, input: &[u8], output_bytes: usize, n: i32) -> Vec<u8> {
    let mut memory = Memory::new();
    let from = memory.allocate(input.len()).expect("it fits");
    let to = memory.allocate(output_bytes).expect("it fits");
    memory.write(from, input).expect("it was allocated");
    let module = Module::parse(PTX).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::load(module, &mut memory).expect("it loads");
    let kernel = program
        .kernel(entry)
        .unwrap_or_else(|error| panic!("{error}"));
    let shape = Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        ..Launch::default()
    };
    let arguments = [
        from.to_le_bytes().to_vec(),
        to.to_le_bytes().to_vec(),
        n.to_le_bytes().to_vec(),
    ];
    launch(&kernel, &memory, &shape, &arguments, &mut Nothing)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut output = vec![0; output_bytes];
    memory.read(to, &mut output).expect("it was allocated");
    output
}

fn sums(entry: &str) -> i32 {
    let input: Vec<u8> = (0..4096_i32).flat_map(i32::to_le_bytes).collect();
    let output = run(entry, 2, 128, &input, 4, 4096);
    i32::from_le_bytes(output.try_into().expect("four bytes"))
}

#[test]
fn bulk_copies_complete_on_their_mbarrier() {
    // Each of the two blocks adds up everything.
    assert_eq!(sums("bulk_sum"), 4095 * 4096);
}

#[test]
fn small_copies_are_there_after_the_wait() {
    assert_eq!(sums("async_sum"), 4095 * 4096);
}

#[test]
fn halves_are_rounded_like_halves() {
    // The last value is no half: 0.1 is 0x2e66 = 0.0999755859375.
    let values = [0.0_f32, 1.0, 2.5, 0.1];
    let input: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let output: Vec<f32> = run("halves", 1, 4, &input, 32, 4)
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    // h + h, h·h + 0.5 rounded to a half, and 2·2 + 0.5.
    assert_eq!(output[..3], [5.0, 2.0 + 1.5 + 4.5, 5.0 + 6.75 + 4.5]);
    assert_eq!(output[3], 0.199_951_17 + 0.509_765_6 + 4.5);
    // The square in bf16, 100 where h < 3, and h as an integer.
    assert_eq!(output[4..7], [100.0, 102.0, 6.25 + 100.0 + 2.0]);
    // 0.1 in bf16 is 0x3dcd = 0.10009765625; its square, rounded to bf16, is 0x3c24.
    assert_eq!(output[7], f32::from_bits(0x3c24_0000) + 100.0);
}
