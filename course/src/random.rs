//! Seeded random input: the same seed gives the same values on every machine and any number of cores.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use std::collections::TryReserveError;
use warpfold::cpu::cores;
use warpfold_kernels::catalogue::Operator;
use warpfold_kernels::for_each_element;

/// Values drawn from one stream of the generator; longer inputs take several streams.
const STREAM_ELEMENTS: usize = 1 << 16;

/// `n` values over the whole range of `i32`, so that sums overflow and wrap: the [`operands`] of a sum.
///
/// # Errors
/// There is not enough memory for them.
pub fn i32_values(n: usize, seed: u64) -> Result<Vec<i32>, TryReserveError> {
    operands(Operator::Sum, n, seed)
}

/// `n` bytes, each value as likely as any other, from the same streams as [`i32_values`].
///
/// # Errors
/// There is not enough memory for them.
pub fn u8_values(n: usize, seed: u64) -> Result<Vec<u8>, TryReserveError> {
    values(n, seed, |generator, chunk| generator.fill(chunk))
}

/// `n` multiples of 2^-23 from -1 up to but not including 1, so that sums lose digits to rounding: the [`operands`] of a sum.
///
/// # Errors
/// There is not enough memory for them.
pub fn f32_values(n: usize, seed: u64) -> Result<Vec<f32>, TryReserveError> {
    operands(Operator::Sum, n, seed)
}

/// A type of which there are random values to reduce.
pub trait Random: Default + Clone + Send {
    /// Fills `values` from the generator: integers over the whole range of the type; floats from -1 up to but not including
    /// 1, as fine as the type has them just below 1.
    fn draw(generator: &mut ChaCha8Rng, values: &mut [Self]);

    /// A whole number, which wraps around in an integer type and rounds in a float.
    fn of(number: u64) -> Self;

    /// Turns what [`Self::draw`] drew into a factor whose product with many others is still meaningful.
    ///
    /// - Integers become odd: the product of 64 even ones is 0 whatever the others are.
    /// - Floats become 1 or -1, by their sign. One in 64 differs from that by up to a 64th, upwards as often as downwards. So the
    ///   product of many stays within the type, and few multiplications round, but a missing factor still shows.
    fn into_factor(self) -> Self;
}

macro_rules! random {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(random!(@$kind $bits $value);)* };
    (@integer $bits:tt $integer:ident) => {
        impl Random for $integer {
            fn draw(generator: &mut ChaCha8Rng, values: &mut [Self]) {
                generator.fill(values);
            }

            fn of(number: u64) -> Self {
                number as Self
            }

            fn into_factor(self) -> Self {
                self | 1
            }
        }
    };
    (@float 32 $float:ident) => { random!(@float $float: next_u32, 32); };
    (@float 64 $float:ident) => { random!(@float $float: next_u64, 64); };
    // A float with d digits is k·2^(1 - d) - 1, where k is the upper d bits of the next word of the generator.
    (@float $float:ident: $next:ident, $bits:literal) => {
        impl Random for $float {
            fn draw(generator: &mut ChaCha8Rng, values: &mut [Self]) {
                for value in values {
                    let upper_bits = generator.$next() >> ($bits - Self::MANTISSA_DIGITS);
                    *value = upper_bits as Self * Self::EPSILON - 1.0;
                }
            }

            fn of(number: u64) -> Self {
                number as Self
            }

            fn into_factor(self) -> Self {
                // Of 64 equal parts on either side of 0, only the part next to 0 has factors other than 1.
                let part = self.abs() * 64.0;
                let factor = match part as u32 {
                    0 => {
                        let step = 1.0 + part.fract() / 32.0;
                        if part.fract() < 0.5 { step } else { 1.0 / (step - 1.0 / 64.0) }
                    }
                    _ => 1.0,
                };
                factor.copysign(self)
            }
        }
    };
}

for_each_element!(random);

/// `n` values for this operator: [`Random::draw`], and for a product [`Random::into_factor`].
///
/// Chunk `k` of 2^16 values is the ChaCha8 stream number `k` under `seed`: cores fill chunks in parallel, and a longer input begins
/// like a shorter one.
///
/// # Errors
/// There is not enough memory for them.
pub fn operands<T: Random>(
    operator: Operator,
    n: usize,
    seed: u64,
) -> Result<Vec<T>, TryReserveError> {
    values(n, seed, |generator, chunk| {
        T::draw(generator, chunk);
        if operator == Operator::Product {
            for value in chunk {
                *value = value.clone().into_factor();
            }
        }
    })
}

/// `n` whole numbers from 0 to 9: each the remainder by 10 of a word of 32 bits, from the streams of [`operands`].
pub(crate) fn digits<T: Random>(n: usize, seed: u64) -> Result<Vec<T>, TryReserveError> {
    values(n, seed, |generator, chunk| {
        chunk.fill_with(|| T::of((generator.next_u32() % 10).into()));
    })
}

/// `n` values in chunks of [`STREAM_ELEMENTS`], each drawn from its own stream.
fn values<T: Default + Clone + Send>(
    n: usize,
    seed: u64,
    draw: impl Fn(&mut ChaCha8Rng, &mut [T]) + Sync,
) -> Result<Vec<T>, TryReserveError> {
    in_chunks(n, |first, chunk| {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream((first / STREAM_ELEMENTS) as u64);
        draw(&mut generator, chunk);
    })
}

/// `n` values in chunks of [`STREAM_ELEMENTS`], which all cores fill: each by the index of its first value.
pub(crate) fn in_chunks<T: Default + Clone + Send>(
    n: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Vec<T>, TryReserveError> {
    let mut values = Vec::new();
    values.try_reserve_exact(n)?;
    values.resize(n, T::default());
    cores::for_each_part(&mut values, STREAM_ELEMENTS, |part, values| {
        fill(part * STREAM_ELEMENTS, values);
    });
    Ok(values)
}

/// `n` integers from `low` to `high`, both included: `low + z mod (high - low + 1)`, where `z` is the next
/// 64-bit word of ChaCha8 under `seed`.
///
/// # Panics
/// Where `low` is above `high`, or the two are 2^64 or more apart.
pub fn integers(n: usize, seed: u64, low: i128, high: i128) -> impl Iterator<Item = i128> {
    assert!(low <= high, "an empty range from {low} to {high}");
    let span = u128::try_from(high - low + 1).expect("high is not below low");
    assert!(span <= 1 << 64, "a range wider than 64 bits");
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(move |_| low + (u128::from(generator.next_u64()) % span) as i128)
}

/// `n` floats from `low` up to but not including `high`: `low + u·(high - low)`, where `u` is the upper
/// 53 bits of the next 64-bit word of ChaCha8 under `seed`, divided by 2^53.
pub fn floats(n: usize, seed: u64, low: f64, high: f64) -> impl Iterator<Item = f64> {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(move |_| {
        let unit = (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        low + unit * (high - low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_another_differs() {
        assert_eq!(i32_values(1000, 1), i32_values(1000, 1));
        assert_ne!(i32_values(1000, 1), i32_values(1000, 2));
    }

    #[test]
    fn a_longer_input_starts_like_a_shorter_one() {
        let long = i32_values(3 * STREAM_ELEMENTS + 5, 9).unwrap();
        let short = i32_values(STREAM_ELEMENTS + 1, 9).unwrap();
        assert_eq!(long[..short.len()], short);
        assert_ne!(
            long[..1000],
            long[STREAM_ELEMENTS..][..1000],
            "streams differ"
        );
    }

    #[test]
    fn floats_are_those_of_the_integers_on_a_finer_scale() {
        let n = STREAM_ELEMENTS + 5;
        let (integers, floats) = (i32_values(n, 4).unwrap(), f32_values(n, 4).unwrap());
        for (integer, float) in integers.into_iter().zip(floats) {
            let upper_bits = f64::from(integer.cast_unsigned() >> 8);
            assert_eq!(f64::from(float), upper_bits / 8_388_608.0 - 1.0);
            assert!((-1.0..1.0).contains(&float));
        }
    }

    #[test]
    fn f64_values_are_finer_than_f32_values() {
        let values: Vec<f64> = operands(Operator::Sum, 1000, 4).unwrap();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().any(|&value| f64::from(value as f32) != value));
    }

    #[test]
    fn factors_are_about_1_of_either_sign_and_few_of_them_round() {
        let factors: Vec<f32> = operands(Operator::Product, 1 << 16, 4).unwrap();
        let others: Vec<f32> = factors
            .iter()
            .copied()
            .filter(|factor| factor.abs() != 1.0)
            .collect();
        assert!((900..1150).contains(&others.len()), "{}", others.len());
        let above = others.iter().filter(|factor| factor.abs() > 1.0).count();
        assert!((400..620).contains(&above), "{above}");
        let negative = factors
            .iter()
            .filter(|factor| factor.is_sign_negative())
            .count();
        assert!((32_000..33_500).contains(&negative), "{negative}");
        let range = 64.0 / 65.0..=65.0 / 64.0;
        assert!(factors.iter().all(|factor| range.contains(&factor.abs())));
        let odd: Vec<u64> = operands(Operator::Product, 1000, 4).unwrap();
        assert!(odd.iter().all(|factor| factor % 2 == 1));
    }

    #[test]
    fn more_than_fits_memory_is_refused() {
        assert!(i32_values(usize::MAX / 8, 0).is_err());
        assert!(f32_values(usize::MAX / 8, 0).is_err());
    }

    #[test]
    fn integers_reach_both_ends_and_no_further() {
        let drawn: Vec<i128> = integers(1000, 3, -2, 2).collect();
        assert_eq!(drawn.iter().min(), Some(&-2));
        assert_eq!(drawn.iter().max(), Some(&2));
    }

    #[test]
    fn integers_cover_the_whole_of_64_bits() {
        let (low, high) = (i128::from(i64::MIN), i128::from(i64::MAX));
        assert!(integers(1000, 3, low, high).all(|value| (low..=high).contains(&value)));
        assert_eq!(integers(4, 3, 0, i128::from(u64::MAX)).count(), 4);
    }

    #[test]
    fn floats_stay_in_their_range() {
        assert!(floats(1000, 3, -1.0, 1.0).all(|value| (-1.0..1.0).contains(&value)));
    }
}
