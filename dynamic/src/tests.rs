//! Against the operators themselves, of types that are known at compile time.

use super::*;
use std::fmt::Debug;
use warpfold_device::element::Element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;

/// Whole numbers, so that sums lose nothing, except those of variances, logarithms and roots.
trait Made: Element + bytemuck::Pod + Sync + Debug {
    fn made(number: i8) -> Self;
}

macro_rules! made {
    ($($value:ident: |$number:ident| $made:expr;)*) => {$(
        impl Made for $value {
            fn made($number: i8) -> Self {
                $made
            }
        }
    )*};
}

made! {
    Bool: |number| Self((number % 3 == 0).into());
    i8: |number| number;
    u8: |number| number as Self;
    i16: |number| number.into();
    u16: |number| number as Self;
    F16: |number| if number == 99 { Self::from_f32(f32::NAN) } else { Self::from_f32(number.into()) };
    Bf16: |number| if number == 99 { Self::from_f32(f32::NAN) } else { Self::from_f32(number.into()) };
    i32: |number| number.into();
    u32: |number| number as Self;
    f32: |number| if number == 99 { Self::NAN } else { number.into() };
    i64: |number| Self::from(number) << 40;
    u64: |number| (number as Self) >> 1;
    f64: |number| if number == 99 { Self::NAN } else { number.into() };
}

/// Numbers from −11 to 11, and zeros in between; with those that are special now and then.
fn numbers(count: usize, specials: bool) -> impl Iterator<Item = i8> {
    (0..count as u64).map(move |place| {
        let mixed = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        match mixed % 23 {
            0 if specials => [99, 127, -128][mixed as usize % 3],
            number => number as i8 - 11,
        }
    })
}

#[track_caller]
fn assert_same(name: &str, results: &dyn Results, expected: Vec<Value>) {
    assert_eq!(results.count(), expected.len());
    let float = |number: Number| match number {
        Number::F32(float) => Some((f64::from(float), 1e-5)),
        Number::F64(float) => Some((float, 1e-13)),
        _ => None,
    };
    let is_rounded = [
        "product",
        "mean",
        "variance",
        "std",
        "sample_variance",
        "sample_std",
        "norm2",
        "logsumexp",
    ]
    .contains(&name);
    for (place, expected) in expected.into_iter().enumerate() {
        let found = results.value(place);
        let floats = |found, expected| is_rounded.then_some(float(found)?).zip(float(expected));
        let is_same = match (found, expected) {
            (Value::One(found), Value::One(expected))
                if let Some(((found, _), (expected, tolerance))) = floats(found, expected) =>
            {
                found.to_bits() == expected.to_bits()
                    || found.is_nan() && expected.is_nan()
                    || (found - expected).abs() <= tolerance * expected.abs().max(1.0)
            }
            // The wrapped sum, of which this is the whole one.
            (Value::One(Number::Integer(found)), Value::One(Number::Integer(expected)))
                if name == "sum" =>
            {
                found as i32 == expected as i32
            }
            // NaNs are told apart from numbers, and -0.0 from 0.0.
            (found, expected) => format!("{found:?}") == format!("{expected:?}"),
        };
        assert!(is_same, "{name}: {found} instead of {expected}");
    }
}

fn agrees<T: Made, O>(element: &str, name: &str, operator: O)
where
    O: Operator<T, Output: Into<Value>>,
{
    agrees_with(element, name, &|values: &[T]| {
        let state = operator.lift_slice(values, 0);
        operator.finish(state, values.len() as u64).into()
    });
}

/// `of` is what the operator makes of some values.
fn agrees_with<T: Made>(element: &str, name: &str, of: &dyn Fn(&[T]) -> Value) {
    let named = [name.parse().unwrap()];
    for (count, specials) in [(1, false), (37, false), (5000, true), (70_000, true)] {
        let values: Vec<T> = numbers(count, specials).map(T::made).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let new = || Reduction::new(element.parse().unwrap(), &named);
        let mut whole = new();
        whole.take(bytes);
        assert_same(name, &*whole.finish()[0], vec![of(&values)]);
        let mut brought = new();
        brought.take_brought(count, |range, memory| {
            let values: &[u8] = bytemuck::cast_slice(&values[range]);
            memory.resize(values.len().div_ceil(8), 0);
            bytemuck::cast_slice_mut(memory)[..values.len()].copy_from_slice(values);
        });
        assert_same(name, &*brought.finish()[0], vec![of(&values)]);
        // In two parts, of which the second is there first.
        let (left, right) = bytes.split_at(count / 3 * size_of::<T>());
        let mut joined = new();
        let right = joined.part(right, (count / 3) as u64);
        let left = joined.part(left, 0);
        joined.join(left);
        joined.join(right);
        assert_same(name, &*joined.finish()[0], vec![of(&values)]);
        // Rows and columns: many short ones, and a few long ones.
        for width in [3, 300, 5000, 70_000] {
            let rows = count / width;
            let values = &values[..rows * width];
            let bytes = &bytes[..size_of_val(values)];
            if rows == 0 {
                continue;
            }
            let expected = values.chunks(width).map(of).collect();
            assert_same(name, &*new().along(bytes, [rows, width, 1])[0], expected);
            let column = |column: usize| -> Vec<T> {
                let values = values[column..].iter().step_by(width);
                values.copied().collect()
            };
            let expected = (0..width).map(|place| of(&column(place))).collect();
            assert_same(name, &*new().along(bytes, [1, rows, width])[0], expected);
        }
    }
}

#[test]
fn every_operator_and_type_is_known() {
    for &element in TypeName::ALL {
        for &operator in Named::ALL {
            let mut reduction = Reduction::new(element, &[operator]);
            reduction.take(&vec![1; 3 * element.bytes()]);
            assert_eq!(reduction.finish()[0].count(), 1, "{operator} of {element}");
        }
    }
}

macro_rules! operators {
    ($value:ident: $($name:ident $operator:expr;)*) => {
        $(agrees::<$value, _>(&stringify!($value).to_lowercase(), stringify!($name), $operator);)*
    };
}

/// Types of each way to be converted.
#[test]
fn some_operators_agree_with_types_known_at_compile_time() {
    macro_rules! types {
        ($($value:ident)*) => {$(
            operators! { $value: sum Sum; minmax MinMax; last_argmax ArgMax::LAST; mean Mean; variance Variance { ddof: 0 }; }
        )*};
    }
    types! { Bool i8 u16 F16 i32 u64 f32 f64 }
}

/// Each of the other types, and the other operators.
#[test]
fn others_agree_with_types_known_at_compile_time() {
    operators! { u8: product Product; min Min; max Max; argmin ArgMin::FIRST; argmax ArgMax::FIRST; any Any; all All; }
    operators! { Bf16: last_argmin ArgMin::LAST; std StdDev { ddof: 0 }; sample_std StdDev { ddof: 1 }; norm1 Norm1; norm2 Norm2; norm_inf NormInf; }
    operators! { u32: logsumexp LogSumExp; count_nonzero CountNonzero; sample_variance Variance { ddof: 1 }; }
    operators! { i64: max Max; norm_inf NormInf; }
    operators! { i16: min Min; norm1 Norm1; }
}

/// A test for each type.
mod every_operator_of {
    use super::*;

    macro_rules! tests {
        ($($name:ident: $value:ty;)*) => {$(
            #[test]
            #[ignore = "a part of `cargo xtask matrix`"]
            fn $name() {
                warpfold_device::for_each_operator!(agree, $name, $value);
            }
        )*};
    }
    macro_rules! agree {
        ($element:ident, $value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {$(
            let operator: $operator = $make;
            agrees::<$value, _>(stringify!($element), stringify!($name), operator);
        )*};
    }
    warpfold_device::for_each_element!(tests);
}
