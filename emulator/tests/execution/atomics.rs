//! Atomic operations (PTX ISA §9.7.13.6 `atom`, `red`): each against a model, and all together under contention.

use crate::common::{Machine, block, shape, threads_of};
use warpfold_emulator::Launch;

/// A value at the edges of its type, without pattern in between.
fn samples(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    [
        0,
        1,
        5,
        1 << (bits - 1),
        (1 << (bits - 1)) - 1,
        mask,
        mask - 1,
        0x9e37_79b9_7f4a_7c15 & mask,
    ]
    .to_vec()
}

/// What an operation leaves.
fn model(form: &str, bits: u32, old: u64, b: u64, c: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let signed = |value: u64| (value << (64 - bits)) as i64;
    match form.split_once('.').unwrap() {
        ("add", "f32") => {
            u64::from((f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits())
        }
        ("add", "f64") => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        ("add", _) => old.wrapping_add(b) & mask,
        ("min", "s32" | "s64") => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        ("max", "s32" | "s64") => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        ("min", _) => old.min(b),
        ("max", _) => old.max(b),
        ("inc", _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        ("dec", _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        ("and", _) => old & b,
        ("or", _) => old | b,
        ("xor", _) => old ^ b,
        ("exch", _) => b,
        ("cas", _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        other => panic!("{other:?}"),
    }
}

const FORMS: [&str; 26] = [
    "add.u32", "add.s32", "add.u64", "add.s64", "min.u32", "min.s32", "min.u64", "min.s64",
    "max.u32", "max.s32", "max.u64", "max.s64", "inc.u32", "dec.u32", "and.b32", "and.b64",
    "or.b32", "or.b64", "xor.b32", "xor.b64", "exch.b32", "exch.b64", "cas.b16", "cas.b32",
    "cas.b64", "exch.u64",
];

#[test]
fn every_operation_and_type() {
    for form in FORMS.iter().filter(|form| **form != "exch.u64") {
        let bits: u32 = form[form.len() - 2..].parse().unwrap();
        let (register, bytes) = (
            match bits {
                16 => "%h",
                32 => "%r",
                _ => "%d",
            },
            bits / 8,
        );
        let values = samples(bits);
        let is_cas = form.starts_with("cas");
        let c = if is_cas {
            format!(", {register}3")
        } else {
            String::new()
        };
        for (space, at) in [
            ("global.", "[%d37]"),
            ("", "[%d37]"),
            ("relaxed.gpu.global.", "[%d37]"),
            ("shared.", "[cell]"),
        ] {
            // Each thread: the old value and the operands from the data; then, after them, what it got and what is left.
            let body = format!(
                ".shared .align 8 .b64 cell;
                ld.param.u64 %d37, [data]; ld.global.b{bits} {register}1, [%d37]; ld.global.b{bits} {register}2, [%d37+8]; ld.global.b{bits} {register}3, [%d37+16];
                st.shared.b{bits} [cell], {register}1;
                atom.{space}{form} {register}4, {at}, {register}2{c};
                ld.{}b{bits} {register}5, {at}; st.global.b{bits} [%d37+24], {register}4; st.global.b{bits} [%d37+32], {register}5;",
                if space == "shared." { "shared." } else { "" }
            );
            let mut machine = Machine::of(&body);
            for &old in &values {
                for &b in &values {
                    let c = 0x5a & (u64::MAX >> (64 - bits));
                    let data = machine.buffer(&[old, b, c, 0, 0]);
                    machine
                        .launch("test", &block(1), &[0, data.address])
                        .unwrap_or_else(|error| panic!("{error}"));
                    let seen: Vec<u64> = machine.read(data);
                    let left = model(form, bits, old, b, c);
                    assert_eq!(
                        seen[3..],
                        [old, left],
                        "atom.{space}{form} of {bytes} bytes, {old:#x} and {b:#x}"
                    );
                    machine.memory.free(data.address).unwrap();
                }
            }
        }
    }
}

#[test]
fn sums_of_floats() {
    // Global memory adds single precision without subnormal values, shared memory with them.
    let tiny = 1e-40f32;
    for (form, old, b, left) in [
        ("global.add.f32", 1.5f32, 2.25, 3.75),
        ("global.add.f32", tiny, tiny, 0.0),
        ("shared.add.f32", tiny, tiny, tiny + tiny),
        ("shared.add.f32", -1.0, 1.0, 0.0),
    ] {
        let at = if form.starts_with("shared") {
            "[cell]"
        } else {
            "[%d37]"
        };
        let body = format!(
            ".shared .align 4 .b32 cell; ld.global.u32 %r1, [%d37]; st.shared.u32 [cell], %r1; ld.global.f32 %f1, [%d37+4];
            atom.{form} %f2, {at}, %f1; ld.{}u32 %r0, {at};",
            if form.starts_with("shared") { "shared." } else { "global." }
        );
        let (seen, _) = threads_of(&block(1), &body, &[old.to_bits(), b.to_bits()]).unwrap();
        assert_eq!(f32::from_bits(seen[0]), left, "{form} of {old:e} and {b:e}");
    }
    let body = "mov.f64 %g0, 0d3ff8000000000000; red.global.add.f64 [%d37], %g0; mov.u32 %r0, 0;";
    let (_, data) = threads_of(&block(64), body, &[0, 0]).unwrap();
    assert_eq!(
        f64::from_bits(u64::from(data[1]) << 32 | u64::from(data[0])),
        96.0
    );
}

/// No update is lost between lanes, warps, blocks and workers.
#[test]
fn totals_under_contention() {
    let body = "
        .shared .align 4 .b32 mine; setp.eq.u32 %p0, %r39, 0; @%p0 st.shared.u32 [mine], 0; bar.sync 0;
        mov.u32 %r1, %ctaid.x;
        red.global.add.u32 [%d37], 1; red.global.add.u64 [%d37+8], 0x100000001; red.global.max.u32 [%d37+16], %r1; red.global.min.s32 [%d37+20], -5;
        red.global.or.b32 [%d37+24], %r39; atom.global.inc.u32 %r2, [%d37+28], 6; red.shared.add.u32 [mine], %r39; red.global.xor.b32 [%d37+32], 1;
        bar.sync 0; ld.shared.u32 %r0, [mine];";
    for threads in [1, 2] {
        let launch = Launch {
            threads,
            ..shape(100, 96)
        };
        let (seen, data) = threads_of(&launch, body, &[0; 16]).unwrap();
        assert_eq!(seen, vec![95 * 96 / 2; 9600]);
        let expected = [9600, 0, 9600, 9600, 99, -5i32 as u32, 127, 9600 % 7, 0];
        assert_eq!(data[..9], expected);
    }
}

/// A lane's own order of operations on one word is kept, lanes go in ascending order.
#[test]
fn tickets() {
    let (seen, _) = threads_of(&block(32), "atom.global.add.u32 %r0, [%d37], 2;", &[10]).unwrap();
    assert_eq!(seen, (0..32).map(|lane| 10 + 2 * lane).collect::<Vec<_>>());
}

#[test]
fn sums_by_compare_and_swap() {
    let body = "
        ld.global.u32 %r1, [%d37];
        again: mov.b32 %f1, %r1; add.f32 %f2, %f1, 0f3F000000; mov.b32 %r2, %f2; atom.global.cas.b32 %r3, [%d37], %r1, %r2;
        setp.ne.u32 %p0, %r3, %r1; mov.u32 %r1, %r3; @%p0 bra again; mov.u32 %r0, 0;";
    let (_, data) = threads_of(
        &Launch {
            threads: 2,
            ..shape(8, 64)
        },
        body,
        &[0],
    )
    .unwrap();
    assert_eq!(f32::from_bits(data[0]), 256.0);
}
