//! The results as text.

use super::cpu::RUNS;
use super::report::ImageReport;
use crate::{footnotes, show};
use comfy_table::Cell;
use comfy_table::CellAlignment::{Left, Right};
use warpfold_course::histogram::{CHANNELS, Histogram};

/// Values of a byte that share a row of the bars.
const VALUES_PER_ROW: usize = 16;

/// The image.
pub fn describe(image: &ImageReport) -> String {
    format!(
        "{}: {} × {} = {} pixels, in rows of {} bytes\n",
        image.image,
        image.width,
        image.height,
        show::count(image.pixels()),
        show::count(image.pitch as u64),
    )
}

/// What the processor and each kernel took.
pub fn kernels(image: &ImageReport, on_gpu: bool) -> String {
    let measured: &[&str] = if on_gpu {
        &[
            "median\ntime",
            "shortest\ntime",
            "pixels\nper second",
            "GB/s",
            "speed-up",
        ]
    } else {
        &[
            "warp\ninstructions",
            "global\nsectors",
            "passes of\nglobal atomics",
            "turns of\nshared atomics",
            "time on this\ncomputer",
        ]
    };
    let mut columns = vec![("kernel", Left), ("block", Right), ("grid", Right)];
    columns.extend(measured.iter().map(|&title| (title, Right)));
    columns.push(("counts", Left));
    let mut table = show::table(&columns);
    let empty = || Cell::new("");
    let first_ms = image.cpu.first().map_or(f64::NAN, |cpu| cpu.elapsed_ms);
    let speed = |elapsed_ms: f64| {
        let pixels_per_second = image.pixels() as f64 / (elapsed_ms / 1e3);
        Cell::new(show::count(pixels_per_second as u64))
    };
    for cpu in &image.cpu {
        let mut row = vec![Cell::new(cpu.name()), empty(), empty()];
        let time = Cell::new(show::milliseconds(cpu.elapsed_ms));
        if on_gpu {
            row.extend([
                time,
                empty(),
                speed(cpu.elapsed_ms),
                Cell::new(show::significant(cpu.gigabytes_per_second)),
                Cell::new(show::ratio(first_ms / cpu.elapsed_ms)),
            ]);
        } else {
            row.extend([empty(), empty(), empty(), empty(), time]);
        }
        row.push(show::verdict(cpu.is_right));
        table.add_row(row);
    }
    for kernel in &image.kernels {
        let mut row = vec![
            Cell::new(kernel.id),
            Cell::new(kernel.block),
            Cell::new(show::count(kernel.grid.into())),
        ];
        if let Some(gpu) = &kernel.gpu {
            row.extend([
                Cell::new(show::milliseconds(gpu.elapsed_ms)),
                Cell::new(show::milliseconds(gpu.fastest_ms)),
                speed(gpu.elapsed_ms),
                Cell::new(show::significant(gpu.gigabytes_per_second)),
                Cell::new(show::ratio(first_ms / gpu.elapsed_ms)),
            ]);
        }
        if let (Some(emulator), Some(atomics)) = (&kernel.emulator, &kernel.atomics) {
            row.extend([
                Cell::new(show::count(emulator.counters.inst_executed)),
                Cell::new(show::count(emulator.counters.global().sectors)),
                Cell::new(show::count(atomics.global_passes)),
                Cell::new(show::count(atomics.shared_wavefronts)),
                Cell::new(show::milliseconds(emulator.emulated_in_ms)),
            ]);
        }
        row.push(show::verdict(kernel.is_right));
        table.add_row(row);
    }
    show::fitted_text(&table, 2, &[]) + "\n"
}

/// What the times are.
pub fn footnote(on_gpu: bool) -> String {
    let cpu = format!("CPU: the image counted where it is in memory, median of {RUNS} runs.");
    let others = if on_gpu {
        "Kernels: the kernel alone, without the copy of the image to the GPU.\nSpeed-up: against one core."
    } else {
        footnotes::NO_TIMES
    };
    format!("{cpu}\n{others}")
}

/// Each channel as bars, each as long as its share of the longest, and what the counts say.
pub fn bars(histogram: &Histogram) -> String {
    let sums = histogram
        .channels
        .map(|counts| -> [u64; 256 / VALUES_PER_ROW] {
            std::array::from_fn(|row| {
                let values = &counts[row * VALUES_PER_ROW..][..VALUES_PER_ROW];
                values.iter().map(|&count| u64::from(count)).sum()
            })
        });
    let pixels: u64 = sums[0].iter().sum();
    let longest = sums.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut columns = vec![("values", Right)];
    columns.extend(
        CHANNELS
            .iter()
            .flat_map(|&channel| [(channel, Left), ("", Right)]),
    );
    let mut table = show::table(&columns);
    for row in 0..sums[0].len() {
        let first = row * VALUES_PER_ROW;
        let mut cells = vec![format!("{first}–{}", first + VALUES_PER_ROW - 1)];
        for channel in &sums {
            cells.push(show::bar(channel[row] as f64 / longest as f64));
            cells.push(share(channel[row], pixels));
        }
        table.add_row(cells);
    }
    let Some(statistics) = histogram.statistics() else {
        return show::text(&table);
    };
    let mut row = |name: &str, value: &dyn Fn(usize) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend((0..3).flat_map(|channel| [value(channel), String::new()]));
        table.add_row(cells);
    };
    row("mean", &|channel| {
        format!("{:.2}", statistics[channel].mean)
    });
    row("least", &|channel| statistics[channel].least.to_string());
    row("most", &|channel| statistics[channel].most.to_string());
    show::text(&table)
}

/// A share of the pixels in percent; nothing where there is none.
fn share(count: u64, pixels: u64) -> String {
    if count == 0 {
        return String::new();
    }
    format!("{:.1} %", 100.0 * count as f64 / pixels as f64)
}
