//! PTX ISA §9.7.9.21 `cvt`: every pair of types, with every rounding and with saturation.

use super::table::Values::{F32, F64, Int16, Int32, Int64};
use super::table::{Bits, Values, check};

/// An integer type of PTX.
#[derive(Clone, Copy)]
struct Int {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const fn int(name: &'static str, bits: u32, signed: bool) -> Int {
    Int { name, bits, signed }
}

const INTEGERS: [Int; 8] = [
    int("u8", 8, false),
    int("s8", 8, true),
    int("u16", 16, false),
    int("s16", 16, true),
    int("u32", 32, false),
    int("s32", 32, true),
    int("u64", 64, false),
    int("s64", 64, true),
];

impl Int {
    /// Bits of the register that holds it here: never fewer than 32.
    fn register(self) -> u32 {
        self.bits.max(32)
    }

    fn values(self) -> Values {
        match self.bits {
            8 | 16 => Int16,
            32 => Int32,
            _ => Int64,
        }
    }

    /// The value in a register's low bits.
    fn value(self, bits: Bits) -> i128 {
        let unused = 128 - self.bits;
        let moved = i128::from(bits.0) << unused;
        if self.signed {
            moved >> unused
        } else {
            (moved as u128 >> unused) as i128
        }
    }

    fn limits(self) -> (i128, i128) {
        if self.signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }

    /// What a register holds after a value was converted: wrapped, then extended to the register's width.
    fn in_register(self, value: i128) -> Bits {
        let value = self.value(Bits(value as u64)) as u64;
        Bits(value & (u64::MAX >> (64 - self.register())))
    }

    fn clamp(self, value: i128) -> i128 {
        let (least, most) = self.limits();
        value.clamp(least, most)
    }
}

#[test]
fn integers_to_integers() {
    for from in INTEGERS {
        for to in INTEGERS {
            let widths = [to.register(), from.register(), 0, 0];
            let form = |sat: &str| format!("cvt{sat}.{}.{} d, a;", to.name, from.name);
            check(&form(""), widths, &[from.values()], |a, _, _| {
                to.in_register(from.value(a))
            });
            // Saturation is only spelt where something can be out of range.
            let (least, most) = from.limits();
            if to.clamp(least) != least || to.clamp(most) != most {
                check(&form(".sat"), widths, &[from.values()], |a, _, _| {
                    to.in_register(to.clamp(from.value(a)))
                });
            }
        }
    }
}

/// The source may stand in a wider register, whose high bits are ignored.
#[test]
fn parts_of_a_wide_register() {
    for from in INTEGERS {
        for to in INTEGERS {
            check(
                &format!("cvt.{}.{} d, a;", to.name, from.name),
                [to.register(), 64, 0, 0],
                &[Int64],
                |a, _, _| to.in_register(from.value(a)),
            );
        }
    }
}

fn rounded(value: f64, mode: &str) -> f64 {
    match mode {
        "rni" => value.round_ties_even(),
        "rzi" => value.trunc(),
        "rmi" => value.floor(),
        _ => value.ceil(),
    }
}

/// Out of range saturates. NaN gives 0 where both sides have at most 32 bits, else the highest bit alone.
fn to_integer(value: f64, mode: &str, to: Int, from_double: bool) -> Bits {
    if value.is_nan() {
        let narrow = !from_double && to.bits < 64;
        return if narrow {
            Bits(0)
        } else {
            to.in_register(1 << (to.bits - 1))
        };
    }
    // `as` saturates too, far outside every type.
    to.in_register(to.clamp(rounded(value, mode) as i128))
}

#[test]
fn floats_to_integers() {
    for to in INTEGERS {
        for mode in ["rni", "rzi", "rmi", "rpi"] {
            let (single, double) = ([to.register(), 32, 0, 0], [to.register(), 64, 0, 0]);
            let name = to.name;
            check(
                &format!("cvt.{mode}.{name}.f32 d, a;"),
                single,
                &[F32],
                |a, _, _| to_integer(f64::from(a.f32()), mode, to, false),
            );
            check(
                &format!("cvt.{mode}.sat.{name}.f32 d, a;"),
                single,
                &[F32],
                |a, _, _| to_integer(f64::from(a.f32()), mode, to, false),
            );
            check(
                &format!("cvt.{mode}.{name}.f64 d, a;"),
                double,
                &[F64],
                |a, _, _| to_integer(a.f64(), mode, to, true),
            );
            check(
                &format!("cvt.{mode}.ftz.{name}.f32 d, a;"),
                single,
                &[F32],
                |a, _, _| {
                    let a = if a.f32().is_subnormal() { 0.0 } else { a.f32() };
                    to_integer(f64::from(a), mode, to, false)
                },
            );
        }
    }
}

/// Rounds an exact integer to a float of this many significant bits.
fn to_float(value: i128, mode: &str, precision: u32) -> f64 {
    let magnitude = value.unsigned_abs();
    let dropped = (128 - magnitude.leading_zeros()).saturating_sub(precision);
    let (kept, rest, half) = (
        magnitude >> dropped,
        magnitude & ((1 << dropped) - 1),
        (1u128 << dropped) >> 1,
    );
    let up = match mode {
        "rz" => false,
        "rm" => value < 0 && rest != 0,
        "rp" => value > 0 && rest != 0,
        _ => rest > half || (rest == half && rest != 0 && kept & 1 == 1),
    };
    let result = ((kept + u128::from(up)) << dropped) as f64;
    if value < 0 { -result } else { result }
}

#[test]
fn integers_to_floats() {
    for from in INTEGERS {
        for mode in ["rn", "rz", "rm", "rp"] {
            let name = from.name;
            check(
                &format!("cvt.{mode}.f32.{name} d, a;"),
                [32, from.register(), 0, 0],
                &[from.values()],
                |a, _, _| to_float(from.value(a), mode, 24) as f32,
            );
            check(
                &format!("cvt.{mode}.f64.{name} d, a;"),
                [64, from.register(), 0, 0],
                &[from.values()],
                |a, _, _| to_float(from.value(a), mode, 53),
            );
        }
        check(
            &format!("cvt.rn.sat.f32.{} d, a;", from.name),
            [32, from.register(), 0, 0],
            &[from.values()],
            |a, _, _| {
                if from.value(a) > 0 { 1.0f32 } else { 0.0 }
            },
        );
    }
}

/// The bits of a result in single precision, where there is only one NaN.
fn single(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

#[test]
fn floats_to_floats() {
    check("cvt.f64.f32 d, a;", [64, 32, 0, 0], &[F32], |a, _, _| {
        f64::from(a.f32())
    });
    check("cvt.rn.f32.f64 d, a;", [32, 64, 0, 0], &[F64], |a, _, _| {
        single(a.f64() as f32)
    });
    for mode in ["rz", "rm", "rp"] {
        check(
            &format!("cvt.{mode}.f32.f64 d, a;"),
            [32, 64, 0, 0],
            &[F64],
            |a, _, _| {
                let nearest = a.f64() as f32;
                let back = f64::from(nearest);
                single(match mode {
                    "rm" | "rz" if back > a.f64() && (mode == "rm" || a.f64() > 0.0) => {
                        nearest.next_down()
                    }
                    "rp" | "rz" if back < a.f64() && (mode == "rp" || a.f64() < 0.0) => {
                        nearest.next_up()
                    }
                    _ => nearest,
                })
            },
        );
    }
    check(
        "cvt.rn.sat.f32.f64 d, a;",
        [32, 64, 0, 0],
        &[F64],
        |a, _, _| {
            if a.f64() > 0.0 {
                a.f64().min(1.0) as f32
            } else {
                0.0
            }
        },
    );
    check(
        "cvt.sat.f32.f32 d, a;",
        [32, 32, 0, 0],
        &[F32],
        |a, _, _| {
            if a.f32() > 0.0 { a.f32().min(1.0) } else { 0.0 }
        },
    );
    check(
        "cvt.ftz.f32.f32 d, a;",
        [32, 32, 0, 0],
        &[F32],
        |a, _, _| {
            single(if a.f32().is_subnormal() {
                0f32.copysign(a.f32())
            } else {
                a.f32()
            })
        },
    );
    for mode in ["rni", "rzi", "rmi", "rpi"] {
        check(
            &format!("cvt.{mode}.f32.f32 d, a;"),
            [32, 32, 0, 0],
            &[F32],
            |a, _, _| single(rounded(f64::from(a.f32()), mode) as f32),
        );
        check(
            &format!("cvt.{mode}.f64.f64 d, a;"),
            [64, 64, 0, 0],
            &[F64],
            |a, _, _| rounded(a.f64(), mode),
        );
    }
}
