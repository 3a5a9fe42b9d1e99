//! PTX ISA §9.7.7 and §9.7.9.21: conversions and comparisons of `f16` and `bf16`.

use super::compare::{FLOAT, holds};
use super::format::{BF16, F16, Format};
use super::table::{Bits, run};

const HALVES: [(&str, Format); 2] = [("f16", F16), ("bf16", BF16)];
const FRACTIONAL: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// Runs a form on these operands, and compares bit by bit.
#[track_caller]
pub fn on(text: &str, widths: [u32; 4], cases: &[[u64; 3]], expected: impl Fn([u64; 3]) -> u64) {
    for (&case, Bits(result)) in cases.iter().zip(run(text, widths, cases)) {
        let wanted = expected(case);
        assert_eq!(
            result, wanted,
            "`{text}` of {case:#x?} gives {result:#x}, not {wanted:#x}"
        );
    }
}

/// Every value of 16 bits.
pub fn all() -> Vec<[u64; 3]> {
    (0..0x1_0000).map(|bits| [bits, 0, 0]).collect()
}

fn clamp01(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn single(value: f64) -> u64 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        u64::from((value as f32).to_bits())
    }
}

#[test]
fn halves_to_wider_floats() {
    let (single_width, double_width) = ([32, 16, 0, 0], [64, 16, 0, 0]);
    on("cvt.f32.f16 d, a;", single_width, &all(), |[a, ..]| {
        single(F16.decode(a))
    });
    on("cvt.ftz.f32.f16 d, a;", single_width, &all(), |[a, ..]| {
        single(F16.decode(a))
    });
    for form in ["cvt.sat.f32.f16 d, a;", "cvt.sat.ftz.f32.f16 d, a;"] {
        on(form, single_width, &all(), |[a, ..]| {
            single(clamp01(F16.decode(a)))
        });
    }
    on("cvt.sat.f64.f16 d, a;", double_width, &all(), |[a, ..]| {
        clamp01(F16.decode(a)).to_bits()
    });
    // `bf16` is the upper half of single precision, NaN included.
    on("cvt.f32.bf16 d, a;", single_width, &all(), |[a, ..]| {
        a << 16
    });
    on("cvt.ftz.f32.bf16 d, a;", single_width, &all(), |[a, ..]| {
        let value = BF16.decode(a);
        let flushed = value.abs() < f64::from(f32::MIN_POSITIVE);
        single(if flushed { 0f64.copysign(value) } else { value })
    });
    for (name, format) in HALVES {
        let numbers: Vec<_> = all()
            .into_iter()
            .filter(|case| !format.decode(case[0]).is_nan())
            .collect();
        let form = format!("cvt.f64.{name} d, a;");
        on(&form, double_width, &numbers, |[a, ..]| {
            format.decode(a).to_bits()
        });
    }
}

#[test]
fn halves_to_halves() {
    let widths = [16, 16, 0, 0];
    for (name, format) in HALVES {
        for mode in ["rni", "rzi", "rmi", "rpi"] {
            let integral = |value: f64| match mode {
                "rni" => value.round_ties_even(),
                "rzi" => value.trunc(),
                "rmi" => value.floor(),
                _ => value.ceil(),
            };
            let form = format!("cvt.{mode}.{name}.{name} d, a;");
            on(&form, widths, &all(), |[a, ..]| {
                format.encode(integral(format.decode(a)), "rz", false)
            });
            if name == "f16" {
                let form = format!("cvt.{mode}.sat.f16.f16 d, a;");
                on(&form, widths, &all(), |[a, ..]| {
                    F16.encode(clamp01(integral(F16.decode(a))), "rz", false)
                });
            }
        }
        let form = format!("cvt.{name}.{name} d, a;");
        on(&form, widths, &all(), |[a, ..]| {
            format.encode(format.decode(a), "rz", false)
        });
    }
    on("cvt.sat.f16.f16 d, a;", widths, &all(), |[a, ..]| {
        F16.encode(clamp01(F16.decode(a)), "rz", false)
    });
    for ((to, to_format), (from, from_format)) in [(HALVES[0], HALVES[1]), (HALVES[1], HALVES[0])] {
        for mode in ["", "rn", "rz", "rm", "rp"] {
            let dot = if mode.is_empty() { "" } else { "." };
            let form = format!("cvt{dot}{mode}.{to}.{from} d, a;");
            // Without a rounding, to nearest.
            let mode = if mode.is_empty() { "rn" } else { mode };
            on(&form, widths, &all(), |[a, ..]| {
                to_format.encode(from_format.decode(a), mode, false)
            });
        }
    }
}

#[test]
fn single_precision_to_halves() {
    for (name, format) in HALVES {
        let singles = format.singles(17);
        let cases: Vec<_> = singles
            .iter()
            .map(|value| [u64::from(value.to_bits()), 0, 0])
            .collect();
        let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
        for mode in FRACTIONAL {
            let plain = format!("cvt.{mode}.{name}.f32 d, a;");
            on(&plain, [16, 32, 0, 0], &cases, |[a, ..]| {
                format.encode(value(a), mode, false)
            });
        }
        let pairs: Vec<_> = cases
            .iter()
            .zip(cases.iter().rev())
            .map(|(a, b)| [a[0], b[0], 0])
            .collect();
        for mode in ["rn", "rz"] {
            for modifiers in [
                "",
                ".relu",
                ".satfinite",
                ".relu.satfinite",
                ".satfinite.relu",
            ] {
                let finite = modifiers.contains("satfinite");
                let convert = |bits: u64| {
                    let value = value(bits);
                    if modifiers.contains("relu") && value.is_sign_negative() && !value.is_nan() {
                        return 0;
                    }
                    format.encode(value, mode, finite)
                };
                let form = format!("cvt.{mode}{modifiers}.{name}.f32 d, a;");
                on(&form, [16, 32, 0, 0], &cases, |[a, ..]| convert(a));
                let form = format!("cvt.{mode}{modifiers}.{name}x2.f32 d, a, b;");
                on(&form, [32, 32, 32, 0], &pairs, |[a, b, _]| {
                    convert(a) << 16 | convert(b)
                });
            }
        }
    }
    // The greatest values, as the manual gives them.
    let greatest = |name: &str| {
        let form = format!("cvt.rn.satfinite.{name}.f32 d, a;");
        run(&form, [16, 32, 0, 0], &[[0xff80_0000, 0, 0]])[0].0
    };
    assert_eq!([greatest("f16"), greatest("bf16")], [0xfbff, 0xff7f]);
}

/// Values on both sides of each other: zeros, subnormal and normal values, infinities, NaN.
const SOME: [u64; 12] = [
    0, 0x8000, 1, 0x8001, 0x03ff, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xff80, 0x7fff,
];

fn pairs() -> Vec<[u64; 3]> {
    SOME.iter().flat_map(|&a| SOME.map(|b| [a, b, 0])).collect()
}

/// Pairs for the low halves, others for the high ones.
fn packed_pairs() -> Vec<[u64; 3]> {
    let low = pairs();
    let high = low.iter().cycle().skip(31);
    low.iter()
        .zip(high)
        .map(|(low, high)| [low[0] | high[0] << 16, low[1] | high[1] << 16, 0])
        .collect()
}

#[test]
fn comparisons() {
    for (name, format) in HALVES {
        for operator in FLOAT {
            let holds = |a: u64, b: u64| holds(operator, format.decode(a), format.decode(b));
            let one = format.encode(1.0, "rn", false);
            for (to, width, yes) in [
                ("u16", 16, 0xffff),
                ("s16", 16, 0xffff),
                ("u32", 32, 0xffff_ffff),
                ("s32", 32, 0xffff_ffff),
                (name, 16, one),
                ("bf16", 16, 0x3f80),
            ] {
                let form = format!("set.{operator}.{to}.{name} d, a, b;");
                on(&form, [width, 16, 16, 0], &pairs(), |[a, b, _]| {
                    if holds(a, b) { yes } else { 0 }
                });
            }
            let setp = format!("setp.{operator}.{name} d, a, b;");
            on(&setp, [1, 16, 16, 0], &pairs(), |[a, b, _]| {
                u64::from(holds(a, b))
            });
            let halves = |a: u64, b: u64| [holds(a & 0xffff, b & 0xffff), holds(a >> 16, b >> 16)];
            let packed = format!("{name}x2");
            for (to, yes) in [("u32", 0xffff), ("s32", 0xffff), (&packed[..], one)] {
                let form = format!("set.{operator}.{to}.{packed} d, a, b;");
                on(&form, [32; 4], &packed_pairs(), |[a, b, _]| {
                    let [low, high] = halves(a, b).map(|holds| if holds { yes } else { 0 });
                    low | high << 16
                });
            }
            let form = format!(
                "{{ .reg .pred p, q, t; setp.eq.u32 t, c, 0; setp.{operator}.and.{packed} p|q, a, b, t;
                selp.b32 d, 1, 0, p; @q or.b32 d, d, 2; }}"
            );
            on(&form, [32; 4], &packed_pairs(), |[a, b, _]| {
                let [low, high] = halves(a, b).map(u64::from);
                low | high << 1
            });
        }
    }
}

#[test]
fn comparisons_of_flushed_halves() {
    let flushed = |code: u64| {
        let value = F16.decode(code);
        if value.abs() < 2f64.powi(-14) {
            0.0
        } else {
            value
        }
    };
    for operator in ["eq", "lt", "geu"] {
        let form = format!("set.{operator}.ftz.f16.f16 d, a, b;");
        on(&form, [16, 16, 16, 0], &pairs(), |[a, b, _]| {
            let yes = holds(operator, flushed(a), flushed(b));
            if yes { 0x3c00 } else { 0 }
        });
    }
}

/// Wider types compare to halves as well, and to combinations with a predicate.
#[test]
fn halves_from_comparisons_of_wider_types() {
    let cases: Vec<_> = [(1, 2), (2, 1), (2, 2)].map(|(a, b)| [a, b, 0]).to_vec();
    for (to, one) in [("f16", 0x3c00), ("bf16", 0x3f80)] {
        on(
            &format!("set.lt.{to}.s32 d, a, b;"),
            [16, 32, 32, 0],
            &cases,
            |[a, b, _]| if a < b { one } else { 0 },
        );
        on(
            &format!("{{ .reg .pred p; setp.eq.u32 p, a, 2; set.lt.or.{to}.f32 d, a, b, p; }}"),
            [16, 32, 32, 0],
            &cases,
            |[a, b, _]| if a < b || a == 2 { one } else { 0 },
        );
    }
}

/// Magnitudes are compared; the result is negative if just one operand is.
#[test]
fn extrema_with_exclusive_signs() {
    for (name, format) in HALVES {
        for (operation, nan) in [("min", ""), ("max", ""), ("min", ".NaN"), ("max", ".NaN")] {
            let expected = |a: u64, b: u64| {
                let [x, y] = [a, b].map(|code| format.decode(code).abs());
                let magnitude = match (x.is_nan(), y.is_nan()) {
                    (true, true) => return format.nan,
                    (true, false) | (false, true) if nan == ".NaN" => return format.nan,
                    (true, false) => y,
                    (false, true) => x,
                    _ if operation == "min" => x.min(y),
                    _ => x.max(y),
                };
                format.encode(magnitude, "rz", false) | (a ^ b) & 0x8000
            };
            let form = format!("{operation}{nan}.xorsign.abs.{name} d, a, b;");
            on(&form, [16, 16, 16, 0], &pairs(), |[a, b, _]| expected(a, b));
            let form = format!("{operation}{nan}.xorsign.abs.{name}x2 d, a, b;");
            on(&form, [32; 4], &packed_pairs(), |[a, b, _]| {
                expected(a & 0xffff, b & 0xffff) | expected(a >> 16, b >> 16) << 16
            });
        }
    }
}
