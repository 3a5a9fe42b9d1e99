//! Half-precision floats, `f16` and `bf16`, one or two to a register (PTX ISA §9.7.4 and §9.7.7), computed with `rustc_apfloat`.

mod compare;
mod convert;
mod format;

use rustc_apfloat::ieee::{BFloat, Double, Half};
use rustc_apfloat::{Float, FloatConvert};

use super::form::{Alu, Execute, Form};
use crate::registers::{Registers, Rows, map1, map2, map3};
use crate::types::Scalar;
use format::{
    FLUSH, Format, NAN_PROPAGATES, PACKED, RELU, SATURATE, XOR_SIGN, flushed, read, write,
};

/// Applies `f` to the low half, and with the flag to the high half too.
#[inline(always)]
fn halves(flags: u32, f: impl Fn(u32) -> u16) -> u32 {
    let low = u32::from(f(0));
    if flags & PACKED != 0 {
        low | u32::from(f(16)) << 16
    } else {
        low
    }
}

fn unary<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32, f: impl Fn(F) -> F) {
    map1(r, o, mask, |a: u32| {
        halves(flags, |shift| {
            write(f(read((a >> shift) as u16, flags)), flags)
        })
    });
}
fn binary<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32, f: impl Fn(F, F) -> F) {
    map2(r, o, mask, |a: u32, b: u32| {
        halves(flags, |shift| {
            let operand = |bits: u32| read((bits >> shift) as u16, flags);
            write(f(operand(a), operand(b)), flags)
        })
    });
}

fn add<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| (a + b).value);
}
/// What atomic operations make of two values of a half-precision type.
#[derive(Clone, Copy)]
pub(crate) enum HalfOperation {
    /// Rounded to nearest, with subnormal values.
    Add,
    /// A number rather than NaN.
    Min,
    Max,
}
pub(crate) fn combine_halves(operation: HalfOperation, ty: Scalar, a: u32, b: u32) -> u32 {
    fn of<F: Format>(operation: HalfOperation, a: u32, b: u32, flags: u32) -> u32 {
        halves(flags, |shift| {
            let [a, b] = [a, b].map(|bits| read::<F>((bits >> shift) as u16, flags));
            let result = match operation {
                HalfOperation::Add => (a + b).value,
                HalfOperation::Min => extremum(a, b, flags, false),
                HalfOperation::Max => extremum(a, b, flags, true),
            };
            write(result, flags)
        })
    }
    match ty {
        Scalar::F16 => of::<Half>(operation, a, b, 0),
        Scalar::F16x2 => of::<Half>(operation, a, b, PACKED),
        Scalar::Bf16 => of::<BFloat>(operation, a, b, 0),
        _ => of::<BFloat>(operation, a, b, PACKED),
    }
}
fn sub<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| (a - b).value);
}
fn mul<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| {
        flushed(flags, [a, b], (a * b).value, |[a, b]| (a * b).value)
    });
}
fn fma<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        halves(flags, |shift| {
            let operand = |bits: u32| read::<F>((bits >> shift) as u16, flags);
            let [a, b, c] = [a, b, c].map(operand);
            let nearest = a.mul_add(b, c).value;
            let value = flushed(flags, [a, b, c], nearest, |[a, b, c]| a.mul_add(b, c).value);
            write(value, flags)
        })
    });
}
fn neg<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    unary(r, o, flags, mask, |a: F| -a);
}
fn abs<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    unary(r, o, flags, mask, |a: F| a.abs());
}
fn min<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| extremum(a, b, flags, false));
}
fn max<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| extremum(a, b, flags, true));
}
/// As for the wider floats: a NaN yields to a number unless the flag says otherwise, and -0 is below +0.
fn extremum<F: Format>(a: F, b: F, flags: u32, want_max: bool) -> F {
    if flags & XOR_SIGN != 0 {
        let magnitude = extremum(a.abs(), b.abs(), flags & !XOR_SIGN, want_max);
        return if a.is_negative() != b.is_negative() {
            -magnitude
        } else {
            magnitude
        };
    }
    if a.is_nan() || b.is_nan() {
        let (nan, other) = if a.is_nan() { (a, b) } else { (b, a) };
        return if flags & NAN_PROPAGATES != 0 {
            nan
        } else {
            other
        };
    }
    let a_is_less = a < b || (a == b && a.is_negative());
    if a_is_less != want_max { a } else { b }
}

/// Transcendental functions, computed in double precision and rounded.
fn ex2<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Double: FloatConvert<F>,
{
    unary(r, o, flags, mask, |a: F| through_double(a, f64::exp2));
}
fn tanh<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Double: FloatConvert<F>,
{
    unary(r, o, flags, mask, |a: F| through_double(a, f64::tanh));
}
fn through_double<F: Format>(a: F, f: fn(f64) -> f64) -> F
where
    Double: FloatConvert<F>,
{
    let double: Double = a.convert(&mut false).value;
    let result = f(f64::from_bits(double.to_bits() as u64));
    Double::from_bits(u128::from(result.to_bits()))
        .convert(&mut false)
        .value
}

/// The instructions on `f16`, `f16x2`, `bf16` and `bf16x2`.
pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    let ty = *form.types.first()?;
    match form.opcode {
        "cvt" => return convert::select(form),
        "set" | "setp" => return compare::select(form),
        _ => {}
    }
    macro_rules! by_format {
        ($function:ident) => {
            match ty {
                Scalar::F16 | Scalar::F16x2 => $function::<Half> as Execute,
                Scalar::Bf16 | Scalar::Bf16x2 => $function::<BFloat> as Execute,
                _ => return None,
            }
        };
    }
    let (execute, sources) = match form.opcode {
        "add" => (by_format!(add), 2),
        "sub" => (by_format!(sub), 2),
        "mul" => (by_format!(mul), 2),
        "fma" => (by_format!(fma), 3),
        "neg" => (by_format!(neg), 1),
        "abs" => (by_format!(abs), 1),
        "min" => (by_format!(min), 2),
        "max" => (by_format!(max), 2),
        "ex2" => (by_format!(ex2), 1),
        "tanh" => (by_format!(tanh), 1),
        _ => return None,
    };
    let is_extremum = matches!(form.opcode, "min" | "max");
    let has_xor_sign = is_extremum && form.has("xorsign") && form.has("abs");
    form.only(
        1,
        if has_xor_sign {
            &["ftz", "NaN", "xorsign", "abs"]
        } else {
            &["rn", "ftz", "sat", "relu", "NaN", "approx"]
        },
    )?;
    let flag = |name: &str, bit: u32| if form.has(name) { bit } else { 0 };
    let packed = if matches!(ty, Scalar::F16x2 | Scalar::Bf16x2) {
        PACKED
    } else {
        0
    };
    let flags = packed
        | flag("sat", SATURATE)
        | flag("relu", RELU)
        | flag("ftz", FLUSH)
        | flag("NaN", NAN_PROPAGATES)
        | flag("xorsign", XOR_SIGN);
    Some(Alu::same(execute, ty, sources).flagged(flags))
}
