//! PTX ISA §9.7.9.21: conversions to and from `tf32`, `e4m3` and `e5m2`.

use super::format::{E4M3, E5M2, F16, Format, TF32};
use super::half::{all, on};
use super::table::run;

const EIGHTS: [(&str, Format); 2] = [("e4m3x2", E4M3), ("e5m2x2", E5M2)];

fn value(bits: u64) -> f64 {
    f64::from(f32::from_bits(bits as u32))
}

fn is_positive_or_nan(value: f64) -> bool {
    value.is_nan() || value.is_sign_positive()
}

#[test]
fn single_precision_to_tf32() {
    let cases: Vec<_> = TF32
        .singles(101)
        .into_iter()
        .map(|value| [u64::from(value.to_bits()), 0, 0])
        .collect();
    for modifiers in [
        "rna",
        "rna.satfinite",
        "rn",
        "rz",
        "rn.relu",
        "rz.relu",
        "rn.satfinite",
        "rz.relu.satfinite",
    ] {
        let mode = modifiers.split('.').next().unwrap();
        let finite = modifiers.contains("satfinite");
        let form = format!("cvt.{modifiers}.tf32.f32 d, a;");
        on(&form, [32, 32, 0, 0], &cases, |[a, ..]| {
            let value = value(a);
            match mode {
                // What `ptxas` makes of it on sm_90 keeps the upper part of a NaN.
                "rna" if value.is_nan() && finite => (a & 0xffff_e000) - 0x2000,
                "rna" if value.is_nan() => a & 0xffff_e000,
                _ if value.is_nan() => 0x7fff_e000,
                _ if modifiers.contains("relu") && value.is_sign_negative() => 0,
                _ => TF32.encode(value, mode, finite) << 13,
            }
        });
    }
}

#[test]
fn to_eight_bits() {
    for (name, format) in EIGHTS {
        let cases: Vec<_> = format
            .singles(1)
            .windows(2)
            .map(|pair| [pair[0].to_bits(), pair[1].to_bits(), 0].map(u64::from))
            .collect();
        for relu in ["", ".relu"] {
            let encode = |value: f64| {
                if relu.is_empty() || is_positive_or_nan(value) {
                    format.encode(value, "rn", true)
                } else {
                    0
                }
            };
            let form = format!("cvt.rn.satfinite{relu}.{name}.f32 d, a, b;");
            on(&form, [16, 32, 32, 0], &cases, |[a, b, _]| {
                encode(value(a)) << 8 | encode(value(b))
            });
            let halves: Vec<_> = all()
                .into_iter()
                .map(|case| [case[0] | (case[0] ^ 0x8421) << 16, 0, 0])
                .collect();
            let form = format!("cvt.rn.satfinite{relu}.{name}.f16x2 d, a;");
            on(&form, [16, 32, 0, 0], &halves, |[a, ..]| {
                encode(F16.decode(a >> 16)) << 8 | encode(F16.decode(a & 0xffff))
            });
        }
    }
    // The greatest values of the OCP specification: 448 and 57344, and the least: 2^-9 and 2^-16.
    let codes = |name: &str, values: [f32; 2]| {
        let form = format!("cvt.rn.satfinite.{name}.f32 d, a, b;");
        let [a, b] = values.map(|value| u64::from(value.to_bits()));
        run(&form, [16, 32, 32, 0], &[[a, b, 0]])[0].0
    };
    assert_eq!(codes("e4m3x2", [448.0, 1.0 / 512.0]), 0x7e01);
    assert_eq!(codes("e4m3x2", [f32::NEG_INFINITY, f32::NAN]), 0xfe7f);
    assert_eq!(codes("e5m2x2", [57344.0, 1.0 / 65536.0]), 0x7b01);
}

#[test]
fn from_eight_bits() {
    for (name, format) in EIGHTS {
        for relu in ["", ".relu"] {
            let form = format!("cvt.rn{relu}.f16x2.{name} d, a;");
            on(&form, [32, 16, 0, 0], &all(), |[a, ..]| {
                let [high, low] = [a >> 8, a & 0xff].map(|code| {
                    let value = format.decode(code);
                    if relu.is_empty() || is_positive_or_nan(value) {
                        F16.encode(value, "rn", false)
                    } else {
                        0
                    }
                });
                high << 16 | low
            });
        }
    }
}
