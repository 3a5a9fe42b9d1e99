//! Atomic operations on halves, on vectors and on 128 bits, as nvcc compiles them for sm_90 and by themselves.

use crate::common::{HEADER, Machine, block, refusal, shape, threads_of};
use warpfold_emulator::{Launch, LaunchError, Memory, Module, Program};

const HOPPER: &str = include_str!("../data/hopper.nvcc.sm_90.ptx");

#[test]
fn halves_and_vectors_add_up() {
    let mut machine = Machine::new(HOPPER);
    let (half, halves) = (machine.buffer(&[0_u16; 2]), machine.buffer(&[0_u32]));
    let (brain, brains) = (machine.buffer(&[0_u16; 2]), machine.buffer(&[0_u32]));
    let (two, four) = (machine.buffer(&[0_f32; 4]), machine.buffer(&[0_f32; 4]));
    let arguments = [half, halves, brain, brains, two, four].map(|buffer| buffer.address);
    machine
        .launch("half_atomics", &block(32), &arguments)
        .unwrap();
    // 32 · 1.5 = 48 = 0x5200 in f16; 32 · (0.5, -1) = (16, -32) = (0x4c00, 0xd000).
    assert_eq!(machine.read::<u16>(half), [0x5200, 0]);
    assert_eq!(machine.read::<u32>(halves), [0xd000_4c00]);
    // 32 · 2 = 64 = 0x4280 in bf16; 32 · (1, 3) = (32, 96) = (0x4200, 0x42c0).
    assert_eq!(machine.read::<u16>(brain), [0x4280, 0]);
    assert_eq!(machine.read::<u32>(brains), [0x42c0_4200]);
    // Thread 0, the first, has found a 0 in the first element of four.
    assert_eq!(machine.read::<f32>(two), [32.0, 64.0, 0.0, 0.0]);
    assert_eq!(machine.read::<f32>(four), [32.0, 64.0, 96.0, 128.0]);
}

#[test]
fn halves_are_rounded_at_each_step() {
    // 2048 + 1 is a tie in f16, which has 11 bits: to even, 2048, so that nothing ever comes of it.
    let body = "mov.b16 %h1, 0x3c00; red.global.add.noftz.f16 [%d37], %h1; mov.u32 %r0, 0;";
    let (_, data) = threads_of(&block(32), body, &[0x6800]).unwrap();
    assert_eq!(data, [0x6800]);
    // The smallest subnormal, 32 times.
    let body = "mov.b16 %h1, 1; red.global.add.noftz.f16 [%d37], %h1; mov.u32 %r0, 0;";
    let (_, data) = threads_of(&block(32), body, &[0]).unwrap();
    assert_eq!(data, [32]);
}

#[test]
fn vectors_of_halves_return_what_they_found() {
    let body = "
        mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40003c00;
        atom.global.v2.f16x2.add.noftz {%r3, %r4}, [%d37], {%r1, %r2};
        shr.u32 %r0, %r4, 16;";
    let (found, data) = threads_of(&block(2), body, &[0, 0]).unwrap();
    // High half of the second element: 0, then 2 = 0x4000. The sums: (4, 2) and (2, 4).
    assert_eq!(found, [0, 0x4000]);
    assert_eq!(data, [0x4000_4400, 0x4400_4000]);
}

/// The policy after the operands says only how long the cache should keep the line.
#[test]
fn a_cache_policy_changes_nothing() {
    let body = "
        mov.b64 %d1, 0; mov.b32 %r1, 5; mov.f32 %f1, 1.5;
        atom.global.add.L2::cache_hint.u32 %r0, [%d37], %r1, %d1;
        red.L2::cache_hint.global.max.u32 [%d37+4], %r39, %d1;
        red.global.add.L2::cache_hint.v2.f32 [%d37+8], {%f1, %f1}, %d1;";
    let (found, data) = threads_of(&block(2), body, &[0; 4]).unwrap();
    assert_eq!(found, [0, 5]);
    assert_eq!(data, [10, 1, 3f32.to_bits(), 3f32.to_bits()]);
    for broken in [
        "red.global.add.L2::cache_hint.u32 [%d37], %r1",
        "red.global.add.L2::cache_hint.u32 [%d37], %r1, %r2",
        "red.global.add.u32 [%d37], %r1, %d1",
        "ld.global.u32 %r1, [%d37], %d1",
    ] {
        let text = crate::common::entry(&format!("mov.u64 %d37, 0; {broken};"));
        let message = refusal(&text);
        assert!(!message.contains("not supported"), "{message}");
    }
}

/// Numbers rather than NaN, and -0 below +0.
#[test]
fn extrema_of_vectors_of_halves() {
    // (1, -2) and (NaN, -0) in f16, with (0.5, -1) and (3, +0).
    let start = [0xc000_3c00, 0x8000_7e00];
    for (operation, expected) in [
        ("min", [0xc000_3800, 0x8000_4200]),
        ("max", [0xbc00_3c00, 0x0000_4200]),
    ] {
        let body = format!(
            "mov.b32 %r1, 0xbc003800; mov.b32 %r2, 0x00004200;
            atom.global.v2.f16x2.{operation}.noftz {{%r0, %r3}}, [%d37], {{%r1, %r2}};"
        );
        let (found, data) = threads_of(&block(1), &body, &start).unwrap();
        assert_eq!((found, data), (vec![start[0]], expected.to_vec()));
    }
    // Of bf16: 2 and -1, of 32 lanes with 1.
    let body =
        "mov.b16 %h1, 0x3f80; red.global.max.noftz.v2.bf16 [%d37], {%h1, %h1}; mov.u32 %r0, 0;";
    let (_, data) = threads_of(&block(32), body, &[0xbf80_4000]).unwrap();
    assert_eq!(data, [0x3f80_4000]);
}

#[test]
fn a_vector_is_aligned_as_a_whole() {
    let body = "red.global.add.v2.f32 [%d37+4], {%f1, %f2}; mov.u32 %r0, 0;";
    let trap = threads_of(&block(1), body, &[0; 4]).unwrap_err();
    assert!(
        trap.to_string().contains("atomic of 8 bytes misaligned"),
        "{trap}"
    );
}

#[test]
fn one_thread_wins_128_bits() {
    let mut machine = Machine::new(HOPPER);
    let (word, out) = (machine.buffer(&[0_u64; 2]), machine.buffer(&[1_u64; 64]));
    machine
        .launch("wide_cas", &block(32), &[word.address, out.address])
        .unwrap();
    // Lanes go in ascending order: the first finds 0 and leaves 5, which all others find.
    assert_eq!(machine.read::<u64>(word), [5, 0]);
    let found = machine.read::<u64>(out);
    assert_eq!(found[..2], [0, 0]);
    assert!(found[2..].chunks(2).all(|pair| pair == [5, 0]));
    machine
        .launch("wide_exch", &block(2), &[word.address, out.address])
        .unwrap();
    assert_eq!(machine.read::<u64>(word), [3, 4]);
    assert_eq!(machine.read::<u64>(out)[..4], [5, 0, 3, 4]);
}

#[test]
fn registers_may_be_declared_behind_the_use_of_others() {
    let (left, _) = threads_of(
        &block(1),
        "mov.u32 %r1, 5; .reg .b32 %x<3>; mov.u32 %x2, %r1; mov.u32 %r0, %x2;",
        &[0],
    )
    .unwrap();
    assert_eq!(left, [5]);
}

/// Adds 1 to the low half and 3 to the high half of 128 bits, by compare-and-swap in a loop, on several host threads.
#[test]
fn no_update_of_128_bits_is_lost() {
    let ptx = format!(
        "{HEADER}.visible .entry k(.param .u64 word) {{
            .reg .b128 %q<4>; .reg .b64 %d<8>; .reg .pred %p<4>;
            ld.param.u64 %d1, [word];
            ld.relaxed.gpu.global.b128 %q1, [%d1];
            again: mov.b128 {{%d2, %d3}}, %q1; add.u64 %d4, %d2, 1; add.u64 %d5, %d3, 3; mov.b128 %q2, {{%d4, %d5}};
            atom.global.cas.b128 %q3, [%d1], %q1, %q2;
            mov.b128 {{%d6, %d7}}, %q3; setp.ne.u64 %p1, %d2, %d6; mov.b128 %q1, %q3; @%p1 bra again;
            setp.ne.u64 %p2, %d3, %d7; @%p2 trap;
            ret; }}"
    );
    let mut machine = Machine::new(&ptx);
    let word = machine.buffer(&[0_u64; 2]);
    let launch = Launch {
        threads: 4,
        ..shape(40, 64)
    };
    machine
        .launch("k", &launch, &[word.address])
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.read::<u64>(word), [2560, 7680]);
}

#[test]
fn loads_and_stores_of_128_bits() {
    let body = "
        .reg .b128 %q<4>;
        ld.global.b128 %q1, [%d37]; mov.b128 {%d1, %d2}, %q1; mov.b128 %q2, {%d2, %d1}; st.global.b128 [%d37], %q2;
        mov.b128 {%d3, _}, %q2; cvt.u32.u64 %r0, %d3;";
    let (found, data) = threads_of(&block(1), body, &[1, 2, 3, 4]).unwrap();
    assert_eq!((found, data), (vec![3], vec![3, 4, 1, 2]));
}

#[test]
fn forms_that_do_not_exist() {
    let refused = |body: &str| {
        let ptx = crate::common::entry(&format!(".reg .b128 %q<4>; {body}"));
        let refused = Module::parse(&ptx)
            .map_err(LaunchError::from)
            .and_then(|module| {
                let program = Program::load(module, &mut Memory::new())?;
                program.kernel("test").map(|_| ())
            });
        match refused {
            Ok(()) => panic!("this is accepted: {body}"),
            Err(error) => error.to_string(),
        }
    };
    for body in [
        "atom.global.add.v4.f64 {%g1, %g2, %g3, %g4}, [%d1], {%g1, %g2, %g3, %g4};",
        "atom.global.min.v2.f32 {%f1, %f2}, [%d1], {%f1, %f2};",
        "atom.global.add.u128 %q1, [%d1], %q2;",
        "add.b128 %q1, %q2, %q3;",
        "add.u32 %q1, %r1, %r2;",
        "ld.global.u64 %q1, [%d1];",
        "mov.b128 %q1, %d1;",
        "mov.b128 %q1, {%d1, %d2, %d3};",
    ] {
        refused(body);
    }
    assert!(
        refused("red.global.add.v2.f32 [%d1], {%f1, %f2, %f3};")
            .contains("takes 2 registers, not 3")
    );
}
