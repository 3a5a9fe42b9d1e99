//! **Residency**: how many blocks of a kernel a multiprocessor has room for, and what they run out of first.
//!
//! Before: kernels hold registers and shared memory; how much of either is there?
//!
//! Idea: a block is resident from its beginning to its end, with all its warps, registers and shared memory. How many fit is arithmetic, once the
//! number of registers is known, which a GPU's assembler decides. On a GPU the driver tells the number, and its own answer stands beside
//! ours; elsewhere the recorded number is taken.
//!
//! Source: *CUDA C++ Programming Guide*, "Hardware Multithreading" and "Technical Specifications per Compute Capability"; `cuda_occupancy.h`.

mod picture;

use super::stopwatch::gigabytes_per_second;
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::case::Measured;
use crate::prepared::PreparedLesson;
use picture::{Picture, Strip};
use warpfold::device::Timing;
use warpfold_emulator::{BlockNeeds, Multiprocessor, Resource};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Lesson, Variant, find};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "residency",
    alias: None,
    title: "room for blocks",
    change: "what a block holds decides how many are resident at once: warps, registers, shared memory",
    needs: &["shared_held", "in_flight_bounded"],
    file: "course/src/host_lesson/residency/mod.rs",
    usual_n: |_| 1 << 28,
    see: "What to see: launch bounds change how many registers a thread gets, and so how many warps there is room for; which of the two kernels \
          has more is the assembler's choice, and both are as fast where the loads in flight come to the same; a block that holds more \
          shared memory leaves room for fewer, and the time grows once they are too few.",
    not_shown: "Not shown here: the driver's own answer and the times, which only a GPU has; registers are recorded for sm_90.",
    has_picture: true,
    needs_group: false,
    run,
};

/// Threads of the blocks that hold shared memory.
const BLOCK: u32 = 256;

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let device = setting.device;
    let sm = device.sm();
    let multiprocessor = Multiprocessor::of(sm).ok_or_else(|| {
        HostLessonError::Unsuitable(format!(
            "`residency` does not know how much a multiprocessor of sm_{sm} has; it knows {}",
            Multiprocessor::ALL
                .map(|known| format!("sm_{}", known.sm))
                .join(", ")
        ))
    })?;
    let timing = device.is_gpu().then_some(Timing {
        repeat: setting.repeat,
        cold: false,
    });
    let mut report = Report::new(&[
        ("kernel", "kernel"),
        ("block", "threads of\na block"),
        ("registers", "registers of\na thread"),
        ("shared_bytes", "shared bytes\nof a block"),
        ("blocks", "resident\nblocks"),
        ("warps", "their\nwarps"),
        ("percent", "% of all\nwarps"),
        ("limited_by", "limited by"),
        ("blocks_by_driver", "blocks, says\nthe driver"),
        ("elapsed_ms", "ms"),
        ("gigabytes_per_second", "GB/s"),
        ("right", "result"),
    ]);
    report.fact(format!(
        "a multiprocessor of sm_{sm}: {} warps, {} blocks, {} registers, {} KiB of shared memory",
        multiprocessor.warps,
        multiprocessor.blocks,
        multiprocessor.registers,
        multiprocessor.shared_bytes >> 10
    ));
    let mut strips = Vec::new();
    for (lesson, variant) in kernels() {
        let n = setting.elements();
        let prepared =
            PreparedLesson::new(lesson, variant, n, setting.seed, device.multiprocessors())?;
        let Some(case) = prepared.case() else {
            continue;
        };
        let kernel = device.kernel(lesson.module, case.entry)?;
        let needs = BlockNeeds {
            threads: variant.block.into(),
            registers: kernel
                .registers()
                .or_else(|| device.recorded_registers(lesson.module, case.entry, sm)),
            shared_bytes: u64::from(kernel.static_shared_bytes())
                + u64::from(case.shape.dynamic_shared_bytes),
        };
        let occupancy = multiprocessor.occupancy(&needs);
        let by_driver = match kernel.registers() {
            Some(_) => Some(kernel.resident_blocks(&case.shape)?),
            None => None,
        };
        let run = prepared.run(device, timing)?;
        let elapsed_ms = match &run.measured {
            Measured::Times(times) => Some(times.median_ms()),
            Measured::Nothing | Measured::Counters { .. } => None,
        };
        // What is reversed in place is written as well.
        let accesses = if lesson.reduction().is_some() { 1 } else { 2 };
        let name = match variant.parameter {
            Some(kibibytes) => format!("{} {kibibytes} KiB", lesson.id),
            None => lesson.id.to_owned(),
        };
        let limits: Vec<&str> = occupancy
            .limited_by
            .iter()
            .copied()
            .map(Resource::name)
            .collect();
        let limited_by = limits.join(", ");
        let registers = needs
            .registers
            .map_or_else(|| "without".to_owned(), |count| count.to_string());
        let agrees = by_driver.is_none_or(|blocks| blocks == occupancy.blocks);
        report.row([
            Cell::Text(name.clone()),
            Cell::Count(variant.block.into()),
            Cell::Text(registers.clone()),
            Cell::Count(needs.shared_bytes),
            Cell::Count(occupancy.blocks.into()),
            Cell::Count(occupancy.warps.into()),
            Cell::Number(Some(occupancy.percent())),
            Cell::Text(limited_by.clone()),
            Cell::Number(by_driver.map(f64::from)),
            Cell::Milliseconds(elapsed_ms),
            Cell::Number(gigabytes_per_second(4 * accesses * n, elapsed_ms)),
            Cell::Right(Some(run.verdict.mistake.is_none() && agrees)),
        ]);
        strips.push(Strip {
            kernel: format!("{name} · {} threads", variant.block),
            holds: format!("{registers} registers, {}", kibibytes(needs.shared_bytes)),
            warps_per_block: occupancy.warps.checked_div(occupancy.blocks).unwrap_or(0),
            blocks: occupancy.blocks,
            limit: format!("{:.0} %: {limited_by}", occupancy.percent()),
        });
    }
    report.picture = Some(
        Picture {
            sm,
            warps: multiprocessor.warps,
            strips,
        }
        .to_svg()?,
    );
    Ok(report)
}

/// What is looked at: registers in blocks of every size, and shared memory in blocks of one.
fn kernels() -> impl Iterator<Item = (&'static Lesson, Variant)> {
    let of = |id| find(id).into_iter();
    let by_block = ["in_flight", "in_flight_bounded"].into_iter().flat_map(of);
    let by_block =
        by_block.flat_map(|lesson| BLOCK_SIZES.map(|block| (lesson, lesson.usual(block))));
    let held = of("shared_held").flat_map(|lesson| {
        lesson
            .variants_of(BLOCK)
            .map(move |variant| (lesson, variant))
    });
    by_block.chain(held)
}

/// `48 KiB`, and less than one in bytes.
fn kibibytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ => format!("{} KiB", bytes >> 10),
    }
}
