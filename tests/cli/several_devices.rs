//! `--device emulator:N` and its like: lessons on several devices together.

use super::*;

#[test]
fn a_reduction_is_spread_over_devices() {
    let run = |device| json_of(&["run", "flagship", "-n", "50_001", "--device", device]);
    let (alone, together) = (run("emulator"), run("emulator:3"));
    assert_eq!(together["is_right"], true);
    assert_eq!(together["result"], alone["result"]);
    assert_eq!(together["n"], 50_001);
    let device = together["device"].as_str().expect("it is text");
    assert!(device.starts_with("3 devices, each emulator: "), "{device}");
    let blocks = |json: &Value| json["grid"].as_u64().expect("it is a number");
    assert!(blocks(&together) >= blocks(&alone));
}

#[test]
fn the_ladder_and_a_sweep_are_spread_too() {
    let ladder = json_of(&["ladder", "-n", "9_000", "--device", "emulator:2"]);
    let steps = ladder["steps"].as_array().expect("there are steps");
    let right = |step: &Value| step["figures"]["is_right"] == true;
    assert!(steps.len() > 10 && steps.iter().all(right), "{ladder}");
    let sweep = json_of(&[
        "sweep",
        "shuffle",
        "sum",
        "--sizes",
        "1K,5_000",
        "--device",
        "emulator:2",
    ]);
    let rows = sweep["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(right), "{sweep}");
}

#[test]
fn what_one_device_does_is_not_spread() {
    for (arguments, culprit) in [
        (
            &["run", "bank_stride", "--device", "emulator:2"][..],
            "`bank_stride` shows what a kernel does on one device: give --device gpu, gpu:N or emulator",
        ),
        (
            &["sweep", "copy_offset", "--device", "emulator:2"],
            "`copy_offset` is swept over its parameter on one device",
        ),
        (
            &["host-lesson", "events", "--device", "emulator:2"],
            "`events` is run on one device",
        ),
        (
            &["host-lesson", "group_sum", "--device", "emulator:1"],
            "`group_sum` is about several GPUs: give --device gpu:0,1 or emulator:4",
        ),
        (
            &["run", "flagship", "--device", "emulator:65"],
            "'emulator:65' names no device",
        ),
        (
            &["run", "flagship", "--device", "gpu:0,x"],
            "names no device",
        ),
    ] {
        fails(2, arguments, culprit);
    }
}

#[test]
fn all_gpus_are_none_where_there_is_none() {
    if warpfold::device::list().is_ok_and(|list| !list.gpus.is_empty()) {
        eprintln!("There is a GPU here: nothing to refuse.");
        return;
    }
    let sentence = "there is no GPU here for --device all: give emulator:4";
    fails(2, &["run", "flagship", "--device", "all"], sentence);
}

#[test]
fn lessons_about_several_gpus_run_on_emulated_ones() {
    for device in ["auto", "emulator", "emulator:2"] {
        let output = output_of(&[
            "host-lesson",
            "peer_atomic",
            "-n",
            "1_000",
            "--device",
            device,
        ]);
        assert!(
            output.contains("a race") && output.contains("nothing"),
            "{output}"
        );
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let svg = folder.path().join("scaling.svg");
    let svg = svg.to_str().expect("the path is text");
    let json = json_of(&[
        "host-lesson",
        "scaling",
        "-n",
        "20_000",
        "--device",
        "emulator:3",
        "--svg",
        svg,
    ]);
    let rows = json["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), 3);
    let of = |row: usize, key: &str| rows[row][key].as_f64().expect("it is a number");
    assert_eq!(of(0, "strong_speed_up"), 1.0);
    assert!(of(2, "strong_speed_up") > of(1, "strong_speed_up"));
    assert!(of(2, "weak_efficiency") > 90.0);
    let picture = std::fs::read_to_string(svg).expect("it is drawn");
    assert!(picture.contains("ideal") && picture.contains("strong"));
    let json = json_of(&[
        "host-lesson",
        "group_sum",
        "-n",
        "30_000",
        "--device",
        "emulator:2",
    ]);
    for row in json["rows"].as_array().expect("there are rows") {
        assert_eq!(row["right"], true, "{row}");
    }
    let fixed = &json["rows"][3];
    assert_eq!(
        (&fixed["order"], &fixed["bits"]),
        (&"fixed".into(), &"the same".into())
    );
}
