//! **Group sum**: the ways in which several GPUs make one sum.
//!
//! Before: one GPU has all values, or copies them from another.
//!
//! Idea: each GPU reduces the part that it has; only one state of each has to move. The states come together on the host, which waits for every GPU
//! first; or in the memory of the first GPU, into which each of the others stores its own over the link, with a flag beside each word.
//! Then the host only launches on each GPU: one after another, by a thread for each, or by one graph across them. The third way is NCCL, a
//! library for many GPUs: all of them take part in one of its operations. And the order decides what the sum promises: in the fixed one its
//! bits are the same for any number of GPUs. Here each rank of NCCL is a thread; several processes or computers do the same with
//! `warpfold::ranks`: see `docs/ranks.md`. Where there is no NCCL, or no GPU for each rank, the ranks meet through sockets.

mod as_ranks;

use super::stopwatch::{Stopwatch, speed_up};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use as_ranks::Found;
use std::cell::RefCell;
use warpfold::device::{DeviceError, Slice};
use warpfold::group::Queueing;
use warpfold::operator::Sum;
use warpfold::sum::Mode;
use warpfold::{Error, GroupReduction, Reduction};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "group_sum",
    alias: None,
    title: "one sum of several GPUs",
    change: "each GPU reduces its part, and the states come together on the host, in the memory of the first GPU or by NCCL, in a fast or in a fixed order",
    needs: &["two_stage", "peer_atomic"],
    file: "course/src/host_lesson/group_sum/mod.rs",
    usual_n: |_| 1 << 28,
    see: "What to see: with few elements the ways differ by what the host adds, a wait and two copies, and by how it launches on all of them; with many, all take as long as the slowest \
          GPU, except that the fixed order has as many states to move as there are chunks. An operation of NCCL is a kernel of its own on each \
          GPU; and a rank's thread sleeps between two sums, so that its times include waking up.",
    not_shown: "Not shown here: times, since emulated devices take turns on this processor; the sums and their bits are those of GPUs.",
    has_picture: false,
    needs_group: true,
    run,
};

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let group = setting.group(LESSON.id)?;
    // Numbers with few digits: their sums are rounded, and not by much.
    let integers = setting.values()?;
    let values: Vec<f32> = integers.iter().map(|&value| (value >> 8) as f32).collect();
    let exact: f64 = values.iter().map(|&value| f64::from(value)).sum();
    let magnitude: f64 = values.iter().map(|&value| f64::from(value).abs()).sum();
    // A value goes through fewer roundings than this, whatever the order.
    let roundings = 64.0 + (values.len() as f64).log2();
    let bound = magnitude * f64::from(f32::EPSILON) * roundings;

    let first = &group.devices()[0];
    let all = first.upload(&values)?;
    let alone = |mode| {
        Reduction::<f32, Sum>::new(first, Sum)?
            .with_mode(mode)
            .of(&all)
    };
    let fixed_alone = alone(Mode::Deterministic)?;
    drop(all);
    let parts = group.upload(&values)?;
    let parts: Vec<Slice<'_, f32>> = parts.iter().map(Slice::from).collect();
    let stopwatch = Stopwatch::new(setting)?;

    let mut report = Report::new(&[
        ("meeting", "the states meet"),
        ("order", "order"),
        ("queued", "queued"),
        ("sum", "sum"),
        ("bits", "bits of one GPU"),
        ("elapsed_ms", "ms"),
        ("ratio", "against\nthe host"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} devices, f32 · by the host's clock, from the first launch until the host has the sum",
        group.devices().len()
    ));
    if !group.has_peer_access() {
        report.fact("these devices do not reach each other's memory: all ways meet on the host");
    }
    let ways = [
        ("on the host", "fast", Mode::Fast, Queueing::InTurn),
        ("in peer memory", "fast", Mode::Fast, Queueing::InTurn),
        (
            "on the host",
            "fixed",
            Mode::Deterministic,
            Queueing::InTurn,
        ),
        (
            "in peer memory",
            "fixed",
            Mode::Deterministic,
            Queueing::InTurn,
        ),
        ("in peer memory", "fast", Mode::Fast, Queueing::ByThreads),
        ("in peer memory", "fast", Mode::Fast, Queueing::AsGraph),
    ];
    let row = |[meeting, order, queued]: [&str; 3],
               mode,
               sum: f32,
               [host_ms, elapsed_ms]: [Option<f64>; 2]| {
        let has_same_bits = sum.to_bits() == fixed_alone.to_bits();
        let is_near = (f64::from(sum) - exact).abs() <= bound;
        [
            Cell::Text(meeting.to_owned()),
            Cell::Text(order.to_owned()),
            Cell::Text(queued.to_owned()),
            Cell::Text(format!("{sum:e}")),
            match mode {
                Mode::Deterministic if has_same_bits => "the same",
                Mode::Deterministic => "others",
                Mode::Fast => "not promised",
            }
            .into(),
            Cell::Milliseconds(elapsed_ms),
            Cell::Ratio(speed_up(host_ms, elapsed_ms)),
            Cell::Right(Some(is_near && (mode == Mode::Fast || has_same_bits))),
        ]
    };
    let mut host_ms = None;
    for (meeting, order, mode, queueing) in ways {
        let reduction = GroupReduction::<f32, Sum>::new(group, Sum)?
            .with_mode(mode)
            .with_queueing(queueing);
        let reduction = if meeting == "on the host" {
            reduction.meeting_on_host()
        } else {
            reduction
        };
        let reduction = RefCell::new(reduction);
        let sum = RefCell::new(0.0);
        let elapsed_ms = stopwatch.host_ms(
            || Ok(()),
            || match reduction.borrow_mut().of(&parts) {
                Ok(found) => {
                    sum.replace(found);
                    Ok(())
                }
                Err(Error::Device(error)) => Err(error),
                Err(other) => Err(DeviceError::Refused(other.to_string())),
            },
        )?;
        host_ms = host_ms.or(elapsed_ms);
        let queued = match queueing {
            Queueing::ByThreads => "by a thread each",
            Queueing::AsGraph => "as a graph",
            _ => "in turn",
        };
        report.row(row(
            [meeting, order, queued],
            mode,
            sum.into_inner(),
            [host_ms, elapsed_ms],
        ));
    }
    for (order, mode) in [("fast", Mode::Fast), ("fixed", Mode::Deterministic)] {
        match as_ranks::sum(group, &values, &parts, mode, &stopwatch) {
            Ok(Found {
                by,
                sum,
                elapsed_ms,
            }) => report.row(row(
                [&format!("by {by}"), order, "by a rank each"],
                mode,
                sum,
                [host_ms, elapsed_ms],
            )),
            Err(error) => report.fact(format!("no sum by ranks, in the {order} order: {error}")),
        }
    }
    Ok(report)
}
