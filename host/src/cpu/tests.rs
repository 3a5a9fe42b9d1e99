use super::*;
use crate::{Device, DeviceChoice, Reduction};
use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt::Debug;
use std::sync::OnceLock;
use warpfold_device::half::Bf16;
use warpfold_device::operator::*;

/// Runs something on each number of threads.
fn on_threads<R: Send>(task: impl Fn() -> R + Sync) -> Vec<R> {
    static POOLS: OnceLock<Vec<ThreadPool>> = OnceLock::new();
    let pool = |threads| {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    };
    let pools = POOLS.get_or_init(|| (1..=3).map(pool).collect());
    pools.iter().map(|pool| pool.install(&task)).collect()
}

/// The numbers in what is printed of a result.
fn numbers(result: &impl Debug) -> Vec<f64> {
    let text = format!("{result:?}");
    let parts =
        text.split(|character: char| !(character.is_alphanumeric() || "+-.".contains(character)));
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Whether two results agree but for the rounding of a few thousand additions.
#[track_caller]
fn assert_close(result: &impl Debug, expected: &impl Debug, what: &str) {
    let (results, expected) = (numbers(result), numbers(expected));
    assert_eq!(results.len(), expected.len(), "{what}");
    for (left, right) in results.into_iter().zip(expected) {
        let is_close = left == right
            || left.is_nan() && right.is_nan()
            || (left - right).abs() <= 1e-3 * right.abs().max(1.0);
        assert!(is_close, "{what}: {left} instead of {right}");
    }
}

/// The definition of the deterministic order, word by word.
fn by_definition<T: Copy, O: Operator<T>>(operator: O, values: &[T]) -> O::Output {
    fn tree<S: Copy>(operator: impl Combine<S>, states: &[S]) -> S {
        let mut slots: Vec<Option<S>> = vec![None; 1024];
        for (place, &state) in states.iter().enumerate() {
            let slot = &mut slots[place % 1024];
            *slot = Some(slot.map_or(state, |slot| operator.combine(slot, state)));
        }
        for distance in [512, 256, 128, 64, 32, 16, 8, 4, 2, 1] {
            for slot in 0..distance {
                if let (Some(left), Some(right)) = (slots[slot], slots[slot + distance]) {
                    slots[slot] = Some(operator.combine(left, right));
                }
            }
        }
        slots[0].unwrap_or_else(|| operator.identity())
    }
    let lifted: Vec<O::State> = values
        .iter()
        .zip(0..)
        .map(|(&value, index)| operator.lift(value, index))
        .collect();
    let chunks: Vec<O::State> = lifted
        .chunks(4096)
        .map(|chunk| tree(operator, chunk))
        .collect();
    operator.finish(tree(operator, &chunks), values.len() as u64)
}

/// What every shape gives, against one value after the other and against the definition.
fn agrees<T: Copy + Sync + Debug, O: Parallel<T> + Debug>(operator: O, values: &[T], columns: usize)
where
    O::Output: Debug,
{
    let matrix = Matrix {
        rows: values.len() / (columns + 1),
        columns,
        stride: columns + 1,
    };
    let row = |row: usize| values[row * (columns + 1)..][..columns].to_vec();
    let column = |column: usize| -> Vec<T> {
        values
            .iter()
            .skip(column)
            .step_by(columns + 1)
            .take(matrix.rows)
            .copied()
            .collect()
    };
    // Empty ones, short ones, and one with all the rest.
    let third = values.len() as u32 / 3;
    let offsets = [
        0,
        0,
        third.min(1),
        third.min(3),
        third,
        third,
        values.len() as u32,
    ];
    let segment =
        |segment: usize| values[offsets[segment] as usize..offsets[segment + 1] as usize].to_vec();
    let mut inputs = vec![values.to_vec()];
    inputs.extend((0..matrix.rows).map(row));
    inputs.extend((0..if matrix.rows == 0 { 0 } else { columns }).map(column));
    inputs.extend((0..offsets.len() - 1).map(segment));
    let results = |order| {
        let mut results = vec![reduce(operator, values, order)];
        results.extend(rows(operator, values, matrix, order).unwrap());
        if matrix.rows > 0 {
            results.extend(super::columns(operator, values, matrix, order).unwrap());
        }
        results.extend(segments(operator, values, &offsets, order).unwrap());
        results
    };
    for threads in on_threads(|| results(Order::Fast)) {
        for (result, input) in threads.iter().zip(&inputs) {
            let expected = operator.of(input.iter().copied());
            assert_close(
                result,
                &expected,
                &format!("{operator:?}, {} values", input.len()),
            );
        }
    }
    let expected: Vec<O::Output> = inputs
        .iter()
        .map(|input| by_definition(operator, input))
        .collect();
    for threads in on_threads(|| results(Order::Deterministic)) {
        for ((result, expected), input) in threads.iter().zip(&expected).zip(&inputs) {
            let bits = |output| format!("{output:?}");
            assert_eq!(
                bits(result),
                bits(expected),
                "{operator:?}, {} values",
                input.len()
            );
        }
    }
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..70_usize,
        1000..1100_usize,
        4000..4200_usize,
        9000..14_000_usize
    ]
}

fn widths() -> impl Strategy<Value = usize> {
    prop_oneof![1..9_usize, 60..140_usize, 5000..6000_usize]
}

/// Numbers whose products do not leave the range of a float.
fn finite(sign: usize) -> f32 {
    [1.0, -1.0, 0.5, -2.0, 2.0, -0.5][sign % 6]
}

fn special(kind: usize) -> f32 {
    [
        1.0,
        3.5,
        -7.0,
        0.0,
        -0.0,
        2.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
    ][kind % 10]
}

fn numbers_of(count: usize, seed: u64) -> impl Iterator<Item = usize> {
    (0..count as u64).map(move |index| {
        let mixed = (index ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    /// A few operators, of each kind of state and of each way to go through a slice.
    #[test]
    fn a_few_operators_of_finite_floats(count in sizes(), seed: u64, columns in widths()) {
        let values: Vec<f32> = numbers_of(count, seed).map(finite).collect();
        agrees(Sum, &values, columns);
        agrees(Variance { ddof: 1 }, &values, columns);
        agrees(LogSumExp, &values, columns);
        let values: Vec<Bf16> = values.into_iter().map(Bf16::from_f32).collect();
        agrees(Mean, &values, columns);
        agrees(As::<f32, _>::new(Variance { ddof: 0 }), &values, columns);
    }

    #[test]
    fn a_few_operators_of_integers(count in sizes(), seed: u64, columns in widths()) {
        let values: Vec<i8> = numbers_of(count, seed).map(|number| number as i8).collect();
        agrees(Sum, &values, columns);
        agrees(ArgMax::LAST, &values, columns);
        let values: Vec<i64> = numbers_of(count, seed).map(|number| number as i64 - (1 << 20)).collect();
        agrees(Max, &values, columns);
    }

    #[test]
    fn what_does_not_round_knows_nan_zeros_and_infinities(count in sizes(), seed: u64, kinds in 1..11_usize, columns in 1..100_usize) {
        let values: Vec<f32> = numbers_of(count, seed).map(|number| special(number % kinds)).collect();
        macro_rules! agree {
            ($($operator:expr;)*) => {$(
                agrees($operator, &values, columns);
            )*};
        }
        agree! {
            Min; Max; ArgMin::FIRST; ArgMax::FIRST.with_index::<u32>(); NormInf; Any; LogSumExp;
        }
    }

    #[test]
    fn runs_of_equal_keys(count in sizes(), seed: u64, runs in 1..2000_usize) {
        let keys: Vec<usize> = numbers_of(count, seed).map(|number| number % runs / runs.min(7)).collect();
        let values: Vec<i32> = numbers_of(count, !seed).map(|number| number as i32).collect();
        let expected: Vec<(usize, i32)> = keys
            .iter()
            .zip(&values)
            .collect::<Vec<_>>()
            .chunk_by(|left, right| left.0 == right.0)
            .map(|run| (*run[0].0, run.iter().fold(0, |sum: i32, (_, value)| sum.wrapping_add(**value))))
            .collect();
        for (keys, sums) in on_threads(|| by_key(Sum, &keys, &values, Order::Fast).unwrap()) {
            prop_assert_eq!(&keys.into_iter().zip(sums).collect::<Vec<_>>(), &expected);
        }
    }
}

#[test]
fn the_two_zeros_and_nan_are_kept_apart() {
    let text = |value: f32| format!("{value:?}");
    let zeros = [-0.0_f32, 0.0, -0.0];
    assert_eq!(text(reduce(Min, &zeros, Order::Fast)), "-0.0");
    assert_eq!(text(reduce(Max, &zeros, Order::Fast)), "0.0");
    assert_eq!(reduce(ArgMax::FIRST, &zeros, Order::Fast), 0);
    assert_eq!(
        reduce(ArgMax::LAST, &[1.0, -f64::NAN, f64::NAN, 3.0], Order::Fast),
        2
    );
    assert_eq!(reduce(ArgMin::FIRST, &[0_u8; 0], Order::Fast), u64::MAX);
    let numbers: Vec<f32> = (0..100_000)
        .map(|number| 1e8 + (number % 2) as f32 * 8.0)
        .collect();
    for order in [Order::Fast, Order::Deterministic] {
        let variance = reduce(As::<f64, _>::new(Variance { ddof: 0 }), &numbers, order);
        assert!((variance - 16.0).abs() < 1e-6, "{variance}");
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let matrix = Matrix {
        rows: 2,
        columns: 3,
        stride: 4,
    };
    assert_eq!(
        rows(Sum, &[1; 6], matrix, Order::Fast)
            .unwrap_err()
            .to_string(),
        "2 rows of 3 elements, 4 apart, do not lie within 6 elements: give as many, or fewer rows"
    );
    assert!(columns(Sum, &[1; 7], matrix, Order::Fast).is_ok());
    let of = |offsets: &[u64]| segments(Sum, &[1; 6], offsets, Order::Fast);
    assert_eq!(of(&[]), Err(ShapeError::NoOffsets));
    assert_eq!(of(&[3]), Ok(vec![]));
    let outside = ShapeError::Segment {
        segment: 0,
        start: 7,
        end: 7,
        given: 6,
    };
    assert_eq!(of(&[7]), Err(outside.clone()));
    let scanned = scan_segments(Sum, ScanKind::Inclusive, &[1; 6], &[7_u32]);
    assert_eq!(scanned, Err(outside));
    for offsets in [[0, 5, 4], [0, 5, 7]] {
        let error = of(&offsets).unwrap_err().to_string();
        assert!(
            error.starts_with("segment 1 goes from element 5 to"),
            "{error}"
        );
    }
    let error = by_key(Sum, &[1; 5], &[1; 6], Order::Fast).unwrap_err();
    assert_eq!(error, ShapeError::Keys { keys: 5, values: 6 });
}

#[test]
fn rows_of_no_values_may_begin_anywhere() {
    let matrix = Matrix {
        rows: 3,
        columns: 0,
        stride: usize::MAX / 2,
    };
    for order in [Order::Fast, Order::Deterministic] {
        assert_eq!(rows(Sum, &[1.0_f32], matrix, order), Ok(vec![0.0; 3]));
        let found = axis(Sum, &[] as &[i32], &[3, 0], &[1, 1], 1, order);
        assert_eq!(found, Ok(vec![0; 3]));
    }
    let scanned = scan_rows(Sum, ScanKind::Exclusive, &[1], matrix);
    assert_eq!(scanned, Ok(vec![]));
}

/// The index in a scan is that among all values, as on a device; that of a reduction is that within its row.
#[test]
fn an_index_in_a_scan_is_among_all_values() {
    let (values, matrix) = ([3, 1, 2, 7], Matrix::contiguous(2, 2));
    let scanned = scan_rows(ArgMax::FIRST, ScanKind::Inclusive, &values, matrix);
    assert_eq!(scanned, Ok(vec![0, 0, 2, 3]));
    let reduced = rows(ArgMax::FIRST, &values, matrix, Order::Fast);
    assert_eq!(reduced, Ok(vec![0, 1]));
    let scanned = scan_segments(ArgMax::FIRST, ScanKind::Inclusive, &values, &[1_u32, 2, 4]);
    assert_eq!(scanned, Ok(vec![0, 1, 2]));
}

#[test]
fn dot_products_are_those_of_pairs() {
    for n in [0, 1, 63, 64, 4095, 4096, 4097, 100_003] {
        let number = |place: usize| (place.wrapping_mul(2_654_435_761) % 20_011) as f32 / 1e3 - 9.0;
        let left: Vec<f32> = (0..n).map(number).collect();
        let right: Vec<f32> = (0..n).map(|place| number(place + 7)).collect();
        let pairs: Vec<(f32, f32)> = left.iter().copied().zip(right.iter().copied()).collect();
        for order in [Order::Fast, Order::Deterministic] {
            let expected = reduce(Dot, &pairs, order);
            let found = on_threads(|| dot(&left, &right, order).expect("both have as many"));
            // The same bits on any number of threads.
            assert!(found.iter().all(|sum| sum.to_bits() == found[0].to_bits()));
            match order {
                Order::Fast => assert_close(&found[0], &expected, "the fast order"),
                Order::Deterministic => assert_eq!(found[0].to_bits(), expected.to_bits(), "{n}"),
            }
        }
        let small: Vec<u8> = (0..n).map(|place| (place % 7) as u8).collect();
        let squares = (0..n as u32).map(|place| (place % 7).pow(2)).sum();
        assert_eq!(dot(&small, &small, Order::Fast), Ok(squares));
    }
    assert_eq!(
        dot(&[1, 2], &[1], Order::Fast).map_err(|error| error.to_string()),
        Err(
            "2 and 1 elements are not taken together: give two arrays of the same length"
                .to_owned()
        )
    );
}

#[test]
fn any_axis_of_any_array() {
    let values: Vec<i64> = (0..400).map(|place| place * place % 101).collect();
    for (shape, strides) in [
        (vec![3, 4, 5], vec![20, 5, 1]),
        (vec![3, 4, 5], vec![1, 3, 12]),
        (vec![2, 3, 4, 5], vec![180, 40, 9, 2]),
        (vec![4, 3, 2], vec![0, 7, 0]),
        (vec![5, 0, 2], vec![2, 2, 1]),
        (vec![0, 3, 2], vec![6, 2, 1]),
    ] {
        for axis in 0..shape.len() {
            // Every element goes to its result.
            let mut expected: Vec<i64> =
                vec![0; shape.iter().product::<usize>() / shape[axis].max(1)];
            if shape[axis] == 0 {
                let others = shape.iter().enumerate().filter(|&(other, _)| other != axis);
                expected = vec![0; others.map(|(_, length)| length).product()];
            }
            for number in 0..shape.iter().product() {
                let (mut rest, mut place, mut result, mut step) = (number, 0, 0, 1);
                for other in (0..shape.len()).rev() {
                    let index = rest % shape[other];
                    rest /= shape[other];
                    place += index * strides[other] as usize;
                    if other != axis {
                        result += index * step;
                        step *= shape[other];
                    }
                }
                expected[result] += values[place];
            }
            let by_cores = super::axis(Sum, &values, &shape, &strides, axis, Order::Fast);
            assert_eq!(by_cores, Ok(expected.clone()), "{shape:?} {axis}");
            let device = Device::open(&DeviceChoice::Emulator).expect("there is always one");
            let buffer = device.upload(&values).expect("it fits");
            let mut sum = Reduction::new(&device, Sum).expect("it is prepared");
            let by_device = sum.axis(&buffer, &shape, &strides, axis);
            assert_eq!(by_device, Ok(expected), "{shape:?} {axis}");
        }
    }
    let outside = axis(Sum, &values, &[2, 3, 2], &[396, 2, 1], 1, Order::Fast);
    assert!(
        matches!(outside, Err(ShapeError::Outside { given: 4, .. })),
        "{outside:?}"
    );
    let negative = axis(Sum, &values, &[2, 2], &[-2, 1], 0, Order::Fast);
    assert!(matches!(negative, Err(ShapeError::NoAxis { axis: 0, .. })));
}

/// Side by side, overlapping, the same row again and again, and with a gap.
#[test]
fn columns_of_rows_at_any_distance() {
    let values: Vec<i32> = numbers_of(6000, 5).map(|it| it as i32 % 50).collect();
    for columns in [1, 2, 3, 100, 300, 1000] {
        for stride in [0, 1, columns - 1, columns, columns + 1] {
            for rows in [1, 2, 3, 4, 5, 9, 100, 131] {
                let matrix = Matrix {
                    rows,
                    columns,
                    stride,
                };
                if matrix.span().unwrap() > values.len() {
                    continue;
                }
                let column = |column: usize| (0..rows).map(move |row| row * stride + column);
                let of = |operator: ArgMax| {
                    let best =
                        |column_number| operator.of(column(column_number).map(|it| values[it]));
                    (0..columns).map(best).collect::<Vec<u64>>()
                };
                for operator in [ArgMax::FIRST, ArgMax::LAST] {
                    let found = super::columns(operator, &values, matrix, Order::Fast);
                    assert_eq!(found.unwrap(), of(operator), "{matrix:?}");
                }
                let sum = |number| column(number).map(|it| values[it]).sum::<i32>();
                let expected: Vec<i32> = (0..columns).map(sum).collect();
                let found = super::columns(Sum, &values, matrix, Order::Fast);
                assert_eq!(found.unwrap(), expected, "{matrix:?}");
            }
        }
    }
}

/// What depends on how many values there are: each row and each segment counts its own.
#[test]
fn scans_count_from_where_a_row_or_a_segment_begins() {
    fn of<O: Parallel<i8, Output = f64>>(operator: O) {
        let values: Vec<i8> = numbers_of(27_000, 7).map(|it| it as i8).collect();
        let segments = [0_u32, 0, 5, 20_000, 27_000];
        let rows = [0_u32, 9000, 18_000, 27_000];
        for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
            let matrix = Matrix::contiguous(3, 9000);
            let of_rows = scan_rows(operator, kind, &values, matrix).expect("it is inside");
            let of_segments = scan_segments(operator, kind, &values, &segments);
            let of_segments = of_segments.expect("they are inside");
            for (found, bounds) in [(of_rows, &rows[..]), (of_segments, &segments)] {
                for place in (0..values.len()).step_by(499) {
                    let begin = bounds.iter().rev().find(|&&begin| begin as usize <= place);
                    let begin = *begin.expect("one begins at 0") as usize;
                    let end = place + usize::from(kind == ScanKind::Inclusive);
                    let expected = operator.of(values[begin..end].iter().copied());
                    let is_near = (found[place] - expected).abs() <= 1e-9 * expected.abs().max(1.0);
                    assert!(
                        is_near || found[place].is_nan() && expected.is_nan(),
                        "{place}: {}, not {expected}",
                        found[place]
                    );
                }
            }
        }
    }
    of(Mean);
    of(Variance { ddof: 0 });
}
