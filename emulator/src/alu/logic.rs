//! Logic, shifts, byte permutation and moves (PTX ISA §9.7.8 and §9.7.9), predicates included.

use super::form::{
    Alu, Arg, COMBINED_SHIFT, Execute, Form, PREDICATE_BITS, PREDICATE_SHIFT, by_type,
};
use super::integer::Integer;
use crate::registers::{FULL, Lane, Registers, Rows, blend, map1, map2, map3, test1};
use crate::types::Scalar;

fn and<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::from_bits(a.to_bits() & b.to_bits())
    });
}
fn or<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::from_bits(a.to_bits() | b.to_bits())
    });
}
fn xor<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: T| {
        T::from_bits(a.to_bits() ^ b.to_bits())
    });
}
fn not<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| T::from_bits(!a.to_bits()));
}
fn cnot<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| T::from_bits(u64::from(a.to_bits() == 0)));
}
/// Shift amounts beyond the width count as the width.
fn shl<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: u32| {
        T::from_bits(if b >= T::BITS { 0 } else { a.to_bits() << b })
    });
}
fn shr<T: Integer>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map2(r, o, mask, |a: T, b: u32| {
        if b >= T::BITS {
            a.sign_fill()
        } else {
            a.shr(b)
        }
    });
}
fn mov<T: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map1(r, o, mask, |a: T| a);
}

/// `lop3.and` and `lop3.or`: the predicate is whether any bit of the result is set, combined with another.
fn lop3_and(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    lop3_combined(r, o, extra, mask, |any, other| any & other);
}
fn lop3_or(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    lop3_combined(r, o, extra, mask, |any, other| any | other);
}
fn lop3_combined(r: &mut Registers, o: &Rows, extra: u32, mask: u32, combine: fn(u32, u32) -> u32) {
    lop3(r, o, extra & 0xff, mask);
    let any = test1::<u32>(r, o.d, |value| value != 0);
    let bits = combine(any, r.predicate(extra >> COMBINED_SHIFT));
    let number = extra >> PREDICATE_SHIFT & ((1 << PREDICATE_BITS) - 1);
    let p = &mut r.predicates[number as usize];
    *p = blend(*p, bits, mask);
}

fn lop3(r: &mut Registers, o: &Rows, table: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        (0..8)
            .filter(|row| table >> row & 1 == 1)
            .fold(0, |out, row| {
                let pick = |value: u32, bit: u32| if row & bit != 0 { value } else { !value };
                out | (pick(a, 4) & pick(b, 2) & pick(c, 1))
            })
    });
}

/// `fns`: the position of the n-th set bit from a base on, upwards or downwards (PTX ISA §9.7.1.17).
fn fns(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |bits: u32, base: u32, offset: i32| {
        let is_set = |at: &u32| bits >> at & 1 == 1;
        let wanted = offset.unsigned_abs().saturating_sub(1) as usize;
        let found = match offset {
            _ if base > 31 => None,
            0 => Some(base).filter(is_set),
            1.. => (base..32).filter(is_set).nth(wanted),
            _ => (0..=base).rev().filter(is_set).nth(wanted),
        };
        found.unwrap_or(u32::MAX)
    });
}

fn funnel(a: u32, b: u32) -> u64 {
    u64::from(b) << 32 | u64::from(a)
}
fn shf_left_wrap(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        (funnel(a, b) << (c & 31) >> 32) as u32
    });
}
fn shf_left_clamp(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        (funnel(a, b) << c.min(32) >> 32) as u32
    });
}
fn shf_right_wrap(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        (funnel(a, b) >> (c & 31)) as u32
    });
}
fn shf_right_clamp(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        (funnel(a, b) >> c.min(32)) as u32
    });
}

/// The byte of `b:a` that a selector nibble names, its sign replicated where bit 3 is set.
fn pick_byte(pool: u64, selector: u32) -> u32 {
    let byte = (pool >> (8 * (selector & 7))) as u8;
    if selector & 8 == 0 {
        u32::from(byte)
    } else if byte >> 7 == 1 {
        0xff
    } else {
        0
    }
}
fn permute(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
    let pool = funnel(a, b);
    (0..4).fold(0, |out, i| out | pick_byte(pool, selectors[i]) << (8 * i))
}
fn prmt(r: &mut Registers, o: &Rows, mode: u32, mask: u32) {
    map3(r, o, mask, |a: u32, b: u32, c: u32| {
        let n = c & 3;
        permute(
            a,
            b,
            match mode {
                0 => [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15],
                1 => [n, n + 1, n + 2, n + 3],
                2 => [
                    n,
                    n.wrapping_sub(1) & 7,
                    n.wrapping_sub(2) & 7,
                    n.wrapping_sub(3) & 7,
                ],
                3 => [n, n, n, n],
                4 => [n, n.max(1), n.max(2), 3],
                5 => [0, n.min(1), n.min(2), n],
                _ => [(n & 1) * 2, (n & 1) * 2 + 1, (n & 1) * 2, (n & 1) * 2 + 1],
            },
        )
    });
}

fn write_predicate(r: &mut Registers, o: &Rows, mask: u32, bits: u32) {
    let old = &mut r.predicates[o.d as usize];
    *old = blend(*old, bits, mask);
}
fn and_pred(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let bits = r.predicate(o.a) & r.predicate(o.b);
    write_predicate(r, o, mask, bits);
}
fn or_pred(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let bits = r.predicate(o.a) | r.predicate(o.b);
    write_predicate(r, o, mask, bits);
}
fn xor_pred(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let bits = r.predicate(o.a) ^ r.predicate(o.b);
    write_predicate(r, o, mask, bits);
}
fn not_pred(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let bits = !r.predicate(o.a);
    write_predicate(r, o, mask, bits);
}
fn mov_pred(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let bits = r.predicate(o.a);
    write_predicate(r, o, mask, bits);
}

fn selp<T: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    let chosen = r.predicate(o.c);
    if mask == FULL {
        let (a, b) = (row::<T>(r, o.a), row::<T>(r, o.b));
        let d = &mut <T::Slot as crate::registers::Slot>::rows_mut(r)[o.d as usize];
        for lane in 0..crate::registers::LANES {
            d[lane] = if chosen >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            };
        }
    } else {
        map1::<T, T>(r, &Rows { a: o.b, ..*o }, mask & !chosen, |b| b);
        map1::<T, T>(r, o, mask & chosen, |a| a);
    }
}
fn row<T: Lane>(r: &Registers, number: u32) -> [T::Slot; crate::registers::LANES] {
    <T::Slot as crate::registers::Slot>::rows(r)[number as usize]
}

fn logic_pred(opcode: &str) -> Option<Alu> {
    let (execute, sources): (Execute, usize) = match opcode {
        "and" => (and_pred, 2),
        "or" => (or_pred, 2),
        "xor" => (xor_pred, 2),
        "not" => (not_pred, 1),
        "mov" => (mov_pred, 1),
        _ => return None,
    };
    let args = [Arg::PD, Arg::PS, Arg::PS];
    Some(Alu::new(execute, &args[..=sources]))
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Arg::{D, I, PS, S};
    let ty = *form.types.first()?;
    if ty == Scalar::Pred {
        form.only(1, &[])?;
        return logic_pred(form.opcode);
    }
    let alu = match form.opcode {
        "and" => Alu::binary(by_type!(ty, and: B16, B32, B64), ty),
        "or" => Alu::binary(by_type!(ty, or: B16, B32, B64), ty),
        "xor" => Alu::binary(by_type!(ty, xor: B16, B32, B64), ty),
        "not" => Alu::unary(by_type!(ty, not: B16, B32, B64), ty),
        "cnot" => Alu::unary(by_type!(ty, cnot: B16, B32, B64), ty),
        "shl" => Alu::new(
            by_type!(ty, shl: B16, B32, B64),
            &[D(ty), S(ty), S(Scalar::U32)],
        ),
        "shr" => Alu::new(
            by_type!(ty, shr: B16, B32, B64, U16, S16, U32, S32, U64, S64),
            &[D(ty), S(ty), S(Scalar::U32)],
        ),
        "mov" => Alu::unary(
            by_type!(ty, mov: B16, U16, S16, B32, U32, S32, F32, B64, U64, S64, F64),
            ty,
        ),
        "selp" => Alu::new(
            by_type!(ty, selp: B16, U16, S16, B32, U32, S32, F32, B64, U64, S64, F64),
            &[D(ty), S(ty), S(ty), PS],
        ),
        "lop3" if ty == Scalar::B32 && !form.flags.is_empty() => {
            let execute: Execute = match form.flags[..] {
                ["and"] => lop3_and,
                ["or"] => lop3_or,
                _ => return None,
            };
            return Some(Alu::new(
                execute,
                &[Arg::DP(ty), S(ty), S(ty), S(ty), I, Arg::PI],
            ));
        }
        "lop3" if ty == Scalar::B32 => Alu::new(lop3, &[D(ty), S(ty), S(ty), S(ty), I]),
        "shf" if ty == Scalar::B32 => {
            form.only(1, &["l", "r", "wrap", "clamp"])?;
            let execute: Execute = match (
                form.has("l"),
                form.has("r"),
                form.has("wrap"),
                form.has("clamp"),
            ) {
                (true, false, true, false) => shf_left_wrap,
                (true, false, false, true) => shf_left_clamp,
                (false, true, true, false) => shf_right_wrap,
                (false, true, false, true) => shf_right_clamp,
                _ => return None,
            };
            return Some(Alu::new(execute, &[D(ty), S(ty), S(ty), S(Scalar::U32)]));
        }
        "fns" if ty == Scalar::B32 => {
            Alu::new(fns, &[D(ty), S(ty), S(Scalar::U32), S(Scalar::S32)])
        }
        "prmt" if ty == Scalar::B32 => {
            let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
            form.only(1, &modes)?;
            let mode = match form.flags[..] {
                [] => 0,
                [mode] => 1 + modes.iter().position(|&known| known == mode)? as u32,
                _ => return None,
            };
            return Some(Alu::ternary(prmt, ty).flagged(mode));
        }
        _ => return None,
    };
    form.only(1, &[])?;
    Some(alu)
}
