//! The judge of integers: exact.

use super::{Oracle, Scaled, Truth, chunk_by_chunk};
use crate::number::Number;
use std::fmt;
use warpfold_kernels::catalogue::Operator;
use warpfold_kernels::for_each_element;

/// A type of integers.
pub trait Integer: Copy + fmt::Debug + PartialEq + Send + Sync + Into<Number> + Into<i128> {
    /// What of the number the type can hold: the number modulo 2^32 or 2^64.
    fn wrapped(number: i128) -> Self;
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;
}

macro_rules! integers {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(integers!(@$kind $value);)* };
    (@float $float:ident) => {};
    (@integer $integer:ident) => {
        impl Integer for $integer {
            const MIN: Self = Self::MIN;
            const MAX: Self = Self::MAX;

            fn wrapped(number: i128) -> Self {
                number as Self
            }
        }
    };
}

for_each_element!(integers);

/// The result without any wrapping. A kernel's must be what is left of it in the type, which is arithmetic modulo a power of
/// two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegerOracle<T> {
    operator: Operator,
    /// The true result; `None` for a product beyond 128 bits.
    pub exact: Option<i128>,
    /// What is left of it in the type.
    pub wrapped: T,
    /// The true result of a product, rounded; 1 for the other operators.
    pub product: Scaled,
}

impl<T: Integer> IntegerOracle<T> {
    /// Of no values: the identity of the operator.
    fn nothing(operator: Operator) -> Self {
        Self::of(
            operator,
            match operator {
                Operator::Sum => 0,
                Operator::Product => 1,
                Operator::Min => T::MAX.into(),
                Operator::Max => T::MIN.into(),
            },
        )
    }

    /// Of one number.
    fn of(operator: Operator, number: i128) -> Self {
        Self {
            operator,
            exact: Some(number),
            wrapped: T::wrapped(number),
            product: match operator {
                Operator::Product => Scaled::new(number as f64),
                _ => Scaled::ONE,
            },
        }
    }

    fn product_of(chunk: &[T]) -> Self {
        let mut product = Self::nothing(Operator::Product);
        for &value in chunk {
            product.append(&Self::of(Operator::Product, value.into()));
        }
        product
    }
}

impl<T: Integer> Oracle<T> for IntegerOracle<T> {
    fn new(operator: Operator, values: &[T]) -> Self {
        let of_chunk = |chunk: &[T]| {
            let numbers = chunk.iter().map(|&value| -> i128 { value.into() });
            let number = match operator {
                Operator::Sum => Some(numbers.sum()),
                Operator::Product => return Self::product_of(chunk),
                Operator::Min => numbers.min(),
                Operator::Max => numbers.max(),
            };
            number.map_or_else(
                || Self::nothing(operator),
                |number| Self::of(operator, number),
            )
        };
        chunk_by_chunk(values, || Self::nothing(operator), of_chunk, Self::append)
    }

    fn append(&mut self, further: &Self) {
        let (left, right) = (self.exact, further.exact);
        self.exact = match self.operator {
            // A zero makes a zero of what is beyond 128 bits.
            Operator::Product if left == Some(0) || right == Some(0) => Some(0),
            _ => left
                .zip(right)
                .and_then(|(left, right)| match self.operator {
                    Operator::Sum => left.checked_add(right),
                    Operator::Product => left.checked_mul(right),
                    Operator::Min => Some(left.min(right)),
                    Operator::Max => Some(left.max(right)),
                }),
        };
        self.wrapped = match (self.operator, self.exact) {
            (Operator::Product, _) => {
                // Both are below 2^64 in magnitude, and what wraps around i128 is a multiple of 2^128.
                let (left, right): (i128, i128) = (self.wrapped.into(), further.wrapped.into());
                T::wrapped(left.wrapping_mul(right))
            }
            (_, Some(exact)) => T::wrapped(exact),
            // 2^63 values of 64 bits: more than any memory or file holds.
            (_, None) => self.wrapped,
        };
        self.product = self.product.times(further.product);
    }

    fn expected(&self) -> Number {
        self.wrapped.into()
    }

    fn truth(&self) -> Truth {
        self.exact
            .map_or(Truth::LargeInteger(self.product), Truth::Integer)
    }

    fn tolerance(&self, _roundings: u32) -> Option<f64> {
        None
    }

    fn accepts(&self, result: T, _roundings: u32) -> bool {
        result == self.wrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::cpu_sequential;
    use proptest::prelude::*;

    fn oracle<T: Integer>(operator: Operator, values: &[T]) -> IntegerOracle<T> {
        IntegerOracle::new(operator, values)
    }

    #[test]
    fn the_true_sum_is_not_lost_and_the_wrapped_one_is_expected() {
        let sum = oracle(Operator::Sum, &[i32::MAX, i32::MAX, 1]);
        assert_eq!(sum.exact, Some(4_294_967_295));
        assert_eq!(sum.expected(), Number::I32(-1));
        assert!(sum.accepts(-1, 0) && !sum.accepts(0, 100));
        let sum = oracle(Operator::Sum, &[u64::MAX, u64::MAX]);
        assert_eq!(sum.exact, Some(2 * i128::from(u64::MAX)));
        assert_eq!(sum.wrapped, u64::MAX - 1);
    }

    #[test]
    fn the_true_sum_of_more_than_one_chunk_is_not_lost() {
        let sum = oracle(Operator::Sum, &[i32::MIN; 100_000]);
        assert_eq!(sum.exact, Some(-214_748_364_800_000));
    }

    #[test]
    fn nothing_is_the_identity() {
        let exact = |operator| oracle::<u32>(operator, &[]).wrapped;
        assert_eq!(exact(Operator::Sum), 0);
        assert_eq!(exact(Operator::Product), 1);
        assert_eq!(exact(Operator::Min), u32::MAX);
        assert_eq!(exact(Operator::Max), 0);
    }

    #[test]
    fn products_wrap_and_their_size_is_known() {
        let product = oracle(Operator::Product, &[3_i32; 100]);
        assert_eq!(product.exact, None);
        assert_eq!(
            product.wrapped,
            (0..100).fold(1_i32, |product, _| product.wrapping_mul(3))
        );
        assert_eq!(product.product.to_string(), "5.15378e47");
        let product = oracle(
            Operator::Product,
            &[-7_i64, i64::MAX, 0, i64::MAX, i64::MAX],
        );
        assert_eq!((product.exact, product.wrapped), (Some(0), 0));
        assert_eq!(product.product.to_f64(), 0.0);
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_references(values in prop::collection::vec(any::<i32>(), 0..2_000)) {
            prop_assert!(oracle(Operator::Sum, &values).accepts(cpu_sequential(&values), 0));
        }

        #[test]
        fn it_agrees_with_wrapping_arithmetic(values in prop::collection::vec(any::<u64>(), 1..50), cut in 0..50_usize) {
            let cut = cut.min(values.len());
            for (operator, expected) in [
                (Operator::Sum, values.iter().fold(0, |sum: u64, &value| sum.wrapping_add(value))),
                (Operator::Product, values.iter().fold(1, |product: u64, &value| product.wrapping_mul(value))),
                (Operator::Min, values.iter().copied().min().unwrap_or_default()),
                (Operator::Max, values.iter().copied().max().unwrap_or_default()),
            ] {
                let mut whole = oracle(operator, &values[..cut]);
                whole.append(&oracle(operator, &values[cut..]));
                prop_assert_eq!(whole.wrapped, expected);
            }
        }
    }
}
