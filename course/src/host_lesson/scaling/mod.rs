//! **Scaling**: what 1, 2, 3 … devices make of one sum.
//!
//! Before: several GPUs make one sum, but are twice as many also twice as fast?
//!
//! Idea: *strong* scaling shares the same values out among more devices, and is limited by what does not shrink (Amdahl); *weak* scaling gives
//! each device as many values as one had (Gustafson). Efficiency is the speed-up divided by the number of devices. The *serial fraction* of
//! Karp and Flatt is that part of the work which, if nothing could share it, would explain the speed-up: if it grows with the number of
//! devices, the exchange costs more and more, and not the part that nobody shares.
//!
//! Sources: G. Amdahl, AFIPS 1967; J. Gustafson, "Reevaluating Amdahl's law", Communications of the ACM 31 (1988); A. Karp and H. Flatt,
//! "Measuring parallel processor performance", Communications of the ACM 33 (1990).

pub mod model;
mod picture;

use super::stopwatch::Stopwatch;
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::case::Measured;
use crate::lesson;
use crate::oracle::cpu_parallel;
use crate::spread;
use picture::{Picture, Scaled};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use warpfold::device::{DeviceChoice, DeviceError, Slice};
use warpfold::operator::Sum;
use warpfold::{Device, Error, Group, GroupReduction};
use warpfold_kernels::catalogue;

pub(super) const LESSON: HostLesson = HostLesson {
    id: "scaling",
    alias: None,
    title: "strong and weak scaling",
    change: "more devices make the same sum in less time until the launches and the exchange take most of it, and a larger sum in the same time",
    needs: &["group_sum", "flagship"],
    file: "course/src/host_lesson/scaling/mod.rs",
    usual_n: |_| 1 << 28,
    see: "What to see: with many elements both are nearly ideal, because only one state of each device moves; with few, the serial fraction is \
          large from the first additional device on.",
    not_shown: "Not shown here: times. In their place are the warp instructions of the device that executes most, which shrink with its part and \
                contain no exchange.",
    has_picture: true,
    needs_group: true,
    run,
};

/// Threads of a block of the kernel that is counted.
const BLOCK: u32 = 512;

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let group = setting.group(LESSON.id)?;
    let (n, most) = (setting.elements(), group.devices().len());
    let no_memory = || HostLessonError::NoMemory { n: n * most };
    let elements = n.checked_mul(most).ok_or_else(no_memory)?;
    let values = Setting {
        n: Some(elements),
        ..*setting
    }
    .values()?;
    let mut report = Report::new(&[
        ("devices", "devices"),
        ("strong_instructions", "strong: warp\ninstructions"),
        ("strong_ms", "strong\nms"),
        ("strong_speed_up", "speed-up"),
        ("strong_efficiency", "efficiency\n%"),
        ("serial_fraction", "serial\nfraction"),
        ("weak_instructions", "weak: warp\ninstructions"),
        ("weak_ms", "weak\nms"),
        ("weak_efficiency", "efficiency\n%"),
        ("right", "sums"),
    ]);
    let what = if setting.device.is_gpu() {
        "by the host's clock, from the first launch until the host has the sum"
    } else {
        "warp instructions of flagship on the device that executes most"
    };
    report.fact(format!(
        "strong: {n} elements in all · weak: {n} on each device · {what}"
    ));
    let mut scaled: Vec<Scaled> = Vec::new();
    for count in 1..=most {
        let devices = first_of(group, count)?;
        let strong = measure(setting, &devices, &values[..n])?;
        let weak = measure(setting, &devices, &values[..n * count])?;
        let now = Scaled {
            devices: count,
            strong: strong.cost(),
            weak: weak.cost(),
        };
        scaled.push(now);
        let first = scaled[0];
        let instructions = |cost: &Cost| Cell::Number(cost.instructions.map(|count| count as f64));
        report.row([
            Cell::Count(count as u64),
            instructions(&strong),
            Cell::Milliseconds(strong.elapsed_ms),
            Cell::Number(Some(now.speed_up(first))),
            Cell::Number(Some(100.0 * now.speed_up(first) / count as f64)),
            Cell::Number(now.serial_fraction(first)),
            instructions(&weak),
            Cell::Milliseconds(weak.elapsed_ms),
            Cell::Number(Some(100.0 * first.weak / now.weak)),
            Cell::Right(Some(strong.is_right && weak.is_right)),
        ]);
    }
    let picture = Picture {
        device: setting.device.describe(),
        n,
        of_times: setting.device.is_gpu(),
        scaled,
    };
    report.picture = Some(picture.to_svg()?);
    Ok(report)
}

/// A group of the first devices, opened once more.
fn first_of(group: &Group, count: usize) -> Result<Group, Error> {
    let choice = |device: &Device| match device.gpu_information() {
        Some(gpu) => DeviceChoice::Gpu(gpu.index),
        None => DeviceChoice::Emulator,
    };
    let choices: Vec<DeviceChoice> = group.devices()[..count].iter().map(choice).collect();
    Group::open(&choices)
}

/// What a sum costs.
struct Cost {
    /// Of the device that executes most.
    instructions: Option<u64>,
    elapsed_ms: Option<f64>,
    is_right: bool,
}

impl Cost {
    /// The time, or, where there is none, the instructions.
    fn cost(&self) -> f64 {
        let instructions = self.instructions.map(|count| count as f64);
        self.elapsed_ms.or(instructions).unwrap_or(f64::NAN)
    }
}

fn measure(setting: &Setting<'_>, group: &Group, values: &[i32]) -> Result<Cost, HostLessonError> {
    let parts = group.upload(values)?;
    let parts: Vec<Slice<'_, i32>> = parts.iter().map(Slice::from).collect();
    let reduction = RefCell::new(GroupReduction::<i32, Sum>::new(group, Sum)?);
    let sum = RefCell::new(None);
    let of_first = Setting {
        device: &group.devices()[0],
        ..*setting
    };
    let elapsed_ms = Stopwatch::new(&of_first)?.host_ms(
        || Ok(()),
        || match reduction.borrow_mut().of(&parts) {
            Ok(found) => {
                sum.replace(Some(found));
                Ok(())
            }
            Err(Error::Device(error)) => Err(error),
            Err(other) => Err(DeviceError::Refused(other.to_string())),
        },
    )?;
    let instructions = match setting.device.is_gpu() {
        true => None,
        false => Some(most_instructions(group, values)?),
    };
    let found = sum.into_inner();
    Ok(Cost {
        instructions,
        elapsed_ms,
        is_right: found.is_some_and(|found| found == cpu_parallel(values)),
    })
}

/// The warp instructions of the device that executes most, where each sums its part by the flagship.
fn most_instructions(group: &Group, values: &[i32]) -> Result<u64, HostLessonError> {
    let missing = || HostLessonError::Unsuitable("there is no kernel `flagship` here".to_owned());
    let flagship = catalogue::find("flagship").ok_or_else(missing)?;
    let count = NonZeroUsize::new(group.devices().len()).unwrap_or(NonZeroUsize::MIN);
    let mut most = 0;
    let parts = spread::parts(values.len(), count, 8 * BLOCK as usize);
    for (device, part) in group.devices().iter().zip(parts) {
        let variant = flagship.usual(BLOCK);
        let run = lesson::run(device, flagship, variant, &values[part], None)?;
        if let Measured::Counters { counters, .. } = run.measured {
            most = most.max(counters.inst_executed);
        }
    }
    Ok(most)
}
