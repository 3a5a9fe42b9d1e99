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
    assert!(json["read_alone_ms"].as_f64() > Some(0.0));
    let text = output_of(&["reduce", &pattern, "--compare-read"]);
    assert!(
        text.contains("4 files") && text.contains("the limit"),
        "{text}"
    );
    assert!(text.contains("of which the reduction came to"), "{text}");
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
    fails(
        2,
        &["reduce", &first, &first, "--device", "emulator"],
        "leave --device out",
    );
    fails(
        2,
        &["reduce", &scratch.name("none*.npy")],
        "no file is named like",
    );
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
