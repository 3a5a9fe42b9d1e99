//! What memcheck reports: addresses by their kind.

use crate::{Bench, bench, shape};
use warpfold_emulator::{Fault, LaunchError, Module, Nothing, Program, Tool, launch};

/// The fault of one thread that runs this.
fn fault(body: &str, prepare: impl FnOnce(&mut Bench)) -> Fault {
    let mut bench = bench(body);
    prepare(&mut bench);
    match launch(
        &bench.kernel,
        &bench.memory,
        &shape(1, 1),
        &bench.arguments,
        &mut Nothing,
    ) {
        Err(LaunchError::Trap(trap)) => trap.fault,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn freed_memory_is_called_so() {
    let fault = fault("ld.global.u32 %r2, [%rd1+16];", |bench| {
        let buffer = bench.memory.allocate(64).expect("there is room");
        bench.memory.free(buffer).expect("it is there");
        bench.arguments = vec![buffer.to_le_bytes().to_vec()];
    });
    assert!(
        matches!(fault, Fault::Freed { allocated: 64, .. }),
        "{fault}"
    );
    assert!(
        fault.to_string().ends_with("that has been freed"),
        "{fault}"
    );
}

#[test]
fn addresses_of_the_wrong_kind_are_told_apart() {
    let of = |body: &str| fault(body, |_| {});
    let is = |body: &str, expected: fn(&Fault) -> bool| {
        let fault = of(body);
        assert!(expected(&fault), "{body}: {fault}");
    };
    is("mov.u64 %rd6, 0; ld.global.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("mov.u64 %rd6, 0; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("st.u32 [%rd3+16], %r1;", |fault| {
        matches!(fault, Fault::SharedOffset { address: 16, .. })
    });
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.shared.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.global.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is("st.shared.u32 [%rd1], %r1;", |fault| {
        matches!(fault, Fault::WrongSpace { .. })
    });
    is("mov.u64 %rd6, 123456789012; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::NoSpace { .. })
    });
    is("ld.u32 %r2, [%rd1+5000];", |fault| {
        matches!(fault, Fault::OutOfBounds { .. })
    });
}

/// A module whose kernel calls `f` with a structure of 12 bytes, the thread's local memory and its own address.
fn calling(function: &str, body: &str) -> Bench {
    let mut bench = bench("");
    let source = format!(
        ".version 7.8
.target sm_90
.address_size 64
.func g(.param .b64 address) {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.b64 %rd0, [address]; ld.u32 %r1, [%rd0]; ret; }}
.func f(.param .align 4 .b8 first[12], .param .align 4 .b8 second[12]) {{
.local .align 4 .b8 own[4];
.reg .b32 %r<4>; .reg .b64 %rd<8>;
{function}
ret; }}
.visible .entry k(.param .u64 data) {{
.local .align 4 .b8 outer[4];
st.local.b32 [outer], 1;
{{ .param .align 4 .b8 a[12]; .param .align 4 .b8 b[12];
st.param.b32 [a], 1; st.param.b32 [a+4], 2; st.param.b32 [a+8], 3; st.param.b32 [b], 4; st.param.b32 [b+4], 5; st.param.b32 [b+8], 6;
call.uni f, (a, b);
{body} }}
ret; }}"
    );
    let program = Program::load(
        Module::parse(&source).unwrap_or_else(|error| panic!("{error}")),
        &mut bench.memory,
    )
    .expect("there is room");
    bench.kernel = program
        .kernel("k")
        .unwrap_or_else(|error| panic!("{error}"));
    bench
}

#[test]
fn a_parameter_has_bounds_where_its_address_is_taken() {
    let outside = |function: &str, message: &str| {
        let findings = calling(function, "").check(shape(1, 1));
        assert_eq!(findings.len(), 1, "{function}: {findings:?}");
        assert_eq!(findings[0].tool, Tool::Memcheck, "{function}");
        assert!(
            findings[0].message.contains(message),
            "{function}: {}",
            findings[0].message
        );
    };
    for access in [
        "ld.local.u32 %r1, [%rd1+12]",
        "st.local.u32 [%rd1-4], 0",
        "st.local.u8 [%rd1+12], 0",
        "ld.local.u64 %rd2, [%rd1+8]",
        "ld.local.u32 %r1, [%rd1+36]",
    ] {
        let message = if access.contains("u64") {
            "misaligned"
        } else {
            "the parameter `first` of `f` has 12 bytes at 0x"
        };
        for other in ["", "mov.u64 %rd3, second; mov.u64 %rd4, own;"] {
            outside(&format!("mov.u64 %rd1, first; {other} {access};"), message);
        }
    }
    // By a generic address, in another function, whose own local memory is elsewhere.
    outside(
        "mov.u64 %rd1, first; cvta.local.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 12;
        { .param .b64 a; st.param.b64 [a], %rd1; call.uni g, (a); }",
        "the parameter `first` of `f` has 12 bytes at 0x",
    );
    for inside in [
        "mov.u64 %rd1, first; mov.u64 %rd2, second; st.local.u32 [%rd1+8], 1; st.local.u32 [%rd2+8], 1; st.local.u32 [own], 1; st.local.u32 [%rd2], 1;",
        "mov.u64 %rd1, second; cvta.local.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 8;
        { .param .b64 a; st.param.b64 [a], %rd1; call.uni g, (a); }",
    ] {
        assert_eq!(calling(inside, "").check(shape(1, 33)), [], "{inside}");
    }
}

/// What the caller has passed counts as written; what the function has besides, and what an earlier call has left there, does not.
#[test]
fn parameters_are_written_and_variables_are_not() {
    let again = "call.uni f, (a, b);";
    let read = "mov.u64 %rd1, first; ld.local.u32 %r1, [%rd1+8]; st.local.u32 [%rd1+8], 7;";
    assert_eq!(calling(read, again).check(shape(1, 32)), []);
    let variable = "ld.local.u32 %r1, [own];";
    let findings = calling(variable, again).check(shape(1, 32));
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].tool, findings[0].count), (Tool::Initcheck, 64));
    let left = "ld.local.u32 %r1, [own]; st.local.u32 [own], 7;";
    assert_eq!(calling(left, again).check(shape(1, 32))[0].count, 64);
}
