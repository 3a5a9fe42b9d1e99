//! The command line as its users meet it: exit statuses, sentences, tables and JSON. Everything runs on the emulator.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::{Path, PathBuf};
use warpfold_kernels::catalogue::{Part, lessons, lessons_of};

const NILE_SUM: i32 = 91_935;

fn warpfold(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.args(arguments).env("NO_COLOR", "1");
    command
}

/// Standard error, without the warning that greets whoever is working on the kernels.
fn sentences(standard_error: &str) -> Vec<&str> {
    let is_warning =
        |line: &&str| line.contains("the kernels have changed since their PTX was built");
    standard_error
        .lines()
        .filter(|line| !is_warning(line))
        .collect()
}

/// The command succeeds, says nothing on standard error, and this is its standard output.
#[track_caller]
fn output_of(arguments: &[&str]) -> String {
    let is_silent = predicate::function(|text: &str| sentences(text).is_empty());
    let assert = warpfold(arguments).assert().success().stderr(is_silent);
    String::from_utf8(assert.get_output().stdout.clone()).expect("the output is text")
}

/// The JSON that the command prints with `--json -`, and nothing else.
#[track_caller]
fn json_of(arguments: &[&str]) -> Value {
    let text = output_of(&[arguments, &["--json", "-"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// The command prints nothing, says one sentence with `culprit` in it, and exits with the status.
#[track_caller]
fn fails(status: i32, arguments: &[&str], culprit: &str) {
    warpfold(arguments)
        .assert()
        .code(status)
        .stdout("")
        .stderr(contains(culprit))
        .stderr(predicate::function(|text: &str| {
            matches!(sentences(text)[..], [sentence] if sentence.starts_with("warpfold: "))
        }));
}

/// Bad usage or input.
#[track_caller]
fn refuses(arguments: &[&str], culprit: &str) {
    fails(2, arguments, culprit);
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name);
    path.to_str().expect("the path is text").to_owned()
}

/// A file in a folder that is gone with the test.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, contents: &[u8]) -> String {
        std::fs::write(self.path(name), contents).expect("the file is written");
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name)
            .to_str()
            .expect("the path is text")
            .to_owned()
    }
}

mod usage {
    use super::*;

    #[test]
    fn bad_usage_is_one_sentence_with_status_2() {
        for (arguments, culprit) in [
            (&["climb"][..], "unrecognized subcommand 'climb'"),
            (&["lader"], "'ladder'"),
            (&["--frobnicate"], "unexpected argument '--frobnicate'"),
            (&["ladder", "extra"], "unexpected argument 'extra'"),
            (&["ladder", "-n"], "a value is required for '-n"),
            (&["run"], "<ID>"),
            (&["reduce"], "<FILE>"),
            (&["ptx"], "<ID>"),
            (&["emulate"], "--kernel"),
        ] {
            refuses(arguments, culprit);
        }
    }

    #[test]
    fn help_comes_with_an_example_for_every_command() {
        for command in [
            "ladder", "lessons", "run", "reduce", "ptx", "emulate", "devices",
        ] {
            let help = output_of(&[command, "--help"]);
            assert!(help.contains("Example"), "{command}: {help}");
            assert!(
                help.contains(&format!("warpfold {command}")),
                "{command}: {help}"
            );
        }
        assert!(output_of(&["--help"]).contains("Exit status"));
        assert!(output_of(&["--version"]).starts_with("warpfold "));
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        for (size, culprit) in [
            (
                "many",
                "'many' is not a size; write it like 2^24, 16M or 1_000_000",
            ),
            ("-5", "'-5' is not a size"),
            ("1e6", "'1e6' is not a size"),
            ("2^64", "beyond 2^64 - 1"),
            ("99999999999G", "beyond 2^64 - 1"),
            ("2^60", "not enough memory"),
        ] {
            refuses(
                &["ladder", "--device", "emulator", &format!("-n={size}")],
                culprit,
            );
            refuses(
                &[
                    "run",
                    "shuffle",
                    "--device",
                    "emulator",
                    &format!("-n={size}"),
                ],
                culprit,
            );
        }
    }

    #[test]
    fn block_sizes_that_no_kernel_is_built_for_are_refused() {
        for block in ["100", "0", "32", "2048", "-1", "large"] {
            let block = format!("--block={block}");
            let culprit = "use one of 64, 128, 256, 512, 1024";
            refuses(&["ladder", &block], culprit);
            refuses(&["run", "shuffle", &block], culprit);
            refuses(&["ptx", "shuffle", &block], culprit);
        }
    }

    #[test]
    fn devices_that_are_none_are_refused() {
        for device in ["", "cuda", "gpu:", "gpu:one", "gpu:-1", "gpu:4294967296"] {
            refuses(
                &["ladder", &format!("--device={device}")],
                "names no device",
            );
        }
        refuses(&["ladder", "-n", "1", "--device", "gpu:4000000000"], "GPU");
    }

    #[test]
    fn a_gpu_that_is_not_there_is_refused_and_auto_does_without() {
        let gpus = json_of(&["devices"])["gpus"].as_array().map_or(0, Vec::len);
        let climb = json_of(&["run", "neighbored", "-n", "10"]);
        let device = climb["device"].as_str().expect("the device in words");
        if gpus == 0 {
            for command in [
                &["ladder", "-n", "1"][..],
                &["run", "shuffle"],
                &["reduce", &data("nile.npy")],
            ] {
                refuses(
                    &[command, &["--device", "gpu"]].concat(),
                    "no GPU can be used",
                );
            }
            assert!(device.starts_with("emulator"), "{device}");
        } else {
            assert!(device.starts_with("GPU 0"), "{device}");
        }
    }

    #[test]
    fn a_closed_output_is_no_error() {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(["ptx", "complete_unroll"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(process.stdout.take());
        let output = process.wait_with_output().expect("the command ends");
        let standard_error = String::from_utf8_lossy(&output.stderr);
        assert!(sentences(&standard_error).is_empty(), "{standard_error}");
        assert!(output.status.success());
    }
}

mod json {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_nothing_is_left_beside_it() {
        let scratch = Scratch::new();
        let output = output_of(&["lessons", "--json", &scratch.name("lessons.json")]);
        assert!(output.contains("shuffle"), "the table is still printed");
        let text =
            std::fs::read_to_string(scratch.path("lessons.json")).expect("the file is there");
        let lessons: Value = serde_json::from_str(&text).expect("the file is JSON");
        assert_eq!(lessons["lessons"][0]["id"], "neighbored");
        assert_eq!(
            std::fs::read_dir(scratch.0.path())
                .expect("the folder")
                .count(),
            1
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused_before_the_run() {
        refuses(
            &["lessons", "--json", "/no/such/folder/lessons.json"],
            "there is no folder /no/such/folder",
        );
    }

    #[test]
    fn a_folder_is_no_file() {
        let scratch = Scratch::new();
        warpfold(&["devices", "--json", &scratch.name("")])
            .assert()
            .code(2)
            .stderr(contains("cannot write"));
    }
}

mod ladder {
    use super::*;

    #[test]
    fn every_step_is_right_and_counted_never_timed() {
        let output = output_of(&[
            "ladder", "-n", "2^14", "--block", "128", "--device", "emulator",
        ]);
        assert!(
            output.starts_with("emulator"),
            "the first line names the device: {output}"
        );
        for id in [
            "cpu_sequential",
            "cpu_parallel",
            "neighbored",
            "unroll8",
            "unroll_warps8_sync",
            "shuffle",
        ] {
            assert!(output.contains(id), "{id} in {output}");
        }
        assert!(
            output.contains("emulated in") && !output.contains("GB/s"),
            "{output}"
        );
        assert!(!output.contains("WRONG"), "{output}");
        assert!(output.contains("kept as an exhibit"), "{output}");
    }

    #[test]
    fn the_default_command_is_the_ladder() {
        let climb = json_of(&["-n", "1000", "--device", "emulator"]);
        assert_eq!(climb["n"], 1000);
    }

    #[test]
    fn its_json_has_the_counters_of_every_step() {
        let climb = json_of(&[
            "ladder", "-n", "4K", "--block", "64", "--device", "emulator", "--seed", "7",
        ]);
        assert_eq!(
            (&climb["n"], &climb["block"], &climb["seed"]),
            (&4096.into(), &64.into(), &7.into())
        );
        assert_eq!(climb["on_gpu"], false);
        assert_eq!(climb["cpu_references"].as_array().map(Vec::len), Some(2));
        let steps = climb["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), lessons_of(Part::Ladder).len());
        for step in steps {
            let figures = &step["figures"];
            assert_eq!(figures["is_right"], true, "{step}");
            assert_eq!(figures["gpu"], Value::Null);
            assert!(
                figures["emulator"]["counters"]["warp_instructions"].as_u64() > Some(0),
                "{step}"
            );
            assert!(
                figures["emulator"]["counters"]["global_load_bytes"].as_u64() >= Some(4 * 4096),
                "{step}"
            );
        }
        assert_eq!(steps[0]["step_speed_up"], Value::Null);
        assert!(
            steps[1]["step_speed_up"].as_f64() > Some(1.0),
            "step 2 executes fewer instructions than step 1"
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_data() {
        let sum = |seed: &str| {
            let climb = json_of(&[
                "ladder", "-n", "100", "--device", "emulator", "--seed", seed,
            ]);
            climb["steps"][0]["figures"]["result"]
                .as_i64()
                .expect("a sum")
        };
        assert_eq!(sum("1"), sum("1"));
        assert_ne!(sum("1"), sum("2"));
    }

    #[test]
    fn there_is_nothing_to_climb_at_n_0() {
        refuses(&["ladder", "-n", "0"], "nothing to climb");
        refuses(&["-n", "0"], "nothing to climb");
    }

    #[test]
    fn repeat_is_at_least_1() {
        refuses(&["ladder", "--repeat", "0"], "'0' for '--repeat <R>'");
        refuses(&["ladder", "--seed=-1"], "--seed");
    }
}

mod lessons {
    use super::*;

    #[test]
    fn the_table_and_the_json_list_the_catalogue() {
        let table = output_of(&["lessons"]);
        let json = json_of(&["lessons"]);
        for heading in ["The CPU references", "The ladder", "Operators and types"] {
            assert_eq!(
                table
                    .lines()
                    .filter(|line| line.starts_with(heading))
                    .count(),
                1,
                "{heading} in {table}"
            );
        }
        let of_f32 = json["lessons"]
            .as_array()
            .expect("lessons")
            .iter()
            .find(|row| row["element_type"] == "f32")
            .expect("a lesson of f32");
        assert_eq!(
            (&of_f32["part"], &of_f32["operator"]),
            (&"Operators and types".into(), &"sum".into())
        );
        for lesson in lessons() {
            // Of the instances of a generic body the table names the first and the last.
            if lesson.part != Part::Operators {
                assert!(table.contains(lesson.id), "{}", lesson.id);
            }
            let listed = json["lessons"]
                .as_array()
                .expect("lessons")
                .iter()
                .any(|row| row["id"] == lesson.id);
            assert!(listed, "{}", lesson.id);
        }
        assert_eq!(json["cpu_references"].as_array().map(Vec::len), Some(4));
    }
}

mod run {
    use super::*;

    #[test]
    fn a_lesson_is_verified_and_counted() {
        let output = output_of(&[
            "run", "unroll4", "-n", "10_000", "--block", "64", "--device", "emulator",
        ]);
        assert!(output.contains("warp instructions"), "{output}");
        let json = json_of(&[
            "run", "unroll4", "-n", "10_000", "--block", "64", "--device", "emulator",
        ]);
        assert_eq!(
            (&json["id"], &json["is_right"]),
            (&"unroll4".into(), &true.into())
        );
        assert_eq!(json["grid"], 40);
        assert_eq!(json["result"], json["expected"]);
        assert_eq!(json["tolerance"], Value::Null);
    }

    #[test]
    fn a_lesson_of_floats_is_verified_to_within_rounding() {
        let arguments = [
            "run",
            "shuffle_sum_f32",
            "-n",
            "10_000",
            "--device=emulator",
        ];
        let output = output_of(&arguments);
        assert!(
            output.contains("Operators and types, step 1 · shuffle_sum_f32")
                && output.contains("n = 10,000 random f32 (39.06 KiB")
                && output.contains("rounding allowed"),
            "{output}"
        );
        let json = json_of(&[&arguments[..], &["--type", "f32", "--op", "sum"]].concat());
        assert_eq!(
            (&json["element_type"], &json["is_right"]),
            (&"f32".into(), &true.into())
        );
        let number = |key: &str| json[key].as_f64().expect("a number");
        assert_ne!(number("expected"), 0.0);
        assert!((number("result") - number("expected")).abs() <= number("tolerance"));
        assert!(number("tolerance") < 0.01, "{json}");
    }

    #[test]
    fn the_sum_of_nothing_is_0() {
        let json = json_of(&["run", "shuffle", "-n", "0", "--device", "emulator"]);
        assert_eq!(
            (&json["result"], &json["grid"], &json["is_right"]),
            (&0.into(), &0.into(), &true.into())
        );
        let json = json_of(&["run", "shuffle_sum_f32", "-n", "0", "--device", "emulator"]);
        assert_eq!(
            (&json["result"], &json["grid"], &json["is_right"]),
            (&0.0.into(), &0.into(), &true.into())
        );
    }

    #[test]
    fn cpu_references_run_on_the_processor() {
        for id in [
            "cpu_sequential",
            "cpu_recursive_neighbored",
            "cpu_recursive_interleaved",
            "cpu_parallel",
        ] {
            let json = json_of(&["run", id, "-n", "12345"]);
            assert_eq!(json["id"], id);
            assert!(json["elapsed_ms"].as_f64() > Some(0.0), "{json}");
        }
        refuses(
            &["run", "cpu_parallel", "--device", "emulator"],
            "leave --device out",
        );
    }

    #[test]
    fn what_is_not_there_is_refused_with_the_nearest_that_is() {
        refuses(&["run", "neighboured"], "did you mean `neighbored`?");
        refuses(&["run", "zzz"], "`warpfold lessons` lists them");
        refuses(
            &["run", "shuffle", "--type", "f32"],
            "`shuffle` is built for the sum of i32 values, not for the sum of f32 values; `shuffle_sum_f32` is",
        );
        refuses(
            &["run", "shuffle", "--op", "max"],
            "not for the max of i32 values; no lesson is",
        );
        refuses(
            &["run", "shuffle_sum_f32", "--type", "f64"],
            "not for the sum of f64 values; no lesson is",
        );
        refuses(
            &["run", "cpu_parallel", "--type", "f32"],
            "`cpu_parallel` is built for the sum of i32 values",
        );
        refuses(
            &["run", "shuffle", "--type", "int"],
            "'int' is not an element type",
        );
        refuses(
            &["run", "shuffle", "--op", "median"],
            "'median' is not an operator",
        );
    }
}

mod ptx {
    use super::*;

    #[test]
    fn the_entry_for_the_block_size_is_printed() {
        let text = output_of(&["ptx", "complete_unroll", "--block", "256", "--sm", "90"]);
        assert!(text.contains(".entry complete_unroll_256("), "{text}");
        assert!(!text.contains("complete_unroll_512"), "{text}");
        assert!(text.trim_end().ends_with('}'), "{text}");
        assert!(output_of(&["ptx", "neighbored"]).contains(".entry neighbored("));
    }

    #[test]
    fn what_is_not_built_is_refused() {
        refuses(&["ptx", "shufle"], "did you mean `shuffle`?");
        refuses(
            &["ptx", "cpu_parallel"],
            "there is no lesson `cpu_parallel`",
        );
        refuses(
            &["ptx", "shuffle", "--sm", "60"],
            "it is built for --sm 70, 80, 90",
        );
        refuses(&["ptx", "shuffle", "--sm", "new"], "'new' for '--sm <SM>'");
    }
}

mod devices {
    use super::*;

    #[test]
    fn the_emulator_is_always_there() {
        assert!(output_of(&["devices"]).contains("emulator"));
        let devices = json_of(&["devices"]);
        assert!(devices["emulator_cores"].as_u64() > Some(0), "{devices}");
        assert!(devices["gpus"].is_array(), "{devices}");
    }
}

mod reduce {
    use super::*;

    #[track_caller]
    fn sum_of(arguments: &[&str]) -> Value {
        json_of(&[&["reduce"], arguments, &["--device", "emulator"]].concat())
    }

    #[test]
    fn a_real_file_gives_the_sum_that_numpy_gives() {
        for arguments in [
            &[&*data("nile.npy")][..],
            &[&*data("nile.csv"), "--column", "volume"],
            &[&*data("nile.csv"), "--column", "1", "--type", "i32"],
        ] {
            let json = sum_of(arguments);
            assert_eq!(json["result"], NILE_SUM, "{arguments:?}");
            assert_eq!(
                (&json["n"], &json["element_type"]),
                (&100.into(), &"i32".into())
            );
            assert_eq!(
                (&json["overflowed"], &json["is_right"]),
                (&false.into(), &true.into())
            );
        }
        let output = output_of(&["reduce", &data("nile.npy"), "--device", "emulator"]);
        assert!(output.contains("sum = 91935"), "{output}");
        let output = output_of(&[
            "reduce",
            &data("nile.csv"),
            "--column=1",
            "--device=emulator",
        ]);
        assert!(
            output.contains("nile.csv, column 'volume': 100 × i32"),
            "{output}"
        );
        assert!(output.starts_with("emulator"), "{output}");
    }

    #[test]
    fn an_overflow_is_reported_with_the_true_sum() {
        let scratch = Scratch::new();
        let values = [i32::MAX, i32::MAX, 1].map(i32::to_le_bytes).concat();
        let file = scratch.file("large.bin", &values);
        let json = sum_of(&[&file, "--type", "i32"]);
        assert_eq!(
            (&json["result"], &json["exact_sum"]),
            (&(-1).into(), &4_294_967_295_i64.into())
        );
        assert_eq!(json["overflowed"], true);
        let output = output_of(&["reduce", &file, "--type", "i32", "--device", "emulator"]);
        assert!(
            output.contains("overflow: the true sum is 4294967295"),
            "{output}"
        );
    }

    #[test]
    fn the_sum_of_an_empty_file_is_0() {
        let scratch = Scratch::new();
        let file = scratch.file("empty.bin", &[]);
        assert_eq!(sum_of(&[&file, "--type", "i32"])["result"], 0);
        assert_eq!(sum_of(&[&scratch.file("empty.csv", b"")])["result"], 0);
        let npy = scratch.file("empty.npy", &npy("<f4", 0, &[]));
        for arguments in [&[&*file, "--type", "f32"][..], &[&npy]] {
            let json = sum_of(arguments);
            assert_eq!(
                (&json["result"], &json["is_right"]),
                (&0.0.into(), &true.into())
            );
        }
    }

    /// A .npy file of one dimension.
    fn npy(descriptor: &str, length: usize, bytes: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({length},)}}\n");
        let header_length = u16::try_from(header.len())
            .expect("it is short")
            .to_le_bytes();
        [
            b"\x93NUMPY\x01\x00",
            &header_length[..],
            header.as_bytes(),
            bytes,
        ]
        .concat()
    }

    /// A file of little-endian f32 values.
    fn floats(scratch: &Scratch, values: &[f32]) -> String {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        scratch.file("floats.bin", &bytes)
    }

    #[test]
    fn floats_add_up_to_numpys_sum_but_for_rounding() {
        // NumPy 2.4.6: v = ((np.arange(10_000) * 7919) % 10_007).astype(np.float32) / np.float32(100) - np.float32(37);
        // v.sum(dtype=np.float64), np.abs(v).sum(dtype=np.float64)
        const NUMPY_SUM: f64 = 130_365.780_004_501_34;
        const NUMPY_MAGNITUDE: f64 = 267_181.620_004_653_93;
        // 8 additions by a thread, 9 by the tree of 512 threads, and the last of all.
        let tolerance = 18.0 * 2_f64.powi(-24) * NUMPY_MAGNITUDE;
        let values: Vec<f32> = (0..10_000)
            .map(|index| (index * 7919 % 10_007) as f32 / 100.0 - 37.0)
            .collect();
        let scratch = Scratch::new();
        let bin = floats(&scratch, &values);
        let bytes = std::fs::read(&bin).expect("the file was written");
        let npy = scratch.file("floats.npy", &npy("<f4", values.len(), &bytes));
        let rows: String = values.iter().map(|value| format!("x,{value}\n")).collect();
        let csv = scratch.file("floats.csv", format!("name,value\n{rows}").as_bytes());
        let results = [
            sum_of(&[&npy]),
            sum_of(&[&bin, "--type", "f32"]),
            sum_of(&[&csv, "--column", "value"]),
        ];
        for json in &results {
            assert_eq!(
                (&json["n"], &json["element_type"]),
                (&10_000.into(), &"f32".into())
            );
            let in_f64 = json["sum_in_f64"].as_f64().expect("the sum in f64");
            assert!((in_f64 - NUMPY_SUM).abs() < 1e-9, "{json}");
            let result = json["result"].as_f64().expect("a sum");
            assert!((result - NUMPY_SUM).abs() <= tolerance, "{json}");
            assert_eq!(json["result"], results[0]["result"], "always the same");
            assert_eq!(
                (&json["overflowed"], &json["is_right"]),
                (&false.into(), &true.into())
            );
        }
        assert_eq!(
            sum_of(&[&data("nile.csv"), "--column=1", "--type=f32"])["result"],
            f64::from(NILE_SUM)
        );
    }

    #[test]
    fn infinities_and_nan_come_through() {
        let scratch = Scratch::new();
        for (cells, expected) in [
            ("1.5\ninf\n2\n", "inf"),
            ("1.5\n-inf\n2\n", "-inf"),
            ("1.5\nNaN\n2\n", "NaN"),
            ("1.5\ninf\n-inf\n", "NaN"),
        ] {
            let csv = scratch.file("special.csv", cells.as_bytes());
            let json = sum_of(&[&csv]);
            assert_eq!(json["result"], expected, "{cells}");
            assert_eq!(
                (&json["overflowed"], &json["is_right"]),
                (&false.into(), &true.into()),
                "{cells}"
            );
        }
        let file = floats(&scratch, &[-0.0; 1000]);
        let output = output_of(&["reduce", &file, "--type=f32", "--device=emulator"]);
        assert!(output.contains("sum = -0.0"), "{output}");
    }

    #[test]
    fn a_float_overflow_is_reported_with_the_sum_in_f64() {
        let scratch = Scratch::new();
        let file = floats(&scratch, &[f32::MAX, 1.0, f32::MAX]);
        let json = sum_of(&[&file, "--type", "f32"]);
        assert_eq!(
            (&json["result"], &json["overflowed"], &json["is_right"]),
            (&"inf".into(), &true.into(), &true.into())
        );
        let output = output_of(&["reduce", &file, "--type=f32", "--device=emulator"]);
        assert!(
            output.contains("sum = inf") && output.contains("in f64 the sum is 6.80564693"),
            "{output}"
        );
    }

    #[test]
    fn bad_input_is_one_sentence_with_status_2() {
        let scratch = Scratch::new();
        let doubles = scratch.file("doubles.npy", &npy("<f8", 1, &[0; 8]));
        let single = floats(&scratch, &[1.0]);
        let large = scratch.file("large.csv", b"1.5\n1e39\n");
        let text = scratch.file("notes.txt", b"hello");
        let bin = scratch.file("odd.bin", &[0; 7]);
        let csv = scratch.file("words.csv", b"a,b\n1,2\n3,four\n5,\n");
        let fake = scratch.file("fake.npy", b"PK");
        let narrow = scratch.file("narrow.npy", &npy("<i2", 0, &[]));
        let nile = data("nile.npy");
        let truncated = scratch.file("cut.npy", &std::fs::read(&nile).expect("the data")[..300]);
        for (arguments, culprit) in [
            (&["missing.npy"][..], "cannot read missing.npy"),
            (&["missing.csv"], "cannot read missing.csv"),
            (&["missing.bin", "--type", "i32"], "cannot read missing.bin"),
            (&[&scratch.name("")], "cannot tell what"),
            (&[&text], "cannot tell what"),
            (&[&bin], "give their --type"),
            (&[&bin, "--type", "i32"], "no whole number of i32 values"),
            (&[&bin, "--type", "i8"], "cannot be read as i8"),
            (&[&bin, "--type", "int"], "'int' is not an element type"),
            (&[&csv], "choose one with --column"),
            (&[&csv, "--column", "c"], "has no column 'c'"),
            (
                &[&csv, "--column", "b"],
                "line 3: 'four' is not a value of type",
            ),
            (&[&fake], "is not a whole .npy file"),
            (&[&truncated], "does not match the 172 bytes"),
            (&[&narrow], "NumPy type '<i2'"),
            (&[&nile, "--type", "f32"], "holds i32 values, not f32"),
            (&[&nile, "--column", "1"], "--column is for .csv files"),
            (
                &[&nile, "--op", "max"],
                "there is no kernel for the max of i32 values",
            ),
            (
                &[&single, "--type", "f32", "--op", "mean"],
                "no kernel for the mean of f32 values; there is one for the sum of i32, the sum of f32",
            ),
            (&[&doubles], "no kernel for the sum of f64 values"),
            (&[&doubles, "--type", "f32"], "holds f64 values, not f32"),
            (&[&large], "line 2: '1e39' is not a value of type f32"),
            (&[&nile, "--op", "median"], "'median' is not an operator"),
            (
                &[&data("nile.csv"), "--column", "1", "--type", "u64"],
                "there is no kernel for the sum of u64 values",
            ),
            (&[&nile, "--device", "cuda"], "names no device"),
        ] {
            refuses(&[&["reduce"], arguments].concat(), culprit);
        }
    }
}

mod emulate {
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
}
