//! The sweep as CSV and as a picture.

use super::measured::Row;
use super::outcome::Sweep;
use crate::failure::Failure;
use serde::Serialize;
use warpfold_plot::{Line, LineChart, LinePlot, Scale};

/// Width and height of the picture.
const SIZE: (u32, u32) = (1100, 640);

/// A row of the CSV file; a cell is empty where the device has nothing to say.
#[derive(Serialize)]
struct Record<'a> {
    kernel: &'a str,
    operator: &'a str,
    element_type: String,
    n: usize,
    input_bytes: usize,
    block_threads: Option<u32>,
    grid_blocks: Option<u32>,
    is_right: bool,
    cache: Option<&'a str>,
    median_ms: Option<f64>,
    fastest_ms: Option<f64>,
    gigabytes_per_second: Option<f64>,
    warp_instructions: Option<u64>,
    global_load_bytes: Option<u64>,
    global_store_bytes: Option<u64>,
    global_sectors: Option<u64>,
}

/// A header, and a line for each contender and size.
pub fn csv(sweep: &Sweep) -> Result<Vec<u8>, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in &sweep.measured.rows {
        writer
            .serialize(record(sweep, row))
            .map_err(Failure::input)?;
    }
    writer.into_inner().map_err(Failure::input)
}

fn record<'a>(sweep: &'a Sweep, row: &'a Row) -> Record<'a> {
    let figures = row.figures.as_ref();
    let gpu = figures.and_then(|figures| figures.gpu.as_ref());
    let emulator = figures.and_then(|figures| figures.emulator.as_ref());
    let counters = emulator.map(|emulator| &emulator.counters);
    Record {
        kernel: row.id,
        operator: sweep.operator,
        element_type: sweep.element_type.to_string(),
        n: row.n,
        input_bytes: row.n * sweep.element_type.bytes(),
        block_threads: row.block,
        grid_blocks: figures.map(|figures| figures.grid),
        is_right: row.is_right(),
        cache: sweep.cold.map(|cold| if cold { "cold" } else { "warm" }),
        median_ms: gpu.map(|gpu| gpu.elapsed_ms),
        fastest_ms: gpu.map(|gpu| gpu.fastest_ms),
        gigabytes_per_second: gpu.map(|gpu| gpu.gigabytes_per_second),
        warp_instructions: counters.map(|counters| counters.inst_executed),
        global_load_bytes: counters.map(|counters| counters.global_loads.bytes),
        global_store_bytes: counters.map(|counters| counters.global_stores.bytes),
        global_sectors: counters.map(|counters| counters.global().sectors),
    }
}

/// A line for each contender: its bandwidth on a GPU, its instructions for each element on the emulator. Wrong results are not
/// drawn.
pub fn svg(sweep: &Sweep) -> Result<String, Failure> {
    let what = format!("{} of {}", sweep.operator, sweep.element_type);
    let mut subtitle = vec![sweep.device.clone(), what];
    subtitle.push(format!("blocks of {}", sweep.block));
    if let (Some(cold), Some(repeat)) = (sweep.cold, sweep.repeat) {
        let cache = if cold { "cold" } else { "warm" };
        subtitle.push(format!("{cache} L2 cache, medians of {repeat} launches"));
    }
    let peak = sweep
        .gpu
        .as_ref()
        .and_then(|gpu| gpu.memory_bytes_per_second);
    let peak = peak.map(|peak| peak as f64 / 1e9);
    let ceiling = peak.map(|peak| format!("data sheet: {peak:.0} GB/s"));
    let names: Vec<(&str, String)> = sweep
        .ids()
        .map(|id| (id, format!("{} {id}", sweep.step(id)).trim().to_owned()))
        .collect();
    let chart = LineChart {
        elements: "elements",
        quantity: if sweep.on_gpu {
            "GB/s"
        } else {
            "warp instructions for each element"
        },
        scale: Scale::Logarithmic {
            base: if sweep.on_gpu { 10.0 } else { 2.0 },
        },
        ceiling: ceiling.as_deref().zip(peak),
        lines: names
            .iter()
            .map(|(id, name)| Line {
                name,
                is_bold: sweep.step(id).is_empty(),
                points: points(sweep, id),
            })
            .collect(),
    };
    let plot = LinePlot {
        size: SIZE,
        title: if sweep.on_gpu {
            "How fast each kernel reads its input"
        } else {
            "What each kernel executes for an element"
        },
        subtitle: &subtitle.join(" · "),
        rows: vec![vec![chart]],
    };
    plot.to_svg().map_err(Failure::input)
}

fn points(sweep: &Sweep, id: &str) -> Vec<(usize, f64)> {
    let rows = sweep
        .measured
        .rows
        .iter()
        .filter(|row| row.id == id && row.is_right());
    let point = |row: &Row| {
        let figures = row.figures.as_ref()?;
        let value = match (&figures.gpu, &figures.emulator) {
            (Some(gpu), _) => gpu.gigabytes_per_second,
            (None, Some(emulator)) => emulator.counters.inst_executed as f64 / row.n as f64,
            (None, None) => return None,
        };
        Some((row.n, value))
    };
    rows.filter_map(point).collect()
}
