//! Conversions between types (PTX ISA §9.7.9.21 `cvt`).

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float as _, FloatConvert as _, Round};

use super::float::{canonical, flush, quiet};
use super::form::{Alu, Arg, Execute, FRACTIONAL, Form, INTEGRAL, rounding};
use super::integer::Integer;
use crate::registers::{Lane, Registers, Rows, map1};
use crate::types::Scalar;

const SATURATE: u32 = 1;
const FLUSH: u32 = 2;
const ROUND_SHIFT: u32 = 2;
/// Round to an integral value: the `i` of `.rni`.
const TO_INTEGRAL: u32 = 16;

/// Integer to integer: wraps.
fn truncate<A: Integer, D: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: A| D::from_bits(a.to_i128() as u64));
}
/// Integer to integer with `.sat`.
fn clamp<A: Integer, D: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: A| {
        let (least, most) = limits::<D>();
        D::from_bits(a.to_i128().clamp(least, most) as u64)
    });
}
/// The least and the greatest value of an integer type.
fn limits<D: Integer>() -> (i128, i128) {
    if D::from_bits(u64::MAX).to_i128() < 0 {
        (-(1 << (D::BITS - 1)), (1 << (D::BITS - 1)) - 1)
    } else {
        (0, (1 << D::BITS) - 1)
    }
}

const SIGNED: u32 = 128;

/// Integer to integer from the low bits of a 64-bit register; flags: number of bits, signed.
fn low_part<D: Integer>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    let unused = 64 - (flags & 127);
    map1(r, o, mask, |a: u64| {
        D::from_bits(if flags & SIGNED != 0 {
            ((a << unused) as i64 >> unused) as u64
        } else {
            a << unused >> unused
        })
    });
}

/// Host floats as conversions need them.
trait Real: Lane {
    const IS_DOUBLE: bool;
    fn to_f64(self) -> f64;
    fn from_i128(value: i128, round: Round) -> Self;
    fn from_f64(value: f64, round: Round) -> Self;
    fn flushed(self) -> Self;
    /// What every operation inside one precision makes of a NaN.
    fn canonical(self) -> Self;
}
impl Real for f32 {
    const IS_DOUBLE: bool = false;
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_i128(value: i128, round: Round) -> Self {
        f32::from_bits(Single::from_i128_r(value, round).value.to_bits() as u32)
    }
    fn from_f64(value: f64, round: Round) -> Self {
        if round == Round::NearestTiesToEven || value.is_nan() {
            return value as f32;
        }
        let mut exact = true;
        let single: Single = Double::from_bits(u128::from(value.to_bits()))
            .convert_r(round, &mut exact)
            .value;
        f32::from_bits(single.to_bits() as u32)
    }
    fn flushed(self) -> Self {
        flush(self)
    }
    fn canonical(self) -> Self {
        canonical(self)
    }
}
impl Real for f64 {
    const IS_DOUBLE: bool = true;
    fn to_f64(self) -> f64 {
        self
    }
    fn from_i128(value: i128, round: Round) -> Self {
        f64::from_bits(Double::from_i128_r(value, round).value.to_bits() as u64)
    }
    fn from_f64(value: f64, _: Round) -> Self {
        value
    }
    fn flushed(self) -> Self {
        self
    }
    fn canonical(self) -> Self {
        quiet(self)
    }
}

/// Integer to float.
fn to_real<A: Integer, D: Real>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: A| {
        let value = D::from_i128(a.to_i128(), rounding(flags >> ROUND_SHIFT));
        if flags & SATURATE != 0 {
            D::from_f64(clamp01(value.to_f64()), Round::NearestTiesToEven)
        } else {
            value
        }
    });
}

/// Float to integer: rounds, then saturates.
fn to_integer<A: Real, D: Integer>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: A| {
        let a = if flags & FLUSH != 0 { a.flushed() } else { a };
        saturated::<D>(a.to_f64(), rounding(flags >> ROUND_SHIFT), !A::IS_DOUBLE)
    });
}
/// The integer next to a value, or the limit of the type that it lies beyond. NaN from at most 32 bits to at most 32 bits gives 0,
/// else the highest bit alone.
pub(super) fn saturated<D: Integer>(value: f64, round: Round, is_narrow: bool) -> D {
    if value.is_nan() {
        let is_narrow = is_narrow && D::BITS < 64;
        return D::from_bits(if is_narrow { 0 } else { 1 << (D::BITS - 1) });
    }
    let (least, most) = limits::<D>();
    // `as` saturates at the limits of i128, which lie outside those of every PTX type.
    D::from_bits((integral(value, round) as i128).clamp(least, most) as u64)
}

/// Float to float of the same type, unchanged: moves the bits.
fn same<A: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: A| a);
}

/// Float to float.
fn real_to_real<A: Real, D: Real>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: A| {
        let a = if flags & FLUSH != 0 {
            a.flushed().canonical()
        } else {
            a
        };
        let mut value = a.to_f64();
        if flags & TO_INTEGRAL != 0 {
            value = integral(value, rounding(flags >> ROUND_SHIFT));
        }
        if flags & SATURATE != 0 {
            value = clamp01(value);
        }
        let mut value = D::from_f64(value, rounding(flags >> ROUND_SHIFT));
        if A::IS_DOUBLE == D::IS_DOUBLE {
            value = value.canonical();
        }
        if flags & FLUSH != 0 {
            value.flushed()
        } else {
            value
        }
    });
}

fn integral(value: f64, round: Round) -> f64 {
    match round {
        Round::TowardZero => value.trunc(),
        Round::TowardNegative => value.floor(),
        Round::TowardPositive => value.ceil(),
        _ => value.round_ties_even(),
    }
}

pub(super) fn clamp01(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Expands an expression with `$t` bound to the host's integer type, or returns `None`.
macro_rules! with_integer {
    ($ty:expr, $t:ident => $result:expr) => {
        match $ty {
            Scalar::U8 | Scalar::B8 => {
                type $t = u8;
                $result
            }
            Scalar::S8 => {
                type $t = i8;
                $result
            }
            Scalar::U16 | Scalar::B16 => {
                type $t = u16;
                $result
            }
            Scalar::S16 => {
                type $t = i16;
                $result
            }
            Scalar::U32 | Scalar::B32 => {
                type $t = u32;
                $result
            }
            Scalar::S32 => {
                type $t = i32;
                $result
            }
            Scalar::U64 | Scalar::B64 => {
                type $t = u64;
                $result
            }
            Scalar::S64 => {
                type $t = i64;
                $result
            }
            _ => return None,
        }
    };
}
pub(super) use with_integer;
macro_rules! with_real {
    ($ty:expr, $t:ident => $result:expr) => {
        match $ty {
            Scalar::F32 => {
                type $t = f32;
                $result
            }
            Scalar::F64 => {
                type $t = f64;
                $result
            }
            _ => return None,
        }
    };
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    if form.opcode != "cvt" {
        return None;
    }
    form.only(2, &[&FRACTIONAL[..], &INTEGRAL, &["ftz", "sat"]].concat())?;
    let (to, from) = (form.types[0], form.types[1]);
    if form.wide_source && from.bytes() < 8 {
        form.only(2, &[])?;
        if from.is_float() {
            return None;
        }
        let flags = (from.bytes() as u32 * 8) | if from.is_signed() { SIGNED } else { 0 };
        let execute: Execute = with_integer!(to, D => low_part::<D> as Execute);
        return Some(Alu {
            execute,
            args: vec![Arg::D(to), Arg::S(Scalar::B64)],
            flags,
        });
    }
    let round = |names: [&str; 4]| {
        names
            .iter()
            .position(|name| form.has(name))
            .map(|round| round as u32)
    };
    let integral_round = round(INTEGRAL);
    let rounding = integral_round.or(round(FRACTIONAL));
    let flags = (u32::from(form.has("sat")) * SATURATE)
        | (u32::from(form.has("ftz")) * FLUSH)
        | (rounding.unwrap_or(0) << ROUND_SHIFT)
        | if integral_round.is_some() {
            TO_INTEGRAL
        } else {
            0
        };
    let execute: Execute = match (from.is_float(), to.is_float()) {
        (false, false) if form.has("sat") => {
            with_integer!(from, A => with_integer!(to, D => clamp::<A, D> as Execute))
        }
        (false, false) => {
            with_integer!(from, A => with_integer!(to, D => truncate::<A, D> as Execute))
        }
        (false, true) => with_integer!(from, A => with_real!(to, D => to_real::<A, D> as Execute)),
        (true, false) => {
            with_real!(from, A => with_integer!(to, D => to_integer::<A, D> as Execute))
        }
        (true, true) if from == to && flags == 0 => {
            with_real!(from, A => same::<<A as Lane>::Slot> as Execute)
        }
        (true, true) => with_real!(from, A => with_real!(to, D => real_to_real::<A, D> as Execute)),
    };
    Some(Alu {
        execute,
        args: vec![Arg::D(to), Arg::S(from)],
        flags,
    })
}
