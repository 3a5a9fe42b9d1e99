//! Floating-point arithmetic (PTX ISA §9.7.3). Round-to-nearest forms run on the host's own arithmetic; the directed roundings
//! on `rustc_apfloat`. Approximate forms give the correctly rounded host result, which is inside the manual's error bound.
//! `.f32x2` does the same to two singles side by side.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float as _, Round};

use super::form::{Alu, Execute, Form, by_type, rounding};
use super::fused::Fused;
use super::tiny::is_tiny;
use crate::alu::form::FRACTIONAL;
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
    /// The result of an operation, once it is rounded.
    #[inline(always)]
    fn of_rounded(rounded: Self::Host, _: Operation, _: [Self::Host; 3], _: Round) -> Self {
        Self::of(rounded)
    }
}

/// One float in a register, or several side by side: what is done to one is done to each.
trait Floats: Lane {
    type Each: Float;
    fn each(operands: [Self; 3], f: impl Fn([Self::Each; 3]) -> Self::Each) -> Self;
}

impl<T: Float> Floats for T {
    type Each = T;
    #[inline(always)]
    fn each(operands: [T; 3], f: impl Fn([T; 3]) -> T) -> T {
        f(operands)
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
    fn each(operands: [Self; 3], f: impl Fn([T; 3]) -> T) -> Self {
        Self(core::array::from_fn(|i| f(operands.map(|two| two.0[i]))))
    }
}

/// Host arithmetic.
trait HostFloat: Copy + PartialOrd {
    /// What GPUs have for this value if it is a NaN. In single precision that is always the same; in double precision it is the first
    /// NaN of these, quiet, or else a default.
    fn or_nan(self, by_priority: [Self; 3]) -> Self;
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
    fn round_with(operation: Operation, operands: [Self; 3], round: Round) -> Self;
    fn sqrt_with(self, round: Round) -> Self;
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Rcp,
}

impl Operation {
    /// The operands in the order in which GPUs look for a NaN to pass on. Those of an operation with fewer than three are repeated.
    #[inline(always)]
    fn by_priority<H: Copy>(self, [a, b, c]: [H; 3]) -> [H; 3] {
        match self {
            Self::Add | Self::Sub | Self::Mul => [b, a, a],
            Self::Fma => [b, c, a],
            Self::Div | Self::Rcp => [a, b, b],
        }
    }

    fn of<F: rustc_apfloat::Float>(self, [a, b, c]: [F; 3], round: Round) -> F {
        match self {
            Self::Add => a.add_r(b, round),
            Self::Sub => a.sub_r(b, round),
            Self::Mul => a.mul_r(b, round),
            Self::Div => a.div_r(b, round),
            Self::Fma => a.mul_add_r(b, c, round),
            Self::Rcp => F::from_u128(1).value.div_r(a, round),
        }
        .value
    }
}

macro_rules! host_float {
    ($ty:ty, $soft:ty, $bits:ty, $or_nan:expr) => {
        impl HostFloat for $ty {
            #[inline(always)]
            fn or_nan(self, by_priority: [Self; 3]) -> Self {
                let or_nan: fn($ty, [$ty; 3]) -> $ty = $or_nan;
                or_nan(self, by_priority)
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
                self.fused(b, c)
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
            fn round_with(operation: Operation, operands: [Self; 3], round: Round) -> Self {
                let soft = |value: $ty| <$soft>::from_bits(u128::from(value.to_bits()));
                let value = operation.of(operands.map(soft), round);
                <$ty>::from_bits(value.to_bits() as $bits)
            }
            fn sqrt_with(self, round: Round) -> Self {
                let nearest = <$ty>::sqrt(self);
                if !nearest.is_normal() {
                    return nearest;
                }
                // The remainder's sign says on which side of the root `nearest` lies. Scaled, small values lose no bit of it.
                let scale = <$ty>::powi(2.0, if self < 1.0 { 60 } else { 0 });
                let root = nearest * scale;
                let remainder = (-root).fused(root, self * scale * scale);
                match round {
                    Round::TowardPositive if remainder > 0.0 => nearest.next_up(),
                    Round::TowardNegative | Round::TowardZero if remainder < 0.0 => {
                        nearest.next_down()
                    }
                    _ => nearest,
                }
            }
        }
    };
}
host_float!(f32, Single, u32, |value, _| canonical(value));
host_float!(f64, Double, u64, |value, by_priority| {
    if is_nan(value) {
        first_nan(by_priority)
    } else {
        value
    }
});

/// On bits, as [`canonical`].
fn is_nan(value: f64) -> bool {
    value.to_bits() & !(1 << 63) > INFINITY
}
const INFINITY: u64 = 0x7ff0_0000_0000_0000;
const QUIET: u64 = 1 << 51;

/// A NaN as double precision passes it on.
pub(super) fn quiet(value: f64) -> f64 {
    let bits = value.to_bits();
    f64::from_bits(if is_nan(value) { bits | QUIET } else { bits })
}

#[cold]
fn first_nan(by_priority: [f64; 3]) -> f64 {
    let first = by_priority.into_iter().find(|&operand| is_nan(operand));
    first.map_or(f64::from_bits(1 << 63 | INFINITY | QUIET), quiet)
}

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
    #[inline(always)]
    fn of_rounded(rounded: f32, operation: Operation, operands: [f32; 3], round: Round) -> Self {
        if rounded.abs() == f32::MIN_POSITIVE {
            let operands = operands.map(|value| Single::from_bits(u128::from(value.to_bits())));
            if is_tiny(operands, |operands| operation.of(operands, round)) {
                return Self(0f32.copysign(rounded));
            }
        }
        Self(rounded)
    }
}

/// The result of an operation from what the host makes of its operands.
#[inline(always)]
fn result<T: Float>(rounded: T::Host, operation: Operation, operands: [T; 3], round: Round) -> T {
    let operands = operands.map(T::host);
    let rounded = rounded.or_nan(operation.by_priority(operands));
    T::of_rounded(rounded, operation, operands, round)
}
/// The same, to nearest.
#[inline(always)]
fn nearest<T: Float>(rounded: T::Host, operation: Operation, operands: [T; 3]) -> T {
    result(rounded, operation, operands, Round::NearestTiesToEven)
}

fn add<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each([a, b, b], |[a, b, c]| {
            nearest(a.host().add(b.host()), Operation::Add, [a, b, c])
        })
    });
}
fn sub<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each([a, b, b], |[a, b, c]| {
            nearest(a.host().sub(b.host()), Operation::Sub, [a, b, c])
        })
    });
}
fn mul<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::each([a, b, b], |[a, b, c]| {
            nearest(a.host().mul(b.host()), Operation::Mul, [a, b, c])
        })
    });
}
fn quotient<T: Float>(a: T, b: T) -> T {
    nearest(a.host().div(b.host()), Operation::Div, [a, b, b])
}
fn div<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| quotient(a, b));
}
/// `div.approx.f32`: a divisor whose reciprocal is subnormal gives zero (PTX ISA §9.7.3.8 `div`).
fn div_approx<T: Float<Host = f32>>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        let divisor = b.host().abs();
        if divisor > 2f32.powi(126) && divisor.is_finite() {
            return T::of(canonical(a.host() * 0f32.copysign(b.host())));
        }
        quotient(a, b)
    });
}
fn fma<T: Floats>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| {
        T::each([a, b, c], |[a, b, c]| {
            nearest(a.host().fma(b.host(), c.host()), Operation::Fma, [a, b, c])
        })
    });
}
fn sqrt<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        T::of(a.host().sqrt().or_nan([a.host(); 3]))
    });
}
fn rcp<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        nearest(T::Host::one().div(a.host()), Operation::Rcp, [a; 3])
    });
}
fn rsqrt<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        let root = a.host().sqrt();
        T::of(T::Host::one().div(root).or_nan([a.host(); 3]))
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
    map1(r, o, mask, |a: T| {
        T::of(a.host().abs().or_nan([a.host(); 3]))
    });
}
fn neg<T: Float>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        T::of(a.host().neg().or_nan([a.host(); 3]))
    });
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
        let value = if flags & NAN_PROPAGATES != 0 {
            nan
        } else {
            other
        };
        return value.or_nan([value; 3]);
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
fn general<T: Floats>(operation: Operation, flags: u32, operands: [T; 3]) -> T {
    let round = rounding(flags >> ROUND_SHIFT);
    T::each(operands, |operands| {
        let value = HostFloat::round_with(operation, operands.map(T::Each::host), round);
        let value = if flags & SATURATE != 0 {
            value.clamp01()
        } else {
            value
        };
        result(value, operation, operands, round)
    })
}
fn add_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Add, flags, [a, b, b])
    });
}
fn sub_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Sub, flags, [a, b, b])
    });
}
fn mul_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Mul, flags, [a, b, b])
    });
}
fn div_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        general(Operation::Div, flags, [a, b, b])
    });
}
fn fma_general<T: Floats>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| {
        general(Operation::Fma, flags, [a, b, c])
    });
}
fn rcp_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: T| general(Operation::Rcp, flags, [a; 3]));
}
fn sqrt_general<T: Float>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        let root = a.host().sqrt_with(rounding(flags >> ROUND_SHIFT));
        T::of(root.or_nan([a.host(); 3]))
    });
}

/// Transcendental functions on `f32`, computed in `f64` and rounded once. Flag: flush subnormals.
macro_rules! transcendental {
    ($($name:ident = $function:expr;)*) => {$(
        fn $name(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
            map1(r, o, mask, |a: f32| {
                let function: fn(f64) -> f64 = $function;
                let a = if flags & 1 != 0 { flush(a) } else { a };
                let value = canonical(function(f64::from(a)) as f32);
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
    let place = FRACTIONAL.iter().position(|round| form.has(round))?;
    Some(place as u32)
}

/// Whether it names more than one way to round, or to approximate.
fn is_ambiguous(form: &Form<'_>) -> bool {
    let ways = ["rn", "rz", "rm", "rp", "approx", "full"];
    let named = form.flags.iter().filter(|flag| ways.contains(flag));
    named.count() > 1
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    if is_ambiguous(form) {
        return None;
    }
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
    let saturates_never = ty == Scalar::F64 || matches!(form.opcode, "div" | "rcp" | "sqrt");
    if form.has("sat") && saturates_never {
        return None;
    }
    let round = rounding_of(form).unwrap_or(0);
    let flags = (u32::from(form.has("sat")) * SATURATE) | (round << ROUND_SHIFT);
    let execute = if flags == 0 { fast } else { slow };
    Some(Alu::same(execute, ty, sources).flagged(flags))
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
