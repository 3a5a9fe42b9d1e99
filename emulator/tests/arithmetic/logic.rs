//! PTX ISA §9.7.8 "Logic and Shift Instructions", §9.7.7 and §9.7.9 where they move or permute bits.

use super::table::Values::{Amounts, Bools, Int16, Int32, Int64};
use super::table::check;

#[test]
fn bit_by_bit() {
    for (width, values) in [(16, Int16), (32, Int32), (64, Int64)] {
        let mask = u64::MAX >> (64 - width);
        let widths = [width, width, width, 0];
        check(
            &format!("and.b{width} d, a, b;"),
            widths,
            &[values, values],
            |a, b, _| a.0 & b.0,
        );
        check(
            &format!("or.b{width} d, a, b;"),
            widths,
            &[values, values],
            |a, b, _| a.0 | b.0,
        );
        check(
            &format!("xor.b{width} d, a, b;"),
            widths,
            &[values, values],
            |a, b, _| a.0 ^ b.0,
        );
        check(
            &format!("not.b{width} d, a;"),
            [width, width, 0, 0],
            &[values],
            |a, _, _| !a.0 & mask,
        );
        check(
            &format!("cnot.b{width} d, a;"),
            [width, width, 0, 0],
            &[values],
            |a, _, _| a.0 == 0,
        );
        check(
            &format!("mov.b{width} d, a;"),
            [width, width, 0, 0],
            &[values],
            |a, _, _| a.0,
        );
    }
}

#[test]
fn predicates() {
    check(
        "and.pred d, a, b;",
        [1, 1, 1, 0],
        &[Bools, Bools],
        |a, b, _| a.bool() & b.bool(),
    );
    check(
        "or.pred d, a, b;",
        [1, 1, 1, 0],
        &[Bools, Bools],
        |a, b, _| a.bool() | b.bool(),
    );
    check(
        "xor.pred d, a, b;",
        [1, 1, 1, 0],
        &[Bools, Bools],
        |a, b, _| a.bool() ^ b.bool(),
    );
    check(
        "and.pred d, a, !b;",
        [1, 1, 1, 0],
        &[Bools, Bools],
        |a, b, _| a.bool() & !b.bool(),
    );
    check("not.pred d, a;", [1, 1, 0, 0], &[Bools], |a, _, _| {
        !a.bool()
    });
    check("mov.pred d, a;", [1, 1, 0, 0], &[Bools], |a, _, _| a.bool());
    check("mov.pred d, 1;", [1, 0, 0, 0], &[], |_, _, _| true);
    check("mov.pred d, 0;", [1, 0, 0, 0], &[], |_, _, _| false);
}

/// Amounts beyond the width count as the width.
#[test]
fn shifts() {
    let amount = |b: super::table::Bits| b.u32();
    check(
        "shl.b16 d, a, b;",
        [16, 16, 32, 0],
        &[Int16, Amounts],
        |a, b, _| a.u16().checked_shl(amount(b)).unwrap_or(0),
    );
    check(
        "shl.b32 d, a, b;",
        [32, 32, 32, 0],
        &[Int32, Amounts],
        |a, b, _| a.u32().checked_shl(amount(b)).unwrap_or(0),
    );
    check(
        "shl.b64 d, a, b;",
        [64, 64, 32, 0],
        &[Int64, Amounts],
        |a, b, _| a.u64().checked_shl(amount(b)).unwrap_or(0),
    );
    for ty in ["b", "u"] {
        check(
            &format!("shr.{ty}16 d, a, b;"),
            [16, 16, 32, 0],
            &[Int16, Amounts],
            |a, b, _| a.u16().checked_shr(amount(b)).unwrap_or(0),
        );
        check(
            &format!("shr.{ty}32 d, a, b;"),
            [32, 32, 32, 0],
            &[Int32, Amounts],
            |a, b, _| a.u32().checked_shr(amount(b)).unwrap_or(0),
        );
        check(
            &format!("shr.{ty}64 d, a, b;"),
            [64, 64, 32, 0],
            &[Int64, Amounts],
            |a, b, _| a.u64().checked_shr(amount(b)).unwrap_or(0),
        );
    }
    check(
        "shr.s16 d, a, b;",
        [16, 16, 32, 0],
        &[Int16, Amounts],
        |a, b, _| a.i16() >> amount(b).min(15),
    );
    check(
        "shr.s32 d, a, b;",
        [32, 32, 32, 0],
        &[Int32, Amounts],
        |a, b, _| a.i32() >> amount(b).min(31),
    );
    check(
        "shr.s64 d, a, b;",
        [64, 64, 32, 0],
        &[Int64, Amounts],
        |a, b, _| a.i64() >> amount(b).min(63),
    );
}

#[test]
fn funnel_shifts() {
    let pair = |a: super::table::Bits, b: super::table::Bits| b.0 << 32 | a.0;
    let operands = [Int32, Int32, Amounts];
    check(
        "shf.l.wrap.b32 d, a, b, c;",
        [32; 4],
        &operands,
        |a, b, c| (pair(a, b) << (c.u32() & 31) >> 32) as u32,
    );
    check(
        "shf.r.wrap.b32 d, a, b, c;",
        [32; 4],
        &operands,
        |a, b, c| (pair(a, b) >> (c.u32() & 31)) as u32,
    );
    check(
        "shf.l.clamp.b32 d, a, b, c;",
        [32; 4],
        &operands,
        |a, b, c| (pair(a, b) << c.u32().min(32) >> 32) as u32,
    );
    check(
        "shf.r.clamp.b32 d, a, b, c;",
        [32; 4],
        &operands,
        |a, b, c| (pair(a, b) >> c.u32().min(32)) as u32,
    );
}

/// Every truth table: bit `4a + 2b + c` of the immediate is the result.
#[test]
fn lop3_of_every_table() {
    for table in 0..256u32 {
        check(
            &format!("lop3.b32 d, a, b, c, {table};"),
            [32; 4],
            &[Int32; 3],
            |a, b, c| {
                (0..32).fold(0, |out, bit| {
                    let at = |value: u64| value as u32 >> bit & 1;
                    out | (table >> (4 * at(a.0) + 2 * at(b.0) + at(c.0)) & 1) << bit
                })
            },
        );
    }
}

/// Whether any bit is set, combined with a predicate.
#[test]
fn lop3_to_a_predicate() {
    for (operation, not) in [("and", ""), ("and", "!"), ("or", ""), ("or", "!")] {
        let combined = |any: bool, c: bool| match operation {
            "and" => any & (c ^ (not == "!")),
            _ => any | (c ^ (not == "!")),
        };
        // a and not b.
        check(
            &format!("{{ .reg .b32 t; lop3.{operation}.b32 t|d, a, b, 0, 0x30, {not}c; }}"),
            [1, 32, 32, 1],
            &[Int32, Int32, Bools],
            |a, b, c| combined(a.u32() & !b.u32() != 0, c.bool()),
        );
        check(
            &format!(
                "{{ .reg .pred p; setp.ne.u32 p, c, 0; lop3.{operation}.b32 d|p, a, b, 0, 0x30, {not}p;
                lop3.{operation}.b32 _|_, a, b, 0, 0x30, p; @p xor.b32 d, d, 1; }}"
            ),
            [32; 4],
            &[Int32, Int32, Bools],
            |a, b, c| {
                let value = a.u32() & !b.u32();
                value ^ u32::from(combined(value != 0, c.bool()))
            },
        );
    }
}

#[test]
fn permutations() {
    let pool = |a: u64, b: u64| move |i: u64| (b << 32 | a) >> (8 * i) & 0xff;
    let word = |bytes: [u64; 4]| {
        bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | *byte as u32)
    };
    check("prmt.b32 d, a, b, c;", [32; 4], &[Int32; 3], |a, b, c| {
        word([0, 1, 2, 3].map(|i| {
            let selector = c.0 >> (4 * i) & 15;
            let byte = pool(a.0, b.0)(selector & 7);
            match selector & 8 {
                0 => byte,
                _ => (byte >> 7) * 0xff,
            }
        }))
    });
    for n in 0..4 {
        // The rows of the manual's table, from byte 3 to byte 0.
        let modes: [(&str, [[u64; 4]; 4]); 6] = [
            (
                "f4e",
                [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
            ),
            (
                "b4e",
                [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
            ),
            (
                "rc8",
                [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
            ),
            (
                "ecl",
                [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
            ),
            (
                "ecr",
                [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
            ),
            (
                "rc16",
                [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
            ),
        ];
        for (mode, rows) in modes {
            check(
                &format!("prmt.b32.{mode} d, a, b, {n};"),
                [32, 32, 32, 0],
                &[Int32, Int32],
                |a, b, _| {
                    let [d3, d2, d1, d0] = rows[n];
                    word([d0, d1, d2, d3].map(pool(a.0, b.0)))
                },
            );
        }
    }
}

#[test]
fn moves_of_halves() {
    check(
        "mov.b32 d, {a, b};",
        [32, 16, 16, 0],
        &[Int16, Int16],
        |a, b, _| (b.0 << 16 | a.0) as u32,
    );
    check(
        "mov.b64 d, {a, b};",
        [64, 32, 32, 0],
        &[Int32, Int32],
        |a, b, _| b.0 << 32 | a.0,
    );
    check(
        "mov.b64 d, {a, b, c, a};",
        [64, 16, 16, 16],
        &[Int16; 3],
        |a, b, c| a.0 << 48 | c.0 << 32 | b.0 << 16 | a.0,
    );
    check("mov.b64 {_, d}, a;", [32, 64, 0, 0], &[Int64], |a, _, _| {
        (a.0 >> 32) as u32
    });
    check(
        "mov.b64 {_, _, d, _}, a;",
        [16, 64, 0, 0],
        &[Int64],
        |a, _, _| (a.0 >> 32) as u16,
    );
    check("mov.b32 {d, _}, a;", [16, 32, 0, 0], &[Int32], |a, _, _| {
        a.0 as u16
    });
}
