//! **Transfers**: the same sum from five kinds of host memory.
//!
//! Before: a kernel's time counts from when its data is on the GPU; the data comes from the host.
//!
//! Idea: what kind of memory the host keeps it in decides how fast it comes. The bus is the same for all; pageable memory needs a second
//! copy by the driver, mapped memory none at all, and unified memory moves page by page when it is touched.

use super::stopwatch::{Stopwatch, gigabytes_per_second, speed_up};
use super::sum::{Input, LadderKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use std::cell::RefCell;
use warpfold::device::{Device, DeviceError, HostBuffer, HostMemory};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "transfers",
    alias: None,
    title: "five kinds of host memory",
    change: "how fast data reaches the GPU depends on the kind of host memory that it comes from",
    needs: &["shuffle"],
    file: "course/src/host_lesson/transfers.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: pageable memory is copied twice and comes slowest; page-locked memory fills the bus; mapped memory fills it without a \
          copy, but crosses it again whenever a kernel reads again; unified memory waits for every page that a kernel misses, unless it is \
          fetched beforehand. Write-combined memory spares the caches of the host, whose reads of it are slow where the system honours it.",
    not_shown: "Not shown here: speeds, since the emulator's memory is ordinary memory of whatever kind; the sums are those that a GPU gives.",
    has_picture: false,
    needs_group: false,
    run,
};

/// A row of the table.
struct Way {
    name: &'static str,
    how: &'static str,
    /// `None` for ordinary memory, which no device knows.
    kind: Option<HostMemory>,
    /// Whether the data is asked for before the kernel touches it.
    prefetch: bool,
}

const WAYS: [Way; 6] = [
    Way {
        name: "pageable",
        how: "copied by driver and GPU",
        kind: None,
        prefetch: false,
    },
    Way {
        name: "page-locked",
        how: "copied by the GPU",
        kind: Some(HostMemory::PageLocked),
        prefetch: false,
    },
    Way {
        name: "write-combined",
        how: "copied by the GPU",
        kind: Some(HostMemory::WriteCombined),
        prefetch: false,
    },
    Way {
        name: "mapped",
        how: "read by the kernel",
        kind: Some(HostMemory::Mapped),
        prefetch: false,
    },
    Way {
        name: "unified",
        how: "moved page by page",
        kind: Some(HostMemory::Managed),
        prefetch: false,
    },
    Way {
        name: "unified, prefetched",
        how: "moved beforehand",
        kind: Some(HostMemory::Managed),
        prefetch: true,
    },
];

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let values = setting.values()?;
    let (bytes, expected) = (size_of_val(&values[..]), cpu_parallel(&values));
    let kernel = LadderKernel::fast(setting)?;
    let mut report = Report::new(&[
        ("memory", "host memory"),
        ("how", "how the data comes"),
        ("host_write_gigabytes_per_second", "host writes\nGB/s"),
        ("host_read_gigabytes_per_second", "host reads\nGB/s"),
        ("elapsed_ms", "data to sum\nms"),
        ("gigabytes_per_second", "data to sum\nGB/s"),
        ("ratio", "against\npageable"),
        ("right", "sum"),
    ]);
    report.fact(format!(
        "{} · data to sum: from the first byte that moves until the kernel has ended",
        kernel.describe()
    ));
    let mut pageable_ms = None;
    for way in &WAYS {
        let figures = measure(setting, &kernel, &values, way)?;
        pageable_ms = pageable_ms.or(figures.elapsed_ms);
        let speed = |elapsed_ms| Cell::Number(gigabytes_per_second(bytes, elapsed_ms));
        report.row([
            way.name.into(),
            way.how.into(),
            speed(figures.host_write_ms),
            speed(figures.host_read_ms),
            Cell::Milliseconds(figures.elapsed_ms),
            speed(figures.elapsed_ms),
            Cell::Ratio(speed_up(pageable_ms, figures.elapsed_ms)),
            Cell::Right(Some(figures.sum == expected)),
        ]);
    }
    Ok(report)
}

struct Figures {
    host_write_ms: Option<f64>,
    host_read_ms: Option<f64>,
    elapsed_ms: Option<f64>,
    sum: i32,
}

fn measure(
    setting: &Setting<'_>,
    kernel: &LadderKernel<'_>,
    values: &[i32],
    way: &Way,
) -> Result<Figures, HostLessonError> {
    let (device, n) = (setting.device, values.len());
    let stream = device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let partials = kernel.partials(n)?;
    let host = RefCell::new(Source::allocate(device, way.kind, n)?);
    let host_write_ms = stopwatch.host_ms(|| Ok(()), || host.borrow_mut().write(values))?;

    // What the GPU copies, it copies here; what it reads where it is, needs no such buffer.
    let copy_length = if host.borrow().is_copied() { n } else { 0 };
    let mut copy = device.allocate(copy_length)?;
    let elapsed_ms = stopwatch.device_ms(
        &stream,
        // Unified memory comes back to the host when the host touches it.
        || host.borrow_mut().write(values),
        || match &*host.borrow() {
            Source::Pageable(elements) => {
                copy.write(elements)?;
                kernel.queue(&stream, &Input::of(&copy), &partials)
            }
            Source::Known(buffer) if host.borrow().is_copied() => {
                stream.upload(buffer, &mut copy)?;
                kernel.queue(&stream, &Input::of(&copy), &partials)
            }
            Source::Known(buffer) => {
                if way.prefetch {
                    stream.prefetch(buffer)?;
                }
                kernel.queue(&stream, &Input::on_host(buffer)?, &partials)
            }
        },
    )?;
    let sum = cpu_sequential(&partials.read()?);

    let mut read = vec![0; n];
    let once = Stopwatch::once(setting)?;
    let host_read_ms = once.host_ms(|| Ok(()), || host.borrow().read_into(&mut read))?;
    Ok(Figures {
        host_write_ms,
        host_read_ms,
        elapsed_ms,
        sum,
    })
}

/// Where the data is before it moves.
enum Source {
    Pageable(Vec<i32>),
    Known(HostBuffer<i32>),
}

impl Source {
    fn allocate(device: &Device, kind: Option<HostMemory>, n: usize) -> Result<Self, DeviceError> {
        Ok(match kind {
            None => Self::Pageable(vec![0; n]),
            Some(kind) => Self::Known(device.allocate_on_host(kind, n)?),
        })
    }

    /// Whether kernels cannot reach it.
    fn is_copied(&self) -> bool {
        match self {
            Self::Pageable(_) => true,
            Self::Known(buffer) => buffer.argument().is_err(),
        }
    }

    fn write(&mut self, values: &[i32]) -> Result<(), DeviceError> {
        match self {
            Self::Pageable(elements) => {
                elements.copy_from_slice(values);
                Ok(())
            }
            Self::Known(buffer) => buffer.write(values),
        }
    }

    fn read_into(&self, values: &mut [i32]) -> Result<(), DeviceError> {
        match self {
            Self::Pageable(elements) => {
                values.copy_from_slice(elements);
                Ok(())
            }
            Self::Known(buffer) => buffer.read_into(values),
        }
    }
}
