//! Every directive and form of text that compilers write.

use crate::common::HEADER;
use warpfold_emulator::{LaunchError, Memory, Module, Program};

#[track_caller]
fn accept(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A module of the header and more.
#[track_caller]
fn module(text: &str) -> Module {
    accept(&format!("{HEADER}{text}"))
}

/// Some statements in an entry.
#[track_caller]
fn body(text: &str) -> Module {
    module(&format!(".entry e() {{ {text} }}"))
}

#[test]
fn headers() {
    assert_eq!(
        accept(".version 7.0 .target sm_70 .address_size 64").target_sm(),
        70
    );
    assert_eq!(accept(".version 8.0\n.target sm_90a\n").target_sm(), 90);
    assert_eq!(
        accept(".version 8.8 .target sm_100f, texmode_independent").target_sm(),
        100
    );
    assert_eq!(
        accept(
            "// a comment\n/* and\nanother */ .version 6.5 .target sm_75, debug .address_size 64"
        )
        .target_sm(),
        75
    );
}

#[test]
fn entries_and_their_parameters() {
    let module = module(
        ".visible .entry first(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[24], .param .f32 c) { ret; }
        .weak .entry second() .maxntid 128 .minnctapersm 2 .maxnreg 32 { ret; }
        .entry third(.param .v4 .f32 v) .reqntid 64, 1, 1 .noreturn { ret; }
        .func helper() { ret; }
        .extern .func (.param .b32 r) elsewhere(.param .b64 p);
        .visible .entry fourth() .blocksareclusters .reqnctapercluster 1 .explicitcluster { ret; }",
    );
    assert_eq!(
        module.entries().collect::<Vec<_>>(),
        ["first", "second", "third", "fourth"]
    );
    let sizes = |entry: &str| -> Vec<(String, usize, usize)> {
        let parameters = module.parameters(entry).unwrap().into_iter();
        parameters
            .map(|parameter| (parameter.name, parameter.bytes, parameter.align))
            .collect()
    };
    assert_eq!(
        sizes("first"),
        [("a".into(), 8, 8), ("b".into(), 24, 8), ("c".into(), 4, 4)]
    );
    assert_eq!(sizes("third"), [("v".into(), 16, 16)]);
    assert_eq!(module.parameters("helper"), None);
    assert_eq!(
        module.function_source("second").map(str::trim),
        Some(".weak .entry second() .maxntid 128 .minnctapersm 2 .maxnreg 32 { ret; }")
    );
    assert_eq!(module.function_source("elsewhere"), None);
    assert_eq!(module.function_lines("elsewhere"), None);
}

#[test]
fn variables() {
    module(
        ".global .u32 a; .visible .global .align 8 .b8 b[16]; .weak .const .f64 c = 0d3FF0000000000000; .common .global .b32 d[4];
        .shared .align 16 .b8 e[128]; .extern .shared .align 16 .b8 f[]; .extern .global .u32 g; .global .v4 .f32 h;
        .global .u16 i[2][3] = {{1, 2, 3}, {4, 5, 6}}; .global .u64 j[] = {a, b+8, generic(h), 17, -1}; .global .s8 k = -1, l = 2;
        .global .attribute(.managed) .u32 m; .const .b8 n[3] = {0x1, 017, 0b11};",
    );
}

#[test]
fn debug_information() {
    let module = module(
        ".file 1 \"/some where/kernel.cu\", 1700000000, 1234
        .visible .entry e() { .loc 1 12 5
        .pragma \"nounroll\"; .loc 1 14 3, function_name $L__info_string0, inlined_at 1 12 5
        ret; $L__func_end0: }
        .section .debug_abbrev { .b8 1 .b8 17 .b32 .debug_info .b64 $L__func_end0+4 }
        .section .debug_str { $L__info_string0: .b8 102,111,0 }",
    );
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).unwrap();
    let kernel = program.kernel("e").unwrap();
    let origin = kernel.origin(7).unwrap();
    assert_eq!(origin.own.to_string(), "/some where/kernel.cu:14");
    assert_eq!(origin.inlined, None);
}

#[test]
fn registers_and_labels() {
    body(
        ".reg .pred %p<3>; .reg .b16 %rs<2>, %h; .reg .f32 %f<1>; .reg .b32 x, y; .reg .u64 _private, $dollar;
        mov.u32 x, 5; { .reg .b64 x; mov.u64 x, 6; inner: bra inner; } setp.eq.u32 %p2|%p1, x, y; @!%p2 bra $L_1; bra.uni $L_1; $L_1: ret; ;",
    );
    // More registers than any memory would hold cost nothing while nobody names them.
    body(".reg .b64 %huge<4294967295>; mov.u64 %huge4294967294, 1; ret;");
}

/// As `ptxas` reads them, and as cuda_fp16.hpp has them: `.reg.b32` is two words.
#[test]
fn directives_without_spaces() {
    let module = module(
        ".visible.global.attribute(.managed).u32 a; .const.u32 b = 1; .extern.shared.align 16 .b8 c[];
        .weak.func(.param.b32 r) f(.param.b32 x, .param.align 4 .b8 y[8]).noreturn{ trap; }
        .section.debug_info { .b8 1 }
        .visible.entry e(.param.u64.ptr.global.align 8 p).maxntid 32 {
        .reg.b32 %r<3>; .reg.pred%p; .reg.f16x2 h; .shared.align 8 .b32 s; .local.v2.b32 l;
        {.reg.b32 r1; .param.b32 q; mov.b32 r1, 1;} mov.u32 %r2, s; ret; }",
    );
    assert_eq!(module.parameters("e").unwrap()[0].bytes, 8);
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).unwrap();
    assert!(program.kernel("e").is_ok());
}

#[test]
fn numbers() {
    body(
        ".reg .b32 %r<2>; .reg .b64 %d<2>; .reg .f32 %f<2>; .reg .f64 %g<2>; .reg .b16 %h<2>;
        mov.u32 %r0, 0xFFFFFFFF; mov.s32 %r0, -2147483648; mov.u32 %r0, 4294967295U; mov.u64 %d0, 0xffffffffffffffff; mov.u16 %h0, -1; mov.b32 %r0, 0b101;
        mov.u32 %r0, 0777; mov.f32 %f0, 0f3F800000; mov.f32 %f0, 1.5; mov.f64 %g0, -0dBFF0000000000000; mov.f64 %g0, 1.0e-5; add.f32 %f1, %f0, 2; ret;",
    );
}

#[test]
fn functions_of_every_shape() {
    module(
        ".func none; .func none() { ret; } .func (.param .b32 r) one(.param .b32 a, .param .align 4 .b8 b[8]) { st.param.b32 [r], 1; ret; }
        .func .attribute(.unified(1, 2)) marked() { ret; } .func end() .noreturn { trap; } .alias other, none;
        .entry e() { .reg .b64 %d<2>; { .param .b32 r; .param .b32 a; .param .align 4 .b8 b[8]; call.uni (r), one, (a, b); } call other; call (), none, (); mov.u64 %d0, none; ret; }",
    );
}

/// What the emulator does not know hinders only the kernel that needs it.
#[test]
fn the_unknown_is_left_to_its_kernel() {
    let module = module(
        ".entry good() { ret; }
        .entry strange() {\n wgmma.fence.sync.aligned; ret; }
        .entry odd() { .reg .b256 %q; ret; }
        .entry counted() { .reg .b64 %d; mov.u64 %d, %pm3_64; ret; }
        .entry outside() { .reg .b32 %r; ld.global.u32 %r, [missing]; call away, (); ret; }
        .func old(.reg .u32 a) { ret; }
        .extern .global .u32 missing; .extern .func away();",
    );
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).unwrap();
    assert!(program.kernel("good").is_ok());
    for (entry, message) in [
        (
            "strange",
            "PTX line 6: the instruction `wgmma.fence.sync.aligned` is not supported by the emulator in `wgmma.fence.sync.aligned; ret; }`",
        ),
        (
            "odd",
            "PTX line 7: registers of type `.b256` are not supported in `.entry odd() { .reg .b256 %q; ret; }`",
        ),
        (
            "counted",
            "PTX line 8: the performance counter `%pm3_64` is not supported by the emulator in `.entry counted() { .reg .b64 %d; mov.u64 %d, %pm3_64; ret; }`",
        ),
        (
            "outside",
            "PTX line 9: the variable `missing` is defined outside this module in `.entry outside() { .reg .b32 %r; ld.global.u32 %r, [missing]; call away, (); ret; }`",
        ),
    ] {
        let error = program.kernel(entry).expect_err(entry);
        assert!(matches!(&error, LaunchError::Ptx(error) if error.unsupported));
        assert_eq!(error.to_string(), message);
    }
}
