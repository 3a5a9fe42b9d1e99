//! **Roofline**: how close each kernel of the ladder comes to what the memory gives.
//!
//! Before: nearly every step is faster than the one before. Where does this end?
//!
//! Idea: a sum does so few additions for each byte that memory sets the limit: additions per second ≤ additions per byte × bytes per second.
//! The bytes per second are measured: the most that a kernel that only reads, or one of the ladder, gets. The additions per byte of a
//! kernel are counted on the emulator.
//!
//! Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
//! Communications of the ACM 52 (2009).

mod picture;
mod traffic;
mod yardstick;

use super::stopwatch::gigabytes_per_second;
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::case::Measured;
use crate::lesson;
use picture::{Picture, Point};
use traffic::Traffic;
use warpfold::device::Timing;
use warpfold_kernels::catalogue::{self, Lesson, Part, lessons_of};
use yardstick::Yardstick;

pub(super) const LESSON: HostLesson = HostLesson {
    id: "roofline",
    alias: None,
    title: "the ceiling above every kernel",
    change: "a sum can be no faster than memory gives its bytes, and the last steps of the ladder are nearly that fast",
    needs: &["two_stage", "shuffle"],
    file: "course/src/host_lesson/roofline/mod.rs",
    usual_n: |_| 1 << 28,
    see: "What to see: the first steps are far below the ceiling, so that something else holds them up; the last ones are so close to it that \
          only fewer bytes could make them faster; steps that work in place write as well as read, and do fewer additions for each byte.",
    not_shown: "Not shown here: the ceiling and the times, which only a GPU has; the bytes and the additions are those of a GPU's kernels.",
    has_picture: true,
    needs_group: false,
    run,
};

/// Threads of a block.
const BLOCK: u32 = 512;
/// Elements that the emulator counts the traffic of; the traffic of an element does not depend on their number.
const COUNTED_N: usize = 1 << 17;

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let additions = values.len() as f64 - 1.0;
    let timing = setting.device.is_gpu().then_some(Timing {
        repeat: setting.repeat,
        cold: false,
    });
    let emulator = setting.device.on_emulator();
    let counted = &values[..values.len().min(COUNTED_N)];

    let mut report = Report::new(&[
        ("kernel", "kernel"),
        ("bytes_per_element", "bytes an\nelement"),
        ("additions_per_byte", "additions\na byte"),
        ("elapsed_ms", "ms"),
        ("gigabytes_per_second", "GB/s"),
        ("giga_additions_per_second", "10⁹ additions\na second"),
        ("percent_of_ceiling", "% of the\nceiling"),
        ("right", "result"),
    ]);
    report.fact(format!(
        "block {BLOCK} (read_all: the best of all block sizes) · bytes: every 32-byte sector that the kernel reads, once, and every one that it writes, once, counted on {} elements",
        counted.len()
    ));

    let yardstick = Yardstick::measure(setting, &values, timing)?;
    let mut lines = vec![Line {
        step: "",
        id: "read_all (adds nothing)",
        bytes_per_element: size_of::<i32>() as f64,
        additions_per_byte: None,
        elapsed_ms: yardstick.elapsed_ms,
        gigabytes_per_second: gigabytes_per_second(yardstick.bytes, yardstick.elapsed_ms),
        is_right: yardstick.is_right,
    }];
    let sm = setting.device.sm();
    let runnable = |lesson: &&Lesson| lesson.least_sm <= sm;
    for lesson in lessons_of(Part::Ladder).iter().filter(runnable) {
        let variant = lesson.usual(BLOCK);
        let mut traffic = Traffic::default();
        let observed = lesson::observe(&emulator, lesson, variant, counted, &mut traffic)?;
        let bytes_per_element = traffic.bytes() as f64 / counted.len() as f64;
        let run = timing
            .map(|timing| lesson::run(setting.device, lesson, variant, &values, Some(timing)))
            .transpose()?;
        let elapsed_ms = run.as_ref().and_then(|run| match &run.measured {
            Measured::Times(times) => Some(times.median_ms()),
            Measured::Nothing | Measured::Counters { .. } => None,
        });
        let bytes = (bytes_per_element * values.len() as f64) as usize;
        lines.push(Line {
            step: lesson.step,
            id: lesson.id,
            bytes_per_element,
            additions_per_byte: Some((counted.len() as f64 - 1.0) / traffic.bytes() as f64),
            elapsed_ms,
            gigabytes_per_second: gigabytes_per_second(bytes, elapsed_ms),
            is_right: observed.is_right() && run.is_none_or(|run| run.is_right()),
        });
    }

    // Reading alone should be the fastest, but where memory happens to lie makes a difference of some hundredths.
    let ceiling = lines
        .iter()
        .filter_map(|line| line.gigabytes_per_second)
        .reduce(f64::max);
    let mut points = Vec::new();
    for line in lines {
        let of_ceiling = line
            .gigabytes_per_second
            .zip(ceiling)
            .map(|(achieved, ceiling)| 100.0 * achieved / ceiling);
        let rate = line
            .additions_per_byte
            .zip(line.elapsed_ms)
            .map(|(_, elapsed_ms)| additions / (elapsed_ms * 1e6));
        report.row([
            line.id.into(),
            Cell::Number(Some(line.bytes_per_element)),
            Cell::Number(line.additions_per_byte),
            Cell::Milliseconds(line.elapsed_ms),
            Cell::Number(line.gigabytes_per_second),
            Cell::Number(rate),
            Cell::Number(of_ceiling),
            Cell::Right(Some(line.is_right)),
        ]);
        if let (Some(additions_per_byte), Some(rate)) = (line.additions_per_byte, rate) {
            points.push(Point {
                name: format!("{} {}", line.step, line.id),
                additions_per_byte,
                giga_additions_per_second: rate,
            });
        }
    }
    if let Some(ceiling) = ceiling {
        let picture = Picture {
            device: setting.device.describe(),
            n: values.len(),
            ceiling,
            points,
        };
        report.picture = Some(picture.to_svg()?);
    }
    Ok(report)
}

/// The picture of what a device measured before, as SVG: the device in words, the number of elements, and of each kernel its name, its
/// additions per byte, its gigabytes and its 10⁹ additions per second. What adds nothing has no point, but counts for the ceiling.
///
/// # Errors
/// [`HostLessonError::Picture`].
pub fn picture_of(
    device: &str,
    n: usize,
    kernels: &[(&str, Option<f64>, f64, Option<f64>)],
) -> Result<String, HostLessonError> {
    let step = |name: &str| catalogue::find(name).map_or("", |lesson| lesson.step);
    let points = kernels.iter().filter_map(|&(name, per_byte, _, rate)| {
        Some(Point {
            name: format!("{} {name}", step(name)),
            additions_per_byte: per_byte?,
            giga_additions_per_second: rate?,
        })
    });
    let picture = Picture {
        device: device.to_owned(),
        n,
        ceiling: kernels
            .iter()
            .map(|&(_, _, gigabytes, _)| gigabytes)
            .fold(0.0, f64::max),
        points: points.collect(),
    };
    picture.to_svg()
}

/// What is known of one kernel.
struct Line {
    step: &'static str,
    id: &'static str,
    bytes_per_element: f64,
    /// `None` for a kernel that adds nothing.
    additions_per_byte: Option<f64>,
    elapsed_ms: Option<f64>,
    gigabytes_per_second: Option<f64>,
    is_right: bool,
}
