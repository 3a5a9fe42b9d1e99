//! The results as text.

use super::report::Report;
use crate::show;
use comfy_table::Cell;
use comfy_table::CellAlignment::{Left, Right};
use warpfold_course::histogram::{CHANNELS, Histogram};

/// Rows of the bars: each for so many values of a byte.
const VALUES_PER_ROW: usize = 16;

/// The device and the image.
pub fn describe(report: &Report) -> String {
    format!(
        "{}\n{}: {} × {} = {} pixels, in rows of {} bytes · block {}\n",
        report.device,
        report.file,
        report.width,
        report.height,
        show::count(report.pixels()),
        show::count(report.pitch as u64),
        report.block,
    )
}

/// What each kernel took.
pub fn kernels(report: &Report) -> String {
    let on_gpu = report.kernels.iter().any(|kernel| kernel.gpu.is_some());
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
            "emulated\nin",
        ]
    };
    let mut columns = vec![("kernel", Left), ("grid", Right)];
    columns.extend(measured.iter().map(|&title| (title, Right)));
    columns.push(("counts", Left));
    let mut table = show::table(&columns);
    let first_ms = report.kernels[0].gpu.as_ref().map(|gpu| gpu.elapsed_ms);
    for (index, kernel) in report.kernels.iter().enumerate() {
        let mut row = vec![
            Cell::new(kernel.id),
            Cell::new(show::count(kernel.grid.into())),
        ];
        if let (Some(gpu), Some(first_ms)) = (&kernel.gpu, first_ms) {
            let pixels_per_second = report.pixels() as f64 / (gpu.elapsed_ms / 1e3);
            let speed_up = if index == 0 {
                String::new()
            } else {
                show::ratio(first_ms / gpu.elapsed_ms)
            };
            row.extend([
                Cell::new(show::milliseconds(gpu.elapsed_ms)),
                Cell::new(show::milliseconds(gpu.fastest_ms)),
                Cell::new(show::count(pixels_per_second as u64)),
                Cell::new(show::significant(gpu.gigabytes_per_second)),
                Cell::new(speed_up),
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
    let mut text = show::fitted_text(&mut table, &[columns.len() - 2, 3]);
    if !on_gpu {
        text += "\nThe emulator counts what the kernels do; it has no GPU's times to give.";
    }
    text + "\n"
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
