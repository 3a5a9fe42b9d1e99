//! Extended-precision arithmetic with the carry flag (PTX ISA §9.7.2).

use super::form::{Alu, Execute, Form, by_type};
use super::integer::Integer;
use crate::registers::{Registers, Rows, Slot, each_lane};

const ADD: u32 = 0;
const SUB: u32 = 1;
const MUL_LO: u32 = 2;
const MUL_HI: u32 = 3;
const KIND: u32 = 3;
const READS_CARRY: u32 = 4;
const WRITES_CARRY: u32 = 8;

/// All of `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`, told apart by flags.
fn extended<T: Integer>(r: &mut Registers, o: &Rows, flags: u32, mask: u32) {
    each_lane(mask, |lane| {
        let value =
            |r: &Registers, row: u32| T::from_slot(T::Slot::rows(r)[row as usize][lane]).to_bits();
        let (a, b) = (value(r, o.a), value(r, o.b));
        let carry_in = u128::from(flags & READS_CARRY != 0 && r.carry >> lane & 1 == 1);
        let (left, right) = match flags & KIND {
            MUL_LO | MUL_HI => {
                let (a, b) = (T::from_bits(a), T::from_bits(b));
                let product = if flags & KIND == MUL_LO {
                    a.mul(b)
                } else {
                    a.mul_hi(b)
                };
                (product.to_bits(), value(r, o.c))
            }
            _ => (a, b),
        };
        // A difference is the sum with the complement and one more: the flag is then set where nothing was borrowed.
        let (right, carry_in) = match (flags & KIND, flags & READS_CARRY) {
            (SUB, 0) => (complement::<T>(right), 1),
            (SUB, _) => (complement::<T>(right), carry_in),
            _ => (right, carry_in),
        };
        let total = u128::from(left) + u128::from(right) + carry_in;
        if flags & WRITES_CARRY != 0 {
            let carry_out = (total >> T::BITS & 1) as u32;
            r.carry = r.carry & !(1 << lane) | carry_out << lane;
        }
        T::Slot::rows_mut(r)[o.d as usize][lane] = T::from_bits(total as u64).to_slot();
    });
}

/// All bits of the type turned over.
fn complement<T: Integer>(bits: u64) -> u64 {
    T::from_bits(!bits).to_bits()
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    form.only(1, &["cc", "lo", "hi"])?;
    let writes = if form.has("cc") { WRITES_CARRY } else { 0 };
    let product = if form.has("hi") { MUL_HI } else { MUL_LO };
    let flags = writes
        | match form.opcode {
            "add" | "sub" | "mad" if writes == 0 => return None,
            "add" => ADD,
            "addc" => ADD | READS_CARRY,
            "sub" => SUB,
            "subc" => SUB | READS_CARRY,
            "mad" => product,
            "madc" => product | READS_CARRY,
            _ => return None,
        };
    let ty = form.ty();
    let execute: Execute = by_type!(ty, extended: U32, S32, U64, S64);
    let alu = if form.opcode.starts_with("mad") {
        Alu::ternary(execute, ty)
    } else {
        Alu::binary(execute, ty)
    };
    Some(alu.flagged(flags))
}
