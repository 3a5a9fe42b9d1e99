//! The addresses of a function's parameters: each leads to a copy in the thread's local memory.

use crate::calls::{each, module, with_functions};
use crate::common::{HEADER, Machine, block};
use warpfold_emulator::{Memory, Module, Program};

/// `function` takes 16 bytes and a word, and leaves its result in `%r0`.
fn taking_sixteen(body: &str) -> String {
    format!(
        ".func (.param .b32 result) taking(.param .align 8 .b8 p[16], .param .b32 q) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; {body} st.param.b32 [result], %r0; ret; }}"
    )
}

/// Calls it with 41, 42, 43 and 44, and the thread's number; the caller has words of its own in local memory.
const CALL: &str =
    ".local .align 8 .b8 frame[64]; st.local.b32 [frame], 111; st.local.b32 [frame+8], 222;
    { .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 got;
    st.param.v4.b32 [a], {41, 42, 43, 44}; st.param.b32 [b], %r39;
    call.uni (got), taking, (a, b); ld.param.b32 %r0, [got]; }";

#[track_caller]
fn gives(body: &str, expected: impl Fn(u32) -> u32) {
    assert_eq!(
        with_functions(&taking_sixteen(body), CALL),
        each(expected),
        "{body}"
    );
}

#[test]
fn an_address_leads_to_the_parameter() {
    gives("mov.b64 %d0, p; ld.local.b32 %r0, [%d0];", |_| 41);
    gives("mov.b64 %d0, p; ld.local.b32 %r0, [%d0+12];", |_| 44);
    gives("mov.b64 %d0, p+8; ld.local.b32 %r0, [%d0-4];", |_| 42);
    gives("mov.b64 %d0, q; ld.local.b32 %r0, [%d0];", |lane| lane);
    gives("mov.b32 %r1, q; ld.local.b32 %r0, [%r1];", |lane| lane);
    gives(
        "mov.b64 %d0, p; cvta.local.u64 %d1, %d0; ld.b32 %r0, [%d1+8];",
        |_| 43,
    );
    gives(
        "mov.b64 %d0, p; cvta.local.u64 %d1, %d0; cvta.to.local.u64 %d2, %d1; ld.local.b32 %r0, [%d2+8];",
        |_| 43,
    );
    gives(
        "mov.b64 %d0, p; cvta.local.u64 %d1, %d0; atom.add.u32 %r1, [%d1+4], 5; ld.local.b32 %r0, [%d0+4]; mad.lo.u32 %r0, %r1, 100, %r0;",
        |_| 4247,
    );
}

/// As an H200 has it: the address leads to a copy, and `ld.param` to the parameter.
#[test]
fn a_store_by_the_address_does_not_change_the_parameter() {
    gives(
        "ld.param.b32 %r1, [p]; mov.b64 %d0, p; st.local.b32 [%d0], 5; ld.param.b32 %r2, [p]; ld.local.b32 %r3, [%d0];
        mad.lo.u32 %r0, %r1, 100, %r2; mad.lo.u32 %r0, %r0, 10, %r3;",
        |_| 41415,
    );
}

/// The argument passed a second time is what it was.
#[test]
fn a_store_by_the_address_does_not_reach_the_caller() {
    let functions = taking_sixteen(
        "mov.b64 %d0, p; ld.local.b32 %r1, [%d0]; add.u32 %r1, %r1, 1; st.local.b32 [%d0], %r1; mov.b32 %r0, %r1;",
    );
    let body = ".local .align 8 .b8 own[16]; st.local.b32 [own], 7;
        { .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 got;
        st.param.v4.b32 [a], {%r39, 42, 43, 44}; st.param.b32 [b], 0;
        call.uni (got), taking, (a, b); ld.param.b32 %r1, [got];
        call.uni (got), taking, (a, b); ld.param.b32 %r2, [got]; ld.param.b32 %r3, [a]; }
        ld.local.b32 %r4, [own];
        mad.lo.u32 %r0, %r1, 100, %r2; mad.lo.u32 %r0, %r0, 100, %r3; mad.lo.u32 %r0, %r0, 10, %r4;";
    assert_eq!(
        with_functions(&functions, body),
        each(|lane| (((lane + 1) * 100 + lane + 1) * 100 + lane) * 10 + 7)
    );
}

const DEEPER: &str = "
.func (.param .b32 result) deeper(.param .align 4 .b8 digits[12], .param .b32 depth) {
    .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<2>;
    mov.b64 %d0, digits; ld.param.b32 %r1, [depth]; st.local.b32 [%d0+4], %r1; mov.b32 %r3, 0;
    setp.eq.u32 %p0, %r1, 0; @%p0 bra out;
    sub.u32 %r2, %r1, 1;
    { .param .align 4 .b8 a[12]; .param .b32 b; .param .b32 got;
    ld.local.b32 %r4, [%d0]; add.u32 %r4, %r4, 1; st.param.b32 [a], %r4; st.param.b32 [a+4], 0; st.param.b32 [a+8], 0; st.param.b32 [b], %r2;
    call.uni (got), deeper, (a, b); ld.param.b32 %r3, [got]; }
    out: ld.local.b32 %r4, [%d0]; ld.local.b32 %r5, [%d0+4]; mad.lo.u32 %r3, %r3, 3, %r4; add.u32 %r3, %r3, %r5;
    st.param.b32 [result], %r3; ret; }";

/// Lanes return from different depths, where each has a copy of its own.
#[test]
fn recursion() {
    let body = "and.b32 %r1, %r39, 7;
        { .param .align 4 .b8 a[12]; .param .b32 b; .param .b32 got;
        st.param.b32 [a], %r39; st.param.b32 [a+4], 0; st.param.b32 [a+8], 0; st.param.b32 [b], %r1;
        call.uni (got), deeper, (a, b); ld.param.b32 %r0, [got]; }";
    fn model(first: u32, depth: u32) -> u32 {
        let below = if depth == 0 {
            0
        } else {
            model(first + 1, depth - 1)
        };
        below * 3 + first + depth
    }
    assert_eq!(
        with_functions(DEEPER, body),
        each(|lane| model(lane, lane & 7))
    );
}

/// Lanes of a warp call different functions through pointers, from different sides of a branch.
#[test]
fn calls_through_pointers() {
    let function = |name: &str, at: u32| {
        format!(
            ".func (.param .b32 result) {name}(.param .align 8 .b8 v[8]) {{ .reg .b32 %r<4>; .reg .b64 %d<4>;
            mov.b64 %d0, v; cvta.local.u64 %d0, %d0; ld.u32 %r1, [%d0+{at}]; add.u32 %r1, %r1, 1; st.u32 [%d0+{at}], %r1;
            ld.u32 %r2, [%d0+{at}]; st.param.b32 [result], %r2; ret; }}"
        )
    };
    let call = "{ .param .align 8 .b8 a[8]; .param .b32 got; st.param.b32 [a], %r39; st.param.b32 [a+4], %r2;
        call (got), %d0, (a), shape; ld.param.b32 %r0, [got]; shape: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[8]); }";
    let body = format!(
        "mov.u64 %d1, low; mov.u64 %d2, high; add.u32 %r2, %r39, 1000; and.b32 %r1, %r39, 1; setp.eq.u32 %p0, %r1, 0;
        selp.b64 %d0, %d1, %d2, %p0; setp.lt.u32 %p1, %r39, 9; @%p1 bra few; {call} bra done; few: {} done:",
        call.replace("shape", "other_shape")
    );
    let functions = function("low", 0) + &function("high", 4);
    assert_eq!(
        with_functions(&functions, &body),
        each(|lane| if lane % 2 == 0 { lane + 1 } else { lane + 1001 })
    );
}

/// Copies of several parameters, each aligned as its parameter, after a local variable that is not.
#[test]
fn every_size_and_alignment() {
    for (bytes, align) in [
        (1u32, 1u32),
        (2, 2),
        (7, 1),
        (16, 16),
        (100, 4),
        (96, 32),
        (128, 128),
        (4000, 64),
    ] {
        let functions = format!(
            ".func (.param .b32 result) last(.param .b32 q, .param .align {align} .b8 p[{bytes}], .param .align {align} .b8 r[{bytes}]) {{
            .local .b8 own[3]; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;
            mov.b64 %d0, p; mov.b64 %d1, r; mov.b64 %d2, q; mov.b64 %d3, own;
            st.local.u8 [%d3+2], 99; st.local.u32 [%d2], 77; mov.b32 %r0, 0; mov.b32 %r1, 0;
            again: cvt.u64.u32 %d4, %r1; add.u64 %d5, %d0, %d4; add.u64 %d6, %d1, %d4;
            ld.local.u8 %r2, [%d5]; ld.local.u8 %r3, [%d6]; mad.lo.u32 %r0, %r0, 3, %r2; mad.lo.u32 %r0, %r0, 5, %r3; st.local.u8 [%d5], 1;
            add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, {bytes}; @%p0 bra again;
            cvt.u32.u64 %r4, %d0; rem.u32 %r4, %r4, {align}; cvt.u32.u64 %r5, %d1; rem.u32 %r5, %r5, {align};
            add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5; st.param.b32 [result], %r0; ret; }}"
        );
        let fill = |name: &str, factor: u32| {
            (0..bytes)
                .map(|at| format!("st.param.b8 [{name}+{at}], {};", (at * factor) & 127))
                .collect::<String>()
        };
        let body = format!(
            ".local .align 4 .b8 odd[20]; st.local.b32 [odd], 1;
            {{ .param .b32 q; .param .align {align} .b8 p[{bytes}]; .param .align {align} .b8 r[{bytes}]; .param .b32 got;
            st.param.b32 [q], 1; {} {} call.uni (got), last, (q, p, r); ld.param.b32 %r0, [got]; }}",
            fill("p", 7),
            fill("r", 11)
        );
        let expected = (0..bytes).fold(0u32, |sum, at| {
            let sum = sum.wrapping_mul(3).wrapping_add((at * 7) & 127);
            sum.wrapping_mul(5).wrapping_add((at * 11) & 127)
        });
        assert_eq!(
            with_functions(&functions, &body),
            each(|_| expected),
            "{bytes} bytes aligned to {align}"
        );
    }
}

/// Arguments after the named ones lie in the caller's memory, as compilers pass them; the named ones are copies.
#[test]
fn variable_arguments() {
    let functions = "
    .func (.param .b32 result) sum(.param .b32 count, .param .b64 list) {
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;
        mov.b64 %d0, count; mov.b64 %d1, list; mov.b32 %r0, 0;
        again: ld.local.b32 %r1, [%d0]; setp.eq.u32 %p0, %r1, 0; @%p0 bra done; sub.u32 %r1, %r1, 1; st.local.b32 [%d0], %r1;
        ld.local.b64 %d2, [%d1]; ld.b32 %r2, [%d2]; add.u64 %d2, %d2, 4; st.local.b64 [%d1], %d2; mad.lo.u32 %r0, %r0, 10, %r2; bra again;
        done: st.param.b32 [result], %r0; ret; }";
    let body = ".local .align 4 .b8 list[12]; st.local.b32 [list], 1; st.local.b32 [list+4], 2; st.local.b32 [list+8], 3;
        mov.u64 %d0, list; cvta.local.u64 %d0, %d0; rem.u32 %r1, %r39, 4;
        { .param .b32 a; .param .b64 b; .param .b32 got; st.param.b32 [a], %r1; st.param.b64 [b], %d0;
        call.uni (got), sum, (a, b); ld.param.b32 %r0, [got]; }";
    let sums = [0, 1, 12, 123];
    assert_eq!(
        with_functions(functions, body),
        each(|lane| sums[lane as usize % 4])
    );
}

/// `ld.param::entry` in a function leads to the kernel's parameters, as a generic address of one does.
#[test]
fn parameters_of_the_kernel_in_a_function() {
    let source = format!(
        "{HEADER}.func f(.param .b64 g, .param .b64 out) {{ .reg .b64 %d<9>; .reg .b32 %r<4>;
        ld.param.b64 %d1, [g]; ld.param.b64 %d3, [out]; cvta.to.param.u64 %d2, %d1; ld.param::entry.b32 %r1, [%d2+8];
        ld.b32 %r2, [%d1+8]; add.u32 %r1, %r1, %r2; st.global.u32 [%d3], %r1; ret; }}
        .visible .entry k(.param .u64 out, .param .u64 x) {{ .reg .b64 %d<9>;
        mov.b64 %d2, out; cvta.param.u64 %d3, %d2; ld.param.u64 %d1, [out];
        {{ .param .b64 a; .param .b64 b; st.param.b64 [a], %d3; st.param.b64 [b], %d1; call.uni f, (a, b); }} ret; }}"
    );
    let mut machine = Machine::new(&source);
    let out = machine.buffer(&[0u32]);
    machine
        .launch("k", &block(1), &[out.address, 44])
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.read::<u32>(out), [88]);
}

#[track_caller]
fn refusal(body: &str) -> String {
    let source = module(&taking_sixteen(body), CALL);
    let module = Module::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let error =
        Program::load(module, &mut Memory::new()).and_then(|program| program.kernel("test"));
    error.expect_err("not supported").to_string()
}

#[test]
fn what_has_no_address_is_named() {
    let result = refusal("mov.b64 %d0, result; mov.b32 %r0, 0;");
    assert!(
        result.contains("the address of `result` cannot be taken"),
        "{result}"
    );
    let argument = refusal("{ .param .b32 a; mov.b64 %d0, a; } mov.b32 %r0, 0;");
    assert!(
        argument.contains("the address of `a` cannot be taken"),
        "{argument}"
    );
    let loaded = refusal("mov.b64 %d0, p; ld.param.b32 %r0, [%d0];");
    assert!(
        loaded.contains("a register holds no address in a function's parameters"),
        "{loaded}"
    );
    let converted = refusal("cvta.param.u64 %d0, p; ld.b32 %r0, [%d0];");
    assert!(
        converted
            .contains("`cvta.param` takes parameters of a kernel, and `p` is one of a function"),
        "{converted}"
    );
}
