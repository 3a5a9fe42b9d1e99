//! Conversions to and from the formats that only tensor cores compute with: `tf32`, and the 8-bit floats `e4m3` and `e5m2`
//! (OCP 8-bit Floating Point Specification), two to a register (PTX ISA §9.7.9.21 `cvt`).

use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::form::{Alu, Arg, Execute, Form, rounding};
use crate::alu::form::FRACTIONAL;
use crate::registers::{Registers, Rows, map1, map2};
use crate::types::Scalar;

/// `.satfinite`: what is beyond the greatest value becomes that value.
pub(super) const FINITE: u32 = 1 << 7;
const RELU: u32 = 1;
const ROUND_SHIFT: u32 = 8;

/// A value in another format; where the result is to be finite, the greatest one for what is beyond it.
pub(super) fn narrowed<A: FloatConvert<F>, F: Float>(value: A, round: Round, finite: bool) -> F {
    let result = value.convert_r(round, &mut false).value;
    if finite && !result.is_finite() && !value.is_nan() {
        if value.is_negative() {
            -F::largest()
        } else {
            F::largest()
        }
    } else {
        result
    }
}

/// The bits of `f32` that `tf32` has not.
const TF32_LOST: u32 = 0x1fff;
const INFINITY: u32 = 0x7f80_0000;

/// `.rna`: to nearest, ties away from zero. As GPUs do it, who have no instruction for it: a NaN loses the low bits of its payload.
fn to_tf32_away(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u32| {
        let is_finite = a & INFINITY != INFINITY;
        let rounded = if is_finite { a + 0x1000 } else { a } & !TF32_LOST;
        if flags & FINITE != 0 && rounded & INFINITY == INFINITY {
            rounded - (TF32_LOST + 1)
        } else {
            rounded
        }
    });
}
/// `.rn` and `.rz`.
fn to_tf32(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u32| {
        if a & !(1 << 31) > INFINITY {
            return 0x7fff_ffff & !TF32_LOST;
        }
        if flags & RELU != 0 && a >> 31 == 1 {
            return 0;
        }
        // Just below the half, and the half itself where the last bit kept is odd.
        let added = match rounding(flags >> ROUND_SHIFT) {
            Round::NearestTiesToEven => 0xfff + (a >> 13 & 1),
            _ => 0,
        };
        let rounded = (a + added) & !TF32_LOST;
        if flags & FINITE != 0 && rounded & INFINITY == INFINITY {
            rounded - (TF32_LOST + 1)
        } else {
            rounded
        }
    });
}

/// An 8-bit float.
trait Eight: Float + FloatConvert<Half> + 'static {}
impl Eight for Float8E4M3FN {}
impl Eight for Float8E5M2 {}

/// Of both formats, the NaN that instructions produce.
const EIGHT_QUIET: u8 = 0x7f;

fn eight<A: FloatConvert<F>, F: Eight>(value: A, flags: u32) -> u16 {
    if value.is_nan() {
        return u16::from(EIGHT_QUIET);
    }
    if flags & RELU != 0 && value.is_negative() {
        return 0;
    }
    narrowed::<A, F>(value, Round::NearestTiesToEven, true).to_bits() as u16
}
/// `cvt.e4m3x2.f32 d, a, b`: a in the upper half.
fn eights_from_singles<F: Eight>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Single: FloatConvert<F>,
{
    map2(r, o, mask, |a: u32, b: u32| {
        let [a, b] = [a, b].map(|bits| eight(Single::from_bits(u128::from(bits)), flags));
        a << 8 | b
    });
}
fn eights_from_halves<F: Eight>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Half: FloatConvert<F>,
{
    map1(r, o, mask, |a: u32| {
        let [low, high] =
            [a, a >> 16].map(|bits| eight(Half::from_bits(u128::from(bits as u16)), flags));
        high << 8 | low
    });
}
/// Each value of an 8-bit float is one of a half.
fn halves_from_eights<F: Eight>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let [low, high] = a.to_le_bytes().map(|bits| {
            let value: Half = F::from_bits(u128::from(bits)).convert(&mut false).value;
            if value.is_nan() {
                0x7fff
            } else if flags & RELU != 0 && value.is_negative() {
                0
            } else {
                value.to_bits() as u32
            }
        });
        high << 16 | low
    });
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Scalar::{B16, B32, F16x2, F32};
    if form.opcode != "cvt" {
        return None;
    }
    let &[ty] = &form.types[..] else {
        return None;
    };
    let format = ["tf32", "e4m3x2", "e5m2x2"]
        .into_iter()
        .find(|format| form.has(format))?;
    let flag = |name: &str, bit: u32| if form.has(name) { bit } else { 0 };
    let flags = flag("satfinite", FINITE) | flag("relu", RELU);
    // Only a conversion to 8 bits is, and must be, `.satfinite`.
    let is_narrowing = form.has("satfinite");
    let (execute, args): (Execute, &[Arg]) = match (format, ty, is_narrowing) {
        ("tf32", F32, _) => {
            if form.has("rna") {
                form.only(1, &[format, "rna", "satfinite"])?;
                return Some(Alu::new(to_tf32_away, &[Arg::D(B32), Arg::S(F32)]).flagged(flags));
            }
            form.only(1, &[format, "rn", "rz", "satfinite", "relu"])?;
            let round = FRACTIONAL.iter().position(|round| form.has(round))? as u32;
            return Some(
                Alu::new(to_tf32, &[Arg::D(B32), Arg::S(F32)])
                    .flagged(flags | round << ROUND_SHIFT),
            );
        }
        ("e4m3x2", F32, true) => (
            eights_from_singles::<Float8E4M3FN>,
            &[Arg::D(B16), Arg::S(F32), Arg::S(F32)],
        ),
        ("e5m2x2", F32, true) => (
            eights_from_singles::<Float8E5M2>,
            &[Arg::D(B16), Arg::S(F32), Arg::S(F32)],
        ),
        ("e4m3x2", F16x2, true) => (
            eights_from_halves::<Float8E4M3FN>,
            &[Arg::D(B16), Arg::S(F16x2)],
        ),
        ("e5m2x2", F16x2, true) => (
            eights_from_halves::<Float8E5M2>,
            &[Arg::D(B16), Arg::S(F16x2)],
        ),
        ("e4m3x2", F16x2, false) => (
            halves_from_eights::<Float8E4M3FN>,
            &[Arg::D(F16x2), Arg::S(B16)],
        ),
        ("e5m2x2", F16x2, false) => (
            halves_from_eights::<Float8E5M2>,
            &[Arg::D(F16x2), Arg::S(B16)],
        ),
        _ => return None,
    };
    if !form.has("rn") {
        return None;
    }
    form.only(1, &[format, "rn", "relu", "satfinite"])?;
    Some(Alu::new(execute, args).flagged(flags))
}
