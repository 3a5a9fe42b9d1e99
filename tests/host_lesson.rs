//! Every lesson about the host's side: right on the emulator for awkward numbers of elements, and on the first GPU where there is one.

use libtest_mimic::{Arguments, Trial};
use warpfold::device::{Device, DeviceChoice};
use warpfold::host_lesson::{Cell, HOST_LESSONS, HostLesson, HostLessonError, Setting};
use warpfold::machine::Machine;
use warpfold::oracle::CPU_REFERENCES;
use warpfold::ptx::PtxSet;
use warpfold_kernels::catalogue;

/// Elements of a tile of the kernel that most lessons launch: one more makes a second block.
const TILE: usize = 8 * 512;

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = Device::open(&DeviceChoice::Gpu(0)).is_ok();
    let mut trials = vec![Trial::test("what_a_lesson_needs_is_a_lesson", || {
        what_a_lesson_needs_is_a_lesson();
        Ok(())
    })];
    for lesson in HOST_LESSONS {
        for (machine, choice) in [
            ("emulator", DeviceChoice::Emulator),
            ("gpu", DeviceChoice::Gpu(0)),
        ] {
            let is_ignored = choice != DeviceChoice::Emulator && !has_gpu;
            let name = format!("{machine}::{}", lesson.id);
            let trial = Trial::test(name, move || {
                every_sum_is_right(lesson, choice);
                Ok(())
            });
            trials.push(trial.with_ignored_flag(is_ignored));
        }
    }
    if !has_gpu {
        eprintln!("No GPU here: the tests named gpu::… are skipped, and counted as ignored.");
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn what_a_lesson_needs_is_a_lesson() {
    for lesson in HOST_LESSONS {
        for id in lesson.needs {
            let is_known = catalogue::find(id).is_some()
                || HOST_LESSONS.iter().any(|other| other.id == *id)
                || CPU_REFERENCES.iter().any(|reference| reference.id == *id);
            assert!(is_known, "{} needs {id}", lesson.id);
        }
    }
}

fn every_sum_is_right(lesson: &HostLesson, choice: DeviceChoice) {
    let device = Device::open(&choice).expect("the device opens");
    let machine = Machine::new(device, PtxSet::embedded());
    let setting = Setting {
        machine: &machine,
        n: Some(0),
        repeat: 2,
        seed: 7,
    };
    assert!(matches!(
        lesson.run(&setting),
        Err(HostLessonError::NoElements { .. })
    ));
    for n in [4, 5, 31, 511, TILE - 1, TILE, TILE + 1, 12_345] {
        let setting = Setting {
            n: Some(n),
            ..setting
        };
        let report = lesson
            .run(&setting)
            .unwrap_or_else(|error| panic!("n = {n}: {error}"));
        let verdicts: Vec<&Cell> = report
            .rows
            .iter()
            .flatten()
            .filter(|cell| matches!(cell, Cell::Right(Some(_))))
            .collect();
        assert!(verdicts.len() > 1, "n = {n}: nothing is compared");
        assert!(report.is_right(), "n = {n}: {:?}", report.rows);
        let is_timed = report.rows.iter().flatten().any(|cell| {
            matches!(
                cell,
                Cell::Milliseconds(Some(_)) | Cell::Microseconds(Some(_))
            )
        });
        assert_eq!(is_timed, machine.device().is_gpu(), "n = {n}");
        assert_eq!(report.picture.is_some(), lesson.has_picture && is_timed);
    }
}
