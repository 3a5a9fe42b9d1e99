//! Comparisons of half-precision floats (PTX ISA §9.7.7). Of two floats to a register, each half is compared with its like.

use rustc_apfloat::ieee::{BFloat, Half};

use super::format::{FLUSH, Format, read};
use crate::alu::compare::{combination, combine, truth, truth_number};
use crate::alu::form::{Alu, Arg, Execute, Form};
use crate::registers::{Registers, Rows, blend, each_lane, test2};
use crate::types::Scalar;

/// What a comparison needs to be true: any of these relations.
const LESS: u32 = 1;
const EQUAL: u32 = 2;
const GREATER: u32 = 4;
const UNORDERED: u32 = 8;
/// Where they are in `extra`, whose low half belongs to the destination.
const RELATION_SHIFT: u32 = 20;
/// Subnormal operands of a comparison count as zero.
const FLUSH_OPERANDS: u32 = 1 << 18;
const IS_PACKED: u32 = 1 << 19;

/// The lanes for which the comparison holds, of the halves that start at this bit.
fn holding<F: Format>(r: &Registers, o: &Rows, extra: u32, shift: u32) -> u32 {
    let flags = if extra & FLUSH_OPERANDS != 0 {
        FLUSH
    } else {
        0
    };
    test2::<u32, u32>(r, o, |a, b| {
        let operand = |bits: u32| read::<F>((bits >> shift) as u16, flags);
        let relation = match operand(a).partial_cmp(&operand(b)) {
            Some(core::cmp::Ordering::Less) => LESS,
            Some(core::cmp::Ordering::Equal) => EQUAL,
            Some(core::cmp::Ordering::Greater) => GREATER,
            None => UNORDERED,
        };
        relation & extra >> RELATION_SHIFT != 0
    })
}

/// `p|q` are the comparison and its contrary, or those of the low and of the high halves.
fn setp<F: Format>(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    let first = holding::<F>(r, o, extra, 0);
    let second = if extra & IS_PACKED != 0 {
        holding::<F>(r, o, extra, 16)
    } else {
        !first
    };
    let (first, second) = (combine(r, o, extra, first), combine(r, o, extra, second));
    let d = &mut r.predicates[o.d as usize];
    *d = blend(*d, first, mask);
    let q = extra & 0xffff;
    if q != 0 {
        let d = &mut r.predicates[q as usize - 1];
        *d = blend(*d, second, mask);
    }
}

fn set<F: Format>(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    let low = combine(r, o, extra, holding::<F>(r, o, extra, 0));
    let high = if extra & IS_PACKED != 0 {
        combine(r, o, extra, holding::<F>(r, o, extra, 16))
    } else {
        0
    };
    let truth = truth(extra);
    each_lane(mask, |lane| {
        let value = |bits: u32| if bits >> lane & 1 == 1 { truth } else { 0 };
        r.narrow[o.d as usize][lane] = value(low) | value(high) << 16;
    });
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

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Scalar::{Bf16, Bf16x2, F16, F16x2, S16, S32, U16, U32};
    let to_predicate = form.opcode == "setp";
    let (to, ty) = match form.types[..] {
        [ty] if to_predicate => (None, ty),
        [to, ty] if !to_predicate => (Some(to), ty),
        _ => return None,
    };
    let execute: Execute = match (ty, to_predicate) {
        (F16 | F16x2, true) => setp::<Half>,
        (F16 | F16x2, false) => set::<Half>,
        (Bf16 | Bf16x2, true) => setp::<BFloat>,
        (Bf16 | Bf16x2, false) => set::<BFloat>,
        _ => return None,
    };
    let is_packed = matches!(ty, F16x2 | Bf16x2);
    // What `set` leaves in each half, or in the whole.
    let result = match (ty, to) {
        (_, None) => 0,
        (F16x2 | Bf16x2, Some(U32 | S32)) => truth_number(U16)?,
        (F16x2, Some(F16x2)) => truth_number(F16)?,
        (Bf16x2, Some(Bf16x2)) => truth_number(Bf16)?,
        (F16, Some(to @ (U16 | S16 | U32 | S32 | F16 | Bf16))) => truth_number(to)?,
        (Bf16, Some(to @ (U16 | S16 | U32 | S32 | Bf16))) => truth_number(to)?,
        _ => return None,
    };
    let (operator, combination, flush) = combination(form)?;
    let mut args = vec![to.map_or(Arg::PD, Arg::D), Arg::S(ty), Arg::S(ty)];
    if combination != 0 {
        args.push(Arg::PS);
    }
    let flags = result
        | combination
        | relations(operator)? << RELATION_SHIFT
        | if flush { FLUSH_OPERANDS } else { 0 }
        | if is_packed { IS_PACKED } else { 0 };
    Some(Alu {
        execute,
        args,
        flags,
    })
}
