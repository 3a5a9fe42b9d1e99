//! **Peer copies**: the same bytes from the memory of one GPU to a kernel of another, in three ways.
//!
//! Before: data comes to a GPU from the host. Here it lies on another GPU of the same computer.
//!
//! Idea: the way decides what the bytes cross. Through the host they cross its bus twice and its memory once. The driver's copy goes straight
//! over the link between the GPUs, NVLink or PCIe, where the two reach each other. And a kernel can read the other GPU's memory where it is:
//! nothing is copied, each byte crosses the link when it is needed, and again whenever it is needed again.

use super::stopwatch::{Stopwatch, gigabytes_per_second, speed_up};
use super::sum::{Input, LadderKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use std::cell::RefCell;
use warpfold::device::{DeviceError, HostMemory, PeerTraffic};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "peer_copy",
    alias: None,
    title: "bytes from one GPU to another",
    change: "bytes of another GPU come through the host, by a copy over the link, or as a kernel reads them, and each way crosses something else",
    needs: &["transfers", "streams"],
    file: "course/src/host_lesson/peer_copy.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: through the host the bytes cross the bus twice; the copy over the link and the kernel that reads there are about as fast \
          as the link, which for NVLink is several times the bus; a kernel that would read twice should copy first.",
    not_shown: "Not shown here: speeds, since emulated devices have no link between them; what the kernel loads from the other device is \
                counted, and the sums are those of GPUs.",
    has_picture: false,
    needs_group: true,
    run,
};

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let group = setting.group(LESSON.id)?;
    let (first, second) = (&group.devices()[0], &group.devices()[1]);
    let link = first.peer_link(second)?;
    let has_access = first.enable_peer_access(second)?;
    let of_first = Setting {
        device: first,
        ..*setting
    };
    let values = setting.values()?;
    let (n, bytes, expected) = (
        values.len(),
        size_of_val(&values[..]),
        cpu_parallel(&values),
    );
    let kernel = LadderKernel::fast(&of_first)?;
    let stopwatch = Stopwatch::new(&of_first)?;
    let (stream, others) = (first.stream()?, second.stream()?);
    let source = second.upload(&values)?;
    let partials = kernel.partials(n)?;
    let copy = RefCell::new(first.allocate::<i32>(n)?);

    let mut report = Report::new(&[
        ("way", "way"),
        ("how", "what the bytes cross"),
        ("elapsed_ms", "to the sum\nms"),
        ("gigabytes_per_second", "to the sum\nGB/s"),
        ("ratio", "against\nthe host"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} on the first device, of values on the second · peer access: {}, atomics over the link: {}",
        kernel.describe(),
        yes(has_access),
        yes(link.has_atomics)
    ));

    let there = RefCell::new(second.allocate_on_host::<i32>(HostMemory::PageLocked, n)?);
    let here = RefCell::new(first.allocate_on_host::<i32>(HostMemory::PageLocked, n)?);
    let through_host = || {
        others.download(&source, &mut there.borrow_mut())?;
        let mut values = vec![0; n];
        there.borrow().read_into(&mut values)?;
        here.borrow_mut().write(&values)?;
        stream.upload(&here.borrow(), &mut copy.borrow_mut())?;
        kernel.queue(&stream, &Input::of(&copy.borrow()), &partials)
    };
    let over_link = || {
        stream.copy_between(&source, &mut copy.borrow_mut())?;
        kernel.queue(&stream, &Input::of(&copy.borrow()), &partials)
    };
    let on_peer = has_access
        .then(|| Input::on_peer(&source, second, first))
        .transpose()?;
    let where_it_is = || match &on_peer {
        Some(input) => kernel.queue(&stream, input, &partials),
        None => Err(DeviceError::OtherDevice),
    };
    type Work<'w> = &'w dyn Fn() -> Result<(), DeviceError>;
    let ways: [(&str, &str, bool, Work<'_>); 3] = [
        (
            "through the host",
            "the bus twice, the host's memory",
            true,
            &through_host,
        ),
        (
            "copied by the driver",
            "the link, then memory",
            true,
            &over_link,
        ),
        ("read by the kernel", "the link", has_access, &where_it_is),
    ];
    let mut host_ms = None;
    for (name, how, is_possible, work) in ways {
        if !is_possible {
            let nothing = [
                Cell::Milliseconds(None),
                Cell::Number(None),
                Cell::Ratio(None),
            ];
            report.row(
                [name.into(), "no peer access here".into()]
                    .into_iter()
                    .chain(nothing)
                    .chain([Cell::Right(None)]),
            );
            continue;
        }
        copy.borrow_mut().write(&vec![0; n])?;
        let elapsed_ms = stopwatch.host_ms(
            || stream.synchronize(),
            || {
                work()?;
                stream.synchronize()
            },
        )?;
        let sum = cpu_sequential(&partials.read()?);
        host_ms = host_ms.or(elapsed_ms);
        report.row([
            name.into(),
            how.into(),
            Cell::Milliseconds(elapsed_ms),
            Cell::Number(gigabytes_per_second(bytes, elapsed_ms)),
            Cell::Ratio(speed_up(host_ms, elapsed_ms)),
            Cell::Right(Some(sum == expected)),
        ]);
    }
    if let (false, Some(input)) = (first.is_gpu(), &on_peer) {
        let mut traffic = PeerTraffic::default();
        kernel.observe(input, &partials, &mut traffic)?;
        report.fact(format!(
            "read by the kernel: {} of the {bytes} bytes loaded from the other device",
            traffic.total().loaded_bytes
        ));
    }
    Ok(report)
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}
