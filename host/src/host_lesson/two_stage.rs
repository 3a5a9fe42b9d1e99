//! **Two stages**: how the partials of the blocks become one sum.
//!
//! Before: each block leaves a partial, and nobody has added them up yet.
//!
//! Idea: the host can add them, after they have crossed the bus; a second launch of the same kernel can, and only one value crosses it; or
//! the last block to finish does it in the same launch.

use super::stopwatch::{Stopwatch, speed_up};
use super::sum::{Cascade, Input, SumKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::device::{DeviceError, HostMemory};
use crate::oracle::{cpu_parallel, cpu_sequential};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "two_stage",
    alias: None,
    title: "the ways to finish",
    change: "partials are added on the host, by a second launch, or in one pass, and each costs its own kind of time",
    needs: &["events", "shuffle"],
    file: "host/src/host_lesson/two_stage.rs",
    usual_n: |_| 1 << 22,
    see: "What to see: the host's way costs a copy that grows with the number of blocks, a second launch its own few microseconds whatever \
          there is to add; both weigh less the more elements there are.",
    not_shown: "Not shown here: times, since the emulator has no bus to cross and no launch to wait for; the totals are those of a GPU.",
    has_picture: false,
    run,
};

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let (n, expected) = (values.len(), cpu_parallel(&values));
    let device = setting.device();
    let kernel = SumKernel::fast(setting)?;
    let stream = device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let buffer = device.upload(&values)?;
    let mut report = Report::new(&[
        ("finish", "the partials are added"),
        ("launches", "launches"),
        ("downloaded", "values\ndownloaded"),
        ("elapsed_us", "to the total\nµs"),
        ("ratio", "against\nthe host"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} · {} partials · by the host's clock, from the first launch until the host has the total",
        kernel.describe(),
        kernel.blocks(n)
    ));

    let mut host_ms = None;
    for (finish, is_launched_again) in [("on the host", false), ("by launching again", true)] {
        let cascade = Cascade::new(device, &kernel, n)?;
        let launches = if is_launched_again {
            cascade.launches()
        } else {
            1
        };
        let result = cascade.after(launches);
        let mut downloaded = device.allocate_on_host(HostMemory::PageLocked, result.len())?;
        let mut values = vec![0; result.len()];
        let mut total = None;
        let elapsed_ms = stopwatch.host_ms(
            || stream.synchronize(),
            || {
                cascade.queue_first(launches, &kernel, &stream, &Input::of(&buffer))?;
                stream.download(result, &mut downloaded)?;
                downloaded.read_into(&mut values)?;
                total = Some(cpu_sequential(&values));
                Ok::<(), DeviceError>(())
            },
        )?;
        host_ms = host_ms.or(elapsed_ms);
        report.row([
            finish.into(),
            Cell::Count(launches as u64),
            Cell::Count(result.len() as u64),
            Cell::Microseconds(elapsed_ms.map(|elapsed_ms| elapsed_ms * 1e3)),
            Cell::Ratio(speed_up(host_ms, elapsed_ms)),
            Cell::Right(Some(total == Some(expected))),
        ]);
    }
    Ok(report)
}
