//! Floating-point arithmetic (PTX ISA §9.7.3). Round-to-nearest forms run on the host's own arithmetic; the directed roundings
//! on `rustc_apfloat`. Approximate forms give the correctly rounded host result, which is inside the manual's error bound.
//! `.f32x2` does the same to two singles side by side.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float as _, Round};

use super::{Alu, Arg, Execute, Form, by_type, rounding};
use crate::registers::{Lane, Registers, Rows, map1, map2, map3};
use crate::types::Scalar;

/// An `f32` whose subnormal values read and write as zero: the `.ftz` of the manual.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Flushed(f32);

/// The NaN that GPUs produce for any other in single precision. On bits, since compilers may take one NaN for another.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(if is_nan { 0x7fff_ffff } else { bits })
}

/// Zero of the same sign for a subnormal value.
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

impl Flushed {
    pub const ZERO: Self = Self(0.0);

    /// A rounded result, given as exactly as `f64` holds it too: what is below the least normal value before it is rounded is
    /// flushed, even where it would round up to that value.
    #[inline(always)]
    fn rounded(value: f32, exact: impl Fn() -> f64) -> Self {
        let least = f32::MIN_POSITIVE;
        if value.abs() == least && exact().abs() < f64::from(least) {
            return Self(0f32.copysign(value));
        }
        Self(value)
    }
}

impl Lane for Flushed {
    type Slot = u32;
    #[inline(always)]
    fn from_slot(slot: u32) -> Self {
        Self(flush(f32::from_bits(slot)))
    }
    #[inline(always)]
    fn to_slot(self) -> u32 {
        flush(self.0).to_bits()
    }
}

/// The float types, through the host type that computes them.
trait Float: Lane {
    type Host: HostFloat;
    fn host(self) -> Self::Host;
    fn of(host: Self::Host) -> Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::of(self.host().add(other.host()).canonical())
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::of(self.host().sub(other.host()).canonical())
    }
    fn mul(self, other: Self) -> Self {
        Self::of(self.host().mul(other.host()).canonical())
    }
    fn div(self, other: Self) -> Self {
        Self::of(self.host().div(other.host()).canonical())
    }
    fn fma(self, b: Self, c: Self) -> Self {
        Self::of(self.host().fma(b.host(), c.host()).canonical())
    }
}

/// One float in a register, or several side by side: what is done to one is done to each.
trait Floats: Lane {
    type Each: Float;
    fn each(a: Self, b: Self, c: Self, f: impl Fn([Self::Each; 3]) -> Self::Each) -> Self;
}

impl<T: Float> Floats for T {
    type Each = T;
    #[inline(always)]
    fn each(a: T, b: T, c: T, f: impl Fn([T; 3]) -> T) -> T {
        f([a, b, c])
    }
}

/// Two singles in a register of 64 bits, the first in the low half.
#[derive(Clone, Copy)]
struct Two<T>([T; 2]);

impl<T: Lane<Slot = u32>> Lane for Two<T> {
    type Slot = u64;
    #[inline(always)]
    fn from_slot(slot: u64) -> Self {
        Self([slot as u32, (slot >> 32) as u32].map(T::from_slot))
    }
    #[inline(always)]
    fn to_slot(self) -> u64 {
        let [low, high] = self.0.map(|value| u64::from(value.to_slot()));
        high << 32 | low
    }
}

impl<T: Float + Lane<Slot = u32>> Floats for Two<T> {
    type Each = T;
    #[inline(always)]
    fn each(a: Self, b: Self, c: Self, f: impl Fn([T; 3]) -> T) -> Self {
        Self(core::array::from_fn(|i| f([a.0[i], b.0[i], c.0[i]])))
    }
}

/// Host arithmetic. `canonical` turns every NaN of `f32` into the one that GPUs produce.
trait HostFloat: Copy + PartialOrd {
    fn canonical(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn sqrt(self) -> Self;
    fn one() -> Self;
    fn abs(self) -> Self;
    fn neg(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_sign_negative(self) -> bool;
    fn clamp01(self) -> Self;
    fn round_with(operation: Operation, a: Self, b: Self, c: Self, round: Round) -> Self;
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Rcp,
    Sqrt,
}

macro_rules! host_float {
    ($ty:ty, $soft:ty, $bits:ty, $canonical:expr) => {
        impl HostFloat for $ty {
            #[inline(always)]
            fn canonical(self) -> Self {
                let canonical: fn($ty) -> $ty = $canonical;
                canonical(self)
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$ty>::sqrt(self)
            }
            #[inline(always)]
            fn one() -> Self {
                1.0
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$ty>::abs(self)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$ty>::copysign(self, sign)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
            #[inline(always)]
            fn is_sign_negative(self) -> bool {
                <$ty>::is_sign_negative(self)
            }
            #[inline(always)]
            fn clamp01(self) -> Self {
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }
            fn round_with(operation: Operation, a: Self, b: Self, c: Self, round: Round) -> Self {
                let soft = |value: $ty| <$soft>::from_bits(u128::from(value.to_bits()));
                let hard = |value: $soft| <$ty>::from_bits(value.to_bits() as $bits);
                match operation {
                    Operation::Add => hard(soft(a).add_r(soft(b), round).value),
                    Operation::Sub => hard(soft(a).sub_r(soft(b), round).value),
                    Operation::Mul => hard(soft(a).mul_r(soft(b), round).value),
                    Operation::Div => hard(soft(a).div_r(soft(b), round).value),
                    Operation::Fma => hard(soft(a).mul_add_r(soft(b), soft(c), round).value),
                    Operation::Rcp => hard(soft(1.0).div_r(soft(a), round).value),
                    Operation::Sqrt => {
                        let nearest = <$ty>::sqrt(a);
                        if !nearest.is_normal() {
                            return nearest;
                        }
                        // The remainder's sign says on which side of the root `nearest` lies. Scaled, small values lose no bit of it.
                        let scale = <$ty>::powi(2.0, if a < 1.0 { 60 } else { 0 });
                        let root = nearest * scale;
                        let remainder = (-root).mul_add(root, a * scale * scale);
                        match round {
                            Round::TowardPositive if remainder > 0.0 => nearest.next_up(),
                            Round::TowardNegative | Round::TowardZero if remainder < 0.0 => {
                                nearest.next_down()
                            }
                            _ => nearest,
                        }
                    }
                }
            }
        }
    };
}
host_float!(f32, Single, u32, canonical);
host_float!(f64, Double, u64, |value| value);

macro_rules! float {
    ($($ty:ty, $host:ty, $get:expr, $make:expr;)*) => {$(
        impl Float for $ty {
            type Host = $host;
            #[inline(always)]
            fn host(self) -> $host { let get: fn($ty) -> $host = $get; get(self) }
            #[inline(always)]
            fn of(host: $host) -> Self { let make: fn($host) -> $ty = $make; make(host) }
        }
    )*};
}
float! {
    f32, f32, |value| value, |host| host;
    f64, f64, |value| value, |host| host;
}

impl Float for Flushed {
    type Host = f32;
    #[inline(always)]
    fn host(self) -> f32 {
        self.0
    }
    #[inline(always)]
    fn of(host: f32) -> Self {
        Self(host)
    }
    fn mul(self, other: Self) -> Self {
        let [a, b] = [self.0, other.0].map(f64::from);
        Self::rounded(canonical(self.0 * other.0), || a * b)
    }
    fn div(self, other: Self) -> Self {
        let [a, b] = [self.0, other.0].map(f64::from);
        Self::rounded(canonical(self.0 / other.0), || a / b)
    }
    fn fma(self, b: Self, c: Self) -> Self {
        let [x, y, z] = [self.0, b.0, c.0].map(f64::from);
        Self::rounded(canonical(self.0.mul_add(b.0, c.0)), || x * y + z)
    }
}

fn add<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each(a, b, b, |[a, b, _]| a.add(b))
    });
}
fn sub<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each(a, b, b, |[a, b, _]| a.sub(b))
    });
}
fn mul<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each(a, b, b, |[a, b, _]| a.mul(b))
    });
}
fn div<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| a.div(b));
}
/// `div.approx.f32`: a divisor whose reciprocal is subnormal gives zero (PTX ISA §9.7.3.8 `div`).
fn div_approx<T: Float<Host = f32>>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        let divisor = b.host().abs();
        if divisor > 2f32.powi(126) && divisor.is_finite() {
            return T::of(canonical(a.host() * 0f32.copysign(b.host())));
        }
        a.div(b)
    });
}
fn fma<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| {
        T::each(a, b, c, |[a, b, c]| a.fma(b, c))
    });
}
fn sqrt<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| T::of(a.host().sqrt().canonical()));
}
fn rcp<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        T::of(T::Host::one().div(a.host()).canonical())
    });
}
fn rsqrt<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        T::of(T::Host::one().div(a.host().sqrt()).canonical())
    });
}
/// `rcp` and `rsqrt` with `.approx.ftz.f64`: the starts of an iteration, whose low word is zero.
fn rcp_start(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: f64| high_word(1.0 / flush_f64(a)));
}
fn rsqrt_start(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: f64| high_word(1.0 / flush_f64(a).sqrt()));
}
fn high_word(value: f64) -> f64 {
    f64::from_bits(flush_f64(value).to_bits() >> 32 << 32)
}
fn flush_f64(value: f64) -> f64 {
    if value.is_subnormal() {
        0f64.copysign(value)
    } else {
        value
    }
}
fn abs<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| T::of(a.host().abs().canonical()));
}
fn neg<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| T::of(a.host().neg().canonical()));
}
/// `copysign.f32 d, a, b`: the magnitude of b with the sign of a.
fn copysign<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| T::of(b.host().copysign(a.host())));
}

const NAN_PROPAGATES: u32 = 1;

/// IEEE minNum and maxNum, or with the flag minimum and maximum; -0 is below +0.
#[inline(always)]
fn extremum<H: HostFloat>(a: H, b: H, flags: u32, want_max: bool) -> H {
    if a.is_nan() || b.is_nan() {
        let (nan, other) = if a.is_nan() { (a, b) } else { (b, a) };
        return if flags & NAN_PROPAGATES != 0 {
            nan.canonical()
        } else {
            other.canonical()
        };
    }
    let a_is_less = a < b || (a == b && a.is_sign_negative());
    if a_is_less != want_max { a } else { b }
}
pub(crate) fn extremum_of_singles(a: f32, b: f32, nan_propagates: bool, want_max: bool) -> f32 {
    extremum(a, b, u32::from(nan_propagates) * NAN_PROPAGATES, want_max)
}
fn min<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::of(extremum(a.host(), b.host(), flags, false))
    });
}
fn max<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::of(extremum(a.host(), b.host(), flags, true))
    });
}

/// With `.xorsign.abs`: of the magnitudes, negative if one operand is.
fn extremum_of_magnitudes<T: Float<Host = f32>>(a: T, b: T, flags: u32, want_max: bool) -> T {
    let (a, b) = (a.host(), b.host());
    let magnitude = extremum(a.abs(), b.abs(), flags, want_max);
    let is_negative = a.is_sign_negative() != b.is_sign_negative();
    T::of(if is_negative && !magnitude.is_nan() {
        -magnitude
    } else {
        magnitude
    })
}
fn min_of_magnitudes<T: Float<Host = f32>>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        extremum_of_magnitudes(a, b, flags, false)
    });
}
fn max_of_magnitudes<T: Float<Host = f32>>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        extremum_of_magnitudes(a, b, flags, true)
    });
}

const SATURATE: u32 = 1;
const ROUND_SHIFT: u32 = 1;

/// Any of the operations with rounding and saturation as flags say.
#[inline(always)]
fn general<T: Floats>(operation: Operation, flags: u32, a: T, b: T, c: T) -> T {
    let round = rounding(flags >> ROUND_SHIFT);
    T::each(a, b, c, |values| {
        let [a, b, c] = values.map(T::Each::host);
        let value = HostFloat::round_with(operation, a, b, c, round);
        T::Each::of(if flags & SATURATE != 0 {
            value.clamp01()
        } else {
            value.canonical()
        })
    })
}
fn add_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Add, flags, a, b, b)
    });
}
fn sub_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Sub, flags, a, b, b)
    });
}
fn mul_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Mul, flags, a, b, b)
    });
}
fn div_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Div, flags, a, b, b)
    });
}
fn fma_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| {
        general(Operation::Fma, flags, a, b, c)
    });
}
fn rcp_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: T| general(Operation::Rcp, flags, a, a, a));
}
fn sqrt_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: T| general(Operation::Sqrt, flags, a, a, a));
}

/// Transcendental functions on `f32`, computed in `f64` and rounded once. Flag: flush subnormals.
macro_rules! transcendental {
    ($($name:ident = $function:expr;)*) => {$(
        fn $name(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
            map1(r, o, mask, |a: f32| {
                let function: fn(f64) -> f64 = $function;
                let a = if flags & 1 != 0 { flush(a) } else { a };
                let value = HostFloat::canonical(function(f64::from(a)) as f32);
                if flags & 1 != 0 { flush(value) } else { value }
            });
        }
    )*};
}
transcendental! {
    sin = f64::sin;
    cos = f64::cos;
    lg2 = f64::log2;
    ex2 = f64::exp2;
    tanh = f64::tanh;
}

/// Fast and general function of an operation, by type.
macro_rules! pair {
    ($ty:expr, $flush:expr, $fast:ident, $general:ident) => {
        match ($ty, $flush) {
            (Scalar::F32, false) => ($fast::<f32> as Execute, $general::<f32> as Execute),
            (Scalar::F32, true) => ($fast::<Flushed> as Execute, $general::<Flushed> as Execute),
            (Scalar::F64, false) => ($fast::<f64> as Execute, $general::<f64> as Execute),
            _ => return None,
        }
    };
}
macro_rules! simple {
    ($ty:expr, $flush:expr, $function:ident) => {
        if $flush && $ty == Scalar::F32 { $function::<Flushed> as Execute } else { by_type!($ty, $function: F32, F64) }
    };
}

/// `add`, `sub`, `mul` and `fma` on two singles at once.
fn select_two(form: &Form<'_>) -> Option<Alu> {
    form.only(0, &["rn", "rz", "rm", "rp", "ftz", "f32x2"])?;
    let (round, flush) = (rounding_of(form), form.has("ftz"));
    let two: [Execute; 4] = match form.opcode {
        "add" => [
            add::<Two<f32>>,
            add::<Two<Flushed>>,
            add_general::<Two<f32>>,
            add_general::<Two<Flushed>>,
        ],
        "sub" => [
            sub::<Two<f32>>,
            sub::<Two<Flushed>>,
            sub_general::<Two<f32>>,
            sub_general::<Two<Flushed>>,
        ],
        "mul" => [
            mul::<Two<f32>>,
            mul::<Two<Flushed>>,
            mul_general::<Two<f32>>,
            mul_general::<Two<Flushed>>,
        ],
        // It has to name its rounding.
        "fma" if round.is_some() => [
            fma::<Two<f32>>,
            fma::<Two<Flushed>>,
            fma_general::<Two<f32>>,
            fma_general::<Two<Flushed>>,
        ],
        _ => return None,
    };
    let flags = round.unwrap_or(0) << ROUND_SHIFT;
    let execute = two[usize::from(flags != 0) * 2 + usize::from(flush)];
    let alu = match form.opcode {
        "fma" => Alu::ternary(execute, Scalar::B64),
        _ => Alu::binary(execute, Scalar::B64),
    };
    Some(alu.flagged(flags))
}

/// The rounding that a form names, as its place in the order of [`rounding`].
fn rounding_of(form: &Form<'_>) -> Option<u32> {
    let names = ["rn", "rz", "rm", "rp"];
    let place = names.iter().position(|round| form.has(round))?;
    Some(place as u32)
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    if form.has("f32x2") {
        return select_two(form);
    }
    let ty = *form.types.first()?;
    if form.types.len() != 1 || !matches!(ty, Scalar::F32 | Scalar::F64) {
        return None;
    }
    let flush = form.has("ftz");
    if form.has("approx") && flush && ty == Scalar::F64 {
        form.only(1, &["approx", "ftz"])?;
        return match form.opcode {
            "rcp" => Some(Alu::unary(rcp_start, ty)),
            "rsqrt" => Some(Alu::unary(rsqrt_start, ty)),
            _ => None,
        };
    }
    if form.opcode == "div" && form.has("approx") {
        form.only(1, &["approx", "ftz"])?;
        let execute: Execute = match (ty, flush) {
            (Scalar::F32, false) => div_approx::<f32>,
            (Scalar::F32, true) => div_approx::<Flushed>,
            _ => return None,
        };
        return Some(Alu::binary(execute, ty));
    }
    let ((fast, slow), sources) = match form.opcode {
        "add" => (pair!(ty, flush, add, add_general), 2),
        "sub" => (pair!(ty, flush, sub, sub_general), 2),
        "mul" => (pair!(ty, flush, mul, mul_general), 2),
        "div" => (pair!(ty, flush, div, div_general), 2),
        "fma" | "mad" => (pair!(ty, flush, fma, fma_general), 3),
        "rcp" => (pair!(ty, flush, rcp, rcp_general), 1),
        "sqrt" => (pair!(ty, flush, sqrt, sqrt_general), 1),
        _ => return select_simple(form, ty, flush),
    };
    form.only(1, &["rn", "rz", "rm", "rp", "approx", "full", "ftz", "sat"])?;
    let round = rounding_of(form).unwrap_or(0);
    let flags = (u32::from(form.has("sat")) * SATURATE) | (round << ROUND_SHIFT);
    let execute = if flags == 0 { fast } else { slow };
    let mut args = vec![Arg::D(ty)];
    args.extend(std::iter::repeat_n(Arg::S(ty), sources));
    Some(Alu {
        execute,
        args,
        flags,
    })
}

fn select_simple(form: &Form<'_>, ty: Scalar, flush: bool) -> Option<Alu> {
    let alu = match form.opcode {
        "abs" => Alu::unary(simple!(ty, flush, abs), ty),
        "neg" => Alu::unary(simple!(ty, flush, neg), ty),
        "copysign" => Alu::binary(simple!(ty, false, copysign), ty),
        "min" | "max" if ty == Scalar::F32 && form.has("xorsign") && form.has("abs") => {
            form.only(1, &["ftz", "NaN", "xorsign", "abs"])?;
            let execute: Execute = match (form.opcode, flush) {
                ("min", false) => min_of_magnitudes::<f32>,
                ("min", true) => min_of_magnitudes::<Flushed>,
                (_, false) => max_of_magnitudes::<f32>,
                (_, true) => max_of_magnitudes::<Flushed>,
            };
            return Some(
                Alu::binary(execute, ty).flagged(u32::from(form.has("NaN")) * NAN_PROPAGATES),
            );
        }
        "min" | "max" => {
            form.only(1, &["ftz", "NaN"])?;
            let execute = if form.opcode == "min" {
                simple!(ty, flush, min)
            } else {
                simple!(ty, flush, max)
            };
            return Some(
                Alu::binary(execute, ty).flagged(u32::from(form.has("NaN")) * NAN_PROPAGATES),
            );
        }
        "rsqrt" => {
            form.only(1, &["approx", "ftz"])?;
            return Some(Alu::unary(simple!(ty, flush, rsqrt), ty));
        }
        "sin" | "cos" | "lg2" | "ex2" | "tanh" if ty == Scalar::F32 => {
            form.only(1, &["approx", "ftz"])?;
            let execute = match form.opcode {
                "sin" => sin,
                "cos" => cos,
                "lg2" => lg2,
                "ex2" => ex2,
                _ => tanh as Execute,
            };
            return Some(Alu::unary(execute, ty).flagged(u32::from(flush)));
        }
        _ => return None,
    };
    form.only(1, &["ftz"])?;
    Some(alu)
}
