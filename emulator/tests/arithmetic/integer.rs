//! PTX ISA §9.7.1 "Integer Arithmetic Instructions".

use super::table::Values::{Amounts, Int16, Int32, Int64};
use super::table::{Bits, check};

/// The forms that every integer type has.
macro_rules! common_forms {
    ($($suffix:ident: $ty:ident, $double:ty, $width:literal, $values:ident;)*) => {$(
        mod $suffix {
            use super::*;

            #[track_caller]
            fn binary(form: &str, expected: impl Fn($ty, $ty) -> $ty) {
                let text = format!("{form}.{} d, a, b;", stringify!($suffix));
                check(&text, [$width, $width, $width, 0], &[$values, $values], |a, b, _| expected(a.$ty(), b.$ty()));
            }

            #[track_caller]
            fn ternary(form: &str, expected: impl Fn($ty, $ty, $ty) -> $ty) {
                let text = format!("{form}.{} d, a, b, c;", stringify!($suffix));
                check(&text, [$width; 4], &[$values; 3], |a, b, c| expected(a.$ty(), b.$ty(), c.$ty()));
            }

            fn high(a: $ty, b: $ty) -> $ty {
                ((<$double>::from(a) * <$double>::from(b)) >> $width) as $ty
            }

            #[test]
            fn sums_and_products_wrap() {
                binary("add", <$ty>::wrapping_add);
                binary("sub", <$ty>::wrapping_sub);
                binary("mul.lo", <$ty>::wrapping_mul);
                binary("mul.hi", high);
                ternary("mad.lo", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
                ternary("mad.hi", |a, b, c| high(a, b).wrapping_add(c));
                ternary("sad", |a, b, c| c.wrapping_add(a.abs_diff(b) as $ty));
            }

            #[test]
            fn division_by_zero_and_overflow_are_what_gpus_give() {
                binary("div", |a, b| if b == 0 { !0 } else { a.wrapping_div(b) });
                binary("rem", |a, b| if b == 0 { !0 } else { a.wrapping_rem(b) });
            }

            #[test]
            fn extremes() {
                binary("min", Ord::min);
                binary("max", Ord::max);
            }
        }
    )*};
}
common_forms! {
    u16: u16, u32, 16, Int16;
    s16: i16, i32, 16, Int16;
    u32: u32, u64, 32, Int32;
    s32: i32, i64, 32, Int32;
    u64: u64, u128, 64, Int64;
    s64: i64, i128, 64, Int64;
}

#[test]
fn signs() {
    check("abs.s16 d, a;", [16, 16, 0, 0], &[Int16], |a, _, _| {
        a.i16().wrapping_abs()
    });
    check("abs.s32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        a.i32().wrapping_abs()
    });
    check("abs.s64 d, a;", [64, 64, 0, 0], &[Int64], |a, _, _| {
        a.i64().wrapping_abs()
    });
    check("neg.s16 d, a;", [16, 16, 0, 0], &[Int16], |a, _, _| {
        a.i16().wrapping_neg()
    });
    check("neg.s32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        a.i32().wrapping_neg()
    });
    check("neg.s64 d, a;", [64, 64, 0, 0], &[Int64], |a, _, _| {
        a.i64().wrapping_neg()
    });
}

#[test]
fn saturating_sums() {
    let widths = [32, 32, 32, 0];
    check(
        "add.sat.s32 d, a, b;",
        widths,
        &[Int32, Int32],
        |a, b, _| a.i32().saturating_add(b.i32()),
    );
    check(
        "sub.sat.s32 d, a, b;",
        widths,
        &[Int32, Int32],
        |a, b, _| a.i32().saturating_sub(b.i32()),
    );
    check(
        "mad.hi.sat.s32 d, a, b, c;",
        [32; 4],
        &[Int32, Int32, Int32],
        |a, b, c| {
            let high = (i64::from(a.i32()) * i64::from(b.i32())) >> 32;
            (high as i32).saturating_add(c.i32())
        },
    );
}

#[test]
fn wide_products() {
    check(
        "mul.wide.u16 d, a, b;",
        [32, 16, 16, 0],
        &[Int16, Int16],
        |a, b, _| u32::from(a.u16()) * u32::from(b.u16()),
    );
    check(
        "mul.wide.s16 d, a, b;",
        [32, 16, 16, 0],
        &[Int16, Int16],
        |a, b, _| i32::from(a.i16()) * i32::from(b.i16()),
    );
    check(
        "mul.wide.u32 d, a, b;",
        [64, 32, 32, 0],
        &[Int32, Int32],
        |a, b, _| u64::from(a.u32()) * u64::from(b.u32()),
    );
    check(
        "mul.wide.s32 d, a, b;",
        [64, 32, 32, 0],
        &[Int32, Int32],
        |a, b, _| i64::from(a.i32()) * i64::from(b.i32()),
    );
    check(
        "mad.wide.u16 d, a, b, c;",
        [32, 16, 16, 32],
        &[Int16, Int16, Int32],
        |a, b, c| (u32::from(a.u16()) * u32::from(b.u16())).wrapping_add(c.u32()),
    );
    check(
        "mad.wide.s16 d, a, b, c;",
        [32, 16, 16, 32],
        &[Int16, Int16, Int32],
        |a, b, c| (i32::from(a.i16()) * i32::from(b.i16())).wrapping_add(c.i32()),
    );
    check(
        "mad.wide.u32 d, a, b, c;",
        [64, 32, 32, 64],
        &[Int32, Int32, Int64],
        |a, b, c| (u64::from(a.u32()) * u64::from(b.u32())).wrapping_add(c.u64()),
    );
    check(
        "mad.wide.s32 d, a, b, c;",
        [64, 32, 32, 64],
        &[Int32, Int32, Int64],
        |a, b, c| (i64::from(a.i32()) * i64::from(b.i32())).wrapping_add(c.i64()),
    );
}

/// The low 24 bits with their sign, and without.
fn signed24(value: Bits) -> i64 {
    i64::from(value.i32() << 8 >> 8)
}
fn unsigned24(value: Bits) -> u64 {
    value.0 & 0xff_ffff
}

#[test]
fn products_of_24_bits() {
    let binary = [32, 32, 32, 0];
    check(
        "mul24.lo.s32 d, a, b;",
        binary,
        &[Int32, Int32],
        |a, b, _| (signed24(a) * signed24(b)) as i32,
    );
    check(
        "mul24.lo.u32 d, a, b;",
        binary,
        &[Int32, Int32],
        |a, b, _| (unsigned24(a) * unsigned24(b)) as u32,
    );
    check(
        "mul24.hi.s32 d, a, b;",
        binary,
        &[Int32, Int32],
        |a, b, _| ((signed24(a) * signed24(b)) >> 16) as i32,
    );
    check(
        "mul24.hi.u32 d, a, b;",
        binary,
        &[Int32, Int32],
        |a, b, _| ((unsigned24(a) * unsigned24(b)) >> 16) as u32,
    );
    check(
        "mad24.lo.s32 d, a, b, c;",
        [32; 4],
        &[Int32; 3],
        |a, b, c| ((signed24(a) * signed24(b)) as i32).wrapping_add(c.i32()),
    );
    check(
        "mad24.lo.u32 d, a, b, c;",
        [32; 4],
        &[Int32; 3],
        |a, b, c| ((unsigned24(a) * unsigned24(b)) as u32).wrapping_add(c.u32()),
    );
    check(
        "mad24.hi.s32 d, a, b, c;",
        [32; 4],
        &[Int32; 3],
        |a, b, c| (((signed24(a) * signed24(b)) >> 16) as i32).wrapping_add(c.i32()),
    );
    check(
        "mad24.hi.u32 d, a, b, c;",
        [32; 4],
        &[Int32; 3],
        |a, b, c| (((unsigned24(a) * unsigned24(b)) >> 16) as u32).wrapping_add(c.u32()),
    );
    check(
        "mad24.hi.sat.s32 d, a, b, c;",
        [32; 4],
        &[Int32; 3],
        |a, b, c| {
            let sum = ((signed24(a) * signed24(b)) >> 16) + i64::from(c.i32());
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
        },
    );
}

#[test]
fn counts_of_bits() {
    check("popc.b32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        a.u32().count_ones()
    });
    check("popc.b64 d, a;", [32, 64, 0, 0], &[Int64], |a, _, _| {
        a.u64().count_ones()
    });
    check("clz.b32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        a.u32().leading_zeros()
    });
    check("clz.b64 d, a;", [32, 64, 0, 0], &[Int64], |a, _, _| {
        a.u64().leading_zeros()
    });
    check("brev.b32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        a.u32().reverse_bits()
    });
    check("brev.b64 d, a;", [64, 64, 0, 0], &[Int64], |a, _, _| {
        a.u64().reverse_bits()
    });
}

#[test]
fn the_highest_bit_that_is_no_sign() {
    let position = |value: u64| value.checked_ilog2().unwrap_or(u32::MAX);
    let shift = |value: u64, width: u32| {
        value
            .checked_ilog2()
            .map_or(u32::MAX, |bit| width - 1 - bit)
    };
    let u32s = |a: Bits| u64::from(a.u32());
    let s32s = |a: Bits| u64::from((a.i32() ^ (a.i32() >> 31)) as u32);
    let s64s = |a: Bits| (a.i64() ^ (a.i64() >> 63)) as u64;
    check("bfind.u32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        position(u32s(a))
    });
    check("bfind.s32 d, a;", [32, 32, 0, 0], &[Int32], |a, _, _| {
        position(s32s(a))
    });
    check("bfind.u64 d, a;", [32, 64, 0, 0], &[Int64], |a, _, _| {
        position(a.u64())
    });
    check("bfind.s64 d, a;", [32, 64, 0, 0], &[Int64], |a, _, _| {
        position(s64s(a))
    });
    check(
        "bfind.shiftamt.u32 d, a;",
        [32, 32, 0, 0],
        &[Int32],
        |a, _, _| shift(u32s(a), 32),
    );
    check(
        "bfind.shiftamt.s32 d, a;",
        [32, 32, 0, 0],
        &[Int32],
        |a, _, _| shift(s32s(a), 32),
    );
    check(
        "bfind.shiftamt.u64 d, a;",
        [32, 64, 0, 0],
        &[Int64],
        |a, _, _| shift(a.u64(), 64),
    );
    check(
        "bfind.shiftamt.s64 d, a;",
        [32, 64, 0, 0],
        &[Int64],
        |a, _, _| shift(s64s(a), 64),
    );
}

/// A position or length: eight bits of it. Of more the manual says nothing; the 64-bit forms of GPUs take it as it is.
fn field(value: u32, width: u32) -> u32 {
    match width {
        32 => value & 0xff,
        _ => value.min(0xff),
    }
}

/// The manual's own description of `bfe`, bit by bit.
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (field(position, width), field(length, width));
    let bit = |at: u32| a >> at & 1;
    let top = width - 1;
    let sign = if !signed || length == 0 {
        0
    } else {
        bit((position + length - 1).min(top))
    };
    (0..width).fold(0, |out, i| {
        let value = if i < length && position + i <= top {
            bit(position + i)
        } else {
            sign
        };
        out | value << i
    })
}

#[test]
fn fields_taken_out() {
    check(
        "bfe.u32 d, a, b, c;",
        [32, 32, 32, 32],
        &[Int32, Amounts, Amounts],
        |a, b, c| extract(a.0, b.u32(), c.u32(), 32, false) as u32,
    );
    check(
        "bfe.s32 d, a, b, c;",
        [32, 32, 32, 32],
        &[Int32, Amounts, Amounts],
        |a, b, c| extract(a.0, b.u32(), c.u32(), 32, true) as u32,
    );
    check(
        "bfe.u64 d, a, b, c;",
        [64, 64, 32, 32],
        &[Int64, Amounts, Amounts],
        |a, b, c| extract(a.0, b.u32(), c.u32(), 64, false),
    );
    check(
        "bfe.s64 d, a, b, c;",
        [64, 64, 32, 32],
        &[Int64, Amounts, Amounts],
        |a, b, c| extract(a.0, b.u32(), c.u32(), 64, true),
    );
}

/// The manual's own description of `bfi`, bit by bit.
fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (field(position, width), field(length, width));
    (0..length).fold(b, |out, i| {
        let at = position + i;
        if at >= width || i >= width {
            return out;
        }
        out & !(1 << at) | (a >> i & 1) << at
    })
}

#[test]
fn fields_put_in() {
    // The length is fixed here, since a form of the table has three sources.
    for length in [0, 1, 8, 31, 32, 33, 64, 255] {
        check(
            &format!("bfi.b32 d, a, b, c, {length};"),
            [32; 4],
            &[Int32, Int32, Amounts],
            |a, b, c| insert(a.0, b.0, c.u32(), length, 32) as u32,
        );
        check(
            &format!("bfi.b64 d, a, b, c, {length};"),
            [64, 64, 64, 32],
            &[Int64, Int64, Amounts],
            |a, b, c| insert(a.0, b.0, c.u32(), length, 64),
        );
    }
}

#[test]
fn masks_and_extensions() {
    check(
        "bmsk.clamp.b32 d, a, b;",
        [32, 32, 32, 0],
        &[Amounts, Amounts],
        |a, b, _| {
            let low = |bits: u32| {
                if bits >= 32 {
                    u32::MAX
                } else {
                    (1 << bits) - 1
                }
            };
            if a.u32() >= 32 {
                0
            } else {
                low(a.u32().saturating_add(b.u32().min(32))) & !low(a.u32())
            }
        },
    );
    check(
        "bmsk.wrap.b32 d, a, b;",
        [32, 32, 32, 0],
        &[Amounts, Amounts],
        |a, b, _| {
            let (position, length) = (a.u32() & 31, b.u32() & 31);
            ((1u32 << length) - 1) << position
        },
    );
    check(
        "szext.wrap.s32 d, a, b;",
        [32, 32, 32, 0],
        &[Int32, Amounts],
        |a, b, _| match b.u32() & 31 {
            0 => 0,
            n => a.i32() << (32 - n) >> (32 - n),
        },
    );
    check(
        "szext.clamp.s32 d, a, b;",
        [32, 32, 32, 0],
        &[Int32, Amounts],
        |a, b, _| match b.u32() {
            0 => 0,
            n if n >= 32 => a.i32(),
            n => a.i32() << (32 - n) >> (32 - n),
        },
    );
    check(
        "szext.clamp.u32 d, a, b;",
        [32, 32, 32, 0],
        &[Int32, Amounts],
        |a, b, _| match b.u32() {
            n if n >= 32 => a.u32(),
            n => a.u32() & ((1 << n) - 1),
        },
    );
}

/// Four bytes or two halves of a word.
fn parts(word: u32, width: u32, signed: bool) -> Vec<i64> {
    (0..32 / width)
        .map(|i| {
            let part = i64::from(word >> (i * width)) & ((1 << width) - 1);
            if signed {
                part << (64 - width) >> (64 - width)
            } else {
                part
            }
        })
        .collect()
}

#[test]
fn dot_products() {
    for (a_type, b_type) in [
        ("u32", "u32"),
        ("u32", "s32"),
        ("s32", "u32"),
        ("s32", "s32"),
    ] {
        let dot = |a: Vec<i64>, b: &[i64], c: u32| {
            a.iter()
                .zip(b)
                .fold(c, |sum, (a, b)| sum.wrapping_add((a * b) as u32))
        };
        let (a_signed, b_signed) = (a_type == "s32", b_type == "s32");
        check(
            &format!("dp4a.{a_type}.{b_type} d, a, b, c;"),
            [32; 4],
            &[Int32; 3],
            |a, b, c| {
                dot(
                    parts(a.u32(), 8, a_signed),
                    &parts(b.u32(), 8, b_signed),
                    c.u32(),
                )
            },
        );
        check(
            &format!("dp2a.lo.{a_type}.{b_type} d, a, b, c;"),
            [32; 4],
            &[Int32; 3],
            |a, b, c| {
                dot(
                    parts(a.u32(), 16, a_signed),
                    &parts(b.u32(), 8, b_signed)[..2],
                    c.u32(),
                )
            },
        );
        check(
            &format!("dp2a.hi.{a_type}.{b_type} d, a, b, c;"),
            [32; 4],
            &[Int32; 3],
            |a, b, c| {
                dot(
                    parts(a.u32(), 16, a_signed),
                    &parts(b.u32(), 8, b_signed)[2..],
                    c.u32(),
                )
            },
        );
    }
}
