//! `warpfold emulate`.

use super::*;

const SHAPE: [&str; 6] = ["--kernel", "scale", "--grid", "4", "--block", "64"];

/// `emulate scale.ptx` over four blocks of 64 threads with these further arguments.
fn scale(arguments: &[&str]) -> Vec<String> {
    let file = data("scale.ptx");
    let all = [&["emulate", &file], &SHAPE[..], arguments].concat();
    all.into_iter().map(str::to_owned).collect()
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn what_a_kernel_prints_is_shown_block_by_block() {
    let file = data("hello.ptx");
    let arguments = [
        "emulate", &file, "--kernel", "hello", "--grid", "2", "--block", "32", "--arg", "i32:3",
    ];
    warpfold(&arguments)
        .assert()
        .success()
        .stdout(predicate::str::starts_with(
            "block 0 thread 0: hi  4.50 1234567890123\n\
             block 0 thread 1: hi  4.50 1234567890123\n\
             block 1 thread 0: hi  4.50 1234567890123\n\
             block 1 thread 1: hi  4.50 1234567890123\n\n",
        ));
}

#[test]
fn any_ptx_runs_and_its_buffers_are_added_up_and_written() {
    let scratch = Scratch::new();
    let (scaled, input) = (scratch.name("scaled.bin"), scratch.name("input.bin"));
    let arguments = scale(&[
        "--arg",
        "buf:i32:iota:200",
        "--arg",
        "buf:i32:zeros:200",
        "--arg",
        "u32:200",
        "--arg",
        "i32:-3",
        "--sum",
        "0",
        "--sum",
        "1",
        "--out",
        &format!("1={scaled}"),
        "--out",
        &format!("0={input}"),
    ]);
    let output = output_of(&texts(&arguments));
    assert!(
        output.contains("sum[0] = 19900\nsum[1] = -59700\n"),
        "{output}"
    );
    assert!(output.contains("warp instructions"), "{output}");
    let bytes = std::fs::read(&scaled).expect("the output is written");
    let expected: Vec<u8> = (0..200)
        .flat_map(|index: i32| (-3 * index).to_le_bytes())
        .collect();
    assert_eq!(bytes, expected);

    let again = scale(&[
        "--arg",
        &format!("buf:i32:file:{scaled}"),
        "--arg",
        "buf:i32:zeros:200",
        "--arg",
        "u32:200",
        "--arg",
        "i32:1",
        "--sum",
        "1",
    ]);
    let json = json_of(&texts(&again));
    assert_eq!(json["sums"][0]["sum"], -59700);
    assert_eq!(json["grid"], serde_json::json!([4, 1, 1]));
    assert_eq!(json["counters"]["global_store_bytes"], 800);
}

#[test]
fn a_fault_is_a_finding_with_its_place() {
    // One element less than the kernel is told.
    let arguments = scale(&[
        "--arg",
        "buf:i32:iota:199",
        "--arg",
        "buf:i32:zeros:200",
        "--arg",
        "u32:200",
        "--arg",
        "i32:1",
    ]);
    fails(1, &texts(&arguments), "scale");
    let arguments = scale(&[
        "--max-steps",
        "3",
        "--arg",
        "buf:i32:iota:9",
        "--arg",
        "buf:i32:zeros:9",
        "--arg",
        "u32:9",
        "--arg",
        "i32:1",
    ]);
    fails(1, &texts(&arguments), "3");
}

#[test]
fn bad_arguments_are_one_sentence_with_status_2() {
    let good = [
        "--arg",
        "buf:i32:iota:9",
        "--arg",
        "buf:i32:zeros:9",
        "--arg",
        "u32:9",
        "--arg",
        "i32:1",
    ];
    for (arguments, culprit) in [
        (&[][..], "takes 4 arguments and 0 given"),
        (&good[..6], "takes 4 arguments and 3 given"),
        (
            &[&good[..6], &["--arg", "i64:1"]].concat(),
            "argument 3 has 8 bytes where parameter",
        ),
        (
            &[&good[..6], &["--arg", "i32:x"]].concat(),
            "'x' is not a value of type i32",
        ),
        (
            &[&good[..6], &["--arg", "i32:2147483648"]].concat(),
            "does not fit the type i32",
        ),
        (
            &[&good[..6], &["--arg", "7"]].concat(),
            "'7' is not an argument",
        ),
        (
            &[&good[..6], &["--arg", "buf:i32:file:/no/such/file"]].concat(),
            "argument 3 has 8 bytes",
        ),
        (
            &[
                "--arg",
                "buf:i32:file:/no/such/file",
                "--arg",
                "u64:0",
                "--arg",
                "u32:0",
                "--arg",
                "i32:0",
            ],
            "cannot read /no/such/file",
        ),
        (
            &[
                "--arg",
                "buf:i32:zeros:2^61",
                "--arg",
                "u64:0",
                "--arg",
                "u32:0",
                "--arg",
                "i32:0",
            ],
            "not enough memory",
        ),
        (
            &[&good[..], &["--sum", "4"]].concat(),
            "there is no argument 4",
        ),
        (
            &[&good[..], &["--sum", "2"]].concat(),
            "argument 2 is not a buffer",
        ),
        (
            &[&good[..], &["--sum", "x"]].concat(),
            "'x' for '--sum <I>'",
        ),
        (
            &[&good[..], &["--out", "1"]].concat(),
            "'1' is not an output",
        ),
        (
            &[&good[..], &["--out", "2=x.bin"]].concat(),
            "argument 2 is not a buffer",
        ),
        (
            &[&good[..], &["--out", "1=/no/such/folder/x.bin"]].concat(),
            "cannot write /no/such/folder/x.bin",
        ),
        (
            &[&good[..], &["--shared", "4G"]].concat(),
            "beyond 2^32 - 1 bytes",
        ),
    ] {
        refuses(&texts(&scale(arguments)), culprit);
    }
}

#[test]
fn bad_shapes_are_refused() {
    let file = data("scale.ptx");
    for (grid, block, culprit) in [
        ("0", "64", "has an extent of 0"),
        ("x", "64", "is not a shape"),
        ("1,2,3,4", "64", "has 4 extents"),
        ("2^32", "64", "beyond 2^32 - 1"),
        ("1", "2048", "2048"),
        ("1", "64x64", "4096"),
        ("1,1,70000", "64", "70000"),
    ] {
        let good = [
            "--arg",
            "buf:i32:iota:9",
            "--arg",
            "buf:i32:zeros:9",
            "--arg",
            "u32:9",
            "--arg",
            "i32:1",
        ];
        let shape = [
            "emulate", &file, "--kernel", "scale", "--grid", grid, "--block", block,
        ];
        refuses(&[&shape[..], &good].concat(), culprit);
    }
}

#[test]
fn bad_ptx_is_one_sentence_with_status_2() {
    let scratch = Scratch::new();
    let whole = std::fs::read_to_string(data("scale.ptx")).expect("the data");
    let truncated = scratch.file("cut.ptx", &whole.as_bytes()[..whole.len() / 2]);
    let unknown = scratch.file(
        "unknown.ptx",
        whole.replace("mul.lo.s32", "frobnicate.s32").as_bytes(),
    );
    let empty = scratch.file("empty.ptx", b"");
    let binary = scratch.file("binary.ptx", &[0xff, 0xfe, 0]);
    let header = scratch.file(
        "header.ptx",
        b".version 7.0\n.target sm_70\n.address_size 64\n",
    );
    for (file, culprit) in [
        ("missing.ptx", "cannot read missing.ptx"),
        (&*truncated, "PTX line"),
        (&unknown, "frobnicate"),
        (&empty, "empty.ptx"),
        (&binary, "cannot read"),
        (&header, "there is no .entry in it"),
    ] {
        refuses(&[&["emulate", file], &SHAPE[..]].concat(), culprit);
    }
    refuses(
        &[
            "emulate",
            &data("scale.ptx"),
            "--kernel",
            "scalar",
            "--grid",
            "1",
            "--block",
            "1",
        ],
        "did you mean `scale`?",
    );
}

/// A barrier of the whole grid finds its word where `%envreg1` and `%envreg2` say, which only a cooperative launch has; without one
/// it traps, as nvcc's does.
const NEEDS_COOPERATION: &str = ".version 7.0
.target sm_80
.address_size 64
.visible .entry waits(.param .u64 data)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    or.b32 %r1, %r1, %r2;
    setp.eq.u32 %p, %r1, 0;
    @%p trap;
    ret;
}
";

#[test]
fn whatever_takes_ptx_launches_it_cooperatively_where_asked() {
    let scratch = Scratch::new();
    let file = &scratch.file("waits.ptx", NEEDS_COOPERATION.as_bytes());
    let launch = [
        "--kernel",
        "waits",
        "--grid",
        "2",
        "--block",
        "32",
        "--arg",
        "buf:i32:zeros:1",
    ];
    for command in [
        &["emulate", file][..],
        &["check", "--ptx", file],
        &["profile", "--ptx", file],
    ] {
        let arguments = [command, &launch[..]].concat();
        warpfold(&arguments).assert().failure();
        warpfold(&[&arguments[..], &["--cooperative"]].concat())
            .assert()
            .success();
    }
    warpfold(&["check", "interleaved", "--cooperative"])
        .assert()
        .code(2)
        .stderr(contains("--ptx"));
}
