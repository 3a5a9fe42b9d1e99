//! Bad usage, help, sizes and devices.

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
        "ladder",
        "lessons",
        "run",
        "sweep",
        "reduce",
        "histogram",
        "ptx",
        "emulate",
        "new",
        "devices",
        "completions",
        "man",
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
            "'many' is not a size; write it like 2^24, 16M, 3*2^30 or 1_000_000",
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

/// What a command would say and write besides is not lost with its text.
#[test]
fn with_a_closed_output_the_json_is_written_and_findings_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("results.json");
    let json = json.to_str().expect("its name is text");
    for (arguments, status) in [
        (
            &[
                "check",
                "unroll_warps8",
                "-n",
                "1000",
                "--block",
                "128",
                "--json",
                json,
            ][..],
            1,
        ),
        (&["run", "neighbored", "-n", "10", "--json", json], 0),
    ] {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command starts");
        drop(process.stdout.take());
        let ended = process.wait().expect("the command ends");
        assert_eq!(ended.code(), Some(status), "{arguments:?}");
        let written = std::fs::read_to_string(json).expect("the JSON is there");
        std::fs::remove_file(json).expect("it is ours");
        assert!(
            written.starts_with('{') || written.starts_with('['),
            "{written}"
        );
    }
}

/// There is nobody to tell.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_is_no_panic() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["reduce", "missing.npy"])
        .stderr(full.expect("Linux has it"))
        .status();
    assert_eq!(ended.expect("the command starts").code(), Some(2));
}

#[test]
fn tables_fit_80_columns_and_lose_nothing_that_they_do_not_name() {
    for arguments in [
        &["ladder", "-n", "2^12", "--device", "emulator"][..],
        &["sweep", "--sizes", "2^0..2^12", "--device", "emulator"],
        &["profile", "shuffle", "tile_partition", "-n", "100"],
        &["profile", "shuffle", "-n", "100", "--by", "line"],
        &["lessons", "tile_partition"],
        &["exercise"],
    ] {
        let whole = output_of(arguments);
        let narrow = warpfold(arguments).env("COLUMNS", "80").assert().success();
        let narrow = String::from_utf8_lossy(&narrow.get_output().stdout).into_owned();
        let mut rules = narrow.lines().filter(|line| line.starts_with('─'));
        assert!(rules.all(|rule| rule.chars().count() <= 80), "{narrow}");
        // A title in the first line of a header is there, or is said to be left out.
        let is_header = |next: &str| next.starts_with('─');
        let lines: Vec<&str> = whole.lines().collect();
        let headers = lines.windows(2).filter(|pair| is_header(pair[1]));
        for word in headers.flat_map(|pair| pair[0].split_whitespace()) {
            assert!(narrow.contains(word), "{word} is missing in {narrow}");
        }
    }
    let listed = warpfold(&["lessons"])
        .env("COLUMNS", "80")
        .assert()
        .success();
    let listed = String::from_utf8_lossy(&listed.get_output().stdout).into_owned();
    assert!(
        listed.contains("80 columns have no room for: source."),
        "{listed}"
    );
}
