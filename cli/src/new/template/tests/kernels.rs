//! The kernel is right, on the emulator and on a GPU if there is one; and no order of its threads makes a difference.

use warpfold_template::{PTX, squared_distance};

use warpfold::{Device, DeviceChoice};
use warpfold_emulator::{Launch, Memory, Module, Order, Program, Tool, check, compare_orders};

/// Two vectors, whose values depend on their place. They are small whole numbers, so that `f32` adds them up exactly in any order.
fn vectors(n: usize) -> (Vec<f32>, Vec<f32>) {
    let value = |index: usize, prime: usize| (index * prime % 1009 % 8) as f32;
    (0..n)
        .map(|index| (value(index, 31), value(index, 37)))
        .unzip()
}

/// What the kernel computes.
fn expected(left: &[f32], right: &[f32]) -> f32 {
    left.iter()
        .zip(right)
        .map(|(left, right)| (left - right).powi(2))
        .sum()
}

#[test]
fn the_kernel_agrees_with_the_cpu() {
    let emulator = Device::open(&DeviceChoice::Emulator).expect("it is always there");
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    for device in [Some(emulator), gpu].into_iter().flatten() {
        for n in [0, 1, 31, 32, 33, 255, 256, 257, 10_007, 300_000] {
            let (left, right) = vectors(n);
            let found = squared_distance(&device, &left, &right).expect("the launch works");
            let device = device.describe();
            assert_eq!(found, expected(&left, &right), "{device}, n = {n}");
        }
    }
}

#[test]
fn the_kernel_is_sound_in_every_order() {
    let (left, right) = vectors(1000);
    let mut memory = Memory::new();
    let module = Module::parse(PTX).expect("the PTX is right");
    let program = Program::load(module, &mut memory).expect("there is room for it");
    let kernel = program.kernel("squared_distance").expect("it is there");
    let shape = Launch {
        grid: [3, 1, 1],
        block: [96, 1, 1],
        ..Launch::default()
    };
    let mut vector = |values: &[f32]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        let bytes: Vec<u8> = bytes.collect();
        let address = memory.allocate(bytes.len()).expect("there is memory");
        memory.write(address, &bytes).expect("it was allocated");
        address
    };
    let (left_address, right_address) = (vector(&left), vector(&right));
    let parts = memory.allocate(3 * 4).expect("there is memory");
    let arguments = [left_address, right_address, left.len() as u64, parts]
        .map(|argument| argument.to_le_bytes().to_vec());

    let findings = check(&kernel, &mut memory, &shape, &arguments, &Tool::WATCHING);
    if let Some(finding) = findings.expect("the launch works").first() {
        panic!("{finding}");
    }
    let orders = [Order::Fixed].into_iter().chain((0..32).map(Order::Seed));
    let difference = compare_orders(&kernel, &mut memory, &shape, &arguments, orders);
    if let Some(finding) = difference.expect("the launch works") {
        panic!("{finding}");
    }
}
