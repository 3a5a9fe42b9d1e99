//! A sweep that a device does not go on with: what was measured before is shown and written all the same.

use super::*;
use crate::counters::CounterFigures;
use crate::figures::{EmulatorFigures, LessonFigures};
use std::ops::ControlFlow;
use warpfold::device::DeviceError;
use warpfold_course::lesson::LessonError;
use warpfold_course::number::Number;
use warpfold_emulator::{Counters, GridCounts};

fn right() -> LessonFigures {
    LessonFigures {
        step: "",
        id: "",
        grid: 1,
        result: Number::I32(1),
        expected: Number::I32(1),
        tolerance: None,
        is_right: true,
        exhibit: None,
        gpu: None,
        emulator: Some(EmulatorFigures {
            counters: CounterFigures::new(
                Counters {
                    inst_executed: 12_345,
                    ..Counters::default()
                },
                GridCounts::default(),
            ),
            emulated_in_ms: 1.0,
        }),
    }
}

fn fault() -> LessonError {
    let entry = "second".to_owned();
    // CUDA_ERROR_ILLEGAL_ADDRESS
    let failure = warpfold_driver::Failure::new("cuStreamSynchronize", 700);
    DeviceError::GpuFault { entry, failure }.into()
}

/// A sweep of two contenders over two sizes, of which the third run comes to this. Nothing may be noted behind what breaks.
fn sweep(third: LessonError) -> (Sweep, ControlFlow<()>) {
    let field =
        Field::new(&["shuffle".to_owned(), "sum".to_owned()], None, None).expect("both are there");
    let mut measured = Measured::default();
    let [lesson, library] = &field.contenders[..] else {
        panic!("there are two");
    };
    for contender in [lesson, library] {
        let noted = measured.note(contender, 1024, 512, Ok(right()));
        assert!(noted.is_continue());
    }
    let noted = measured.note(lesson, 2048, 512, Err(third));
    let sweep = Sweep {
        device: "a device".to_owned(),
        on_gpu: false,
        gpu: None,
        driver: None,
        ptx_compiler: None,
        ptx_sm: 90,
        operator: field.operator.name(),
        element_type: field.element_type.into(),
        block: 512,
        data: 1.into(),
        seed: Some(1),
        repeat: None,
        cold: None,
        sizes: vec![1024, 2048],
        measured,
        contenders: field.contenders,
    };
    (sweep, noted)
}

/// What is right is in the table, in the CSV, in the JSON and in the picture.
#[track_caller]
fn shows_what_was_measured(sweep: &Sweep) {
    let text = table::text(sweep);
    assert_eq!(text.matches("12,345").count(), 2, "{text}");
    let csv = files::csv(sweep).expect("it is text");
    let csv = String::from_utf8(csv).expect("it is text");
    assert_eq!(csv.matches(",12345,").count(), 2, "{csv}");
    let json = serde_json::to_value(sweep).expect("it has a JSON form");
    for row in &json["rows"].as_array().expect("there are rows")[..2] {
        assert_eq!(row["figures"]["is_right"], true, "{json}");
    }
    let svg = files::svg(sweep).expect("it can be drawn");
    assert!(svg.contains("warpfold::sum"), "{svg}");
}

#[test]
fn a_fault_of_a_gpu_ends_the_sweep_and_keeps_what_was_measured() {
    let (sweep, noted) = sweep(fault());
    assert!(noted.is_break());
    shows_what_was_measured(&sweep);
    assert!(table::text(&sweep).contains("FAULT"));
    let json = serde_json::to_value(&sweep).expect("it has a JSON form");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["stopped"]["id"], "shuffle");
    assert_eq!(json["stopped"]["n"], 2048);
    let Err(Failure::Finding(message)) = judge(&sweep.measured) else {
        panic!("a fault is a finding");
    };
    let beginning = "the sweep ended with `shuffle` at 2^11: kernel 'second' faulted on the GPU: ";
    assert!(message.starts_with(beginning), "{message}");
}

#[test]
fn a_device_that_fails_otherwise_ends_the_sweep_with_status_2() {
    let (sweep, noted) = sweep(DeviceError::NoTimes.into());
    assert!(noted.is_break());
    shows_what_was_measured(&sweep);
    assert_eq!(sweep.measured.rows.len(), 2);
    let Err(Failure::Input(message)) = judge(&sweep.measured) else {
        panic!("no kernel is wrong");
    };
    let beginning = "the sweep ended with `shuffle` at 2^11: the emulator has no times";
    assert!(message.starts_with(beginning), "{message}");
}

#[test]
fn a_limit_does_not_end_the_sweep() {
    let (sweep, noted) = sweep(LessonError::HostMemory { n: 2048 });
    assert!(noted.is_continue());
    assert!(sweep.measured.stopped.is_none());
    assert_eq!(sweep.measured.left_out[0].sizes, [2048]);
    assert!(judge(&sweep.measured).is_ok());
}

/// Where nothing was measured there is nothing to show but what went wrong.
#[test]
fn a_device_that_fails_at_once_is_told_as_it_is() {
    let field = Field::new(&["sum".to_owned()], None, None).expect("it is there");
    let mut measured = Measured::default();
    let noted = measured.note(
        &field.contenders[0],
        8,
        512,
        Err(DeviceError::NoTimes.into()),
    );
    assert!(noted.is_break());
    let Err(Failure::Input(message)) = check_some(&measured) else {
        panic!("there is nothing to show");
    };
    assert_eq!(message, DeviceError::NoTimes.to_string());
}
