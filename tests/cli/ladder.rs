//! `warpfold ladder`.

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

#[test]
fn times_of_a_gpu_stand_beside_the_counters_where_they_are_recorded() {
    let recorded = json_of(&["ladder", "-n", "2^16", "--device", "emulator"]);
    let steps = recorded["steps"].as_array().expect("steps");
    let times = steps.iter().filter_map(|step| step["recorded_ms"].as_f64());
    assert!(times.filter(|ms| *ms > 0.0).count() > 10, "{recorded}");
    let output = output_of(&["ladder", "-n", "2^16", "--device", "emulator"]);
    assert!(output.contains("Recorded on an NVIDIA H200"), "{output}");
    for elsewhere in [
        ["-n", "65537", "--block", "512"],
        ["-n", "2^16", "--block", "256"],
    ] {
        let arguments = [&["ladder", "--device", "emulator"][..], &elsewhere].concat();
        assert!(!output_of(&arguments).contains("Recorded"), "{elsewhere:?}");
    }
}

#[test]
fn recorded_times_are_shown_alone() {
    for command in [
        &["ladder", "--recorded"][..],
        &["sweep", "--recorded"],
        &["sweep", "bank_stride", "--recorded"],
        &["host-lesson", "residency", "--recorded"],
    ] {
        let output = output_of(command);
        assert!(output.starts_with("Recorded on an NVIDIA H200"), "{output}");
    }
    let output = output_of(&["host-lesson", "issue_order", "--device", "emulator"]);
    let (now, recorded) = output.split_once("Recorded on").expect("there is a record");
    assert!(
        now.contains("emulator") && recorded.contains('█'),
        "{output}"
    );
}
