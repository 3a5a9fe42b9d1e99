//! Every operator, type and accumulator.

use super::*;
use warpfold_device::element::Element;

macro_rules! each_operator {
    ($device:ident, $value:ty, $step:literal; $($name:ident: $operator:ty = $make:expr;)*) => {
        $(pair_is_right::<$value, $operator>(&$device, $make, $step);)*
    };
}

#[test]
fn every_operator_of_floats() {
    for device in devices() {
        for_each_operator!(each_operator, device, f32, 2);
    }
}

#[test]
fn every_operator_of_bytes() {
    for device in devices() {
        for_each_operator!(each_operator, device, i8, 3);
    }
}

macro_rules! each_type {
    ($device:ident, $make:expr; $($name:ident: $value:ty;)*) => {
        $(pair_is_right::<$value, _>(&$device, $make, 5);)*
    };
}

#[test]
fn some_operators_of_every_type() {
    for device in devices() {
        for_each_element!(each_type, device, Max);
        for_each_element!(each_type, device, Variance { ddof: 3 });
        for_each_element!(each_type, device, ArgMin::LAST);
        for_each_element!(each_type, device, ArgMax::FIRST.with_index::<u32>());
    }
}

#[test]
fn more_values_than_have_an_index_are_refused() {
    let device = emulator();
    let value = device.upload(&[1_u8]).expect("it fits");
    // One value, again and again.
    let matrix = Matrix {
        rows: 1 << 32,
        columns: 1,
        stride: 0,
    };
    let operator = ArgMin::LAST.with_index::<u32>();
    let mut reduction = Reduction::new(&device, operator).expect("the kernels are there");
    let refused = Error::TooManyValues {
        values: 1 << 32,
        most: (1 << 32) - 1,
    };
    assert_eq!(reduction.columns(&value, matrix), Err(refused.clone()));
    let message = "4294967296 values are too many for one result of this operator, which takes up to 4294967295: give fewer, or take one whose index \
                   has 64 bits";
    assert_eq!(refused.to_string(), message);
    let on_host = cpu::columns(operator, &[1_u8], matrix, Order::Fast);
    assert_eq!(
        on_host.map_err(|error| error.to_string()),
        Err(message.to_owned())
    );
}

/// Sizes that are computed from the number of rows would not fit into any number.
#[test]
fn more_values_than_any_memory_has_are_refused() {
    let device = emulator();
    let values = device.upload(&[1.0_f64; 512]).expect("it fits");
    for rows in [(1 << 44) + 1, 1 << 60, usize::MAX] {
        let matrix = Matrix {
            rows,
            columns: 512,
            stride: 0,
        };
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = Reduction::new(&device, Sum).expect("the kernels are there");
            let mut reduction = reduction.with_mode(mode);
            let refused = Error::TooManyValues {
                values: rows as u64,
                most: 1 << 44,
            };
            let message = refused.to_string();
            assert!(message.ends_with("give fewer"), "{message}");
            assert_eq!(reduction.columns(&values, matrix), Err(refused));
        }
    }
}

/// Dot products in this accumulator, of arrays of every `step`-th length.
fn dot_is_right<T: Made + Outcome, A: Accumulator<T> + Outcome>(device: &Device, step: usize) {
    const LENGTHS: [usize; 14] = [
        0, 1, 2, 31, 33, 127, 256, 257, 1023, 4096, 4097, 8191, 13_000, 20_011,
    ];
    for n in LENGTHS.into_iter().step_by(step) {
        let left = random(n, 3, T::whole);
        let right = random(n, 4, T::whole);
        // They are small and whole, and nothing of a sum is lost.
        let pairs = left.iter().zip(&right);
        let products = pairs.map(|(left, right)| left.numbers()[0] * right.numbers()[0]);
        let expected = [products.sum::<f64>(), 0.0];
        let left = device.upload(&left).expect("it fits");
        let right = device.upload(&right).expect("it fits");
        for mode in [Mode::Fast, Mode::Deterministic] {
            let dot = DotProduct::<T, A>::with_accumulator(device).expect("the kernels are there");
            let found = dot.with_mode(mode).of(&left, &right).expect("it runs");
            assert_eq!(
                found.numbers(),
                expected,
                "{} {n} {mode:?}",
                A::KERNELS.name()
            );
        }
    }
}

/// Every operator with a wider accumulator, in every `step`-th place.
macro_rules! each_accumulator {
    ($device:ident, $step:literal; integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
        each_accumulator! { @sums $device $step $($integers)* $($floats)* }
        each_accumulator! { @floats $device $step $($floats)* }
    };
    (@sums $device:ident $step:literal $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Sum), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Product), $step);
        dot_is_right::<$value, $wide>(&$device, $step);
    )*};
    (@floats $device:ident $step:literal $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Mean), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Variance { ddof: 1 }), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(StdDev { ddof: 0 }), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Norm1), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(Norm2), $step);
        pair_is_right::<$value, _>(&$device, As::<$wide, _>::new(LogSumExp), $step);
    )*};
}

#[test]
fn some_wider_accumulators() {
    for device in devices() {
        for_each_accumulator!(each_accumulator, device, 5);
    }
}

#[test]
fn wider_accumulators_lose_nothing() {
    for device in devices() {
        let values = device.upload(&[i32::MAX; 4]).expect("it fits");
        let mut sum = Reduction::new(&device, As::<i64, _>::new(Sum)).expect("there are kernels");
        assert_eq!(sum.of(&values), Ok(4 * i64::from(i32::MAX)));
        let mut scan = Scan::inclusive(&device, As::<i64, _>::new(Sum)).expect("there are kernels");
        let found = scan.of(&values).and_then(|sums| Ok(sums.read()?));
        let sums = (1..5).map(|count| count * i64::from(i32::MAX)).collect();
        assert_eq!(found, Ok(sums));
        // 2^24 + 1 is no `f32`.
        let values = device.upload(&[16_777_216_f32, 1.0]).expect("it fits");
        let mut mean = Reduction::new(&device, As::<f64, _>::new(Mean)).expect("there are kernels");
        assert_eq!(mean.of(&values), Ok(8_388_608.5));
    }
}

#[test]
fn dot_products_of_every_type() {
    macro_rules! each {
        ($($name:ident: $value:ty;)*) => {
            for device in devices() {
                $(dot_is_right::<$value, <$value as Element>::Wide>(&device, 4);)*
            }
        };
    }
    for_each_element!(each);
}

/// A test for each pair of an operator and a type. On a GPU most of the time is that of the driver's compiler, and many tests run at once.
mod every_operator_of {
    use super::*;

    /// The tests of an operator, in every `step`-th place.
    macro_rules! of_each_type {
        ($operator:ty, $make:expr, $step:literal; $($name:ident: $value:ty;)*) => {$(
            #[test]
            #[ignore = "a part of `cargo xtask matrix`"]
            fn $name() {
                for device in devices() {
                    pair_is_right::<$value, $operator>(&device, $make, $step);
                }
            }
        )*};
    }

    macro_rules! of_each_operator {
        ($step:literal; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            mod $name {
                use super::*;
                for_each_element!(of_each_type, $operator, $make, $step);
            }
        )*};
    }
    for_each_operator!(of_each_operator, 1);
    for_each_short_index!(of_each_operator, 3);

    mod dot {
        use super::*;

        macro_rules! of_each_type {
            ($($name:ident: $value:ty;)*) => {$(
                #[test]
                #[ignore = "a part of `cargo xtask matrix`"]
                fn $name() {
                    for device in devices() {
                        dot_is_right::<$value, <$value as Element>::Wide>(&device, 1);
                    }
                }
            )*};
        }
        for_each_element!(of_each_type);
    }

    mod wider_accumulators {
        use super::*;

        macro_rules! of_each_pair {
            (integers { $($integers:tt)* } floats { $($floats:tt)* }) => {
                mod sums {
                    use super::*;
                    of_each_pair! { @sums $($integers)* $($floats)* }
                }
                mod floats {
                    use super::*;
                    of_each_pair! { @floats $($floats)* }
                }
            };
            (@$kind:ident $($text:literal $name:ident: $value:ident in $wide:ident;)*) => {$(
                #[test]
                #[ignore = "a part of `cargo xtask matrix`"]
                fn $name() {
                    for device in devices() {
                        each_accumulator! { @$kind device 1 $text $name: $value in $wide; }
                    }
                }
            )*};
        }
        for_each_accumulator!(of_each_pair);
    }
}
