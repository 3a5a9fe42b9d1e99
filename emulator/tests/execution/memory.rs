//! State spaces: what is stored is loaded again, from where it was stored.

use crate::common::{HEADER, Machine, block, lanes, threads_of};
use warpfold_emulator::{Launch, Memory, Module, Program};

fn each(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn vectors_of_every_element() {
    let body = "
        .shared .align 16 .b8 cells[64]; mov.u32 %r20, cells;
        setp.eq.u32 %p0, %r39, 0; @%p0 st.shared.v4.b32 [%r20], {0x03020100, 0x07060504, 0x0b0a0908, 0x8f8e8d8c};
        bar.warp.sync -1;
        ld.shared.v2.b64 {%d0, %d1}, [%r20]; ld.shared.v4.u8 {%h0, %h1, %h2, %h3}, [%r20+4]; ld.shared.v4.s8 {%h4, %h5, %h6, %h7}, [%r20+12];
        ld.shared.v2.u16 {%h8, %h9}, [%r20+8]; ld.shared.v4.b32 {_, %r1, _, %r2}, [%r20];
        cvt.u32.u64 %r3, %d1; cvt.u32.u16 %r4, %h2; cvt.s32.s16 %r5, %h7; cvt.u32.u16 %r6, %h9;
        xor.b32 %r0, %r1, %r2; xor.b32 %r0, %r0, %r3; xor.b32 %r0, %r0, %r4; xor.b32 %r0, %r0, %r5; xor.b32 %r0, %r0, %r6;";
    let expected = 0x0706_0504 ^ 0x8f8e_8d8c ^ 0x0b0a_0908 ^ 6 ^ 0xffff_ff8f ^ 0x0b0a;
    assert_eq!(lanes(body), vec![expected; 32]);
}

/// Variables that a function declares in constant and in global memory: there is one of each, whatever its braces and its threads.
#[test]
fn variables_of_a_function_in_constant_and_global_memory() {
    let body = "
        { .const .align 4 .b32 weights[4] = {2, 3, 5, 7}; mov.u64 %d0, weights;
          and.b32 %r1, %r39, 3; mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1; ld.const.b32 %r2, [%d0]; }
        { .const .align 4 .b32 weights[2] = {100, 200}; ld.const.b32 %r3, [weights+4]; }
        { .global .align 4 .u32 count = 1000; atom.global.add.u32 %r4, [count], 1; }
        add.u32 %r0, %r2, %r3; add.u32 %r0, %r0, %r4;";
    let weights = [2, 3, 5, 7];
    assert_eq!(
        lanes(body),
        each(|lane| weights[lane as usize % 4] + 200 + 1000 + lane)
    );
}

/// Narrow types are extended as they say when loaded into wider registers, and cut off when stored.
#[test]
fn narrow_types() {
    let bytes = [0x8081_8283u32, 0x7fff_ffff];
    for (load, expected) in [
        ("ld.global.u8 %r0, [%d37];", 0x83),
        ("ld.global.s8 %r0, [%d37];", 0xffff_ff83),
        ("ld.global.b8 %r0, [%d37+3];", 0x80),
        ("ld.global.u16 %r0, [%d37];", 0x8283),
        ("ld.global.s16 %r0, [%d37+2];", 0xffff_8081),
        ("ld.global.s16 %h0, [%d37]; cvt.u32.u16 %r0, %h0;", 0x8283),
        ("ld.global.s8 %h0, [%d37]; cvt.u32.u16 %r0, %h0;", 0xff83),
        (
            "ld.global.s32 %d0, [%d37]; shr.u64 %d0, %d0, 32; cvt.u32.u64 %r0, %d0;",
            u32::MAX,
        ),
        (
            "ld.global.u32 %d0, [%d37]; shr.u64 %d0, %d0, 32; cvt.u32.u64 %r0, %d0;",
            0,
        ),
        (
            "ld.global.s8 %d0, [%d37]; shr.u64 %d0, %d0, 32; cvt.u32.u64 %r0, %d0;",
            u32::MAX,
        ),
        (
            "mov.u32 %r1, 0x1234; st.global.u8 [%d37+1], %r1; ld.global.u32 %r0, [%d37];",
            0x8081_3483,
        ),
        (
            "mov.u64 %d1, 0x123456789a; st.global.u16 [%d37+4], %d1; ld.global.u32 %r0, [%d37+4];",
            0x7fff_789a,
        ),
    ] {
        let (seen, _) = threads_of(&block(1), load, &bytes).unwrap();
        assert_eq!(seen, [expected], "{load}");
    }
}

#[test]
fn volatile_and_ordered_accesses() {
    for (store, load) in [
        ("st.volatile.global.u32", "ld.volatile.global.u32"),
        ("st.relaxed.gpu.global.u32", "ld.relaxed.sys.global.u32"),
        ("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"),
        ("st.global.wt.u32", "ld.global.cv.u32"),
        ("st.weak.global.u32", "ld.weak.global.L1::evict_last.u32"),
        (
            "st.mmio.relaxed.sys.global.u32",
            "ld.mmio.relaxed.sys.global.u32",
        ),
        ("st.global.cs.u32", "ld.global.nc.L2::128B.u32"),
    ] {
        let body = format!(
            "{store} [%d37], 321; fence.sc.gpu; membar.cta; fence.acq_rel.sys; {load} %r0, [%d37];"
        );
        assert_eq!(lanes(&body), vec![321; 32], "{store}");
    }
}

/// One generic load reads shared, local, global and constant memory in different lanes.
#[test]
fn generic_addresses() {
    let ptx = format!(
        "{HEADER}.const .align 4 .u32 fixed = 44; .global .align 4 .u32 wide = 33;
        .visible .entry test(.param .u64 out) {{
        .shared .align 4 .b32 near; .local .align 4 .b32 own; .reg .b32 %r<8>; .reg .b64 %d<12>; .reg .pred %p<12>;
        mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 3;
        st.shared.u32 [near], 11; st.local.u32 [own], 22;
        mov.u64 %d0, near; cvta.shared.u64 %d0, %d0; mov.u64 %d1, own; cvta.local.u64 %d1, %d1;
        mov.u64 %d2, wide; cvta.global.u64 %d2, %d2; mov.u64 %d3, fixed; cvta.const.u64 %d3, %d3;
        setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2;
        selp.b64 %d4, %d2, %d3, %p2; selp.b64 %d4, %d1, %d4, %p1; selp.b64 %d4, %d0, %d4, %p0;
        ld.u32 %r2, [%d4];
        isspacep.shared %p4, %d4; isspacep.local %p5, %d4; isspacep.global %p6, %d4; isspacep.const %p7, %d4;
        @%p4 add.u32 %r2, %r2, 1000; @%p5 add.u32 %r2, %r2, 2000; @%p6 add.u32 %r2, %r2, 3000; @%p7 add.u32 %r2, %r2, 4000;
        cvta.to.shared.u64 %d5, %d4; @%p4 ld.shared.u32 %r3, [%d5]; @%p4 add.u32 %r2, %r2, %r3;
        ld.param.u64 %d6, [out]; mul.wide.u32 %d7, %r0, 4; add.u64 %d6, %d6, %d7; st.global.u32 [%d6], %r2; ret; }}"
    );
    let mut machine = Machine::new(&ptx);
    let out = machine.buffer(&[0u32; 32]);
    machine.launch("test", &block(32), &[out.address]).unwrap();
    let expected = each(|lane| [1022, 2022, 3033, 4044][lane as usize & 3]);
    assert_eq!(machine.read::<u32>(out), expected);
}

#[test]
fn variables_of_the_module() {
    let ptx = format!(
        "{HEADER}
        .global .align 4 .u32 count = 5;
        .global .align 8 .u64 pointers[3] = {{count, table+4, generic(table)+8}};
        .const .align 4 .s32 table[4] = {{-1, 2, 3}};
        .global .align 4 .f32 reals[2] = {{1.5, 0f40200000}};
        .global .align 8 .f64 real = -0.25;
        .global .align 1 .b8 text[6] = {{104, 101, 108, 108, 111}};
        .global .align 1 .b8 packed[3] = {{0xFF(count), 0xFF00(count), 7}};
        .visible .global .align 16 .b8 zeros[32];
        .visible .entry test(.param .u64 out) {{
        .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .f32 %f<3>; .reg .f64 %g<3>;
        ld.param.u64 %d0, [out];
        ld.global.u32 %r0, [count]; ld.global.u64 %d1, [pointers]; ld.global.u32 %r1, [%d1]; ld.global.u64 %d1, [pointers+8]; ld.u32 %r2, [%d1];
        ld.global.u64 %d1, [pointers+16]; ld.u32 %r3, [%d1]; ld.const.s32 %r4, [table]; ld.const.u32 %r5, [table+12];
        ld.global.f32 %f0, [reals]; ld.global.f32 %f1, [reals+4]; add.f32 %f0, %f0, %f1; cvt.rzi.u32.f32 %r6, %f0;
        ld.global.f64 %g0, [real]; mul.f64 %g0, %g0, 0d4010000000000000; cvt.rzi.s32.f64 %r7, %g0;
        ld.global.u8 %r8, [text+4]; ld.global.u8 %r9, [packed+1]; mov.u64 %d2, count; shr.u64 %d2, %d2, 8; cvt.u32.u8 %r10, %d2; sub.u32 %r9, %r9, %r10;
        {} st.global.u32 [count], 6; ret; }}",
        (0..10).map(|i| format!("st.global.u32 [%d0+{}], %r{i};", 4 * i)).collect::<String>()
    );
    let mut machine = Machine::new(&ptx);
    let out = machine.buffer(&[9u32; 10]);
    machine.launch("test", &block(1), &[out.address]).unwrap();
    assert_eq!(
        machine.read::<u32>(out),
        [5, 5, 2, 3, u32::MAX, 0, 4, u32::MAX, 111, 0]
    );
    // The host reads and writes variables by their names; they keep their values from launch to launch.
    let count = machine.program.variable("count").unwrap();
    let mut bytes = [0; 4];
    machine.memory.read(count, &mut bytes).unwrap();
    assert_eq!(bytes, [6, 0, 0, 0]);
    machine.memory.write(count, &[9, 0, 0, 0]).unwrap();
    machine.launch("test", &block(1), &[out.address]).unwrap();
    assert_eq!(machine.read::<u32>(out)[0], 9);
    assert_eq!(machine.program.variable("nothing"), None);
}

/// Dynamic shared memory begins after the static, and every name of it is the same memory.
#[test]
fn dynamic_shared_memory() {
    let ptx = format!(
        "{HEADER}.extern .shared .align 16 .b8 pool[]; .extern .shared .align 4 .u32 again[]; .shared .align 4 .b8 fixed[20];
        .visible .entry test(.param .u64 out) {{
        .reg .b32 %r<12>; .reg .b64 %d<4>; ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, pool; add.u32 %r2, %r2, %r1;
        st.shared.u32 [fixed+16], 5; st.shared.u32 [%r2], %r0; bar.sync 0;
        mov.u32 %r3, %ntid.x; sub.u32 %r3, %r3, %r0; shl.b32 %r3, %r3, 2; mov.u32 %r4, again; add.u32 %r4, %r4, %r3; ld.shared.u32 %r5, [%r4-4];
        mov.u32 %r6, %dynamic_smem_size; mov.u32 %r7, %total_smem_size; ld.shared.u32 %r8, [fixed+16]; mad.lo.u32 %r5, %r8, 1000, %r5;
        mul.wide.u32 %d1, %r0, 12; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r5; st.global.u32 [%d0+4], %r6; st.global.u32 [%d0+8], %r7; ret; }}"
    );
    let mut machine = Machine::new(&ptx);
    let out = machine.buffer(&[0u32; 3 * 64]);
    let shape = Launch {
        dynamic_shared_bytes: 256,
        ..block(64)
    };
    machine.launch("test", &shape, &[out.address]).unwrap();
    let expected: Vec<u32> = (0..64)
        .flat_map(|thread| [5000 + 63 - thread, 256, 32 + 256])
        .collect();
    assert_eq!(machine.read::<u32>(out), expected);
    assert_eq!(
        machine
            .program
            .kernel("test")
            .unwrap()
            .static_shared_bytes(),
        20
    );
}

/// Shared memory is each block's own, and begins as zeros here.
#[test]
fn blocks_do_not_share() {
    let body = ".shared .align 4 .b32 cell; ld.shared.u32 %r1, [cell]; mov.u32 %r2, %ctaid.x; add.u32 %r2, %r2, 5; st.shared.u32 [cell], %r2;
        bar.sync 0; ld.shared.u32 %r0, [cell]; mad.lo.u32 %r0, %r1, 1000, %r0;";
    let (seen, _) = threads_of(&crate::common::shape(6, 1), body, &[0]).unwrap();
    assert_eq!(seen, [5, 6, 7, 8, 9, 10]);
}

#[test]
fn structures_as_kernel_parameters() {
    let ptx = format!(
        "{HEADER}.visible .entry test(.param .u64 out, .param .align 8 .b8 pair[16], .param .u8 small, .param .f32 real) {{
        .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<2>; .reg .b16 %h<2>;
        ld.param.u64 %d0, [out]; ld.param.u64 %d1, [pair]; ld.param.u64 %d2, [pair+8]; ld.param.s8 %h0, [small]; cvt.s32.s16 %r0, %h0; ld.param.f32 %f0, [real]; cvt.rzi.s32.f32 %r1, %f0;
        mov.b64 %d3, pair; cvta.param.u64 %d3, %d3; ld.u32 %r2, [%d3+8];
        st.global.u64 [%d0], %d1; st.global.u64 [%d0+8], %d2; st.global.u32 [%d0+16], %r0; st.global.u32 [%d0+20], %r1; st.global.u32 [%d0+24], %r2; ret; }}"
    );
    let mut machine = Machine::new(&ptx);
    let out = machine.buffer(&[0u32; 7]);
    let kernel = machine.program.kernel("test").unwrap();
    let sizes: Vec<usize> = kernel
        .parameters()
        .iter()
        .map(|parameter| parameter.bytes)
        .collect();
    assert_eq!(sizes, [8, 16, 1, 4]);
    let pair = [7u64.to_le_bytes(), (3u64 << 33 | 21).to_le_bytes()].concat();
    let arguments = [
        out.address.to_le_bytes().to_vec(),
        pair,
        vec![200],
        12.75f32.to_le_bytes().to_vec(),
    ];
    warpfold_emulator::launch(
        &kernel,
        &machine.memory,
        &block(1),
        &arguments,
        &mut warpfold_emulator::Nothing,
    )
    .unwrap();
    assert_eq!(
        machine.read::<u32>(out),
        [7, 0, 21, 6, -56i32 as u32, 12, 21]
    );
}

#[test]
fn hints_do_nothing() {
    let body = "prefetch.global.L2 [%d37]; prefetchu.L1 [%d37]; nanosleep.u32 100; applypriority.global.L2::evict_normal [%d37], 128; mov.u32 %r0, 8;";
    assert_eq!(lanes(body), vec![8; 32]);
}

/// A module is compiled once and loaded often: what names no variable is shared, and what does has each memory's own addresses, also what
/// a function declares, and what a called function names.
#[test]
fn a_module_in_two_memories_has_its_variables_in_each() {
    let ptx = format!(
        "{HEADER}
.visible .global .u32 shared_by_all = 7;
.func (.param .b64 address) own() {{ .reg .b64 %d<1>; mov.u64 %d0, shared_by_all; st.param.b64 [address], %d0; ret; }}
.visible .entry named(.param .u64 out) {{
    .reg .b64 %d<2>; ld.param.u64 %d0, [out]; mov.u64 %d1, shared_by_all; st.global.u64 [%d0], %d1; ret; }}
.visible .entry declared(.param .u64 out) {{
    .global .u32 inner; .reg .b64 %d<2>; ld.param.u64 %d0, [out]; mov.u64 %d1, inner; st.global.u64 [%d0], %d1; ret; }}
.visible .entry called(.param .u64 out) {{
    .reg .b64 %d<2>; .param .b64 own_address; ld.param.u64 %d0, [out]; call (own_address), own;
    ld.param.b64 %d1, [own_address]; st.global.u64 [%d0], %d1; ret; }}
.visible .entry neither(.param .u64 out) {{
    .reg .b64 %d<2>; ld.param.u64 %d0, [out]; mov.u64 %d1, 9; st.global.u64 [%d0], %d1; ret; }}"
    );
    let module = std::sync::Arc::new(Module::parse(&ptx).unwrap());
    let machines = [0, 4096].map(|taken| {
        let mut memory = Memory::new();
        memory.allocate(taken).unwrap();
        let program = Program::load(module.clone(), &mut memory).unwrap();
        Machine { memory, program }
    });
    let [first, second] = machines.map(|mut machine| {
        let variable = machine.program.variable("shared_by_all").unwrap();
        let addresses = ["named", "called", "declared", "neither"].map(|entry| {
            let out = machine.buffer(&[0_u64]);
            machine.launch(entry, &block(1), &[out.address]).unwrap();
            machine.read::<u64>(out)[0]
        });
        assert_eq!(addresses[..2], [variable; 2]);
        addresses
    });
    for place in 0..3 {
        assert_ne!(first[place], second[place]);
    }
    assert_eq!([first[3], second[3]], [9; 2]);
}
