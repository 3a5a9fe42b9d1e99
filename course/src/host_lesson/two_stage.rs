//! **Two stages**: how the partials of the blocks become one sum.
//!
//! Before: each block leaves a partial, and nobody has added them up yet.
//!
//! Idea: the host can add them, after they have crossed the bus; a second launch of the same kernel can, and only one value crosses it; or
//! the last block to finish does it in the same launch.

use super::stopwatch::{Stopwatch, speed_up};
use super::sum::{Cascade, Input, LadderKernel, OnePass};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use warpfold::device::{Buffer, DeviceError, HostMemory};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "two_stage",
    alias: None,
    title: "the ways to finish",
    change: "partials are added on the host, by a second launch, or in one pass, and each costs its own kind of time",
    needs: &["events", "shuffle", "single_pass"],
    file: "course/src/host_lesson/two_stage.rs",
    usual_n: |_| 1 << 22,
    see: "What to see: the host's way costs a copy that grows with the number of blocks, a second launch its own few microseconds whatever \
          there is to add, and one pass neither; all three weigh less the more elements there are.",
    not_shown: "Not shown here: times, since the emulator has no bus to cross and no launch to wait for; the totals are those of a GPU.",
    has_picture: false,
    needs_group: false,
    run,
};

/// A way to finish.
struct Way<'a> {
    name: &'static str,
    launches: usize,
    /// Queues the launches.
    queue: Box<dyn Fn() -> Result<(), DeviceError> + 'a>,
    /// What they leave, for the host to add up.
    result: &'a Buffer<i32>,
}

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let (n, expected) = (values.len(), cpu_parallel(&values));
    let device = setting.device;
    let stream = device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let buffer = device.upload(&values)?;
    let input = Input::of(&buffer);
    let mut report = Report::new(&[
        ("finish", "the partials are added"),
        ("launches", "launches"),
        ("downloaded", "values\ndownloaded"),
        ("elapsed_us", "to the total\nµs"),
        ("ratio", "against\nthe host"),
        ("right", "sum"),
    ]);

    let kernel = LadderKernel::fast(setting)?;
    let for_host = Cascade::new(&kernel, n)?;
    let cascade = Cascade::new(&kernel, n)?;
    let one_pass = OnePass::new(setting, n)?;
    let launches = cascade.launches();
    let ways = [
        Way {
            name: "on the host",
            launches: 1,
            queue: Box::new(|| for_host.queue_first(1, &kernel, &stream, &input)),
            result: for_host.after(1),
        },
        Way {
            name: "by launching again",
            launches,
            queue: Box::new(|| cascade.queue(&kernel, &stream, &input)),
            result: cascade.after(launches),
        },
        Way {
            name: "in one pass",
            launches: 1,
            queue: Box::new(|| one_pass.queue(&stream, &input)),
            result: one_pass.total(),
        },
    ];
    report.fact(format!(
        "{} · {} partials; in one pass {} · by the host's clock, from the first launch until the host has the total",
        kernel.describe(),
        kernel.blocks(n),
        one_pass.describe()
    ));

    let mut host_ms = None;
    for way in ways {
        let mut downloaded = device.allocate_on_host(HostMemory::PageLocked, way.result.len())?;
        let mut partials = vec![0; way.result.len()];
        let mut total = None;
        let elapsed_ms = stopwatch.host_ms(
            || stream.synchronize(),
            || {
                (way.queue)()?;
                stream.download(way.result, &mut downloaded)?;
                downloaded.read_into(&mut partials)?;
                total = Some(cpu_sequential(&partials));
                Ok(())
            },
        )?;
        host_ms = host_ms.or(elapsed_ms);
        report.row([
            way.name.into(),
            Cell::Count(way.launches as u64),
            Cell::Count(way.result.len() as u64),
            Cell::Microseconds(elapsed_ms.map(|elapsed_ms| elapsed_ms * 1e3)),
            Cell::Ratio(speed_up(host_ms, elapsed_ms)),
            Cell::Right(Some(total == Some(expected))),
        ]);
    }
    Ok(report)
}
