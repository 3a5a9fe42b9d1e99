//! The two formats, and how their values are read from registers and written to them.

use rustc_apfloat::FloatConvert;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

use crate::alu::tiny::{self, is_tiny};

/// A half-precision format and how single precision relates to it.
pub(super) trait Format:
    tiny::Format + FloatConvert<Single> + FloatConvert<Double> + 'static
{
    /// The bits of the one NaN that instructions produce.
    const QUIET: u16;
}
impl Format for Half {
    const QUIET: u16 = 0x7fff;
}
impl Format for BFloat {
    const QUIET: u16 = 0x7fff;
}

pub(super) const PACKED: u32 = 1;
pub(super) const SATURATE: u32 = 2;
pub(super) const RELU: u32 = 4;
pub(super) const FLUSH: u32 = 8;
pub(super) const NAN_PROPAGATES: u32 = 16;
/// Of `min` and `max`: magnitudes are compared, and the result is negative if one operand is.
pub(super) const XOR_SIGN: u32 = 32;

pub(super) fn read<F: Format>(bits: u16, flags: u32) -> F {
    let value = F::from_bits(u128::from(bits));
    if flags & FLUSH != 0 && value.is_denormal() {
        F::ZERO.copy_sign(value)
    } else {
        value
    }
}

pub(super) fn write<F: Format>(value: F, flags: u32) -> u16 {
    if value.is_nan() {
        return if flags & (SATURATE | RELU) == SATURATE {
            0
        } else {
            F::QUIET
        };
    }
    let one = F::from_u128(1).value;
    let value = if flags & (SATURATE | RELU) != 0 && value.is_negative() {
        F::ZERO
    } else if flags & SATURATE != 0 && value > one {
        one
    } else if flags & FLUSH != 0 && value.is_denormal() {
        F::ZERO.copy_sign(value)
    } else {
        value
    };
    value.to_bits() as u16
}

/// An operation's result, flushed where it is too small, which `write` can't see any more.
pub(super) fn flushed<F: Format, const N: usize>(
    flags: u32,
    operands: [F; N],
    nearest: F,
    operation: impl Fn([F::Wide; N]) -> F::Wide,
) -> F {
    if flags & FLUSH != 0 && nearest.is_smallest_normalized() && is_tiny(operands, operation) {
        F::ZERO.copy_sign(nearest)
    } else {
        nearest
    }
}
