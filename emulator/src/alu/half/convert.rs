//! Conversions from and to half-precision floats (PTX ISA §9.7.9.21 `cvt`).

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float as _, FloatConvert};

use super::format::{Format, RELU, SATURATE, read, write};
use crate::alu::convert::{clamp01, saturated, with_integer};
use crate::alu::float::flush;
use crate::alu::form::{Alu, Arg, Execute, FRACTIONAL, Form, INTEGRAL, rounding};
use crate::alu::integer::Integer;
use crate::alu::tensor::{FINITE, narrowed};
use crate::registers::{Registers, Rows, map1, map2};
use crate::types::Scalar;

/// Subnormal values in single precision count as zero.
const FLUSH_SINGLE: u32 = 1 << 6;
const ROUND_SHIFT: u32 = 8;

fn to_single<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value: Single = read::<F>(a, 0).convert(&mut false).value;
        let number = f32::from_bits(value.to_bits() as u32);
        if flags & SATURATE != 0 {
            clamp01(f64::from(number)) as f32
        } else if number.is_nan() {
            f32::from_bits(0x7fff_ffff)
        } else if flags & FLUSH_SINGLE != 0 {
            flush(number)
        } else {
            number
        }
    });
}
/// `cvt.f32.bf16` moves the bits: a NaN stays the one it is.
fn to_single_exactly(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: u16| u32::from(a) << 16);
}
fn to_double<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value: Double = read::<F>(a, 0).convert(&mut false).value;
        let number = f64::from_bits(value.to_bits() as u64);
        if flags & SATURATE != 0 {
            clamp01(number)
        } else {
            number
        }
    });
}

fn from_single<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Single: FloatConvert<F>,
{
    map1(r, o, mask, |a: f32| u32::from(single_to::<F>(a, flags)));
}
/// `cvt.f16x2.f32 d, a, b`: a in the upper half.
fn from_two_singles<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Single: FloatConvert<F>,
{
    map2(r, o, mask, |a: f32, b: f32| {
        u32::from(single_to::<F>(a, flags)) << 16 | u32::from(single_to::<F>(b, flags))
    });
}
fn single_to<F: Format>(value: f32, flags: u32) -> u16
where
    Single: FloatConvert<F>,
{
    let value = if flags & FLUSH_SINGLE != 0 {
        flush(value)
    } else {
        value
    };
    rounded::<Single, F>(Single::from_bits(u128::from(value.to_bits())), flags)
}
fn from_double<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32)
where
    Double: FloatConvert<F>,
{
    map1(r, o, mask, |a: u64| {
        let value = Double::from_bits(u128::from(a));
        u32::from(if value.is_nan() && flags & SATURATE == 0 {
            // Only from double precision does a NaN keep its sign and what fits of its payload.
            let nan: F = value.convert(&mut false).value;
            nan.to_bits() as u16
        } else {
            rounded::<Double, F>(value, flags)
        })
    });
}
/// From one half-precision format to the other, or to itself.
fn from_half<A: Format + FloatConvert<F>, F: Format>(
    r: &mut Registers,
    o: &Rows,
    flags: u32,
    mask: u32,
) {
    map1(r, o, mask, |a: u16| rounded::<A, F>(read(a, 0), flags));
}
fn rounded<A: FloatConvert<F>, F: Format>(value: A, flags: u32) -> u16 {
    write(
        narrowed(value, rounding(flags >> ROUND_SHIFT), flags & FINITE != 0),
        flags,
    )
}
/// `.rni` and its kin.
fn to_integral<F: Format>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: u16| {
        let value = read::<F>(a, 0).round_to_integral(rounding(flags >> ROUND_SHIFT));
        write(value.value, flags)
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

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Scalar::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    let [to, from] = form.types[..] else {
        return None;
    };
    let integral = INTEGRAL.iter().position(|round| form.has(round));
    let fractional = FRACTIONAL.iter().position(|round| form.has(round));
    let (execute, modifiers): (Execute, &[&str]) = match (to, from) {
        (F32, F16) => (to_single::<Half>, &["ftz", "sat"]),
        (F32, Bf16) if form.has("ftz") => (to_single::<BFloat>, &["ftz"]),
        (F32, Bf16) => (to_single_exactly, &[]),
        (F64, F16) => (to_double::<Half>, &["sat"]),
        (F64, Bf16) => (to_double::<BFloat>, &[]),
        (F16, F32) => (from_single::<Half>, &["ftz", "sat", "relu", "satfinite"]),
        (Bf16, F32) => (from_single::<BFloat>, &["ftz", "relu", "satfinite"]),
        (F16x2, F32) => (from_two_singles::<Half>, &["relu", "satfinite"]),
        (Bf16x2, F32) => (from_two_singles::<BFloat>, &["relu", "satfinite"]),
        (F16, F64) => (from_double::<Half>, &["sat"]),
        (Bf16, F64) => (from_double::<BFloat>, &[]),
        (F16, F16) if integral.is_some() => (to_integral::<Half>, &["sat"]),
        (Bf16, Bf16) if integral.is_some() => (to_integral::<BFloat>, &[]),
        (F16, F16) => (from_half::<Half, Half>, &["sat"]),
        (Bf16, Bf16) => (from_half::<BFloat, BFloat>, &[]),
        (F16, Bf16) => (from_half::<BFloat, Half>, &[]),
        (Bf16, F16) => (from_half::<Half, BFloat>, &[]),
        (F16, from) => (with_integer!(from, A => from_integer::<A, Half>), &["sat"]),
        (Bf16, from) => (with_integer!(from, A => from_integer::<A, BFloat>), &[]),
        (to, F16) => (with_integer!(to, D => to_integer::<D, Half>), &["sat"]),
        (to, Bf16) => (with_integer!(to, D => to_integer::<D, BFloat>), &["sat"]),
        _ => return None,
    };
    // A half is rounded to an integer, any other format to a fraction. A wider float is exact, which only `bf16` has a rounding for.
    let rounds: &[&str] = match (to, from) {
        (F32 | F64, F16) => &[],
        (F32 | F64, _) => &FRACTIONAL,
        (to, from) if to == from => &INTEGRAL,
        (F16 | Bf16 | F16x2 | Bf16x2, _) => &FRACTIONAL,
        _ => &INTEGRAL,
    };
    form.only(2, &[rounds, modifiers].concat())?;
    let flag = |name: &str, bit: u32| if form.has(name) { bit } else { 0 };
    let flags = (integral.or(fractional).unwrap_or(0) as u32) << ROUND_SHIFT
        | flag("sat", SATURATE)
        | flag("relu", RELU)
        | flag("satfinite", FINITE)
        // GPUs flush nothing on the way to f16, though the manual says so; on the way from it there is nothing to flush.
        | match (to, from) {
            (F16, _) | (_, F16) => 0,
            _ => flag("ftz", FLUSH_SINGLE),
        };
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
