//! PTX ISA §9.7.1 on `u16x2` and `s16x2`: several small integers in a register.

use super::table::Values::Int32;
use super::table::{Bits, check};

const BINARY: [u32; 4] = [32, 32, 32, 0];

/// The value of the half or byte that starts at a bit.
fn part(bits: Bits, shift: u32, width: u32, signed: bool) -> i64 {
    let unused = 64 - width;
    let top = bits.0 >> shift << unused;
    if signed {
        top as i64 >> unused
    } else {
        (top >> unused) as i64
    }
}

#[test]
fn halves_of_integers() {
    for (form, signed, relu) in [
        ("add.u16x2", false, false),
        ("add.s16x2", true, false),
        ("min.u16x2", false, false),
        ("max.u16x2", false, false),
        ("min.s16x2", true, false),
        ("max.s16x2", true, false),
        ("min.relu.s16x2", true, true),
        ("max.relu.s16x2", true, true),
    ] {
        check(
            &format!("{form} d, a, b;"),
            BINARY,
            &[Int32, Int32],
            |a, b, _| {
                [0, 16].into_iter().fold(0u32, |out, shift| {
                    let [a, b] = [a, b].map(|bits| part(bits, shift, 16, signed));
                    let value = match &form[..3] {
                        "add" => a + b,
                        "min" => a.min(b),
                        _ => a.max(b),
                    };
                    let value = if relu { value.max(0) } else { value };
                    out | (value as u32 & 0xffff) << shift
                })
            },
        );
    }
}
