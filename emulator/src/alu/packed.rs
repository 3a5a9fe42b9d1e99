//! Integers of 16 or 8 bits side by side in a register: `add`, `min` and `max` of PTX ISA §9.7.1.

use super::form::{Alu, Arg, Execute, Form};
use crate::registers::{Registers, Rows, map2};
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

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Scalar::B32;
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
