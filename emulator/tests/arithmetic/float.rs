//! PTX ISA §9.7.3 "Floating-Point Instructions".

use libm::{fma, fmaf};

use super::common::Machine;
use super::table::Values::{F32, F64, Tame64};
use super::table::{Bits, check, combinations, module, run};

/// The bits of a result in single precision, where there is only one NaN.
fn single(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

fn saturate(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

type Unary32 = fn(f32) -> f32;
type Unary64 = fn(f64) -> f64;
type Binary64 = fn(f64, f64) -> f64;
type Binary32 = fn(f32, f32) -> f32;

const UNARY: [u32; 4] = [32, 32, 0, 0];
const BINARY: [u32; 4] = [32, 32, 32, 0];
const UNARY64: [u32; 4] = [64, 64, 0, 0];
const BINARY64: [u32; 4] = [64, 64, 64, 0];

#[test]
fn single_precision_to_nearest() {
    let forms: [(&str, Binary32); 6] = [
        ("add.f32", |a, b| a + b),
        ("add.rn.f32", |a, b| a + b),
        ("sub.f32", |a, b| a - b),
        ("mul.f32", |a, b| a * b),
        ("mul.rn.f32", |a, b| a * b),
        ("div.rn.f32", |a, b| a / b),
    ];
    for (form, expected) in forms {
        check(
            &format!("{form} d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| single(expected(a.f32(), b.f32())),
        );
    }
    check("fma.rn.f32 d, a, b, c;", [32; 4], &[F32; 3], |a, b, c| {
        single(fmaf(a.f32(), b.f32(), c.f32()))
    });
    check("mad.rn.f32 d, a, b, c;", [32; 4], &[F32; 3], |a, b, c| {
        single(fmaf(a.f32(), b.f32(), c.f32()))
    });
    let forms: [(&str, Unary32); 2] = [("sqrt.rn.f32", f32::sqrt), ("rcp.rn.f32", f32::recip)];
    for (form, expected) in forms {
        check(&format!("{form} d, a;"), UNARY, &[F32], |a, _, _| {
            single(expected(a.f32()))
        });
    }
}

#[test]
fn single_precision_flushed() {
    let forms: [(&str, Binary64); 4] = [
        ("add.ftz.f32", |a, b| a + b),
        ("sub.ftz.f32", |a, b| a - b),
        ("mul.rn.ftz.f32", |a, b| a * b),
        ("div.rn.ftz.f32", |a, b| a / b),
    ];
    // Doubles hold these results so well that rounding them again to single precision is as good as rounding once. What is below
    // the least normal value before that rounding is flushed, which for these operands is what is still so with 24 bits.
    let wide = |value: Bits| f64::from(flush(value.f32()));
    let narrow = |value: f64| {
        let is_tiny = value.abs() < f64::from(f32::MIN_POSITIVE);
        single(if is_tiny {
            0f32.copysign(value as f32)
        } else {
            value as f32
        })
    };
    for (form, expected) in forms {
        check(
            &format!("{form} d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| narrow(expected(wide(a), wide(b))),
        );
    }
    check(
        "fma.rn.ftz.f32 d, a, b, c;",
        [32; 4],
        &[F32; 3],
        |a, b, c| narrow(wide(a) * wide(b) + wide(c)),
    );
    check("sqrt.rn.ftz.f32 d, a;", UNARY, &[F32], |a, _, _| {
        single(flush(a.f32()).sqrt())
    });
}

/// What an H200 gives (driver 580.159.04): a result that becomes the least normal value is flushed if with any exponent it would be
/// a smaller one of 24 bits.
#[test]
fn results_that_are_just_too_small() {
    const PLUS: [u32; 4] = [0x0080_0000, 0, 0, 0x0080_0000];
    const MINUS: [u32; 4] = [0x8080_0000, 0x8000_0000, 0x8080_0000, 0x8000_0000];
    // Factors and a summand, then fma.rn, .rz, .rm and .rp.
    let cases: [([u32; 3], [u32; 4]); 13] = [
        ([0x9a80_0000, 0x1a00_0000, 0x0080_0000], [0; 4]),
        ([0x9a00_0000, 0x1a00_0000, 0x0080_0000], [0; 4]),
        ([0x9a00_0000, 0x1980_0000, 0x0080_0000], PLUS),
        ([0x9780_0000, 0x1780_0000, 0x0080_0000], PLUS),
        ([0x8380_0000, 0x0380_0000, 0x0080_0000], PLUS),
        ([0x1a00_0000, 0x1a00_0000, 0x8080_0000], [0x8000_0000; 4]),
        ([0x1a00_0000, 0x1980_0000, 0x8080_0000], MINUS),
        ([0x0380_0000, 0x0380_0000, 0x8080_0000], MINUS),
        ([0x3f7f_ffff, 0x0080_0000, 0], [0; 4]),
        ([0xbf7f_ffff, 0x0080_0000, 0], [0x8000_0000; 4]),
        ([0x3f7f_ffff, 0x0080_0000, 0x8000_0000], [0; 4]),
        ([0x3f7f_ffff, 0x0080_0000, 0x0000_0001], [0; 4]),
        ([0x3f7f_fffe, 0x0080_0001, 0], PLUS),
    ];
    let operands: Vec<[u64; 3]> = cases.iter().map(|(case, _)| case.map(u64::from)).collect();
    for (mode, round) in ["rn", "rz", "rm", "rp"].into_iter().enumerate() {
        let form = format!("fma.{round}.ftz.f32 d, a, b, c;");
        let results = run(&form, [32; 4], &operands);
        for ((case, expected), result) in cases.iter().zip(results) {
            assert_eq!(result.u32(), expected[mode], "{form} of {case:x?}");
        }
        // The last without the summand, which is 0.
        let form = format!("mul.{round}.ftz.f32 d, a, b;");
        let results = run(&form, BINARY, &operands);
        assert_eq!(results[12].u32(), PLUS[mode], "{form}");
    }
    let halves = [
        ([0x8c00, 0x0800, 0x0400], 0),
        ([0x8800, 0x0800, 0x0400], 0x0400),
        ([0x8001, 0x0001, 0x0400], 0x0400),
        ([0x0c00, 0x0800, 0x8400], 0x8000),
        ([0x0800, 0x0400, 0x8400], 0x8400),
    ];
    for (case, expected) in halves {
        let results = run("fma.rn.ftz.f16 d, a, b, c;", [16; 4], &[case]);
        assert_eq!(results[0].u16(), expected, "{case:x?}");
    }
}

#[test]
fn saturation_to_the_unit_interval() {
    check("add.sat.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        saturate(a.f32() + b.f32())
    });
    check("sub.sat.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        saturate(a.f32() - b.f32())
    });
    check("mul.sat.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        saturate(a.f32() * b.f32())
    });
    check(
        "fma.rn.sat.f32 d, a, b, c;",
        [32; 4],
        &[F32; 3],
        |a, b, c| saturate(fmaf(a.f32(), b.f32(), c.f32())),
    );
}

#[test]
fn double_precision_to_nearest() {
    let forms: [(&str, Binary64); 5] = [
        ("add.f64", |a, b| a + b),
        ("sub.rn.f64", |a, b| a - b),
        ("mul.f64", |a, b| a * b),
        ("div.rn.f64", |a, b| a / b),
        ("mul.rn.f64", |a, b| a * b),
    ];
    for (form, expected) in forms {
        check(
            &format!("{form} d, a, b;"),
            BINARY64,
            &[F64, F64],
            |a, b, _| expected(a.f64(), b.f64()),
        );
    }
    check("fma.rn.f64 d, a, b, c;", [64; 4], &[F64; 3], |a, b, c| {
        fma(a.f64(), b.f64(), c.f64())
    });
    check("sqrt.rn.f64 d, a;", UNARY64, &[F64], |a, _, _| {
        a.f64().sqrt()
    });
    check("rcp.rn.f64 d, a;", UNARY64, &[F64], |a, _, _| {
        a.f64().recip()
    });
}

/// A directed rounding of an exact value, given as its nearest `f64` and the sign of what that lacks.
fn directed(mode: &str, nearest: f64, lacks: f64) -> f32 {
    let single = nearest as f32;
    let back = f64::from(single);
    let is_above = back > nearest || (back == nearest && lacks < 0.0);
    let is_below = back < nearest || (back == nearest && lacks > 0.0);
    match mode {
        "rm" if is_above => single.next_down(),
        "rp" if is_below => single.next_up(),
        "rz" if is_above && nearest > 0.0 => single.next_down(),
        "rz" if is_below && nearest < 0.0 => single.next_up(),
        _ => single,
    }
}

/// What a sum of two `f64`s lacks to be exact.
fn lost(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    (a - (sum - part)) + (b - part)
}

#[test]
fn single_precision_in_the_other_directions() {
    for mode in ["rz", "rm", "rp"] {
        // A sum that is exactly zero is negative only when rounding down, but for two zeros of one sign.
        let sum = |a: f64, b: f64| {
            let plus = a == 0.0 && b == 0.0 && a.is_sign_positive() && b.is_sign_positive();
            if a + b == 0.0 && mode == "rm" && !plus {
                return single(-0.0);
            }
            single(directed(mode, a + b, lost(a, b)))
        };
        let wide = |value: Bits| f64::from(value.f32());
        check(
            &format!("add.{mode}.f32 d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| sum(wide(a), wide(b)),
        );
        check(
            &format!("sub.{mode}.f32 d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| sum(wide(a), -wide(b)),
        );
        check(
            &format!("mul.{mode}.f32 d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| single(directed(mode, wide(a) * wide(b), 0.0)),
        );
        check(
            &format!("fma.{mode}.f32 d, a, b, c;"),
            [32; 4],
            &[F32; 3],
            |a, b, c| sum(wide(a) * wide(b), wide(c)),
        );
        let quotient = |a: f64, b: f64| {
            let quotient = a / b;
            let remainder = fma(-quotient, b, a);
            let lacks = if remainder == 0.0 || remainder.is_nan() {
                0.0
            } else {
                remainder.signum() * b.signum()
            };
            single(directed(mode, quotient, lacks))
        };
        check(
            &format!("div.{mode}.f32 d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| quotient(wide(a), wide(b)),
        );
        check(
            &format!("rcp.{mode}.f32 d, a;"),
            UNARY,
            &[F32],
            |a, _, _| quotient(1.0, wide(a)),
        );
        check(
            &format!("sqrt.{mode}.f32 d, a;"),
            UNARY,
            &[F32],
            |a, _, _| {
                let root = wide(a).sqrt();
                single(directed(mode, root, fma(-root, root, wide(a))))
            },
        );
    }
}

/// The neighbours of the nearest double, on operands whose results neither overflow nor lose bits below.
#[test]
fn double_precision_in_the_other_directions() {
    for mode in ["rz", "rm", "rp"] {
        let toward = |nearest: f64, lacks: f64| match mode {
            "rm" if lacks < 0.0 => nearest.next_down(),
            "rp" if lacks > 0.0 => nearest.next_up(),
            "rz" if lacks < 0.0 && nearest > 0.0 => nearest.next_down(),
            "rz" if lacks > 0.0 && nearest < 0.0 => nearest.next_up(),
            _ if nearest == 0.0 && mode == "rm" => -0.0,
            _ => nearest,
        };
        let operands = &[Tame64, Tame64];
        check(
            &format!("add.{mode}.f64 d, a, b;"),
            BINARY64,
            operands,
            |a, b, _| toward(a.f64() + b.f64(), lost(a.f64(), b.f64())),
        );
        check(
            &format!("mul.{mode}.f64 d, a, b;"),
            BINARY64,
            operands,
            |a, b, _| {
                let product = a.f64() * b.f64();
                toward(product, fma(a.f64(), b.f64(), -product))
            },
        );
        check(
            &format!("div.{mode}.f64 d, a, b;"),
            BINARY64,
            operands,
            |a, b, _| {
                let quotient = a.f64() / b.f64();
                toward(
                    quotient,
                    fma(-quotient, b.f64(), a.f64()) * b.f64().signum(),
                )
            },
        );
        check(
            &format!("sqrt.{mode}.f64 d, a;"),
            UNARY64,
            &[Tame64],
            |a, _, _| {
                let root = a.f64().sqrt();
                if root.is_nan() {
                    root
                } else {
                    toward(root, fma(-root, root, a.f64()))
                }
            },
        );
    }
}

/// Magnitudes are compared; the result is negative if just one operand is.
#[test]
fn extrema_with_exclusive_signs() {
    for (operation, modifiers) in [
        ("min", ""),
        ("max", ""),
        ("min", ".NaN"),
        ("max", ".ftz"),
        ("max", ".ftz.NaN"),
    ] {
        check(
            &format!("{operation}{modifiers}.xorsign.abs.f32 d, a, b;"),
            BINARY,
            &[F32, F32],
            |a, b, _| {
                let [x, y] = [a, b].map(|bits| {
                    let value = bits.f32().abs();
                    let is_flushed = modifiers.contains("ftz") && value.is_subnormal();
                    if is_flushed { 0.0 } else { value }
                });
                let magnitude = match (x.is_nan(), y.is_nan()) {
                    (true, true) => return 0x7fff_ffff,
                    (true, _) | (_, true) if modifiers.contains("NaN") => return 0x7fff_ffff,
                    (true, false) => y,
                    (false, true) => x,
                    _ if operation == "min" => x.min(y),
                    _ => x.max(y),
                };
                magnitude.to_bits() | (a.u32() ^ b.u32()) & 0x8000_0000
            },
        );
    }
}

#[test]
fn extremes_and_nan() {
    // The number wins over NaN; negative zero is below zero.
    let least = |a: f32, b: f32| match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        () => {
            if a < b {
                a
            } else {
                b
            }
        }
    };
    check("min.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        single(least(a.f32(), b.f32()))
    });
    check("max.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        single(-least(-a.f32(), -b.f32()))
    });
    check("min.NaN.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        if a.f32().is_nan() || b.f32().is_nan() {
            single(f32::NAN)
        } else {
            single(least(a.f32(), b.f32()))
        }
    });
    check("max.ftz.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        single(-least(-flush(a.f32()), -flush(b.f32())))
    });
    let number = |a: f64, b: f64| if a.is_nan() { b } else { a };
    check(
        "min.f64 d, a, b;",
        BINARY64,
        &[F64, F64],
        |a, b, _| match (a.f64(), b.f64()) {
            (a, b) if a.is_nan() || b.is_nan() => number(a, b),
            (a, b) if a == b => {
                if a.is_sign_negative() {
                    a
                } else {
                    b
                }
            }
            (a, b) => {
                if a < b {
                    a
                } else {
                    b
                }
            }
        },
    );
    check(
        "max.f64 d, a, b;",
        BINARY64,
        &[F64, F64],
        |a, b, _| match (a.f64(), b.f64()) {
            (a, b) if a.is_nan() || b.is_nan() => number(a, b),
            (a, b) if a == b => {
                if a.is_sign_negative() {
                    b
                } else {
                    a
                }
            }
            (a, b) => {
                if a > b {
                    a
                } else {
                    b
                }
            }
        },
    );
}

#[test]
fn signs() {
    // The sign of NaN is left alone by the hardware's double precision; single precision gives its one NaN.
    check("abs.f32 d, a;", UNARY, &[F32], |a, _, _| {
        single(a.f32().abs())
    });
    check("neg.f32 d, a;", UNARY, &[F32], |a, _, _| single(-a.f32()));
    check("abs.ftz.f32 d, a;", UNARY, &[F32], |a, _, _| {
        single(flush(a.f32().abs()))
    });
    check("neg.ftz.f32 d, a;", UNARY, &[F32], |a, _, _| {
        single(flush(-a.f32()))
    });
    check("abs.f64 d, a;", UNARY64, &[F64], |a, _, _| a.f64().abs());
    check("neg.f64 d, a;", UNARY64, &[F64], |a, _, _| -a.f64());
    check("copysign.f32 d, a, b;", BINARY, &[F32, F32], |a, b, _| {
        b.f32().copysign(a.f32())
    });
    check("copysign.f64 d, a, b;", BINARY64, &[F64, F64], |a, b, _| {
        b.f64().copysign(a.f64())
    });
}

/// The fast functions of single precision: as near as the manual promises, or nearer.
#[test]
fn approximations() {
    let cases: Vec<[u64; 3]> = (-400..400)
        .map(|i| [u64::from((i as f32 * 0.05).to_bits()), 0, 0])
        .chain(combinations(&[F32]))
        .collect();
    // Absolute error for sines, relative for the others, and whether NaN and infinities are as in the host's function.
    let forms: [(&str, Unary64); 14] = [
        ("sin.approx.f32", f64::sin),
        ("cos.approx.f32", f64::cos),
        ("sin.approx.ftz.f32", f64::sin),
        ("cos.approx.ftz.f32", f64::cos),
        ("lg2.approx.f32", f64::log2),
        ("lg2.approx.ftz.f32", f64::log2),
        ("ex2.approx.f32", f64::exp2),
        ("ex2.approx.ftz.f32", f64::exp2),
        ("tanh.approx.f32", f64::tanh),
        ("rsqrt.approx.f32", |x| 1.0 / x.sqrt()),
        ("rsqrt.approx.ftz.f32", |x| 1.0 / x.sqrt()),
        ("rcp.approx.f32", f64::recip),
        ("rcp.approx.ftz.f32", f64::recip),
        ("sqrt.approx.f32", f64::sqrt),
    ];
    for (form, function) in forms {
        let flushes = form.contains("ftz");
        for (case, result) in cases
            .iter()
            .zip(run(&format!("{form} d, a;"), UNARY, &cases))
        {
            let a = Bits(case[0]).f32();
            let exact = function(f64::from(if flushes { flush(a) } else { a })) as f32;
            let exact = if flushes { flush(exact) } else { exact };
            let result = result.f32();
            let near = (f64::from(result) - f64::from(exact)).abs()
                <= 1e-6 * f64::from(exact.abs()).max(1e-30);
            assert!(
                near || result.to_bits() == single(exact) || (result == 0.0 && exact == 0.0),
                "{form} of {a:e} gives {result:e}, not {exact:e}"
            );
        }
    }
}

/// Quotients within two units in the last place, and zero for a divisor so large that its reciprocal is subnormal.
#[test]
fn approximate_quotients() {
    let cases = combinations(&[F32, F32]);
    for form in ["div.full.f32", "div.approx.f32"] {
        for (case, result) in cases
            .iter()
            .zip(run(&format!("{form} d, a, b;"), BINARY, &cases))
        {
            let (a, b) = (Bits(case[0]).f32(), Bits(case[1]).f32());
            let large = (2f32.powi(126)..=f32::MAX).contains(&b.abs()) && b.abs() > 2f32.powi(126);
            let exact = match form {
                "div.approx.f32" if large && a.is_infinite() => f32::NAN,
                "div.approx.f32" if large && !a.is_nan() => 0.0,
                _ => a / b,
            };
            let (result, distance) = (result.f32(), (result.f32() - exact).abs());
            assert!(
                result == exact
                    || result.is_nan() && exact.is_nan()
                    || distance <= exact.abs() * 2.4e-7
                    || distance <= 3e-45,
                "{form} of {a:e} and {b:e} gives {result:e}, not {exact:e}"
            );
        }
    }
}

/// The double-precision starts of an iteration: 20 bits are promised, the low word is zero.
#[test]
fn gross_approximations_of_double_precision() {
    let cases = combinations(&[Tame64]);
    let forms: [(&str, Unary64); 2] = [
        ("rcp.approx.ftz.f64", f64::recip),
        ("rsqrt.approx.ftz.f64", |x| 1.0 / x.sqrt()),
    ];
    for (form, function) in forms {
        for (case, result) in cases
            .iter()
            .zip(run(&format!("{form} d, a;"), UNARY64, &cases))
        {
            let exact = function(Bits(case[0]).f64());
            let near = (result.f64() - exact).abs() <= exact.abs() * 2e-6;
            assert!(
                near || exact.is_nan() && result.f64().is_nan(),
                "{form} gives {:e}, not {exact:e}",
                result.f64()
            );
            assert_eq!(result.0 as u32, 0, "{form}");
        }
    }
}

/// Each half of a packed result is what the instruction gives for one single.
#[test]
fn two_singles_at_once() {
    let pairs = combinations(&[F32; 3]);
    let packed: Vec<[u64; 3]> = pairs
        .iter()
        .zip(pairs.iter().rev())
        .map(|(low, high)| core::array::from_fn(|i| high[i] << 32 | low[i]))
        .collect();
    for operation in ["add", "sub", "mul", "fma"] {
        for mode in ["", ".rn", ".rz", ".rm", ".rp"] {
            for flush in ["", ".ftz"] {
                let (operands, widths) = match operation {
                    "fma" if mode.is_empty() => continue,
                    "fma" => ("d, a, b, c", [64; 4]),
                    _ => ("d, a, b", [64, 64, 64, 0]),
                };
                let form = |ty: &str| format!("{operation}{mode}{flush}.{ty} {operands};");
                let singles = run(&form("f32"), widths.map(|width| width / 2), &pairs);
                let results = run(&form("f32x2"), widths, &packed);
                for (i, result) in results.iter().enumerate() {
                    let [low, high] = [singles[i], singles[pairs.len() - 1 - i]];
                    let wanted = high.0 << 32 | low.0;
                    assert_eq!(result.0, wanted, "{} of {:x?}", form("f32x2"), packed[i]);
                }
            }
        }
    }
}

#[test]
fn two_singles_at_once_have_no_other_forms() {
    for form in [
        "add.sat.f32x2 d, a, b;",
        "fma.f32x2 d, a, b, c;",
        "mul.approx.f32x2 d, a, b;",
        "div.rn.f32x2 d, a, b;",
        "min.f32x2 d, a, b;",
        "add.f32x2.f32 d, a, b;",
    ] {
        let machine = Machine::new(&module(form, [64; 4]));
        let message = machine.program.kernel("test").unwrap_err().to_string();
        assert!(message.contains("not supported"), "{form}: {message}");
    }
}
