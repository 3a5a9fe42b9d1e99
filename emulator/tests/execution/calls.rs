//! Device functions: parameters, results, recursion, pointers, divergence.

use crate::common::{HEADER, Machine, block, lanes, own_slot};

/// Runs functions with an entry whose body leaves its result in `%r0`.
#[track_caller]
pub fn with_functions(functions: &str, body: &str) -> Vec<u32> {
    let mut machine = Machine::new(&module(functions, body));
    let out = machine.buffer(&[0u32; 32]);
    machine
        .launch("test", &block(32), &[out.address])
        .unwrap_or_else(|error| panic!("{error}"));
    machine.read(out)
}

pub fn module(functions: &str, body: &str) -> String {
    format!(
        "{HEADER}{functions}\n.visible .entry test(.param .u64 out) {{
        .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .pred %p<8>;
        {}\n{body}\nst.global.u32 [%d39], %r0; ret; }}",
        own_slot(4)
    )
}

pub fn each(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

const TWICE: &str = "
.func (.param .b32 result) twice(.param .b32 x) {
    .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }";

fn call(function: &str, argument: &str, result: &str) -> String {
    format!(
        "{{ .param .b32 in; .param .b32 got; st.param.b32 [in], {argument};
        call.uni (got), {function}, (in); ld.param.b32 {result}, [got]; }}"
    )
}

#[test]
fn a_function_with_a_result() {
    let body = format!(
        "{} {}",
        call("twice", "%r39", "%r1"),
        call("twice", "%r1", "%r0")
    );
    assert_eq!(with_functions(TWICE, &body), each(|lane| 4 * lane));
}

#[test]
fn parameters_of_every_kind() {
    let functions = "
    .func (.param .align 8 .b8 result[16]) mix(.param .b64 a, .param .b32 b, .param .align 4 .b8 c[12]) {
        .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .b16 %h<2>;
        ld.param.b64 %d0, [a]; ld.param.b32 %r0, [b]; ld.param.b32 %r1, [c]; ld.param.b32 %r2, [c+4]; ld.param.s8 %h0, [c+8]; ld.param.u16 %h1, [c+10];
        cvt.s64.s16 %d1, %h0; add.u64 %d0, %d0, %d1; cvt.u32.u16 %r3, %h1; add.u32 %r0, %r0, %r3; add.u32 %r0, %r0, %r1; sub.u32 %r0, %r0, %r2;
        st.param.b64 [result], %d0; st.param.b32 [result+8], %r0; ret; }";
    let body = "{
        .param .b64 a; .param .b32 b; .param .align 4 .b8 c[12]; .param .align 8 .b8 got[16];
        cvt.u64.u32 %d0, %r39; st.param.b64 [a], %d0; st.param.b32 [b], 1000; st.param.b32 [c], 50; st.param.b32 [c+4], 7;
        st.param.b8 [c+8], -3; st.param.b16 [c+10], 60000;
        call (got), mix, (a, b, c);
        ld.param.b64 %d1, [got]; ld.param.b32 %r1, [got+8]; }
        cvt.u32.u64 %r0, %d1; add.u32 %r0, %r0, %r1;";
    assert_eq!(
        with_functions(functions, body),
        each(|lane| lane.wrapping_sub(3).wrapping_add(1000 + 60000 + 50 - 7))
    );
}

const FACTORIAL: &str = "
.func (.param .b32 result) factorial(.param .b32 n) {
    .reg .b32 %r<6>; .reg .pred %p<2>;
    ld.param.b32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra deeper;
    st.param.b32 [result], 1; ret;
    deeper: sub.u32 %r2, %r1, 1;
    { .param .b32 in; .param .b32 got; st.param.b32 [in], %r2; call.uni (got), factorial, (in); ld.param.b32 %r3, [got]; }
    mul.lo.u32 %r4, %r3, %r1; st.param.b32 [result], %r4; ret; }";

#[test]
fn recursion_to_another_depth_in_every_lane() {
    let body = format!(
        "and.b32 %r1, %r39, 15; {} activemask.b32 %r2; setp.ne.u32 %p0, %r2, -1; @%p0 mov.u32 %r0, 0;",
        call("factorial", "%r1", "%r0")
    );
    let factorial = |n: u32| (1..=n).fold(1u32, |product, i| product.wrapping_mul(i));
    assert_eq!(
        with_functions(FACTORIAL, &body),
        each(|lane| factorial(lane & 15))
    );
}

/// Each call has local memory of its own, and a pointer into a caller's leads there.
#[test]
fn local_memory_of_nested_calls() {
    let functions = "
    .func (.param .b32 result) sum(.param .b32 n, .param .b64 outer) {
        .local .align 4 .b8 own[16]; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>;
        ld.param.b32 %r1, [n]; ld.param.b64 %d1, [outer];
        mov.u64 %d0, own; cvta.local.u64 %d0, %d0; st.u32 [%d0+12], %r1; mov.u32 %r3, 0;
        setp.eq.u32 %p1, %r1, 0; @%p1 bra out;
        sub.u32 %r2, %r1, 1;
        { .param .b32 a; .param .b64 b; .param .b32 got; st.param.b32 [a], %r2; st.param.b64 [b], %d0; call (got), sum, (a, b); ld.param.b32 %r3, [got]; }
        out: ld.u32 %r4, [%d0+12]; ld.u32 %r5, [%d1+12]; mad.lo.u32 %r4, %r5, 100, %r4; add.u32 %r3, %r3, %r4; st.param.b32 [result], %r3; ret; }";
    let body = ".local .align 4 .b8 top[16]; mov.u64 %d0, top; st.local.u32 [%d0+12], 1; cvta.local.u64 %d0, %d0; and.b32 %r1, %r39, 3;
        { .param .b32 a; .param .b64 b; .param .b32 got; st.param.b32 [a], %r1; st.param.b64 [b], %d0; call (got), sum, (a, b); ld.param.b32 %r0, [got]; }";
    let model = |n: u32| {
        (0..=n)
            .map(|i| i + 100 * if i == n { 1 } else { i + 1 })
            .sum()
    };
    assert_eq!(
        with_functions(functions, body),
        each(|lane| model(lane & 3))
    );
}

#[test]
fn returns_from_different_places() {
    let functions = "
    .func (.param .b32 result) classify(.param .b32 x) {
        .reg .b32 %r<4>; .reg .pred %p<4>; ld.param.b32 %r1, [x]; mov.u32 %r2, 0;
        setp.lt.u32 %p0, %r1, 8; st.param.b32 [result], 1; @%p0 ret;
        again: add.u32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, %r1; st.param.b32 [result], %r2; @%p1 ret;
        setp.lt.u32 %p2, %r2, 20; @%p2 bra again;
        st.param.b32 [result], 99; ret; }";
    let body = format!(
        "{} activemask.b32 %r2; setp.ne.u32 %p0, %r2, -1; @%p0 mov.u32 %r0, 0;",
        call("classify", "%r39", "%r0")
    );
    let model = |lane| match lane {
        0..8 => 1,
        8..=20 => lane,
        _ => 99,
    };
    assert_eq!(with_functions(functions, &body), each(model));
}

/// A lane that exits inside a function is waited for by nobody.
#[test]
fn an_exit_inside_a_function() {
    let functions = "
    .func leave(.param .b32 x) {
        .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.b32 %r1, [x]; setp.gt.u32 %p0, %r1, 15; @%p0 bra on; exit; on: ret; }";
    let body = "mov.u32 %r0, 5; setp.gt.u32 %p0, %r39, 3; @!%p0 bra over;
        { .param .b32 in; st.param.b32 [in], %r39; call.uni leave, (in); }
        over: activemask.b32 %r0;";
    assert_eq!(
        with_functions(functions, body),
        each(|lane| if (4..16).contains(&lane) {
            0
        } else {
            0xffff_000f
        })
    );
}

const THREE: &str = "
.func (.param .b32 result) one(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.u32 %r1, %r1, 1; st.param.b32 [result], %r1; ret; }
.func (.param .b32 result) two(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, 2; st.param.b32 [result], %r1; ret; }
.func (.param .b32 result) three(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret; }";

const INDIRECT: &str = "{ .param .b32 in; .param .b32 got; st.param.b32 [in], %r39;
    call (got), %d0, (in), shape; ld.param.b32 %r0, [got];
    shape: .callprototype (.param .b32 _) _ (.param .b32 _); }";

#[test]
fn pointers_that_differ_inside_a_warp() {
    let body = format!(
        "mov.u64 %d1, one; mov.u64 %d2, two; mov.u64 %d3, three; rem.u32 %r1, %r39, 3;
        setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; selp.b64 %d0, %d2, %d3, %p1; selp.b64 %d0, %d1, %d0, %p0;
        {INDIRECT} activemask.b32 %r2; setp.ne.u32 %p0, %r2, -1; @%p0 mov.u32 %r0, 0;"
    );
    let model = |lane| match lane % 3 {
        0 => lane + 1,
        1 => lane * 2,
        _ => lane * lane,
    };
    assert_eq!(with_functions(THREE, &body), each(model));
}

/// A table of functions in memory, as virtual calls use it.
#[test]
fn pointers_from_a_table() {
    let functions =
        format!("{THREE}\n.global .align 8 .u64 table[3] = {{three, one, generic(two)}};");
    let body = format!(
        "mov.u64 %d1, table; rem.u32 %r1, %r39, 3; mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2; ld.global.u64 %d0, [%d1]; {INDIRECT}"
    );
    let model = |lane| match lane % 3 {
        0 => lane * lane,
        1 => lane + 1,
        _ => lane * 2,
    };
    assert_eq!(with_functions(&functions, &body), each(model));
}

#[track_caller]
fn failure(functions: &str, body: &str) -> String {
    let mut machine = Machine::new(&module(functions, body));
    let out = machine.buffer(&[0u32; 32]);
    let error = machine
        .launch("test", &block(32), &[out.address])
        .expect_err("a trap");
    error.to_string()
}

#[test]
fn a_pointer_to_no_function() {
    let message = failure(THREE, &format!("mov.u64 %d0, 0x1234; {INDIRECT}"));
    assert!(message.starts_with("call of 0x1234, which is no function, in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line"), "{message}");
}

#[test]
fn a_pointer_to_a_function_of_another_shape() {
    let functions = ".func odd(.param .b64 x) { ret; }";
    let message = failure(functions, &format!("mov.u64 %d0, odd; {INDIRECT}"));
    assert!(
        message
            .starts_with("call of `odd` with arguments that do not fit its declaration, in kernel"),
        "{message}"
    );
}

#[test]
fn recursion_without_end() {
    let functions = ".func down() { call.uni down; ret; }";
    assert_eq!(
        failure(functions, "call.uni down;"),
        "the stack overflows: 1024 calls are open, in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 4: \
         `.func down() { call.uni down; ret; }`"
    );
    let functions = ".func down() { .local .b8 big[100000]; call.uni down; ret; }";
    assert!(
        failure(functions, "call.uni down;").starts_with("the stack overflows: 5 calls are open")
    );
}

#[test]
fn a_guarded_call() {
    let body = "mov.u32 %r0, 7; setp.lt.u32 %p0, %r39, 10;
        { .param .b32 in; .param .b32 got; st.param.b32 [in], %r39; st.param.b32 [got], 3; @%p0 call (got), twice, (in); ld.param.b32 %r0, [got]; }";
    assert_eq!(
        with_functions(TWICE, body),
        each(|lane| if lane < 10 { 2 * lane } else { 3 })
    );
}

#[test]
fn a_body_may_end_without_return() {
    assert_eq!(lanes("mov.u32 %r0, 3;"), vec![3; 32]);
    let functions = ".func nothing() { }";
    assert_eq!(
        with_functions(functions, "mov.u32 %r0, 4; call nothing;"),
        vec![4; 32]
    );
}
