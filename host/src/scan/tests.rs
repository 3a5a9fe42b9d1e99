use super::*;
use crate::cpu;
use crate::device::DeviceChoice;
use crate::reduce::table::{Launch, Way};
use crate::reduce::{Key, Reduction, Runs};
use crate::sum::Mode;
use crate::{DotProduct, dot};
use proptest::prelude::{ProptestConfig, any, proptest};
use std::fmt::Debug;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::{ArgMax, Dot, Mean, MinMax};

/// The emulator, and a GPU where there is one.
fn devices() -> Vec<Device> {
    let emulator = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    [emulator].into_iter().chain(gpu).collect()
}

/// Of some ranges of values, one value after the other.
fn by_definition<T: Copy, O: Operator<T>>(
    operator: O,
    kind: ScanKind,
    ranges: impl IntoIterator<Item = Vec<T>>,
) -> Vec<O::Output> {
    let mut results = Vec::new();
    for values in ranges {
        let mut state = operator.identity();
        for value in values {
            let before = state;
            state = operator.combine(state, operator.lift(value, 0));
            results.push(operator.finish(
                if kind == ScanKind::Inclusive {
                    state
                } else {
                    before
                },
                0,
            ));
        }
    }
    results
}

/// Every shape of some values, against the definition; twice, since a scan leaves its workspace as it was.
#[track_caller]
fn agrees<T: Reducible + Sync, O: Scannable<T> + cpu::Parallel<T>>(
    device: &Device,
    operator: O,
    values: &[T],
    columns: usize,
) where
    O::Output: Pod + Debug,
{
    let text = |results: &[O::Output]| format!("{results:?}");
    let stride = columns + 2;
    let matrix = Matrix {
        rows: values.len() / stride,
        columns,
        stride,
    };
    let n = values.len() as u32;
    let offsets = [n / 9, n / 9, n / 9 + n / 1000, n / 3, n / 3, n / 2, n];
    let buffer = device.upload(values).expect("it fits");
    for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
        let on_host = cpu::scan_rows(operator, kind, values, matrix);
        let in_segments = cpu::scan_segments(operator, kind, values, &offsets);
        let mut scan = Scan::new(device, operator, kind).expect("the kernels are there");
        for _ in 0..2 {
            let all = by_definition(operator, kind, [values.to_vec()]);
            let found = scan.of(&buffer).and_then(|found| Ok(found.read()?));
            assert_eq!(text(&found.expect("it runs")), text(&all), "{kind:?}");
            let rows = (0..matrix.rows).map(|row| values[row * stride..][..columns].to_vec());
            let rows = by_definition(operator, kind, rows);
            assert_eq!(text(on_host.as_ref().expect("they fit")), text(&rows));
            let found = scan
                .rows(&buffer, matrix)
                .and_then(|found| Ok(found.read()?));
            assert_eq!(
                text(&found.expect("it runs")),
                text(&rows),
                "{kind:?} {matrix:?}"
            );
            let ranges = offsets
                .windows(2)
                .map(|ends| (ends[0] as usize, ends[1] as usize));
            let ranges = ranges.map(|(start, end)| values[start..end].to_vec());
            let expected = by_definition(operator, kind, ranges);
            assert_eq!(
                text(in_segments.as_ref().expect("they fit")),
                text(&expected)
            );
            let segments = Segments::new(device, &offsets).expect("they do not decrease");
            let found = scan.segments(&buffer, &segments);
            let found = found.and_then(|found| Ok(found.read()?)).expect("it runs");
            assert_eq!(text(&found), text(&expected), "{kind:?} {offsets:?}");
        }
    }
}

/// Whole numbers, of which floats lose nothing.
fn whole<T: From<i8>>(n: usize) -> Vec<T> {
    let number = |place: usize| T::from((place.wrapping_mul(0x9e37_79b9) >> 16) as i8 % 3);
    (0..n).map(number).collect()
}

#[test]
fn every_shape_of_awkward_lengths() {
    for device in devices() {
        for n in [0, 1, 2, 31, 33, 255, 257, 4095, 4096, 4097, 9000] {
            agrees(&device, Sum, &whole::<i32>(n), 1 + n / 7);
            agrees(&device, Max, &whole::<i32>(n), 3);
        }
    }
}

#[test]
fn every_type_and_operator() {
    macro_rules! each {
        ($device:expr; $($value:ty: $values:expr;)*) => {$(
            let values: Vec<$value> = $values;
            agrees($device, Sum, &values, 1000);
            agrees($device, Product, &values, 9);
            agrees($device, Min, &values, 2500);
            agrees($device, Max, &values, 1);
        )*};
    }
    for device in devices() {
        each! { &device;
            i8: whole(5000);
            u8: whole::<i8>(5000).into_iter().map(i8::unsigned_abs).collect();
            i16: whole(5000);
            u16: whole::<i8>(5000).into_iter().map(|it| it.unsigned_abs().into()).collect();
            i32: whole(5000);
            u32: whole::<i8>(5000).into_iter().map(|it| it.unsigned_abs().into()).collect();
            i64: whole(5000);
            u64: whole::<i8>(5000).into_iter().map(|it| it.unsigned_abs().into()).collect();
            f32: whole(5000);
            f64: whole(5000);
            F16: whole::<i8>(5000).into_iter().map(|it| F16::from_f32(it.into())).collect();
            Bf16: whole::<i8>(5000).into_iter().map(|it| Bf16::from_f32(it.into())).collect();
            Bool: whole::<i8>(5000).into_iter().map(|it| Bool(u8::from(it > 0))).collect();
        }
    }
}

/// A test for each type.
mod every_operator_of {
    use super::*;

    macro_rules! tests {
        ($($name:ident: |$small:ident| $value:expr;)*) => {$(
            #[test]
            #[ignore = "a part of `cargo xtask matrix`"]
            fn $name() {
                for device in devices() {
                    for n in [0, 1, 2, 31, 32, 33, 127, 255, 257, 1023, 4095, 4096, 4097, 9000] {
                        let values: Vec<_> = whole::<i8>(n).into_iter().map(|$small| $value).collect();
                        agrees(&device, Sum, &values, 1 + n / 7);
                        agrees(&device, Product, &values, 9);
                        agrees(&device, Min, &values, 1 + n / 2);
                        agrees(&device, Max, &values, 1);
                    }
                }
            }
        )*};
    }

    tests! {
        scans_of_bool: |it| Bool(u8::from(it > 0));
        scans_of_i8: |it| it;
        scans_of_u8: |it| it.unsigned_abs();
        scans_of_i16: |it| i16::from(it);
        scans_of_u16: |it| u16::from(it.unsigned_abs());
        scans_of_f16: |it| F16::from_f32(it.into());
        scans_of_bf16: |it| Bf16::from_f32(it.into());
        scans_of_i32: |it| i32::from(it);
        scans_of_u32: |it| u32::from(it.unsigned_abs());
        scans_of_f32: |it| f32::from(it);
        scans_of_i64: |it| i64::from(it);
        scans_of_u64: |it| u64::from(it.unsigned_abs());
        scans_of_f64: |it| f64::from(it);
    }
}

/// More tiles than a group has, and more groups than a batch.
#[test]
fn prefixes_of_groups_and_batches() {
    for device in devices() {
        let values: Vec<i64> = (0..2_300_000).map(|place| place % 7 - 3).collect();
        let expected = by_definition(Sum, ScanKind::Inclusive, [values.clone()]);
        assert!(cpu::scan(Sum, ScanKind::Inclusive, &values) == expected);
        let buffer = device.upload(&values).expect("it fits");
        let mut scan = Scan::inclusive(&device, Sum).expect("the kernels are there");
        let found = scan
            .of(&buffer)
            .expect("it runs")
            .read()
            .expect("it is there");
        assert!(found == expected);
    }
}

#[test]
fn floats_have_the_same_bits_in_every_run_and_on_every_device() {
    // More tiles than a group has.
    let values: Vec<f32> = (0..300_000_u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 7.0)
        .collect();
    let bits = |sums: Vec<f32>| -> Vec<u32> { sums.into_iter().map(f32::to_bits).collect() };
    let on_host = bits(cpu::scan(Sum, ScanKind::Inclusive, &values));
    for device in devices() {
        for _ in 0..2 {
            let sums = inclusive_scan(&device, Sum, &values).expect("it runs");
            assert!(bits(sums) == on_host);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_lengths_of_segments(lengths in proptest::collection::vec(0_u64..900, 1..40), skip in 0_u64..20) {
        let mut offsets = vec![skip];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let values = whole::<i32>(offsets[offsets.len() - 1] as usize + 3);
        for device in devices() {
            let buffer = device.upload(&values).expect("it fits");
            let segments = Segments::new(&device, &offsets).expect("they do not decrease");
            // As offsets that are on the device already, of which the first is not known here.
            let on_device = device.upload(&offsets).expect("it fits");
            let end = offsets[offsets.len() - 1] as usize;
            // SAFETY: they are those above.
            let unknown = unsafe { Segments::on_device(&on_device, end) }.expect("there are some");
            let mut scan = Scan::exclusive(&device, Sum).expect("the kernels are there");
            let ranges = offsets.windows(2).map(|ends| values[ends[0] as usize..ends[1] as usize].to_vec());
            let expected = by_definition(Sum, ScanKind::Exclusive, ranges);
            let found = scan.segments(&buffer, &segments).expect("it runs").read().expect("it is there");
            assert_eq!(found, expected);
            let found = scan.segments(&buffer, &unknown).expect("it runs").read().expect("it is there");
            assert_eq!(found[..expected.len()], expected);
        }
    }

    #[test]
    fn any_runs_of_keys(lengths in proptest::collection::vec(1_usize..3000, 0..30), seed in any::<u8>()) {
        for device in devices() {
            let keys = &keys_of(&lengths, |run| seed.wrapping_add(run as u8));
            by_key_is_right::<u8, i32, _>(&device, keys, Sum);
            let keys = &keys_of(&lengths, |run| i16::from(seed) - run as i16 % 2);
            by_key_is_right::<i16, i32, _>(&device, keys, Sum);
            let keys = &keys_of(&lengths, |run| (run as i64) << 40);
            by_key_is_right::<i64, i32, _>(&device, keys, Sum);
            let keys = keys_of(&lengths, |run| run as u32 + u32::from(seed));
            by_key_is_right::<_, i8, _>(&device, &keys, ArgMax::LAST);
            by_key_is_right::<_, f32, _>(&device, &keys, MinMax);
            // Of whole numbers, whose sums are exact.
            by_key_is_right::<_, f64, _>(&device, &keys, Mean);
        }
    }
}

fn keys_of<K: Clone>(lengths: &[usize], key: impl Fn(usize) -> K) -> Vec<K> {
    let runs = lengths.iter().enumerate();
    runs.flat_map(|(run, &length)| vec![key(run); length])
        .collect()
}

fn by_key_is_right<K, T, O>(device: &Device, keys: &[K], operator: O)
where
    K: Key + PartialEq + Debug + Send + Sync,
    T: Reducible + Sync + From<i8>,
    O: BuiltIn<T, Output: PartialEq + Debug> + cpu::Parallel<T>,
{
    let values = whole::<T>(keys.len());
    let expected = cpu::by_key(operator, keys, &values, cpu::Order::Fast).expect("as many keys");
    let on_device = device.upload(keys).expect("it fits");
    let buffer = device.upload(&values).expect("it fits");
    let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
    let found = reduction.by_key(&on_device, &buffer).expect("it runs");
    assert_eq!(found, expected);
}

#[test]
fn more_runs_than_there_is_room_for_at_first() {
    for device in devices() {
        let keys: Vec<u32> = (0..150_000).collect();
        let on_device = device.upload(&keys).expect("it fits");
        let mut runs = Runs::with_room(&device, 10).expect("it fits");
        runs.find(&device, &on_device).expect("it runs");
        assert_eq!(runs.len(), keys.len());
        assert!(runs.keys().expect("they are there") == keys);
        let ones = device.upload(&vec![1_u8; keys.len()]).expect("it fits");
        let mut sum = Reduction::new(&device, Sum).expect("the kernels are there");
        let sums = sum.segments(&ones, &runs.segments()).expect("it runs");
        assert!(sums.iter().all(|&sum: &u32| sum == 1));

        // Fewer runs in the same memory, none, and as many as before.
        let address = runs.keys_on_device().address();
        for keys in [vec![7, 7, 9], Vec::new(), keys] {
            let on_device = device.upload(&keys).expect("it fits");
            runs.find(&device, &on_device).expect("it runs");
            let mut expected = keys.clone();
            expected.dedup();
            assert!(runs.keys().expect("they are there") == expected);
            assert_eq!(runs.keys_on_device().address(), address);
            let ones = device.upload(&vec![1_u8; keys.len()]).expect("it fits");
            let sums: Vec<u32> = sum.segments(&ones, &runs.segments()).expect("it runs");
            assert_eq!(sums.iter().sum::<u32>() as usize, keys.len());
        }
    }
}

#[test]
fn runs_stay_on_their_device() {
    let open = || Device::open(&DeviceChoice::Emulator).expect("it opens");
    let (one, other) = (open(), open());
    let keys = other.upload(&[1_u32, 1, 2]).expect("it fits");
    let mut runs = Runs::with_room(&one, 10).expect("it fits");
    let own = one.upload(&[1_u32, 2]).expect("it fits");
    runs.find(&one, &own).expect("it runs");
    assert_eq!(runs.len(), 2);
    let refused = runs.find(&other, &keys).expect_err("it is another device");
    assert!(refused.to_string().contains("device"), "{refused}");
    assert!(runs.is_empty() && runs.segments().is_empty());
    Runs::<u32>::with_room(&one, usize::MAX).expect_err("nobody has as much memory");
}

/// What is seen of many keys at first says how much room is made, too little of those that differ more elsewhere, too.
#[test]
fn many_keys_are_looked_at_before_room_is_made() {
    for device in devices() {
        let n = 1_100_000_u32;
        for keys in [
            (0..n).map(|place| place / 4).collect::<Vec<_>>(),
            (0..n)
                .map(|place| if place < 800_000 { 0 } else { place })
                .collect(),
        ] {
            let on_device = device.upload(&keys).expect("it fits");
            let runs = Runs::of(&device, &on_device).expect("it runs");
            let mut expected = keys.clone();
            expected.dedup();
            assert_eq!(runs.len(), expected.len());
            assert!(runs.keys().expect("they are there") == expected);
        }
    }
}

#[test]
fn dot_products_of_any_alignment_in_both_orders() {
    let values: Vec<f32> = (0..20_000_u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 7.0)
        .collect();
    for device in devices() {
        let (left, right) = (device.upload(&values), device.upload(&values));
        let (left, right) = (left.expect("it fits"), right.expect("it fits"));
        let mut fast = DotProduct::<f32>::new(&device).expect("the kernels are there");
        let in_order = DotProduct::<f32>::new(&device).expect("the kernels are there");
        let mut in_order = in_order.with_mode(Mode::Deterministic);
        for n in [0, 1, 2, 33, 1000, 1025, 4096, 4097, 13_000] {
            for (skip, other) in [(0, 0), (1, 1), (3, 2), (0, 5)] {
                let (x, y) = (&values[skip..][..n], &values[other..][..n]);
                let pairs: Vec<(f32, f32)> = x.iter().copied().zip(y.iter().copied()).collect();
                let (a, b) = (left.slice(skip..skip + n), right.slice(other..other + n));
                let expected = cpu::reduce(Dot, &pairs, cpu::Order::Deterministic);
                for _ in 0..2 {
                    let found = in_order.of(a, b).expect("it runs");
                    assert_eq!(found.to_bits(), expected.to_bits(), "{n} {skip} {other}");
                }
                let magnitude: f32 = pairs.iter().map(|(x, y)| (x * y).abs()).sum();
                let is_near = |found: f32| {
                    assert!(
                        (found - expected).abs() <= 1e-5 * magnitude.max(1e-3),
                        "{found} {expected}"
                    );
                };
                is_near(fast.of(a, b).expect("it runs"));
                for way in [Way::Large(3), Way::Large(10)] {
                    let launch = Launch {
                        way,
                        blocks: 2,
                        block: 33,
                    };
                    let mut result = device.allocate(1).expect("it fits");
                    // SAFETY: any grid may be launched for pairs.
                    unsafe { fast.launch_by(None, (a, b), &mut result, launch) }.expect("it runs");
                    is_near(result.read().expect("it has run")[0]);
                }
            }
        }
        let bytes: Vec<i8> = whole(999);
        let squares: i32 = bytes.iter().map(|&it| i32::from(it) * i32::from(it)).sum();
        assert_eq!(dot(&device, &bytes, &bytes), Ok(squares));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = &devices()[0];
    let values = device.upload(&[1_i32; 6]).expect("it fits");
    let sentence = dot(device, &values, values.slice(1..)).expect_err("one is shorter");
    assert_eq!(
        sentence.to_string(),
        "6 and 5 elements are not taken together: give two arrays of the same length"
    );
    let mut sum = Reduction::new(device, Sum).expect("the kernels are there");
    let keys = device.upload(&[1_u8; 4]).expect("it fits");
    assert_eq!(
        sum.by_key(&keys, &values),
        Err(Error::Lengths { left: 4, right: 6 })
    );
    let mut scan = Scan::inclusive(device, Sum).expect("the kernels are there");
    let outside = scan.rows(&values, Matrix::contiguous(2, 4)).map(drop);
    assert!(matches!(outside, Err(Error::Outside { given: 6, .. })));
    let other = &devices()[0];
    let mut elsewhere = Scan::inclusive(other, Sum).expect("the kernels are there");
    assert_eq!(
        elsewhere.of(&values).map(drop),
        Err(DeviceError::OtherDevice.into())
    );
    let mut short = device.allocate(5).expect("it fits");
    let stream = device.stream().expect("there is one");
    assert!(scan.queue(&stream, &values, &mut short).is_err());
}

/// A graph of a scan and a dot product, launched twice.
#[test]
fn scans_and_dot_products_are_captured() {
    for device in devices() {
        let values = device.upload(&whole::<i32>(10_000)).expect("it fits");
        let mut scanned = device.allocate(10_000).expect("it fits");
        let mut product = device.allocate(1).expect("it fits");
        let stream = device.stream().expect("there is one");
        let mut scan = Scan::inclusive(&device, Sum).expect("the kernels are there");
        let mut dot = DotProduct::new(&device).expect("the kernels are there");
        let unprepared = stream.capture(|stream| {
            let queued = scan.queue(stream, &values, &mut scanned);
            assert_eq!(queued, Err(Error::Unprepared));
            Ok(())
        });
        unprepared.expect("the capture is none the worse for it");
        let planned = scan.plan(10_000);
        assert!(planned > 0);
        assert_eq!(scan.prepare(10_000), Ok(planned));
        let planned = dot.plan(10_000);
        assert_eq!(dot.prepare(10_000), Ok(planned));
        let graph = stream.capture(|stream| {
            let queued = scan.queue(stream, &values, &mut scanned);
            queued.expect("it is queued");
            let queued = dot.queue(stream, &values, &values, &mut product);
            queued.expect("it is queued");
            Ok(())
        });
        let graph = graph.and_then(|graph| graph.instantiate());
        let graph = graph.expect("it is right");
        let whole = whole::<i32>(10_000);
        let squares: i32 = whole.iter().map(|it| it * it).sum();
        let sums = by_definition(Sum, ScanKind::Inclusive, [whole]);
        for _ in 0..2 {
            // SAFETY: the buffers, the scan and the dot product live.
            unsafe { graph.launch(&stream) }.expect("it runs");
            stream.synchronize().expect("it runs");
            assert!(scanned.read().expect("it is there") == sums);
            assert_eq!(product.read(), Ok(vec![squares]));
        }
    }
}
