//! Broken texts, each with its message.

use crate::common::{HEADER, refusal};
use warpfold_emulator::{Memory, Module, Program};

/// The message for a text that follows the header, whose first line is line 4.
#[track_caller]
fn module(text: &str, message: &str) {
    assert_eq!(refusal(&format!("{HEADER}{text}")), message);
}

/// The message for one statement, on line 6, in an entry that declares a few registers.
#[track_caller]
fn statement(text: &str, message: &str) {
    let ptx = format!(
        "{HEADER}.entry e(.param .u64 a) {{\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<4>; .reg .b16 %h<4>; .reg .f32 %f<4>;\n{text}\nret; }}"
    );
    assert_eq!(refusal(&ptx), format!("PTX line 6: {message} in `{text}`"));
}

#[test]
fn no_module() {
    assert_eq!(
        refusal(""),
        "PTX line 1: expected `.version` at the start of a PTX module, but the text ends"
    );
    assert_eq!(
        refusal("hello"),
        "PTX line 1: expected `.version` at the start of a PTX module, but found `hello` in `hello`"
    );
    assert_eq!(
        refusal("\u{7f}ELF\0"),
        "PTX line 1: the character '\\u{7f}' has no place in PTX in `\u{7f}ELF\0`"
    );
    assert_eq!(
        refusal(".version 7.0"),
        "PTX line 1: the module has no `.target` in `.version 7.0`"
    );
    assert_eq!(
        refusal(".version seven"),
        "PTX line 1: `.version` needs a number such as 7.0 in `.version seven`"
    );
    assert_eq!(
        refusal(".version 7.0 .target tesla"),
        "PTX line 1: the module has no `.target` in `.version 7.0 .target tesla`"
    );
    assert_eq!(
        refusal(".version 7.0 .target sm_x"),
        "PTX line 1: `sm_x` is not a target such as sm_80 in `.version 7.0 .target sm_x`"
    );
    assert_eq!(
        refusal(".version 7.0 .target sm_70 .address_size 32"),
        "PTX line 1: only 64-bit addresses are supported, not this `.address_size` in `.version 7.0 .target sm_70 .address_size 32`"
    );
}

#[test]
fn tokens() {
    module(
        "/* open",
        "PTX line 4: this comment is never closed in `/* open`",
    );
    module(
        ".file 1 \"open",
        "PTX line 4: this string is never closed in `.file 1 \"open`",
    );
    statement("mov.u32 %r0, 0x;", "`0x` is not a number that PTX knows");
    statement(
        "mov.u32 %r0, 99999999999999999999999;",
        "`99999999999999999999999` is not a number that PTX knows",
    );
    statement(
        "mov.u32 %r0, 3 # 4;",
        "the character '#' has no place in PTX",
    );
}

#[test]
fn directives() {
    module(
        ".texref t;",
        "PTX line 4: the directive `.texref` is not known at module scope in `.texref t;`",
    );
    module(
        "add.u32 a, b, c;",
        "PTX line 4: the directive `add.u32` is not known at module scope in `add.u32 a, b, c;`",
    );
    module(
        ".global .pred p;",
        "PTX line 4: `.pred` is not a type that a variable in global memory can have in `.global .pred p;`",
    );
    module(
        ".global .u32 a[",
        "PTX line 4: expected the length of an array, but the text ends in `.global .u32 a[`",
    );
    module(
        ".global .u32 a[99999999999999];",
        "PTX line 4: the array `a` is too large in `.global .u32 a[99999999999999];`",
    );
    module(
        ".global .align 3 .u32 a;",
        "PTX line 4: an alignment of 3 is not a power of two up to 4096 in `.global .align 3 .u32 a;`",
    );
    module(
        ".global .u8 a[2] = {1, 2, 3};",
        "PTX line 4: the initialiser of `a` has 3 bytes, but the variable 2 in `.global .u8 a[2] = {1, 2, 3};`",
    );
    module(
        ".global .u32 a = [1];",
        "PTX line 4: an initialiser takes numbers and symbols in `.global .u32 a = [1];`",
    );
    module(
        ".global .u64 a = b;",
        "PTX line 4: the name `b` is not declared in `.global .u64 a = b;`",
    );
    module(
        ".global .u32 a; .global .u32 a;",
        "PTX line 4: the variable `a` is defined twice in `.global .u32 a; .global .u32 a;`",
    );
    module(
        ".entry e() { ret; }\n.entry e() { ret; }",
        "PTX line 5: the function `e` is defined twice in `.entry e() { ret; }`",
    );
    module(
        ".entry e(.param .u32 a, .param .u32 a) { ret; }",
        "PTX line 4: `a` is declared twice in one scope in `.entry e(.param .u32 a, .param .u32 a) { ret; }`",
    );
    module(
        ".entry e(.u32 a) { ret; }",
        "PTX line 4: expected a `.param`, but found `.u32` in `.entry e(.u32 a) { ret; }`",
    );
    module(
        ".entry e() .maxntid { ret; }",
        "PTX line 4: expected a number of threads, but found `{` in `.entry e() .maxntid { ret; }`",
    );
    module(
        ".entry e() .fast { ret; }",
        "PTX line 4: `.fast` is not known before the body of a function in `.entry e() .fast { ret; }`",
    );
    module(
        ".entry e() { ret;",
        "PTX line 4: the text ends inside the `{` opened on line 4 in `.entry e() { ret;`",
    );
    module(
        ".entry e()\n",
        "PTX line 4: expected the body of `e`, but the text ends in `.entry e()`",
    );
    module(
        ".section .debug_info { .b8 1",
        "PTX line 4: this `{` is never closed in `.section .debug_info { .b8 1`",
    );
    let big = ".entry e() { .shared .align 4 .b8 a[50000]; ret; }";
    module(
        big,
        &format!(
            "PTX line 4: the shared variables of `e` have 50000 bytes, where at most 49152 are allowed in `{big}`"
        ),
    );
    let big = ".entry e() { .local .b8 a[600000]; ret; }";
    module(
        big,
        &format!("PTX line 4: the variable `a` does not fit: a thread has 524288 bytes in `{big}`"),
    );
    let big = ".entry e(.param .b8 a[40000]) { ret; }";
    module(
        big,
        &format!("PTX line 4: the parameters of `e` have more than 32764 bytes in `{big}`"),
    );
}

#[test]
fn names() {
    statement("mov.u32 %r0, %r4;", "the register `%r4` is not declared");
    statement("mov.u32 %x, 1;", "the register `%x` is not declared");
    statement(
        "mov.u64 %d0, nothing;",
        "the name `nothing` is not declared",
    );
    statement("mov.u32 %r01, 1;", "the register `%r01` is not declared");
    statement("bra nowhere;", "the label `nowhere` is not defined");
    statement("twice: twice: ret;", "the label `twice` is defined twice");
    statement(".reg .u32 %r2;", "`%r2` is declared twice in one scope");
    statement(
        ".reg .u32 x; .reg .u64 x;",
        "`x` is declared twice in one scope",
    );
    statement(".reg .u32 %r<9>;", "`%r0` is declared twice in one scope");
    statement(
        "{ .reg .b32 inner; } mov.u32 inner, 1;",
        "the name `inner` is not declared",
    );
    statement("call missing;", "there is no function `missing`");
    statement(
        "brx.idx %r0, list;",
        "the branch targets `list` are not defined",
    );
    statement(
        "call %d0, (), shape;",
        "the prototype of this call is not defined",
    );
    statement(
        "ld.shared.u32 %r0, [a];",
        "`a` does not live in shared memory",
    );
    statement("@%r0 ret;", "`%r0` is not a predicate");
}

#[test]
fn widths_and_kinds() {
    statement(
        "add.u32 %r0, %d1, %r2;",
        "`%d1` has 64 bits where 32 are needed",
    );
    statement(
        "add.u64 %d0, %d1, %r2;",
        "`%r2` has 32 bits where 64 are needed",
    );
    statement(
        "add.u32 %r0, %h1, %r2;",
        "`%h1` has 16 bits where 32 are needed",
    );
    statement(
        "add.u32 %p0, %r1, %r2;",
        "`%p0` is a predicate where a register of 32 bits is needed",
    );
    statement("mov.u32 5, %r0;", "the destination must be a register");
    statement("setp.eq.u32 %r0, %r1, %r2;", "`%r0` is not a predicate");
    statement("and.pred %p0, %p1, %r0;", "`%r0` is not a predicate");
    statement(
        "ld.global.u64 %r0, [%d0];",
        "`%r0` has 32 bits where 64 are needed",
    );
    statement(
        "st.global.u32 [%d0], %h0;",
        "`%h0` has 16 bits where 32 are needed",
    );
    statement(
        "ld.global.u32 %p0, [%d0];",
        "`%p0` is a predicate where a register is needed",
    );
    statement(
        "atom.global.add.u32 %d0, [%d0], 1;",
        "`atom.global.add.u32` needs 32-bit registers",
    );
    statement(
        "ld.global.u32 %r0, %d0;",
        "an address in brackets is needed here",
    );
    statement(
        "ld.global.u32 %r0, [%h0];",
        "`%h0` has 16 bits where 32 are needed",
    );
    statement(
        "mov.b64 %d0, {%r0, %r1, %r2};",
        "3 parts do not make up 64 bits",
    );
    statement(
        "st.const.u32 [%d0], %r0;",
        "constant memory cannot be stored to",
    );
}

#[test]
fn operands() {
    statement("add.u32 %r0, %r1;", "`add.u32` takes 3 operands, not 2");
    statement(
        "add.u32 %r0, %r1, %r2, %r3;",
        "`add.u32` takes 3 operands, not 4",
    );
    statement(
        "ld.global.v2.u32 %r0, [%d0];",
        "`ld.global.v2.u32` takes 2 registers, not 1",
    );
    statement(
        "ld.global.v4.f64 {%d0, %d1, %d2, %d3, %d0}, [%d0];",
        "`ld.global.v4.f64` takes 4 registers, not 5",
    );
    statement(
        "ld.global.v8.b64 {%d0}, [%d0];",
        "`ld.global.v8.b64` is wider than 32 bytes",
    );
    statement(
        "ld.global.u32 %r0;",
        "`ld.global.u32` takes a register and an address",
    );
    statement("bra %r0, %r1;", "`bra` takes one label");
    statement(
        "lop3.b32 %r0, %r1, %r2, %r3, %r0;",
        "`lop3.b32` needs a number here",
    );
    statement("bar.sync;", "the operands of `bar.sync` do not fit");
    statement(
        "shfl.sync.down.b32 %r0, %r1;",
        "the operands of `shfl.sync.down.b32` do not fit",
    );
    statement(
        "atom.global.cas.b32 %r0, [%d0], 1;",
        "`atom.global.cas.b32` has the wrong number of operands",
    );
    statement(
        "add.u32 %r0, [%d0], %r1;",
        "the source must be a register, a number or a symbol",
    );
    statement(
        "@%p0 .reg .u32 x;",
        "the directive `.reg` cannot be guarded by a predicate",
    );
    statement(
        "add.u32 %r0 %r1, %r2;",
        "expected `,` or `;` after an operand, but found `%r1`",
    );
    statement("add.u32 %r0, , %r2;", "expected an operand, but found `,`");
    statement(
        "mov.u32 %r0, - %r1;",
        "expected a number after `-`, but found `%r1`",
    );
    statement("ld.global.u32 %r0, [%d0;", "expected `]`, but found `;`");
    statement(
        "ld.global.u32 %r0, [[%d0]];",
        "an address is a register, a symbol or a number, with an offset or without",
    );
    statement("= 5;", "expected a statement, but found `=`");
    statement(
        ".texref x;",
        "the directive `.texref` is not known inside a function",
    );
}

#[test]
fn calls_that_do_not_fit() {
    let functions = ".func (.param .b32 r) one(.param .b32 a) { ret; }\n";
    for (call, message) in [
        (
            "call one;",
            "the results of this call do not fit the declaration of `one`",
        ),
        (
            ".param .b32 x; call (x), one, ();",
            "the arguments of this call do not fit the declaration of `one`",
        ),
        (
            ".param .b32 x; .param .b64 y; call (x), one, (y);",
            "the arguments of this call do not fit the declaration of `one`",
        ),
        (
            ".reg .b32 q; call (q), one, (q);",
            "`q` is not a `.param` variable of this function",
        ),
        (
            "call (5), one, (5);",
            "arguments and results of a call are `.param` variables",
        ),
    ] {
        let entry = format!(".entry e() {{ {call} ret; }}");
        module(
            &format!("{functions}{entry}"),
            &format!("PTX line 5: {message} in `{entry}`"),
        );
    }
}

/// What hostile nesting would cost in recursion is bounded.
#[test]
fn nesting() {
    let bomb = |open: &str, count: usize| {
        format!(
            "{HEADER}.entry e() {{ .reg .b32 %r<2>;\n{}",
            open.repeat(count)
        )
    };
    let message = refusal(&bomb("{", 100_000));
    assert!(
        message.starts_with("PTX line 5: braces are nested more than 64 deep in `{{{{"),
        "{message}"
    );
    let message = refusal(&bomb("[", 100_000).replace("[[", "mov.u32 %r0, [["));
    assert!(message.starts_with("PTX line 5:"), "{message}");
    let message = refusal(&format!(
        "{HEADER}.global .u32 a = {};",
        "{".repeat(100_000)
    ));
    assert!(
        message.contains("braces are nested more than 64 deep"),
        "{message}"
    );
    let message = refusal(&bomb("call (", 1000));
    assert!(message.starts_with("PTX line 5:"), "{message}");
}

#[test]
fn variables_that_do_not_fit_into_the_memory() {
    let module = Module::parse(&format!("{HEADER}.global .b8 big[900000000000];")).unwrap();
    let mut memory = Memory::with_limit(1 << 20);
    let error = Program::load(module, &mut memory).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "cannot allocate 900000000000 bytes: 0 of the emulator's 1048576 bytes are in use"
    );
}

#[test]
fn initialisers_from_elsewhere() {
    let module = Module::parse(&format!(
        "{HEADER}.extern .global .u32 far;\n.global .u64 a = far;"
    ))
    .unwrap();
    let error = Program::load(module, &mut Memory::new()).expect_err("no address");
    assert_eq!(
        error.to_string(),
        "PTX line 5: the initialiser needs the address of `far`, which this module does not define in `.global .u64 a = far;`"
    );
}
