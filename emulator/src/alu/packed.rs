//! Integers of 16 or 8 bits side by side in a register: `add`, `min` and `max` of PTX ISA §9.7.1, and `vabsdiff4` of §9.7.18.

use super::{Alu, Arg, Execute, Form};
use crate::registers::{Registers, Rows, map2, map3};
use crate::types::Scalar;

/// Of `min` and `max`: what is negative becomes 0.
const RELU: u32 = 1;

/// Applies `f` to the low and to the high halves.
#[inline(always)]
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(low)
}
fn add(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| halves(a, b, u16::wrapping_add));
}
fn min_unsigned(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| halves(a, b, u16::min));
}
fn max_unsigned(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| halves(a, b, u16::max));
}
fn min_signed(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| {
        halves(a, b, |a, b| at_least(flags, (a as i16).min(b as i16)))
    });
}
fn max_signed(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| {
        halves(a, b, |a, b| at_least(flags, (a as i16).max(b as i16)))
    });
}
fn at_least(flags: u32, value: i16) -> u16 {
    let value = if flags & RELU != 0 {
        value.max(0)
    } else {
        value
    };
    value as u16
}

/// The distance of each two bytes, which always fits a byte without sign.
fn distances<const SIGNED: bool>(a: u32, b: u32) -> [u8; 4] {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    core::array::from_fn(|byte| {
        if SIGNED {
            (a[byte] as i8).abs_diff(b[byte] as i8)
        } else {
            a[byte].abs_diff(b[byte])
        }
    })
}
/// The third operand would show where a mask left bytes out.
fn distance<const SIGNED: bool>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: u32, b: u32| {
        u32::from_le_bytes(distances::<SIGNED>(a, b))
    });
}
/// With `.add`: the sum of the distances and of the third operand.
fn distance_sum<const SIGNED: bool>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        let sum: u32 = distances::<SIGNED>(a, b).into_iter().map(u32::from).sum();
        c.wrapping_add(sum)
    });
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Scalar::{B32, S32, U32};
    if form.opcode == "vabsdiff4" {
        let execute: Execute = match (&form.types[..], &form.flags[..]) {
            ([U32, U32, U32], []) => distance::<false>,
            ([U32, S32, S32], []) => distance::<true>,
            ([U32, U32, U32], ["add"]) => distance_sum::<false>,
            ([U32, S32, S32], ["add"]) => distance_sum::<true>,
            _ => return None,
        };
        return Some(Alu::ternary(execute, U32));
    }
    if !form.types.is_empty() {
        return None;
    }
    let (execute, flags): (Execute, u32) = match (form.opcode, &form.flags[..]) {
        ("add", ["u16x2" | "s16x2"]) => (add, 0),
        ("min", ["u16x2"]) => (min_unsigned, 0),
        ("max", ["u16x2"]) => (max_unsigned, 0),
        ("min", ["s16x2"]) => (min_signed, 0),
        ("max", ["s16x2"]) => (max_signed, 0),
        ("min", ["relu", "s16x2"]) => (min_signed, RELU),
        ("max", ["relu", "s16x2"]) => (max_signed, RELU),
        _ => return None,
    };
    Some(Alu::new(execute, &[Arg::D(B32), Arg::S(B32), Arg::S(B32)]).flagged(flags))
}
