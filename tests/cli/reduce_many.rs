//! `warpfold reduce` of several files.

use super::reduce_any::npy;
use super::*;

/// Three files of one type and different lengths, one of them longer than a piece; and all their values.
fn shards(scratch: &Scratch) -> Vec<f32> {
    let mut all = Vec::new();
    for (number, n) in [3_000_000, 0, 77_u32].into_iter().enumerate() {
        let values: Vec<f32> = (0..n).map(|place| (place % 1000) as f32 - 400.0).collect();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let file = npy("<f4", false, &format!("({n},)"), &bytes);
        scratch.file(&format!("shard{number}.npy"), &file);
        all.extend(values);
    }
    all
}

#[test]
fn files_are_one_after_another() {
    let scratch = Scratch::new();
    let mut all = shards(&scratch);
    all.push(1e6);
    let last = npy("<f4", false, "(1,)", &1e6_f32.to_le_bytes());
    scratch.file("shard3.npy", &last);
    let pattern = scratch.name("shard*.npy");
    let operators = "sum,mean,min,max,argmax,count_nonzero";
    let json = json_of(&["reduce", &pattern, "--op", operators, "--compare-read"]);
    let n = all.len();
    assert_eq!(json["n"], n, "{json}");
    assert_eq!(json["files"].as_array().map(Vec::len), Some(4));
    let sum: f64 = all.iter().copied().map(f64::from).sum();
    let results = &json["results"];
    assert_eq!(
        results["sum"].as_f64().map(|sum| sum as f32),
        Some(sum as f32)
    );
    assert_eq!(results["max"].as_f64(), Some(1e6));
    assert_eq!(results["argmax"], n - 1);
    assert_eq!(results["min"].as_f64(), Some(-400.0));
    let nonzero = all.iter().filter(|&&value| value != 0.0).count();
    assert_eq!(results["count_nonzero"], nonzero);
    assert!(json["reading"]["share_of_reading"].as_f64() > Some(0.0));
    let came = ["from_cache_bytes", "through_cache_bytes", "direct_bytes"];
    let came = came.map(|way| json["reading"][way].as_u64().expect("it is a number"));
    assert_eq!(came.iter().sum::<u64>(), json["bytes"]);
    let text = output_of(&["reduce", &pattern, "--compare-read"]);
    assert!(
        text.contains("4 files") && text.contains("with reading, limited by the"),
        "{text}"
    );
    assert!(
        text.contains("% of reading alone, measured before"),
        "{text}"
    );
}

#[test]
fn tables_and_compressed_files_are_files_too() {
    let scratch = Scratch::new();
    let first = scratch.file("a.csv", b"volume,other\n1,9\n2,9\n");
    let second = scratch.file("b.csv", b"volume,other\n4.5,9\n");
    let json = json_of(&[
        "reduce", &first, &second, "--column", "volume", "--op", "sum,max",
    ]);
    assert_eq!(json["results"]["sum"].as_f64(), Some(7.5), "{json}");
    assert_eq!(json["n"], 3);
}

#[test]
fn what_is_wrong_is_said_with_what_was_done() {
    let scratch = Scratch::new();
    let all = shards(&scratch);
    let first = scratch.name("shard0.npy");
    let cut = std::fs::read(scratch.path("shard2.npy")).expect("it is there");
    let cut = scratch.file("cut.npy", &cut[..cut.len() - 9]);
    let count = &all[..3_000_000]
        .iter()
        .filter(|&&value| value != 0.0)
        .count();
    fails(
        2,
        &["reduce", &first, &cut, "--op", "count_nonzero"],
        &format!("of the 3,000,000 values before: count_nonzero = {count}"),
    );
    let gone = scratch.name("gone.npy");
    fails(2, &["reduce", &first, &gone], "gone.npy");
    let wide = npy("<f8", false, "(1,)", &1_f64.to_le_bytes());
    let wide = scratch.file("wide.npy", &wide);
    fails(
        2,
        &["reduce", &first, &wide],
        "holds f64 values, not f32 like",
    );
    fails(
        2,
        &["reduce", &first, &first, "--axis", "0"],
        "leave --axis out",
    );
    fails(2, &["reduce", &first, "-"], "leave - out");
    fails(
        2,
        &["reduce", &scratch.name("none*.npy")],
        "no file is named like",
    );
}

/// A pipe between two files holds the run up until the third file is gone.
#[cfg(unix)]
#[test]
fn a_file_that_vanishes_midway_is_told_with_what_was_done() {
    use std::io::Write;
    for device in ["cpu", "emulator:2"] {
        let scratch = Scratch::new();
        let values = |n: u32| (0..n).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        let first = scratch.file("first.bin", &values(100_000));
        let vanishes = scratch.file("vanishes.bin", &values(5));
        let pipe = scratch.name("pipe.bin");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        let files = ["reduce", &first, &pipe, &vanishes, "--type", "u32"];
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(files)
            .args(["--op", "max,count_nonzero", "--device", device])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn();
        let run = run.expect("it starts");
        // Opening waits until the other side has come to the pipe.
        let mut other_side = std::fs::File::options()
            .write(true)
            .open(&pipe)
            .expect("the pipe is there");
        std::fs::remove_file(&vanishes).expect("it is there");
        other_side
            .write_all(&200_000_u32.to_le_bytes())
            .expect("it is read");
        drop(other_side);
        let output = run.wait_with_output().expect("it ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let partial = "a partial result, of 2 of 3 files and of the 100,001 values before: max = 200000, count_nonzero = 100000";
        for part in ["cannot read", "vanishes.bin: No such file", partial] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// However the values are divided among files, threads and devices.
#[test]
fn the_bits_of_a_result_depend_on_the_values_alone() {
    let scratch = Scratch::new();
    let values: Vec<[u8; 4]> = (0..100_003_u32)
        .map(|place| ((place.wrapping_mul(2_654_435_761) >> 8) as f32 / 777.0).to_le_bytes())
        .collect();
    let whole = scratch.file("whole.bin", &values.concat());
    let mut shards = Vec::new();
    let mut rest = &values[..];
    for (number, length) in [1, 4095, 0, 4097, 33_333, 8191, 8192]
        .into_iter()
        .enumerate()
    {
        let (first, others) = rest.split_at(length);
        shards.push(scratch.file(&format!("shard{number}.bin"), &first.concat()));
        rest = others;
    }
    shards.push(scratch.file("shard9.bin", &rest.concat()));
    let shards: Vec<&str> = shards.iter().map(String::as_str).collect();
    let operators = "sum,std,argmax,logsumexp,norm2";
    let results = |files: &[&str], device, more: &[&str]| {
        let options = ["--type", "f32", "--op", operators, "--device", device];
        json_of(&[&["reduce"], files, &options, more].concat())["results"].clone()
    };
    let on_cores = results(&[&whole], "cpu", &[]);
    assert_eq!(results(&shards, "cpu", &[]), on_cores);
    let expected = results(&[&whole], "emulator:1", &[]);
    for device in ["emulator", "emulator:2", "emulator:5"] {
        assert_eq!(
            results(&shards, device, &["--chunk", "5000"]),
            expected,
            "{device}"
        );
        assert_eq!(results(&[&whole], device, &[]), expected, "{device}");
    }
}

/// A file of holes, which takes no room on the disk, several times as large as the program may become.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_whatever_the_size_of_the_data() {
    const BYTES: u64 = 400_000_000;
    const BOUND: u64 = 150_000_000;
    let scratch = Scratch::new();
    let file = scratch.path("sparse.bin");
    let sparse = std::fs::File::create(&file).expect("there is room");
    sparse.set_len(BYTES).expect("holes are no trouble");
    let file = scratch.name("sparse.bin");
    let json = scratch.name("report.json");
    let report = scratch.path("report.json");
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_warpfold"));
    run.args([
        "reduce", &file, "--type", "u64", "--op", "max", "--json", &json,
    ]);
    let mut run = run
        .args(["--device", "cpu", "--chunk", "2^16"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let mut most_kib = 0;
    let status = loop {
        // The high-water mark, as long as there is a process.
        let status = std::fs::read_to_string(format!("/proc/{}/status", run.id()));
        let mark = status.ok().and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        });
        most_kib = mark.unwrap_or(0).max(most_kib);
        if let Some(status) = run.try_wait().expect("it runs") {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert!(status.success());
    let json: Value =
        serde_json::from_slice(&std::fs::read(report).expect("it is written")).expect("it is JSON");
    assert_eq!(json["bytes"], BYTES);
    assert_eq!(json["results"]["max"], 0);
    let ring = json["reading"]["ring_bytes"]
        .as_u64()
        .expect("it is a number");
    assert!(ring < 50_000_000, "{ring}");
    let most = most_kib << 10;
    assert!(
        (ring..BOUND).contains(&most),
        "{most_kib} KiB with a ring of {ring} bytes"
    );
}

/// One result on one device is compared with the cores' result, unless that is not wanted.
#[test]
fn verifying_can_be_left_out() {
    let scratch = Scratch::new();
    let values: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = scratch.file("values.bin", &values);
    let reduce = ["reduce", &file, "--type", "u32", "--device", "emulator"];
    let verified = json_of(&reduce);
    assert_eq!(verified["is_right"], true);
    let unverified = json_of(&[&reduce[..], &["--unverified"]].concat());
    assert_eq!(unverified["result"], verified["result"]);
    assert!(unverified["is_right"].is_null() && unverified["reading"].is_object());
}

#[test]
fn several_devices_give_the_bits_of_one() {
    let scratch = Scratch::new();
    shards(&scratch);
    let file = scratch.name("shard0.npy");
    let operators = "sum,std,argmax,logsumexp";
    let of = |devices: &str| {
        let json = json_of(&["reduce", &file, "--op", operators, "--device", devices]);
        json["results"].clone()
    };
    let of_one = of("emulator:1");
    assert_eq!(of_one["argmax"], 999);
    for devices in ["emulator:2", "emulator:5"] {
        assert_eq!(of(devices), of_one, "{devices}");
    }
    let reduce = |devices| ["reduce", &file, "--device", devices];
    fails(
        2,
        &[&reduce("emulator:2")[..], &["--axis", "0"]].concat(),
        "leave --axis out",
    );
    fails(2, &reduce("emulator:65"), "names no device");
    fails(2, &reduce("gpu:0,x"), "names no device");
}
