//! Bulk reductions, asynchronous stores, multicasts and policies, as nvcc compiles them for sm_90a from `cuda::ptx`. For the same
//! inputs an H200 has left the same, byte by byte.

use crate::common::{Machine, shape};
use bytemuck::Pod;
use warpfold_emulator::{Order, Tool, check, compare_orders};

const PTX: &str = include_str!("../data/bulk.nvcc.sm_90a.ptx");
/// Blocks that reduce into the same 128 elements.
const BLOCKS: u32 = 8;

/// Runs an entry that takes an input and an output, of which it leaves this; finds nothing wrong, in any order of the threads.
#[track_caller]
fn leaves<T: Pod + PartialEq + std::fmt::Debug>(
    entry: &str,
    (blocks, threads): (u32, u32),
    input: &[T],
    before: &[T],
    expected: &[T],
) {
    let mut machine = Machine::new(PTX);
    let (from, to) = (machine.buffer(input), machine.buffer(before));
    let launch = shape(blocks, threads);
    machine
        .launch(entry, &launch, &[from.address, to.address])
        .unwrap_or_else(|error| panic!("{entry}: {error}"));
    assert_eq!(machine.read::<T>(to), expected, "{entry}");
    let kernel = machine.program.kernel(entry).unwrap();
    let arguments = [from, to].map(|buffer| buffer.address.to_le_bytes().to_vec());
    let tools = Tool::WATCHING;
    let found = check(&kernel, &mut machine.memory, &launch, &arguments, &tools).unwrap();
    assert_eq!(found, [], "{entry}");
    let orders = (0..5).map(Order::Seed);
    let memory = &mut machine.memory;
    let difference = compare_orders(&kernel, memory, &launch, &arguments, orders).unwrap();
    assert_eq!(difference, None, "{entry}");
}

/// Small numbers of both signs: exact as halves, and so are their sums.
fn number(index: u32) -> i64 {
    i64::from(index * 37 % 101) - 50
}

/// Reduces the numbers, as `of` makes them, 128 for each block, into 128 that `of` makes of the numbers after them.
#[track_caller]
fn reduces<T: Pod + PartialEq + std::fmt::Debug>(
    entry: &str,
    of: impl Fn(i64) -> T,
    combine: impl Fn(T, T) -> T,
) {
    let end = 128 * BLOCKS;
    let input: Vec<T> = (0..end).map(|index| of(number(index))).collect();
    let before: Vec<T> = (end..end + 128).map(|index| of(number(index))).collect();
    let mut expected = before.clone();
    for block in input.chunks(128) {
        for (sum, &value) in expected.iter_mut().zip(block) {
            *sum = combine(*sum, value);
        }
    }
    leaves(entry, (BLOCKS, 128), &input, &before, &expected);
}

#[test]
fn blocks_reduce_their_tiles_into_one() {
    reduces("add_s32", |number| number as i32, i32::wrapping_add);
    reduces("max_s64", |number| number, i64::max);
    reduces("xor_b64", |number| number as u64, |a, b| a ^ b);
    reduces("add_f32", |number| number as f32, |a, b| a + b);
    reduces("add_f64", |number| number as f64, |a, b| a + b);
}

#[test]
fn they_count_up_and_down() {
    // With one bound for all blocks, so that their order does not matter.
    let bounds: Vec<u32> = (0..128 * BLOCKS).map(|index| index % 128 % 11).collect();
    let before: Vec<u32> = (0..128).map(|index| index % 13).collect();
    let after = |step: fn(u32, u32) -> u32| -> Vec<u32> {
        let count = |(&start, &bound)| (0..BLOCKS).fold(start, |count, _| step(count, bound));
        before.iter().zip(&bounds).map(count).collect()
    };
    let up = after(|count, bound| if count >= bound { 0 } else { count + 1 });
    leaves("inc_u32", (BLOCKS, 128), &bounds, &before, &up);
    let down = after(|count, bound| match count {
        0 => bound,
        count if count > bound => bound,
        count => count - 1,
    });
    leaves("dec_u32", (BLOCKS, 128), &bounds, &before, &down);
}

/// The half of a small number: a sign, five bits of exponent and ten of mantissa.
fn half(number: i64) -> u16 {
    let sign = u16::from(number < 0) << 15;
    let magnitude = number.unsigned_abs() as u16;
    match magnitude.checked_ilog2() {
        None => sign,
        Some(log2) => sign | (15 + log2 as u16) << 10 | magnitude << (10 - log2) & 0x3ff,
    }
}

fn from_half(bits: u16) -> i64 {
    let magnitude = match bits & 0x7fff {
        0 => 0,
        bits => i64::from(bits & 0x3ff | 0x400) << (bits >> 10) >> 25,
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[test]
fn they_reduce_halves() {
    let numbers =
        |combine: fn(i64, i64) -> i64| move |a, b| half(combine(from_half(a), from_half(b)));
    reduces("add_f16", half, numbers(|a, b| a + b));
    reduces("min_f16", half, numbers(i64::min));
    // The upper half of single precision.
    let bf16 = |number: i64| ((number as f32).to_bits() >> 16) as u16;
    let single = |bits: u16| f32::from_bits(u32::from(bits) << 16);
    reduces(
        "max_bf16",
        bf16,
        |a, b| if single(b) > single(a) { b } else { a },
    );
}

#[test]
fn blocks_of_a_cluster_exchange_words() {
    let input: Vec<u32> = (0..128).map(|index| number(index) as u32).collect();
    let sums =
        [&input[64..], &input[..64]].map(|words| words.iter().map(|&word| u64::from(word)).sum());
    let mut expected = [&input[64..], &input[..64]].concat();
    expected.extend(
        sums.iter()
            .flat_map(|&sum: &u64| [sum as u32, (sum >> 32) as u32]),
    );
    leaves("swap", (2, 64), &input, &[0; 132], &expected);
    let input: Vec<i32> = (0..128).map(|index| number(index) as i32).collect();
    let least = |index: usize| input[index % 64].min(input[index % 64 + 64]);
    let expected: Vec<i32> = (0..128).map(least).collect();
    leaves("least", (2, 64), &input, &[0; 128], &expected);
}

#[test]
fn a_multicast_reaches_the_blocks_of_its_mask() {
    let input: Vec<i32> = (0..64).map(|index| number(index) as i32).collect();
    let expected = [&input[..], &input, &[-1; 64], &input].concat();
    leaves("multicast", (4, 64), &input, &[0; 256], &expected);
}

#[test]
fn policies_change_nothing() {
    let input: Vec<i32> = (0..64).collect();
    let expected: Vec<i32> = (1..65).collect();
    leaves("policies", (1, 64), &input, &[0; 64], &expected);
}
