//! Half-precision floats, `f16` and `bf16`, one or two to a register (PTX ISA §9.7.4 and the conversions of §9.7.9), computed
//! with `rustc_apfloat`.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

use super::convert::{saturated, with_integer};
use super::integer::Integer;
use super::{Alu, Arg, Execute, Form, rounding};
use crate::registers::{Registers, Rows, blend, map1, map2, map3, test2};
use crate::types::Scalar;

/// A half-precision format and how single precision relates to it.
trait Format: Float + FloatConvert<Single> + FloatConvert<Double> + 'static {
    /// The bits of the one NaN that instructions produce.
    const QUIET: u16;
}
impl Format for Half {
    const QUIET: u16 = 0x7fff;
}
impl Format for BFloat {
    const QUIET: u16 = 0x7fff;
}

const PACKED: u32 = 1;
const SATURATE: u32 = 2;
const RELU: u32 = 4;
const FLUSH: u32 = 8;
const NAN_PROPAGATES: u32 = 16;

fn read<F: Format>(bits: u16, flags: u32) -> F {
    let value = F::from_bits(u128::from(bits));
    if flags & FLUSH != 0 && value.is_denormal() {
        F::ZERO.copy_sign(value)
    } else {
        value
    }
}

fn write<F: Format>(value: F, flags: u32) -> u16 {
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
/// The sum of two values of a half-precision type, as atomic operations have it: rounded to nearest, with subnormal values.
pub(crate) fn add_halves(ty: Scalar, a: u32, b: u32) -> u32 {
    fn sum<F: Format>(a: u32, b: u32, flags: u32) -> u32 {
        halves(flags, |shift| {
            let operand = |bits: u32| read::<F>((bits >> shift) as u16, flags);
            write((operand(a) + operand(b)).value, flags)
        })
    }
    match ty {
        Scalar::F16 => sum::<Half>(a, b, 0),
        Scalar::F16x2 => sum::<Half>(a, b, PACKED),
        Scalar::Bf16 => sum::<BFloat>(a, b, 0),
        _ => sum::<BFloat>(a, b, PACKED),
    }
}
fn sub<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| (a - b).value);
}
fn mul<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    binary(r, o, flags, mask, |a: F, b: F| (a * b).value);
}
fn fma<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        halves(flags, |shift| {
            let operand = |bits: u32| read::<F>((bits >> shift) as u16, flags);
            write(operand(a).mul_add(operand(b), operand(c)).value, flags)
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

/// What a comparison needs to be true: any of these relations.
const LESS: u32 = 1;
const EQUAL: u32 = 2;
const GREATER: u32 = 4;
const UNORDERED: u32 = 8;
const RELATION_SHIFT: u32 = 20;
/// Subnormal operands of a comparison count as zero.
const FLUSH_OPERANDS: u32 = 1 << 18;

fn setp<F: Format>(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    let relations = extra >> RELATION_SHIFT;
    let flags = if extra & FLUSH_OPERANDS != 0 {
        FLUSH
    } else {
        0
    };
    let bits = test2::<u16, u16>(r, o, |a, b| {
        let relation = match read::<F>(a, flags).partial_cmp(&read::<F>(b, flags)) {
            Some(core::cmp::Ordering::Less) => LESS,
            Some(core::cmp::Ordering::Equal) => EQUAL,
            Some(core::cmp::Ordering::Greater) => GREATER,
            None => UNORDERED,
        };
        relation & relations != 0
    });
    let combine = |bits: u32| match extra >> 16 & 3 {
        1 => bits & r.predicate(o.c),
        2 => bits | r.predicate(o.c),
        3 => bits ^ r.predicate(o.c),
        _ => bits,
    };
    let (first, second) = (combine(bits), combine(!bits));
    let d = &mut r.predicates[o.d as usize];
    *d = blend(*d, first, mask);
    let q = extra & 0xffff;
    if q != 0 {
        let d = &mut r.predicates[q as usize - 1];
        *d = blend(*d, second, mask);
    }
}

/// The relations under which a comparison holds.
fn relations(operator: &str) -> Option<u32> {
    Some(match operator {
        "eq" => EQUAL,
        "ne" => LESS | GREATER,
        "lt" => LESS,
        "le" => LESS | EQUAL,
        "gt" => GREATER,
        "ge" => GREATER | EQUAL,
        "equ" => EQUAL | UNORDERED,
        "neu" => LESS | GREATER | UNORDERED,
        "ltu" => LESS | UNORDERED,
        "leu" => LESS | EQUAL | UNORDERED,
        "gtu" => GREATER | UNORDERED,
        "geu" => GREATER | EQUAL | UNORDERED,
        "num" => LESS | EQUAL | GREATER,
        "nan" => UNORDERED,
        _ => return None,
    })
}

const ROUND_SHIFT: u32 = 8;

fn to_single<F: Format>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value: Single = read::<F>(a, 0).convert(&mut false).value;
        f32::from_bits(if value.is_nan() {
            0x7fff_ffff
        } else {
            value.to_bits() as u32
        })
    });
}
fn to_double<F: Format>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value: Double = read::<F>(a, 0).convert(&mut false).value;
        f64::from_bits(value.to_bits() as u64)
    });
}
fn from_single<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Single: FloatConvert<F>,
{
    map1(r, o, mask, |a: u32| u32::from(single_to::<F>(a, flags)));
}
/// `cvt.f16x2.f32 d, a, b`: a in the upper half.
fn from_two_singles<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Single: FloatConvert<F>,
{
    map2(r, o, mask, |a: u32, b: u32| {
        u32::from(single_to::<F>(a, flags)) << 16 | u32::from(single_to::<F>(b, flags))
    });
}
fn single_to<F: Format>(bits: u32, flags: u32) -> u16
where
    Single: FloatConvert<F>,
{
    let value = Single::from_bits(u128::from(bits));
    write(
        FloatConvert::<F>::convert_r(value, rounding(flags >> ROUND_SHIFT), &mut false).value,
        flags,
    )
}
fn from_double<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Double: FloatConvert<F>,
{
    map1(r, o, mask, |a: u64| {
        let value = Double::from_bits(u128::from(a));
        u32::from(write::<F>(
            value
                .convert_r(rounding(flags >> ROUND_SHIFT), &mut false)
                .value,
            flags,
        ))
    });
}

fn from_integer<A: Integer, F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: A| {
        u32::from(write(
            F::from_i128_r(a.to_i128(), rounding(flags >> ROUND_SHIFT)).value,
            flags,
        ))
    });
}
/// Rounds, then saturates; NaN gives 0.
fn to_integer<D: Integer, F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value: Double = read::<F>(a, 0).convert(&mut false).value;
        saturated::<D>(
            f64::from_bits(value.to_bits() as u64),
            rounding(flags >> ROUND_SHIFT),
            true,
        )
    });
}

/// The instructions on `f16`, `f16x2`, `bf16` and `bf16x2`.
pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    let ty = *form.types.first()?;
    if form.opcode == "cvt" {
        return select_conversion(form);
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
    if form.opcode == "setp" {
        if !matches!(ty, Scalar::F16 | Scalar::Bf16) {
            return None;
        }
        let flags: Vec<&str> = form
            .flags
            .iter()
            .copied()
            .filter(|&flag| flag != "ftz")
            .collect();
        let (operator, combination) = match flags[..] {
            [operator] => (operator, 0),
            [operator, "and"] => (operator, 1),
            [operator, "or"] => (operator, 2),
            [operator, "xor"] => (operator, 3),
            _ => return None,
        };
        let mut args = vec![Arg::PD, Arg::S(ty), Arg::S(ty)];
        if combination != 0 {
            args.push(Arg::PS);
        }
        let flush = if form.has("ftz") { FLUSH_OPERANDS } else { 0 };
        let flags = combination << 16 | relations(operator)? << RELATION_SHIFT | flush;
        return Some(Alu {
            execute: by_format!(setp),
            args,
            flags,
        });
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
    form.only(1, &["rn", "ftz", "sat", "relu", "NaN", "approx"])?;
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
        | flag("NaN", NAN_PROPAGATES);
    let mut args = vec![Arg::D(ty)];
    args.extend(std::iter::repeat_n(Arg::S(ty), sources));
    Some(Alu {
        execute,
        args,
        flags,
    })
}

fn select_conversion(form: &Form<'_>) -> Option<Alu> {
    use Scalar::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    form.only(
        2,
        &[
            "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu",
        ],
    )?;
    let (to, from) = (form.types[0], form.types[1]);
    let execute: Execute = match (to, from) {
        (F32, F16) => to_single::<Half>,
        (F32, Bf16) => to_single::<BFloat>,
        (F64, F16) => to_double::<Half>,
        (F64, Bf16) => to_double::<BFloat>,
        (F16, F32) => from_single::<Half>,
        (Bf16, F32) => from_single::<BFloat>,
        (F16, F64) => from_double::<Half>,
        (Bf16, F64) => from_double::<BFloat>,
        (F16x2, F32) => from_two_singles::<Half>,
        (Bf16x2, F32) => from_two_singles::<BFloat>,
        (F16, from) => with_integer!(from, A => from_integer::<A, Half>),
        (Bf16, from) => with_integer!(from, A => from_integer::<A, BFloat>),
        (to, F16) => with_integer!(to, D => to_integer::<D, Half>),
        (to, Bf16) => with_integer!(to, D => to_integer::<D, BFloat>),
        _ => return None,
    };
    let rounds = [["rn", "rz", "rm", "rp"], ["rni", "rzi", "rmi", "rpi"]];
    let round = rounds
        .iter()
        .find_map(|names| names.iter().position(|name| form.has(name)))
        .unwrap_or(0) as u32;
    let flag = |name: &str, bit: u32| if form.has(name) { bit } else { 0 };
    let flags = round << ROUND_SHIFT | flag("sat", SATURATE) | flag("relu", RELU);
    let mut args = vec![Arg::D(to), Arg::S(from)];
    if matches!(to, F16x2 | Bf16x2) {
        args.push(Arg::S(from));
    }
    Some(Alu {
        execute,
        args,
        flags,
    })
}
