//! PTX ISA §9.7.6 "Comparison and Selection Instructions".

use super::table::Values::{Bools, F32, F64, Int16, Int32, Int64};
use super::table::{Bits, Values, check};

/// What an operator says of two values, of which either may be NaN.
pub fn holds<T: PartialOrd>(operator: &str, a: T, b: T) -> bool {
    let order = a.partial_cmp(&b);
    match operator {
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => order.is_some_and(|order| order.is_ne()),
        "lt" | "lo" => order.is_some_and(|order| order.is_lt()),
        "le" | "ls" => order.is_some_and(|order| order.is_le()),
        "gt" | "hi" => order.is_some_and(|order| order.is_gt()),
        "ge" | "hs" => order.is_some_and(|order| order.is_ge()),
        "equ" => order.is_none_or(|order| order.is_eq()),
        "neu" => order.is_none_or(|order| order.is_ne()),
        "ltu" => order.is_none_or(|order| order.is_lt()),
        "leu" => order.is_none_or(|order| order.is_le()),
        "gtu" => order.is_none_or(|order| order.is_gt()),
        "geu" => order.is_none_or(|order| order.is_ge()),
        "num" => order.is_some(),
        "nan" => order.is_none(),
        other => panic!("{other} is no operator"),
    }
}

const SIGNED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
pub const FLOAT: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

#[track_caller]
fn all<T: PartialOrd>(
    operators: &[&str],
    ty: &str,
    width: u32,
    values: Values,
    get: fn(Bits) -> T,
) {
    for operator in operators {
        check(
            &format!("setp.{operator}.{ty} d, a, b;"),
            [1, width, width, 0],
            &[values, values],
            |a, b, _| holds(operator, get(a), get(b)),
        );
        check(
            &format!("set.{operator}.u32.{ty} d, a, b;"),
            [32, width, width, 0],
            &[values, values],
            |a, b, _| {
                if holds(operator, get(a), get(b)) {
                    u32::MAX
                } else {
                    0
                }
            },
        );
        check(
            &format!("set.{operator}.f32.{ty} d, a, b;"),
            [32, width, width, 0],
            &[values, values],
            |a, b, _| f32::from(u8::from(holds(operator, get(a), get(b)))),
        );
    }
}

#[test]
fn integers() {
    all(&UNSIGNED, "u16", 16, Int16, Bits::u16);
    all(&UNSIGNED, "u32", 32, Int32, Bits::u32);
    all(&UNSIGNED, "u64", 64, Int64, Bits::u64);
    all(&SIGNED, "s16", 16, Int16, Bits::i16);
    all(&SIGNED, "s32", 32, Int32, Bits::i32);
    all(&SIGNED, "s64", 64, Int64, Bits::i64);
    all(&["eq", "ne"], "b16", 16, Int16, Bits::u16);
    all(&["eq", "ne"], "b32", 32, Int32, Bits::u32);
    all(&["eq", "ne"], "b64", 64, Int64, Bits::u64);
}

#[test]
fn floats_with_and_without_order() {
    all(&FLOAT, "f32", 32, F32, Bits::f32);
    all(&FLOAT, "f64", 64, F64, Bits::f64);
}

#[test]
fn subnormal_values_compare_as_zero_when_flushed() {
    let flush = |value: f32| if value.is_subnormal() { 0.0 } else { value };
    for operator in FLOAT {
        check(
            &format!("setp.{operator}.ftz.f32 d, a, b;"),
            [1, 32, 32, 0],
            &[F32, F32],
            |a, b, _| holds(operator, flush(a.f32()), flush(b.f32())),
        );
    }
}

/// `p|q`: the comparison and its contrary, each combined with a third predicate.
#[test]
fn pairs_and_combinations() {
    let operands = &[Int32, Int32, Bools];
    for (combination, combine) in [
        ("and", (|a, c| a & c) as fn(bool, bool) -> bool),
        ("or", |a, c| a | c),
        ("xor", |a, c| a ^ c),
    ] {
        check(
            &format!("setp.lt.{combination}.s32 d|_, a, b, c;"),
            [1, 32, 32, 1],
            operands,
            |a, b, c| combine(a.i32() < b.i32(), c.bool()),
        );
        check(
            &format!("setp.lt.{combination}.s32 d, a, b, !c;"),
            [1, 32, 32, 1],
            operands,
            |a, b, c| combine(a.i32() < b.i32(), !c.bool()),
        );
        check(
            &format!("setp.lt.{combination}.s32 _|d, a, b, c;"),
            [1, 32, 32, 1],
            operands,
            |a, b, c| combine(a.i32() >= b.i32(), c.bool()),
        );
        check(
            &format!("set.lt.{combination}.u32.s32 d, a, b, c;"),
            [32, 32, 32, 1],
            operands,
            |a, b, c| {
                if combine(a.i32() < b.i32(), c.bool()) {
                    u32::MAX
                } else {
                    0
                }
            },
        );
    }
    // The contrary of a comparison with NaN holds.
    check(
        "setp.lt.f32 _|d, a, b;",
        [1, 32, 32, 0],
        &[F32, F32],
        |a, b, _| !holds("lt", a.f32(), b.f32()),
    );
}

#[test]
fn selections() {
    for (width, values) in [(16, Int16), (32, Int32), (64, Int64)] {
        check(
            &format!("selp.b{width} d, a, b, c;"),
            [width, width, width, 1],
            &[values, values, Bools],
            |a, b, c| {
                if c.bool() { a.0 } else { b.0 }
            },
        );
        check(
            &format!("slct.b{width}.s32 d, a, b, c;"),
            [width, width, width, 32],
            &[values, values, Int32],
            |a, b, c| {
                if c.i32() >= 0 { a.0 } else { b.0 }
            },
        );
        check(
            &format!("slct.b{width}.f32 d, a, b, c;"),
            [width, width, width, 32],
            &[values, values, F32],
            |a, b, c| {
                if c.f32() >= 0.0 { a.0 } else { b.0 }
            },
        );
    }
    check(
        "selp.f32 d, a, b, !c;",
        [32, 32, 32, 1],
        &[F32, F32, Bools],
        |a, b, c| if c.bool() { b.0 } else { a.0 },
    );
    check(
        "slct.ftz.b32.f32 d, a, b, c;",
        [32, 32, 32, 32],
        &[Int32, Int32, F32],
        |a, b, c| {
            if c.f32() >= 0.0 || c.f32().is_subnormal() {
                a.0
            } else {
                b.0
            }
        },
    );
}

#[test]
fn properties() {
    type Test32 = fn(f32) -> bool;
    type Test64 = fn(f64) -> bool;
    let tests: [(&str, Test32, Test64); 6] = [
        ("finite", f32::is_finite, f64::is_finite),
        ("infinite", f32::is_infinite, f64::is_infinite),
        ("number", |a| !a.is_nan(), |a| !a.is_nan()),
        ("notanumber", f32::is_nan, f64::is_nan),
        (
            "normal",
            |a| a == 0.0 || a.is_normal(),
            |a| a == 0.0 || a.is_normal(),
        ),
        ("subnormal", f32::is_subnormal, f64::is_subnormal),
    ];
    for (name, single, double) in tests {
        check(
            &format!("testp.{name}.f32 d, a;"),
            [1, 32, 0, 0],
            &[F32],
            |a, _, _| single(a.f32()),
        );
        check(
            &format!("testp.{name}.f64 d, a;"),
            [1, 64, 0, 0],
            &[F64],
            |a, _, _| double(a.f64()),
        );
    }
}
