//! A lesson over the values of its parameter: how an offset or a stride changes what a GPU takes for the same work.

use crate::failure::Failure;
use crate::figures::{EmulatorFigures, GpuFigures, measured_figures};
use crate::output::{Output, write_file};
use crate::workload::{MeasuringArguments, describe_timing};
use crate::{footnotes, progress, show};
use comfy_table::Cell;
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use std::path::Path;
use warpfold::Device;
use warpfold::device::GpuInformation;
use warpfold_course::data::Data;
use warpfold_course::demonstration::{is_about_banks, useful_bytes};
use warpfold_course::prepared::PreparedLesson;
use warpfold_course::size::short;
use warpfold_emulator::Counters;
use warpfold_kernels::catalogue::{Lesson, Variant};
use warpfold_plot::{Line, LineChart, LinePlot, Scale};

/// Elements that a GPU moves, unless told otherwise: more than any cache holds.
const GPU_N: usize = 1 << 26;
const EMULATOR_N: usize = 1 << 16;
/// Width and height of the picture.
const SIZE: (u32, u32) = (1000, 560);

/// What to sweep, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub lesson: &'static Lesson,
    /// The numbers of elements that are asked for, of which there can be one.
    pub sizes: Option<&'a [usize]>,
    pub measuring: &'a MeasuringArguments,
}

/// The results.
#[derive(Debug, Serialize)]
pub struct ParameterSweep {
    /// The device in words.
    device: String,
    /// What the driver tells about the GPU; `null` on the emulator.
    gpu: Option<GpuInformation>,
    /// The lesson.
    id: &'static str,
    /// The name of its parameter.
    parameter: &'static str,
    /// Number of elements.
    n: usize,
    /// Threads of a block.
    block: u32,
    /// The data.
    data: Data,
    /// Their seed; `null` where they have none.
    seed: Option<u64>,
    /// Timed launches; `null` on the emulator.
    repeat: Option<u32>,
    /// Whether the L2 cache was overwritten before each of them; `null` on the emulator.
    cold: Option<bool>,
    /// The measurements, by value.
    rows: Vec<Row>,
    #[serde(skip)]
    lesson: &'static Lesson,
}

/// One value of the parameter.
#[derive(Debug, Serialize)]
struct Row {
    value: u32,
    /// Bytes that the kernel has to read and to write.
    useful_bytes: u64,
    is_right: bool,
    /// What is wrong, in words that follow the name of the lesson.
    mistake: Option<String>,
    /// Times on a GPU; the bandwidth is that of the useful bytes.
    gpu: Option<GpuFigures>,
    /// Counters of the emulator.
    emulator: Option<EmulatorFigures>,
    /// What the lesson is about, as the emulator counts it: sectors of global memory, or turns of shared memory lost to bank conflicts, for
    /// each warp instruction that accesses it.
    per_request: Option<f64>,
}

/// Runs the sweep, prints it and writes what is asked for.
pub fn run(
    plan: Plan<'_>,
    output: &Output,
    csv: Option<&Path>,
    svg: Option<&Path>,
) -> Result<(), Failure> {
    let what = format!("`{}` is swept over its parameter", plan.lesson.id);
    let device = plan.measuring.device.open(&what)?;
    let sweep = measure(&device, plan)?;
    output.print(&sweep.device)?;
    let seed = sweep.seed.map(|seed| format!(" (seed {seed})"));
    output.print(format!(
        "{} · n = {}{} · block {}\n",
        sweep.id,
        short(sweep.n),
        seed.unwrap_or_default(),
        sweep.block
    ))?;
    output.print(sweep.table())?;
    output.print(sweep.footnote())?;
    output.write_json(&sweep)?;
    if let Some(path) = csv {
        write_file(path, &sweep.csv()?)?;
    }
    if let Some(path) = svg {
        write_file(path, sweep.svg()?.as_bytes())?;
    }
    sweep.judge()
}

fn measure(device: &Device, plan: Plan<'_>) -> Result<ParameterSweep, Failure> {
    let Plan {
        lesson, measuring, ..
    } = plan;
    let gpu = device.gpu_information().cloned();
    let n = match plan.sizes {
        Some(&[n]) => n,
        Some(_) => {
            return Err(Failure::Input(format!(
                "`{}` is swept over its parameter; give --sizes one number of elements",
                lesson.id
            )));
        }
        None if gpu.is_some() => GPU_N,
        None => EMULATOR_N,
    };
    let is_gpu = gpu.is_some();
    let data = measuring.data.data()?;
    let mut sweep = ParameterSweep {
        device: device.describe(),
        gpu,
        id: lesson.id,
        parameter: lesson.parameter.map_or("", |parameter| parameter.name),
        n,
        block: measuring.block,
        data,
        seed: data.seed(),
        repeat: is_gpu.then_some(measuring.repeat),
        cold: is_gpu.then_some(measuring.cold),
        rows: Vec::new(),
        lesson,
    };
    let variants: Vec<Variant> = lesson.variants_of(measuring.block).collect();
    let progress = progress::bar(variants.len() as u64)?;
    for variant in variants {
        let value = variant.parameter.unwrap_or_default();
        progress.set_message(format!("{} {value}", sweep.parameter));
        let multiprocessors = device.multiprocessors();
        let prepared = PreparedLesson::new(lesson, variant, n, data, multiprocessors)?;
        let run = prepared.run(device, Some(measuring.timing()))?;
        let useful_bytes = useful_bytes(lesson, variant, n).unwrap_or_default();
        let (gpu, emulator) = measured_figures(&run.measured, useful_bytes);
        sweep.rows.push(Row {
            value,
            useful_bytes,
            is_right: run.verdict.mistake.is_none(),
            mistake: run.verdict.mistake,
            gpu,
            per_request: emulator
                .as_ref()
                .and_then(|emulator| per_request(lesson, &emulator.counters)),
            emulator,
        });
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(sweep)
}

/// What the lesson is about, for each request; `None` where there was none.
fn per_request(lesson: &Lesson, counters: &Counters) -> Option<f64> {
    let (shared, global) = (counters.shared(), counters.global());
    let (count, requests) = if is_about_banks(lesson) {
        (shared.wavefronts - shared.ideal_wavefronts, shared.requests)
    } else {
        (global.sectors, global.requests)
    };
    (requests > 0).then(|| count as f64 / requests as f64)
}

impl ParameterSweep {
    /// What is counted for each request.
    fn counted(&self) -> &'static str {
        if is_about_banks(self.lesson) {
            "bank conflicts"
        } else {
            "sectors"
        }
    }

    fn table(&self) -> String {
        let counted = format!("{}\nper request", self.counted());
        let measured: &[&str] = if self.gpu.is_some() {
            &["ms", "GB/s"]
        } else {
            &[&counted]
        };
        let mut columns = vec![(self.parameter, Right), ("useful\nbytes", Right)];
        columns.extend(measured.iter().map(|&title| (title, Right)));
        columns.push(("result", Left));
        let mut table = show::table(&columns);
        for row in &self.rows {
            let mut cells = vec![
                Cell::new(row.value),
                Cell::new(show::count(row.useful_bytes)),
            ];
            if self.gpu.is_some() {
                // A wrong kernel has no times.
                let gpu = row.gpu.as_ref();
                let figure = |figure: fn(&GpuFigures) -> f64| {
                    Cell::new(gpu.map_or_else(String::new, |gpu| show::significant(figure(gpu))))
                };
                cells.push(figure(|gpu| gpu.elapsed_ms));
                cells.push(figure(|gpu| gpu.gigabytes_per_second));
            } else {
                let figure = row.per_request.map(|figure| format!("{figure:.2}"));
                cells.push(Cell::new(figure.unwrap_or_default()));
            }
            cells.push(show::verdict(row.is_right));
            table.add_row(cells);
        }
        show::text(&table)
    }

    fn footnote(&self) -> String {
        match (self.repeat, self.cold) {
            (Some(repeat), Some(cold)) => {
                let timing = describe_timing(repeat, cold);
                let times = timing.lines().next().unwrap_or_default();
                format!(
                    "\n{times}\nGB/s: the bytes that the kernel has to read and to write, divided by that time."
                )
            }
            _ => format!("\n{}", footnotes::NO_TIMES),
        }
    }

    /// A header, and a line for each value.
    fn csv(&self) -> Result<Vec<u8>, Failure> {
        #[derive(Serialize)]
        struct Record<'a> {
            kernel: &'a str,
            parameter: &'a str,
            value: u32,
            n: usize,
            block_threads: u32,
            useful_bytes: u64,
            is_right: bool,
            cache: Option<&'a str>,
            median_ms: Option<f64>,
            fastest_ms: Option<f64>,
            gigabytes_per_second: Option<f64>,
            sectors_per_request: Option<f64>,
            bank_conflicts_per_request: Option<f64>,
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        let is_about_banks = is_about_banks(self.lesson);
        for row in &self.rows {
            let gpu = row.gpu.as_ref();
            let record = Record {
                kernel: self.id,
                parameter: self.parameter,
                value: row.value,
                n: self.n,
                block_threads: self.block,
                useful_bytes: row.useful_bytes,
                is_right: row.is_right,
                cache: self.cold.map(|cold| if cold { "cold" } else { "warm" }),
                median_ms: gpu.map(|gpu| gpu.elapsed_ms),
                fastest_ms: gpu.map(|gpu| gpu.fastest_ms),
                gigabytes_per_second: gpu.map(|gpu| gpu.gigabytes_per_second),
                sectors_per_request: row.per_request.filter(|_| !is_about_banks),
                bank_conflicts_per_request: row.per_request.filter(|_| is_about_banks),
            };
            writer.serialize(record).map_err(Failure::input)?;
        }
        writer.into_inner().map_err(Failure::input)
    }

    /// The bandwidth on a GPU, what the emulator counts elsewhere, over the values. Wrong results are not drawn.
    fn svg(&self) -> Result<String, Failure> {
        let counted = format!("{} per request", self.counted());
        let (title, quantity) = if self.gpu.is_some() {
            let title = format!("How fast {} moves its values", self.id);
            (title, "GB/s")
        } else {
            let title = format!("What each warp access of {} costs", self.id);
            (title, counted.as_str())
        };
        let mut subtitle = format!(
            "{} · n = {} · block {}",
            self.device,
            short(self.n),
            self.block
        );
        if let (Some(cold), Some(repeat)) = (self.cold, self.repeat) {
            let cache = if cold { "cold" } else { "warm" };
            subtitle += &format!(" · {cache}, medians of {repeat}");
        }
        let peak = self.gpu.as_ref();
        let peak = peak.and_then(|gpu| gpu.memory_bytes_per_second);
        let peak = peak.map(|peak| peak as f64 / 1e9);
        let ceiling = peak.map(|peak| format!("data sheet: {peak:.0} GB/s"));
        let points = self.rows.iter().filter(|row| row.is_right);
        let point = |row: &Row| {
            let bandwidth = row.gpu.as_ref().map(|gpu| gpu.gigabytes_per_second);
            Some((row.value as usize, bandwidth.or(row.per_request)?))
        };
        let chart = LineChart {
            elements: self.parameter,
            quantity,
            scale: Scale::Linear,
            ceiling: ceiling.as_deref().zip(peak),
            lines: vec![Line {
                name: self.id,
                is_bold: false,
                points: points.filter_map(point).collect(),
            }],
        };
        let plot = LinePlot {
            size: SIZE,
            title: &title,
            subtitle: &subtitle,
            rows: vec![vec![chart]],
        };
        plot.to_svg().map_err(Failure::input)
    }

    /// Whether all were right.
    fn judge(&self) -> Result<(), Failure> {
        let wrong = self.rows.iter().find_map(|row| {
            let mistake = row.mistake.as_ref()?;
            let (id, parameter) = (self.id, self.parameter);
            Some(format!("`{id}` at {parameter} {} {mistake}", row.value))
        });
        wrong.map_or(Ok(()), |mistake| Err(Failure::Finding(mistake)))
    }
}
