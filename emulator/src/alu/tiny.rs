//! Which results `.ftz` takes for too small.
//!
//! Not those that are subnormal, but those that would be below the least normal value if, rounded to as many bits, they could have any
//! exponent (IEEE 754-2019 §7.5 calls that detecting tininess after rounding): where a result becomes the least normal value only
//! because subnormal values have fewer bits, it is flushed.

use rustc_apfloat::ieee::{BFloat, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert};

/// A format, and another that is as precise but has room for the exponents of all products.
pub(super) trait Format: Float + FloatConvert<Self::Wide> {
    type Wide: Float;
}

macro_rules! wide {
    ($($format:ty => $name:ident($bits:literal : $exponent_bits:literal);)*) => {$(
        pub(super) struct $name;
        impl Semantics for $name {
            const BITS: usize = $bits;
            const EXP_BITS: usize = $exponent_bits;
        }
        impl Format for $format {
            type Wide = IeeeFloat<$name>;
        }
    )*};
}
wide! {
    Single => WideSingle(35:11);
    Half => WideHalf(19:8);
    BFloat => WideBFloat(19:11);
}

/// Whether a result that is rounded to the least normal value, or its negative, is to be flushed. `operation` is to give the result of
/// the operands in the wider format, rounded in the same way.
#[cold]
pub(super) fn is_tiny<F: Format, const N: usize>(
    operands: [F; N],
    operation: impl Fn([F::Wide; N]) -> F::Wide,
) -> bool {
    let wide = |value: F| value.convert(&mut false).value;
    let least: F::Wide = wide(F::smallest_normalized());
    operation(operands.map(wide)).abs() < least
}
