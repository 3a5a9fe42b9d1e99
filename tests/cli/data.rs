//! `--data`: inputs other than random ones, and sums wider than their values.

use super::*;

/// A lesson over other data, on the emulator.
#[track_caller]
fn run(id: &str, n: &str, data: &str) -> Value {
    let json = json_of(&["run", id, "-n", n, "--data", data, "--device", "emulator"]);
    assert_eq!(json["is_right"], true, "{id}: {json}");
    assert_eq!(json["data"], data, "{id}: {json}");
    json
}

#[test]
fn the_bytes_of_the_c_library_have_the_published_sum() {
    let arguments = ["run", "cpu_parallel", "-n", "2^24", "--data", "bytes"];
    let json = json_of(&arguments);
    assert_eq!(
        (&json["sum"], &json["seed"]),
        (&2_139_353_471.into(), &1.into())
    );
    let output = output_of(&arguments);
    assert!(
        output.contains("n = 16,777,216 i32 from rand() & 255 (64.00 MiB, seed 1)"),
        "{output}"
    );
    let other = json_of(&[&arguments[..], &["--seed", "2"]].concat());
    assert_ne!(other["sum"], json["sum"]);
}

#[test]
fn ones_add_up_to_their_number() {
    let json = run("shuffle", "3*2^15", "ones");
    assert_eq!(
        (&json["result"], &json["n"]),
        (&98_304.into(), &98_304.into())
    );
    assert_eq!(json["seed"], Value::Null);
    let json = run("single_pass_sum_f32", "10_000", "ones");
    assert_eq!(json["result"], 10_000.0);
}

#[test]
fn a_wide_sum_does_not_wrap() {
    let sum = 100_000_u64 * 99_999 / 2;
    for id in [
        "wide_sum_i32",
        "wide_sum_u32",
        "block_reduce_1",
        "block_reduce_2",
    ] {
        assert_eq!(run(id, "100_000", "iota")["result"], sum, "{id}");
    }
    assert_eq!(run("interleaved", "100_000", "iota")["result"], sum as i32);
    // 24 digits do not hold it, 53 do.
    assert_eq!(run("wide_sum_f32", "100_000", "iota")["result"], sum as f64);
}

#[test]
fn every_command_that_reduces_takes_other_data() {
    let on_emulator = ["--data", "small", "--device", "emulator", "--json=-"];
    let json = json_of(&[&["ladder", "-n", "1000"], &on_emulator[..4]].concat());
    assert_eq!(json["data"], "small");
    let steps = json["steps"].as_array().expect("a list of steps");
    assert!(steps.iter().all(|step| step["figures"]["is_right"] == true));
    let ids = ["sweep", "neighbored", "block_reduce_1", "--sizes", "1000"];
    let json = json_of(&[&ids[..], &on_emulator[..4]].concat());
    assert_eq!(json["data"], "small");
    let json = json_of(&["profile", "shuffle", "-n", "1000", "--data", "ones"]);
    assert_eq!(json["profiles"][0]["data"], "ones");
    assert_eq!(json["profiles"][0]["is_right"], true);
}

#[test]
fn data_that_cannot_be_made_are_refused() {
    let of_shuffle = |more: &[&'static str]| {
        [
            &["run", "shuffle", "-n", "10", "--device", "emulator"],
            more,
        ]
        .concat()
    };
    refuses(
        &of_shuffle(&["--data", "zeros"]),
        "random, ones, iota, small, bytes",
    );
    refuses(
        &of_shuffle(&["--data", "ones", "--seed", "1"]),
        "leave --seed out",
    );
    refuses(
        &of_shuffle(&["--data", "bytes", "--seed", "4294967296"]),
        "use one below 2^32",
    );
    refuses(
        &["run", "atomics", "--data", "ones", "--device", "emulator"],
        "`atomics` makes its own data; leave --data out",
    );
    let launch = [
        "--ptx", "x.ptx", "--kernel", "k", "--grid", "1", "--block", "32",
    ];
    refuses(
        &[&["profile"], &launch[..], &["--data", "ones"]].concat(),
        "are for lessons",
    );
}
