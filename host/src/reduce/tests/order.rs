//! The fixed order, against a model of it and the CPU.

use super::*;

/// The order of [`warpfold_device::fixed`] in plain Rust.
fn in_order<S: Copy>(operator: impl Combine<S>, states: &[S]) -> S {
    let slot = |slot: usize| {
        let mut states = states.iter().skip(slot).step_by(1024).copied();
        let first = states.next().expect("it has a state");
        states.fold(first, |left, right| operator.combine(left, right))
    };
    let mut slots: Vec<S> = (0..states.len().min(1024)).map(slot).collect();
    let mut distance = 512;
    while distance > 0 {
        for slot in 0..distance.min(slots.len().saturating_sub(distance)) {
            slots[slot] = operator.combine(slots[slot], slots[slot + distance]);
        }
        distance /= 2;
    }
    slots.first().copied().unwrap_or(operator.identity())
}

#[track_caller]
fn order_is_fixed<O: BuiltIn<f32, Output: Outcome>>(device: &Device, operator: O) {
    let reduction = Reduction::new(device, operator).expect("the kernels are there");
    let mut reduction = reduction.with_mode(Mode::Deterministic);
    // One slot has values of several chunks from 1024 chunks on.
    let lengths = [
        0, 1, 2, 3, 31, 33, 64, 65, 255, 257, 1000, 1025, 2100, 4096, 4097, 12_345,
    ];
    for n in lengths {
        let values: Vec<f32> = (0..n + 3)
            .map(|place| ((place * 7919) % 10_007) as f32 / 977.0 - 3.0)
            .collect();
        let buffer = device.upload(&values).expect("it fits");
        for skip in 0..3 {
            let values = &values[skip..skip + n];
            let lifted: Vec<_> = (0_u64..)
                .zip(values)
                .map(|(index, value)| operator.lift(*value, index))
                .collect();
            let chunks: Vec<_> = lifted
                .chunks(4096)
                .map(|chunk| in_order(operator, chunk))
                .collect();
            let expected = operator.finish(in_order(operator, &chunks), n as u64);
            let matrix = Matrix::contiguous(1, n);
            for launch in launches(&reduction.problem(Along::Rows, matrix)) {
                let mut result = device.allocate(1).expect("it fits");
                // SAFETY: as above.
                unsafe {
                    reduction.launch_by(None, buffer.slice(skip..), matrix, &mut result, launch)
                }
                .expect("it runs");
                let found = result.read().expect("it has run");
                // All NaN are one: which bits they have, no machine promises.
                let bits = |number: f64| (!number.is_nan()).then(|| number.to_bits());
                assert_eq!(
                    found[0].numbers().map(bits),
                    expected.numbers().map(bits),
                    "{} of {n} from value {skip} on by {launch:?}: {found:?}, not {expected:?}",
                    reduction.kernels()
                );
            }
        }
    }
}

#[test]
fn the_order_of_deterministic_reductions_is_that_of_their_model() {
    for device in devices() {
        order_is_fixed(&device, Sum);
        order_is_fixed(&device, Mean);
        order_is_fixed(&device, StdDev { ddof: 1 });
        order_is_fixed(&device, Norm2);
        order_is_fixed(&device, LogSumExp);
        order_is_fixed(&device, Product);
    }
}

/// Columns and segments against the deterministic order on the CPU, which has a definition of its own in its tests: to the last bit.
fn order_of_shapes_is_fixed<O: BuiltIn<f32> + Parallel<f32>>(device: &Device, operator: O)
where
    O::Output: Debug,
{
    let values: Vec<f32> = (0..40_000_u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 7.0)
        .collect();
    let buffer = device.upload(&values).expect("it fits");
    let reduction = Reduction::new(device, operator).expect("it is prepared");
    let mut reduction = reduction.with_mode(Mode::Deterministic);
    let bits = |results: &[O::Output]| format!("{results:?}");
    for (rows, columns, stride) in [
        (0, 3, 3),
        (1, 5, 5),
        (2, 1, 1),
        (33, 31, 40),
        (700, 32, 32),
        (1030, 33, 35),
        (4096, 2, 9),
        (4097, 7, 7),
        (9999, 4, 4),
    ] {
        let matrix = Matrix {
            rows,
            columns,
            stride,
        };
        let expected = cpu::columns(operator, &values, matrix, Order::Deterministic);
        for _ in 0..2 {
            let found = reduction.columns(&buffer, matrix).expect("it runs");
            assert_eq!(bits(&found), bits(expected.as_ref().unwrap()), "{matrix:?}");
        }
    }
    let mut ends: Vec<u32> = vec![0, 0, 1, 3, 19, 36, 36, 300, 301, 4397, 8494, 8494, 16_700];
    ends.extend((16_700..16_900).step_by(3));
    ends.extend([16_950, 39_000, 39_000, 40_000]);
    for skip in [0, 2, 5, 9] {
        let offsets = &ends[skip..];
        let expected = cpu::segments(operator, &values, offsets, Order::Deterministic);
        let segments = Segments::new(device, offsets).expect("they do not decrease");
        for _ in 0..2 {
            let found = reduction.segments(&buffer, &segments).expect("it runs");
            assert_eq!(
                bits(&found),
                bits(expected.as_ref().unwrap()),
                "from {skip}"
            );
        }
    }
}

#[test]
fn the_order_of_columns_and_segments_is_that_of_the_cpu() {
    for device in devices() {
        order_of_shapes_is_fixed(&device, Sum);
        order_of_shapes_is_fixed(&device, StdDev { ddof: 1 });
        order_of_shapes_is_fixed(&device, LogSumExp);
        order_of_shapes_is_fixed(&device, ArgMax::FIRST);
    }
}
