//! Every row of the flagship's table, on the emulator: for awkward lengths that begin anywhere, against exact sums; and
//! the order that is promised, against a model of it in plain Rust.

use super::{Mode, Sum, Summable, sum_with};
use crate::device::SliceMut;
use crate::device::{Device, DeviceChoice, DeviceError, Stream};
use crate::ptx::PtxSet;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use warpfold_kernels::catalogue::flagship::{Addend, CHOICES, Order, SumKernel, SumLaunch, choose};

const LENGTHS: [usize; 16] = [
    1, 2, 3, 31, 32, 33, 127, 128, 129, 511, 2048, 4095, 8192, 8193, 12345, 131_085,
];

fn integers(n: usize, seed: u64) -> Vec<i32> {
    let mut values = vec![0; n];
    ChaCha8Rng::seed_from_u64(seed).fill(&mut values[..]);
    values
}

/// Multiples of 2^-23 from -1 to 1, whose sums lose digits to rounding.
fn floats(n: usize, seed: u64) -> Vec<f32> {
    let fraction = |value: i32| (value >> 8) as f32 / (1 << 23) as f32;
    integers(n, seed).into_iter().map(fraction).collect()
}

fn emulator() -> Device {
    Device::open(&DeviceChoice::Emulator).expect("there is always an emulator")
}

/// The emulator, and a GPU where there is one.
fn devices() -> Vec<Device> {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    [emulator()].into_iter().chain(gpu).collect()
}

/// The launch by every row for the type, and the same in three blocks, where the kernel takes any number of them.
fn launches(addend: Addend, n: usize) -> impl Iterator<Item = SumLaunch> {
    CHOICES
        .iter()
        .filter(move |choice| choice.addends.contains(&addend))
        .flat_map(move |choice| {
            let launch = choice.launch(addend, n);
            let blocks = if choice.kernel == SumKernel::Little {
                launch.blocks
            } else {
                3
            };
            [launch, SumLaunch { blocks, ..launch }]
        })
}

/// Every launch gives the sum of the values, which begin at several places in a line of the cache.
#[track_caller]
fn sums_are<T: Summable + PartialEq + std::fmt::Debug>(values: &[T], sum: impl Fn(&[T]) -> T) {
    let device = emulator();
    let mut sums = Sum::new(&device).expect("a few words");
    for n in LENGTHS {
        for skip in [0, 1, 2, 3, 7, 31] {
            let buffer = device.upload(&values[..skip + n]).expect("it fits");
            let expected = sum(&values[skip..][..n]);
            for launch in launches(T::ADDEND, n) {
                // SAFETY: it was chosen for as many values, in other numbers of blocks.
                let result = unsafe { sums.launch(buffer.slice(skip..), &launch) };
                let place = format!("{n} values from value {skip} on, {launch:?}");
                assert_eq!(result.as_ref(), Ok(&expected), "{place}");
            }
        }
    }
}

#[test]
fn integers_of_32_bits() {
    let values = integers(200_000, 1);
    let large: Vec<i32> = values
        .iter()
        .map(|value| value.wrapping_mul(1_000_003))
        .collect();
    sums_are(&large, |values| {
        values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
    });
    let unsigned: Vec<u32> = large.iter().map(|&value| value as u32).collect();
    sums_are(&unsigned, |values| {
        values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
    });
}

#[test]
fn integers_of_64_bits() {
    let values = integers(200_000, 2);
    let large: Vec<i64> = values
        .iter()
        .map(|&value| i64::from(value).wrapping_mul(0x1234_5678_9abc_def1))
        .collect();
    sums_are(&large, |values| {
        values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
    });
}

/// Small whole numbers: no addition rounds, in whatever order.
#[test]
fn floats_that_do_not_round() {
    let values = integers(200_000, 3);
    let small: Vec<f32> = values.iter().map(|value| (value % 64) as f32).collect();
    sums_are(&small, |values| values.iter().sum());
    let wide: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
    sums_are(&wide, |values| values.iter().sum());
}

#[test]
fn the_sum_of_nothing_is_0_and_of_zeros_keeps_their_sign() {
    let device = emulator();
    for mode in [Mode::Fast, Mode::Deterministic] {
        assert_eq!(sum_with::<u64>(&device, &[], mode), Ok(0));
        let nothing = sum_with::<f32>(&device, &[], mode).expect("no launch");
        assert_eq!(nothing.to_bits(), 0);
        let zeros = sum_with(&device, &[-0.0_f32; 100], mode).expect("a launch");
        assert_eq!(zeros.to_bits(), (-0.0_f32).to_bits());
    }
}

#[test]
fn what_is_no_number_comes_through() {
    let device = emulator();
    for mode in [Mode::Fast, Mode::Deterministic] {
        for place in [0, 57, 4_999] {
            let mut values = vec![1.0_f64; 5_000];
            values[place] = f64::INFINITY;
            assert_eq!(sum_with(&device, &values, mode), Ok(f64::INFINITY));
            values[4_321] = f64::NEG_INFINITY;
            assert!(sum_with(&device, &values, mode).is_ok_and(f64::is_nan));
        }
    }
}

/// Numbers that small that they are subnormal count, too, where several blocks add up.
#[test]
fn subnormal_numbers_are_not_lost() {
    let device = emulator();
    let least = f32::from_bits(1);
    for mode in [Mode::Fast, Mode::Deterministic] {
        let total = sum_with(&device, &vec![least; 100_000], mode).expect("it runs");
        assert_eq!(total, f32::from_bits(100_000), "{mode:?}");
    }
}

/// One after the other on a stream, in both modes: the totals of both take their turns, and nothing sums to 0.
#[test]
fn the_last_sum_that_was_queued_is_the_result() {
    let device = emulator();
    let stream = device.stream().expect("a stream");
    sums_follow_one_another(&device, &stream);
}

#[test]
fn a_sum_stays_on_the_device() {
    fn stays<T: Summable + PartialEq>(device: &Device, values: &[T], sum: T) {
        let stream = device.stream().expect("there are streams");
        // None of the sums is equal to the last of its values.
        let last = &values[values.len() - 1..];
        let mut on_device = device.upload(last).expect("it fits");
        let values = device.upload(values).expect("it fits");
        let mut sums = Sum::new(device).expect("a few words");
        for mode in [Mode::Fast, Mode::Deterministic, Mode::Fast] {
            sums.queue_into(&stream, &values, mode, &mut on_device)
                .expect("one device");
            assert_eq!(on_device.read(), Ok(vec![sum]), "{mode:?}");
            assert_eq!(sums.result(), Ok(sum));
            sums.queue_into(&stream, values.slice(..0), mode, &mut on_device)
                .expect("one device");
            assert_eq!(on_device.read(), Ok(vec![T::zeroed()]));
            let mut row = device.upload(&[T::zeroed(); 3]).expect("it fits");
            let second = SliceMut::from(&mut row).slice(1..2);
            sums.queue_into(&stream, &values, mode, second)
                .expect("one device");
            assert_eq!(row.read(), Ok(vec![T::zeroed(), sum, T::zeroed()]));
        }
        let mut two = device.allocate(2).expect("it fits");
        assert_eq!(
            sums.queue_into(&stream, &values, Mode::Fast, &mut two),
            Err(DeviceError::LengthMismatch {
                length: 2,
                given: 1
            }
            .into())
        );
    }
    for device in devices() {
        stays(&device, &[1_i32, -5, 1000], 996);
        stays(&device, &[u64::MAX, 3], 2);
        stays(&device, &[1e300_f64, 0.5e300], 1.5e300);
        // Rounded to even once, at the end: 16777217 is between two floats.
        stays(&device, &[16_777_216.0_f32, 1.0], 16_777_216.0);
        stays(&device, &[0.1_f32; 10], 1.0);
    }
}

#[test]
fn sums_follow_one_another_on_a_gpu() {
    let Ok(device) = Device::open(&DeviceChoice::Gpu(0)) else {
        println!("skipped: there is no GPU");
        return;
    };
    let stream = device.stream().expect("a stream");
    sums_follow_one_another(&device, &stream);
}

#[track_caller]
fn sums_follow_one_another(device: &Device, stream: &Stream) {
    let mut sums = Sum::new(device).expect("a few words");
    for n in [1_u32, 2_000, 30_000, 3, 0, 100_000] {
        let values = vec![1.0_f64; n as usize];
        let buffer = device.upload(&values).expect("it fits");
        for queued in [1, 2, 3] {
            for mode in [Mode::Fast, Mode::Deterministic] {
                for _ in 0..queued {
                    sums.queue(stream, &buffer, mode).expect("it is queued");
                }
                stream.synchronize().expect("it runs");
                assert_eq!(sums.result(), Ok(f64::from(n)), "{n} {mode:?}");
            }
        }
    }
}

/// A launch of the graph would find in the total what the launch before has left there.
#[test]
fn a_sum_is_not_captured_into_a_graph() {
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let mut sums = Sum::new(&device).expect("a few words");
        let buffer = device.upload(&[1_i32; 5000]).expect("it fits");
        for mode in [Mode::Fast, Mode::Deterministic] {
            assert_eq!(sums.of(buffer.slice(..7), mode), Ok(7));
            assert_eq!(stream.is_capturing(), Ok(false));
            for values in [buffer.slice(..), buffer.slice(..0)] {
                let graph = stream.capture(|stream| {
                    assert_eq!(stream.is_capturing(), Ok(true));
                    let error = sums.queue(stream, values, mode).expect_err("it captures");
                    assert_eq!(error, DeviceError::CapturedSum.into());
                    Ok(())
                });
                graph.expect("the capture is none the worse for it");
                assert_eq!(sums.result(), Ok(7), "{mode:?}");
            }
            assert_eq!(stream.is_capturing(), Ok(false));
            sums.queue(&stream, &buffer, mode).expect("it is queued");
            stream.synchronize().expect("it runs");
            assert_eq!(sums.result(), Ok(5000), "{mode:?}");
        }
    }
}

#[test]
fn what_is_of_another_device_is_refused_and_spoils_no_sum() {
    for (device, other) in devices().iter().zip(devices()) {
        let mut sums = Sum::new(device).expect("a few words");
        let values = [1_i64; 5000];
        let here = device.upload(&values).expect("it fits");
        let there = other.upload(&values).expect("it fits");
        let stream = device.stream().expect("a stream");
        let stream_there = other.stream().expect("a stream");
        let refused = Err(DeviceError::OtherDevice.into());
        for mode in [Mode::Fast, Mode::Deterministic] {
            assert_eq!(sums.of(&here, mode), Ok(5000));
            for part in [there.slice(..), there.slice(..0)] {
                assert_eq!(sums.of(part, mode), refused);
                assert_eq!(sums.queue(&stream, part, mode).map(|()| 0), refused);
            }
            let queued = sums.queue(&stream_there, &here, mode);
            assert_eq!(queued.map(|()| 0), refused);
            assert_eq!(sums.result(), Ok(5000), "{mode:?}");
        }
    }
}

/// Where a launch fails, the next sum is right all the same.
#[test]
fn a_launch_that_is_refused_spoils_no_sum() {
    let device = emulator();
    let mut sums = Sum::new(&device).expect("a few words");
    let buffer = device.upload(&[1_i32; 5000]).expect("it fits");
    for mode in [Mode::Fast, Mode::Deterministic] {
        assert_eq!(sums.of(&buffer, mode), Ok(5000));
        let usual = choose(Addend::I32, mode.into(), 5000);
        let refused = SumLaunch {
            block: 2048,
            ..usual
        };
        // SAFETY: it is refused before anything runs.
        assert!(unsafe { sums.launch(buffer.slice(..), &refused) }.is_err());
        assert_eq!(sums.result(), Ok(0));
        assert_eq!(sums.of(&buffer, mode), Ok(5000));
    }
}

/// The order of [`Mode::Deterministic`] in plain Rust.
fn model(values: &[f32]) -> f32 {
    const ZERO: f32 = -0.0;
    const THREADS: usize = 512;
    const LOADS: usize = 2;
    let tree = |values: &[f32]| {
        let mut values = values.to_vec();
        while values.len() > 1 {
            values = values.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        values[0]
    };
    // As a shuffle does: each half onto the other.
    let warp = |lanes: &[f32]| {
        let mut lanes = lanes.to_vec();
        lanes.resize(32, ZERO);
        while lanes.len() > 1 {
            let half = lanes.len() / 2;
            lanes = (0..half)
                .map(|lane| lanes[lane] + lanes[lane + half])
                .collect();
        }
        lanes[0]
    };
    let block = |threads: &[f32]| warp(&threads.chunks(32).map(warp).collect::<Vec<_>>());

    let (vectors, rest) = values.as_chunks::<4>();
    let tiles: Vec<&[[f32; 4]]> = vectors.chunks(LOADS * THREADS).collect();
    let blocks = values.len().div_ceil(4 * LOADS * THREADS).min(528);
    let partials: Vec<f32> = (0..blocks)
        .map(|virtual_block| {
            let mut threads = vec![ZERO; THREADS];
            for tile in tiles.iter().skip(virtual_block).step_by(blocks) {
                for (tid, sum) in threads.iter_mut().enumerate() {
                    let loads: Vec<f32> = (0..LOADS)
                        .map(|load| {
                            let index = tid / 32 * 32 * LOADS + load * 32 + tid % 32;
                            tile.get(index).map_or(ZERO, |vector| tree(vector))
                        })
                        .collect();
                    *sum += tree(&loads);
                }
            }
            block(&threads)
        })
        .collect();
    let last: Vec<f32> = (0..THREADS)
        .map(|tid| {
            let share = partials.iter().skip(tid).step_by(THREADS);
            let sum = share.fold(ZERO, |sum, &partial| sum + partial);
            sum + rest.get(tid).copied().unwrap_or(ZERO)
        })
        .collect();
    block(&last)
}

/// From any address, in any grid, on any GPU's PTX: the bits that the model gives.
#[test]
fn the_deterministic_order_is_that_of_its_model() {
    let device = emulator();
    let mut sums = Sum::new(&device).expect("a few words");
    let values = floats(131_100, 4);
    for n in LENGTHS {
        for skip in [0, 1, 2, 3, 5] {
            let buffer = device.upload(&values[..skip + n]).expect("it fits");
            let expected = model(&values[skip..][..n]);
            let usual = choose(Addend::F32, Order::Fixed, n);
            for blocks in [1, 2, 3, usual.blocks] {
                let launch = SumLaunch { blocks, ..usual };
                // SAFETY: it was chosen for as many values, in other numbers of blocks.
                let result = unsafe { sums.launch(buffer.slice(skip..), &launch) };
                let result = result.expect("it runs");
                let place = format!("{n} values from value {skip} on, {blocks} blocks");
                assert_eq!(result.to_bits(), expected.to_bits(), "{place}");
            }
        }
    }
}

/// More tiles than virtual blocks.
#[test]
fn the_deterministic_order_of_many_values_is_that_of_its_model() {
    let device = emulator();
    let values = floats(528 * 4096 + 100_001, 5);
    let result = sum_with(&device, &values, Mode::Deterministic).expect("it runs");
    assert_eq!(result.to_bits(), model(&values).to_bits());
}

#[test]
fn a_choice_for_an_older_gpu_gives_the_same_bits() {
    let values = floats(100_003, 6);
    let expected = model(&values);
    for sm in [70, 80] {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let ptx = PtxSet::embedded().only(sm);
        let device = device.with_ptx(ptx);
        let result = sum_with(&device, &values, Mode::Deterministic).expect("it runs");
        assert_eq!(result.to_bits(), expected.to_bits(), "sm_{sm}");
        let fast = sum_with(
            &device,
            &values.iter().map(|_| 1_i32).collect::<Vec<_>>(),
            Mode::Fast,
        );
        assert_eq!(fast, Ok(100_003), "sm_{sm}");
    }
}
