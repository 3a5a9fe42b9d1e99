//! Integer arithmetic (PTX ISA §9.7.1).

use super::form::{Alu, Arg, Execute, Form, by_type};
use crate::registers::{Lane, Registers, Rows, each_lane, map1, map2, map3};
use crate::types::Scalar;

/// The integers of PTX. Every operation is total: where the manual leaves a result open, it is what GPUs give.
pub(super) trait Integer: Lane + Ord + 'static {
    type Wide: Lane;
    const BITS: u32;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn mul_hi(self, other: Self) -> Self;
    fn mul_wide(self, other: Self) -> Self::Wide;
    fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn neg(self) -> Self;
    fn abs_diff(self, other: Self) -> Self;
    fn add_sat(self, other: Self) -> Self;
    fn sub_sat(self, other: Self) -> Self;
    fn shr(self, amount: u32) -> Self;
    fn sign_fill(self) -> Self;
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
    fn to_i128(self) -> i128;
}

macro_rules! integer {
    ($($ty:ty, $unsigned:ty, $double:ty, $wide:ty, $abs:expr;)*) => {$(
        impl Integer for $ty {
            type Wide = $wide;
            const BITS: u32 = <$ty>::BITS;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn mul_hi(self, other: Self) -> Self { ((self as $double * other as $double) >> <$ty>::BITS) as $ty }
            #[inline(always)]
            fn mul_wide(self, other: Self) -> $wide { (self as $wide).wrapping_mul(other as $wide) }
            #[inline(always)]
            fn add_wide(a: $wide, b: $wide) -> $wide { a.wrapping_add(b) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { if other == 0 { !0 } else { self.wrapping_div(other) } }
            #[inline(always)]
            fn rem(self, other: Self) -> Self { if other == 0 { !0 } else { self.wrapping_rem(other) } }
            #[inline(always)]
            fn abs(self) -> Self { let abs: fn($ty) -> $ty = $abs; abs(self) }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn abs_diff(self, other: Self) -> Self { <$ty>::abs_diff(self, other) as $ty }
            #[inline(always)]
            fn add_sat(self, other: Self) -> Self { self.saturating_add(other) }
            #[inline(always)]
            fn sub_sat(self, other: Self) -> Self { self.saturating_sub(other) }
            #[inline(always)]
            fn shr(self, amount: u32) -> Self { self >> amount }
            #[inline(always)]
            fn sign_fill(self) -> Self { (self >> (<$ty>::BITS - 1)) & (<$ty>::MIN >> (<$ty>::BITS - 1)) }
            #[inline(always)]
            fn to_bits(self) -> u64 { self as $unsigned as u64 }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self { bits as $ty }
            #[inline(always)]
            fn to_i128(self) -> i128 { self as i128 }
        }
    )*};
}

integer! {
    u8, u8, u16, u16, |value| value;
    i8, u8, i16, i16, i8::wrapping_abs;
    u16, u16, u32, u32, |value| value;
    i16, u16, i32, i32, i16::wrapping_abs;
    u32, u32, u64, u64, |value| value;
    i32, u32, i64, i64, i32::wrapping_abs;
    u64, u64, u128, u64, |value| value;
    i64, u64, i128, i64, i64::wrapping_abs;
}

fn add<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::add);
}
fn sub<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::sub);
}
fn add_sat<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::add_sat);
}
fn sub_sat<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::sub_sat);
}
fn mul_lo<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::mul);
}
fn mul_hi<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::mul_hi);
}
fn mul_wide<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::mul_wide);
}
fn mad_lo<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| a.mul(b).add(c));
}
fn mad_hi<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| a.mul_hi(b).add(c));
}
fn mad_wide<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T::Wide| {
        T::add_wide(a.mul_wide(b), c)
    });
}
fn mad_hi_sat(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: i32, b: i32, c: i32| {
        a.mul_hi(b).saturating_add(c)
    });
}
fn mul24_lo<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| low24(a).mul(low24(b)));
}
fn mad24_lo<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| low24(a).mul(low24(b)).add(c));
}
fn mul24_hi<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, product24_hi::<T>);
}
fn mad24_hi<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| product24_hi(a, b).add(c));
}
fn mad24_hi_sat(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: i32, b: i32, c: i32| {
        product24_hi(a, b).saturating_add(c)
    });
}
/// Bits 16 to 47 of the 48-bit product.
fn product24_hi<T: Integer>(a: T, b: T) -> T {
    T::from_bits(((low24(a).to_i128() * low24(b).to_i128()) >> 16) as u64)
}
/// The low 24 bits, sign- or zero-extended.
#[inline(always)]
fn low24<T: Integer>(value: T) -> T {
    T::from_bits(value.to_bits() << 8).shr(8)
}
fn div<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::div);
}
fn rem<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, T::rem);
}
fn min<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| a.min(b));
}
fn max<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| a.max(b));
}
/// With `.relu`: at least 0.
fn min_relu(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: i32, b: i32| a.min(b).max(0));
}
fn max_relu(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: i32, b: i32| a.max(b).max(0));
}
fn sad<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: T| a.abs_diff(b).add(c));
}
fn abs<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, T::abs);
}
fn neg<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, T::neg);
}

/// Position of the highest bit that differs from the sign; all ones where there is none.
#[inline(always)]
fn highest_bit<T: Integer>(value: T) -> u32 {
    let magnitude = value.to_bits() ^ value.sign_fill().to_bits();
    magnitude.checked_ilog2().unwrap_or(u32::MAX)
}
fn bfind<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, highest_bit::<T>);
}
fn bfind_shift<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| match highest_bit(a) {
        u32::MAX => u32::MAX,
        position => T::BITS - 1 - position,
    });
}

fn popc<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| a.to_bits().count_ones());
}
fn clz<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        a.to_bits().leading_zeros() - (64 - T::BITS)
    });
}
fn brev<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| {
        T::from_bits(a.to_bits().reverse_bits() >> (64 - T::BITS))
    });
}

/// `length` low bits set.
#[inline(always)]
fn low_bits(length: u32) -> u64 {
    if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    }
}

/// A field's position or length: eight bits. What is more the 32-bit forms of GPUs drop, and the 64-bit ones take for large.
#[inline(always)]
fn field_number<T: Integer>(value: u32) -> u32 {
    if T::BITS == 32 {
        value & 0xff
    } else {
        value.min(0xff)
    }
}

fn bfe<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, position: u32, length: u32| {
        let (position, length) = (field_number::<T>(position), field_number::<T>(length));
        if length == 0 {
            return T::from_bits(0);
        }
        // The field's sign is its own highest bit, or the value's where the field reaches beyond it.
        let sign = a.sign_bit_at((position + length - 1).min(T::BITS - 1));
        let taken = length.min(T::BITS.saturating_sub(position));
        let field = if taken == 0 {
            0
        } else {
            (a.to_bits() >> position) & low_bits(taken)
        };
        T::from_bits(if sign {
            field | !low_bits(taken)
        } else {
            field
        })
    });
}

/// Whether a bit is set, for signed types; unsigned fields have no sign.
trait SignBit {
    fn sign_bit_at(self, position: u32) -> bool;
}
impl<T: Integer> SignBit for T {
    #[inline(always)]
    fn sign_bit_at(self, position: u32) -> bool {
        let signed = T::from_bits(u64::MAX).to_i128() < 0;
        signed && self.to_bits() >> position & 1 == 1
    }
}

fn bfi<T: Integer>(r: &mut Registers, o: &Rows, length_row: u32, mask: u32) {
    each_lane(mask, |lane| {
        let position = field_number::<T>(r.narrow[o.c as usize][lane]);
        let length = field_number::<T>(r.narrow[length_row as usize][lane]);
        let a = T::from_slot(<T::Slot as crate::registers::Slot>::rows(r)[o.a as usize][lane])
            .to_bits();
        let b = T::from_slot(<T::Slot as crate::registers::Slot>::rows(r)[o.b as usize][lane])
            .to_bits();
        let field = if position >= 64 {
            0
        } else {
            low_bits(length) << position
        };
        let moved = if position >= 64 { 0 } else { a << position };
        let value = T::from_bits((b & !field) | (moved & field));
        <T::Slot as crate::registers::Slot>::rows_mut(r)[o.d as usize][lane] = value.to_slot();
    });
}

/// `length` bits from `position` on; flag: amounts wrap at 32 instead of clamping there.
fn bmsk(r: &mut Registers, o: &Rows, wraps: u32, mask: u32) {
    map2(r, o, mask, |position: u32, length: u32| {
        let [position, length] = [position, length].map(|amount| match wraps {
            0 => amount.min(32),
            _ => amount & 31,
        });
        (low_bits(length) << position) as u32
    });
}
/// The low bits of a value, extended with their sign or with zeros; flags: the amount wraps at 32, signed.
fn szext(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: u32, bits: u32| {
        let bits = match flags & 1 {
            0 => bits.min(32),
            _ => bits & 31,
        };
        let kept = u64::from(a) & low_bits(bits);
        let sign = flags & 2 != 0 && bits != 0 && kept >> (bits - 1) & 1 == 1;
        (if sign { kept | !low_bits(bits) } else { kept }) as u32
    });
}

/// Bytes of a word, sign- or zero-extended.
#[inline(always)]
fn bytes_of(word: u32, signed: bool) -> [i64; 4] {
    word.to_le_bytes().map(|byte| {
        if signed {
            i64::from(byte as i8)
        } else {
            i64::from(byte)
        }
    })
}

/// Four (or, for dp2a, two 16-bit by 8-bit) products added to c. Flags: a signed, b signed.
fn dp4a(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        let (a, b) = (bytes_of(a, flags & 1 != 0), bytes_of(b, flags & 2 != 0));
        let dot: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        c.wrapping_add(dot as u32)
    });
}
fn dp2a(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        let halves = [a as u16, (a >> 16) as u16].map(|half| {
            if flags & 1 != 0 {
                i64::from(half as i16)
            } else {
                i64::from(half)
            }
        });
        let b = bytes_of(b, flags & 2 != 0);
        let b = if flags & 4 != 0 { &b[2..] } else { &b[..2] };
        let dot: i64 = halves.iter().zip(b).map(|(a, b)| a * b).sum();
        c.wrapping_add(dot as u32)
    });
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    let ty = *form.types.first()?;
    match form.opcode {
        "mul" | "mad" | "mul24" | "mad24" => select_product(form, ty),
        "dp4a" | "dp2a" => select_dot_product(form),
        "bmsk" | "szext" => select_mask(form, ty),
        "add" | "sub" if form.has("sat") => {
            form.only(1, &["sat"])?;
            let execute = match form.opcode {
                "add" => add_sat::<i32>,
                _ => sub_sat::<i32> as Execute,
            };
            (ty == Scalar::S32).then(|| Alu::binary(execute, ty))
        }
        "min" | "max" if form.has("relu") => {
            form.only(1, &["relu"])?;
            let execute = match form.opcode {
                "min" => min_relu,
                _ => max_relu as Execute,
            };
            (ty == Scalar::S32).then(|| Alu::binary(execute, ty))
        }
        "bfind" if form.has("shiftamt") => {
            form.only(1, &["shiftamt"])?;
            let execute = by_type!(ty, bfind_shift: U32, S32, U64, S64);
            Some(Alu::new(execute, &[Arg::D(Scalar::U32), Arg::S(ty)]))
        }
        _ => {
            form.only(1, &[])?;
            select_plain(form.opcode, ty)
        }
    }
}

/// The forms of one type and no other modifier.
fn select_plain(opcode: &str, ty: Scalar) -> Option<Alu> {
    use Arg::{D, S};
    const AMOUNT: Scalar = Scalar::U32;
    let count = |execute| Alu::new(execute, &[D(Scalar::U32), S(ty)]);
    Some(match opcode {
        "add" => Alu::binary(by_type!(ty, add: U16, S16, U32, S32, U64, S64), ty),
        "sub" => Alu::binary(by_type!(ty, sub: U16, S16, U32, S32, U64, S64), ty),
        "div" => Alu::binary(by_type!(ty, div: U16, S16, U32, S32, U64, S64), ty),
        "rem" => Alu::binary(by_type!(ty, rem: U16, S16, U32, S32, U64, S64), ty),
        "min" => Alu::binary(by_type!(ty, min: U16, S16, U32, S32, U64, S64), ty),
        "max" => Alu::binary(by_type!(ty, max: U16, S16, U32, S32, U64, S64), ty),
        "sad" => Alu::ternary(by_type!(ty, sad: U16, S16, U32, S32, U64, S64), ty),
        "abs" => Alu::unary(by_type!(ty, abs: S16, S32, S64), ty),
        "neg" => Alu::unary(by_type!(ty, neg: S16, S32, S64), ty),
        "popc" => count(by_type!(ty, popc: B32, B64)),
        "clz" => count(by_type!(ty, clz: B32, B64)),
        "bfind" => count(by_type!(ty, bfind: U32, S32, U64, S64)),
        "brev" => Alu::unary(by_type!(ty, brev: B32, B64), ty),
        "bfe" => Alu::new(
            by_type!(ty, bfe: U32, S32, U64, S64),
            &[D(ty), S(ty), S(AMOUNT), S(AMOUNT)],
        ),
        "bfi" => Alu::new(
            by_type!(ty, bfi: B32, B64),
            &[D(ty), S(ty), S(ty), S(AMOUNT), S(AMOUNT)],
        ),
        _ => return None,
    })
}

/// `mul`, `mad` and their 24-bit kin, which say what part of the product they want.
fn select_product(form: &Form<'_>, ty: Scalar) -> Option<Alu> {
    use Arg::{D, S};
    form.only(1, &["lo", "hi", "wide", "sat"])?;
    let wide = match ty {
        Scalar::U16 => Scalar::U32,
        Scalar::S16 => Scalar::S32,
        Scalar::U32 => Scalar::U64,
        Scalar::S32 => Scalar::S64,
        other => other,
    };
    Some(match (form.opcode, &form.flags[..]) {
        ("mul", ["lo"]) => Alu::binary(by_type!(ty, mul_lo: U16, S16, U32, S32, U64, S64), ty),
        ("mul", ["hi"]) => Alu::binary(by_type!(ty, mul_hi: U16, S16, U32, S32, U64, S64), ty),
        ("mul", ["wide"]) => Alu::new(
            by_type!(ty, mul_wide: U16, S16, U32, S32),
            &[D(wide), S(ty), S(ty)],
        ),
        ("mad", ["lo"]) => Alu::ternary(by_type!(ty, mad_lo: U16, S16, U32, S32, U64, S64), ty),
        ("mad", ["hi"]) => Alu::ternary(by_type!(ty, mad_hi: U16, S16, U32, S32, U64, S64), ty),
        ("mad", ["hi", "sat"]) if ty == Scalar::S32 => Alu::ternary(mad_hi_sat, ty),
        ("mad", ["wide"]) => Alu::new(
            by_type!(ty, mad_wide: U16, S16, U32, S32),
            &[D(wide), S(ty), S(ty), S(wide)],
        ),
        ("mul24", ["lo"]) => Alu::binary(by_type!(ty, mul24_lo: U32, S32), ty),
        ("mul24", ["hi"]) => Alu::binary(by_type!(ty, mul24_hi: U32, S32), ty),
        ("mad24", ["lo"]) => Alu::ternary(by_type!(ty, mad24_lo: U32, S32), ty),
        ("mad24", ["hi"]) => Alu::ternary(by_type!(ty, mad24_hi: U32, S32), ty),
        ("mad24", ["hi", "sat"]) if ty == Scalar::S32 => Alu::ternary(mad24_hi_sat, ty),
        _ => return None,
    })
}

/// `dp4a` and `dp2a`, with a type for each factor.
fn select_dot_product(form: &Form<'_>) -> Option<Alu> {
    let signed = |ty| match ty {
        Scalar::S32 => Some(1),
        Scalar::U32 => Some(0),
        _ => None,
    };
    let (execute, half): (Execute, u32) = match (form.opcode, &form.flags[..]) {
        ("dp4a", []) => (dp4a, 0),
        ("dp2a", ["lo"]) => (dp2a, 0),
        ("dp2a", ["hi"]) => (dp2a, 4),
        _ => return None,
    };
    let [a, b] = form.types[..] else { return None };
    let flags = signed(a)? | signed(b)? << 1 | half;
    Some(Alu::ternary(execute, Scalar::U32).flagged(flags))
}

/// `bmsk` and `szext`, whose amounts wrap or clamp at 32.
fn select_mask(form: &Form<'_>, ty: Scalar) -> Option<Alu> {
    use Arg::{D, S};
    let wraps = match form.flags[..] {
        ["wrap"] => 1,
        ["clamp"] => 0,
        _ => return None,
    };
    let (execute, flags): (Execute, u32) = match (form.opcode, ty) {
        ("bmsk", Scalar::B32) => (bmsk, wraps),
        ("szext", Scalar::U32) => (szext, wraps),
        ("szext", Scalar::S32) => (szext, wraps | 2),
        _ => return None,
    };
    form.only(1, &["wrap", "clamp"])?;
    Some(Alu::new(execute, &[D(ty), S(ty), S(Scalar::U32)]).flagged(flags))
}
