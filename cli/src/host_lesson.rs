//! `warpfold host-lesson`: a lesson about the host's side of a GPU.

use super::device::{DeviceArguments, describe_all};
use super::failure::Failure;
use super::lookup;
use super::names::Kind;
use super::output::{JsonArguments, Output, write_file};
use super::recorded;
use super::size::parse_count;
use super::{progress, show};
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::PathBuf;
use warpfold::Group;
use warpfold_course::host_lesson::{
    self, Cell, HOST_LESSONS, HostLessonError, Report, Setting, Timeline, timelines_as_text,
};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold host-lesson transfers -n 2^26\n  warpfold host-lesson two-stage --device emulator\n  warpfold host-lesson roofline --recorded --svg roofline.svg\n  warpfold host-lesson group_sum --device emulator:4"
)]
pub struct Arguments {
    #[arg(help = format!("The lesson: {}", ids().join(", ")))]
    id: String,
    /// Number of random elements: 2^24, 16M, 1_000_000 [default: the lesson's own]
    #[arg(short, value_parser = parse_count)]
    n: Option<usize>,
    #[command(flatten)]
    device: DeviceArguments,
    /// Show what a GPU printed once, and run nothing
    #[arg(long)]
    recorded: bool,
    /// How often each time is taken on a GPU; its median is shown
    #[arg(long, value_name = "R", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// Seed of the random data
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Also draw the lesson's picture as SVG to FILE
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// The lessons' ids.
fn ids() -> Vec<&'static str> {
    HOST_LESSONS.iter().map(|lesson| lesson.id).collect()
}

/// What the command writes as JSON.
#[derive(Serialize)]
struct Results<'a> {
    device: &'a str,
    id: &'static str,
    n: usize,
    seed: u64,
    repeat: Option<u32>,
    facts: &'a [String],
    rows: Vec<Map<String, Value>>,
    timelines: &'a [Timeline],
    not_shown: Option<&'static str>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lesson = host_lesson::find(&arguments.id)
        .ok_or_else(|| lookup::no_such(&arguments.id, &[Kind::HostLesson], &[]))?;
    let output = Output::new(&arguments.json)?;
    if arguments.recorded {
        match &arguments.svg {
            Some(path) if lesson.id == "roofline" => {
                write_file(path, recorded::roofline()?.as_bytes())?;
            }
            Some(_) => {
                return Err(Failure::Input(format!(
                    "of what is recorded `roofline` alone can be drawn anew; leave --svg out to see what `{}` printed",
                    lesson.id
                )));
            }
            None => {}
        }
        return output.print(recorded::text("host-lesson", lesson.id)?);
    }
    let group = match lesson.needs_group {
        true => Some(arguments.device.open_group(&format!("`{}`", lesson.id))?),
        false => None,
    };
    let alone = match &group {
        Some(_) => None,
        None => Some(arguments.device.open(&format!("`{}` is run", lesson.id))?),
    };
    let devices = group.as_ref().map_or(&[][..], Group::devices);
    let Some(device) = alone.as_ref().or(devices.first()) else {
        return Err(Failure::input(warpfold::Error::NoDevices));
    };
    let is_gpu = device.is_gpu();
    if arguments.svg.is_some() && !lesson.has_picture {
        return Err(Failure::Input(format!(
            "`{}` has no picture: leave --svg out",
            lesson.id
        )));
    }
    let setting = Setting {
        device,
        group: group.as_ref(),
        n: arguments.n,
        repeat: arguments.repeat as usize,
        seed: arguments.seed,
    };
    let description = match &group {
        Some(group) => describe_all(group.devices()),
        None => device.describe(),
    };
    let n = lesson.n(&setting);
    let report = progress::during(lesson.id, || lesson.run(&setting))??;
    if arguments.svg.is_some() && report.picture.is_none() {
        return Err(Failure::Input(format!(
            "`{}` draws what a GPU measures: leave --svg out{}",
            lesson.id,
            match lesson.id {
                "roofline" => ", or add --recorded to draw what one measured",
                _ => "",
            }
        )));
    }
    let not_shown = (!is_gpu).then_some(lesson.not_shown);

    output.print(&description)?;
    output.print(format!(
        "n = {} random i32 ({}, seed {})",
        show::count(n as u64),
        show::bytes(4 * n as u64),
        arguments.seed
    ))?;
    for fact in &report.facts {
        output.print(fact)?;
    }
    output.print(format!("\n{}: {}\n", lesson.id, lesson.change))?;
    output.print(table(&report))?;
    if !report.timelines.is_empty() {
        output.print(format!("\n{}", timelines_as_text(&report.timelines)))?;
    }
    output.print(format!("\n{}", not_shown.unwrap_or(lesson.see)))?;
    let recorded = recorded::outputs("host-lesson", lesson.id);
    if !is_gpu && !recorded.is_empty() {
        output.print(format!("\n{}", recorded::shown(&recorded)))?;
    }
    output.write_json(&Results {
        device: &description,
        id: lesson.id,
        n,
        seed: arguments.seed,
        repeat: is_gpu.then_some(arguments.repeat),
        facts: &report.facts,
        rows: report.rows_as_json(),
        timelines: &report.timelines,
        not_shown,
    })?;
    if let (Some(path), Some(picture)) = (&arguments.svg, &report.picture) {
        write_file(path, picture.as_bytes())?;
    }
    if report.is_right() {
        Ok(())
    } else {
        Err(Failure::Finding(format!(
            "`{}` gives what is not right: see its table",
            lesson.id
        )))
    }
}

/// The table, without the columns that the device has nothing to show in.
fn table(report: &Report) -> String {
    let shown: Vec<usize> = (0..report.columns.len())
        .filter(|&column| report.rows.iter().any(|row| row[column].is_shown()))
        .collect();
    let columns: Vec<_> = shown
        .iter()
        .map(|&column| {
            let is_text = report
                .rows
                .iter()
                .any(|row| matches!(row[column], Cell::Text(_) | Cell::Right(_)));
            let alignment = if is_text { Left } else { Right };
            (report.columns[column].title, alignment)
        })
        .collect();
    let mut table = show::table(&columns);
    for row in &report.rows {
        table.add_row(shown.iter().map(|&column| cell(&row[column])));
    }
    show::text(&table)
}

fn cell(cell: &Cell) -> comfy_table::Cell {
    let number = |value: &Option<f64>| value.map_or_else(String::new, show::significant);
    match cell {
        Cell::Text(text) => comfy_table::Cell::new(text),
        Cell::GpuCount(count) => {
            comfy_table::Cell::new(count.map_or_else(String::new, show::count))
        }
        Cell::Count(count) => comfy_table::Cell::new(show::count(*count)),
        Cell::Milliseconds(value) | Cell::Microseconds(value) | Cell::Number(value) => {
            comfy_table::Cell::new(number(value))
        }
        Cell::Ratio(value) => comfy_table::Cell::new(value.map_or_else(String::new, show::ratio)),
        Cell::Right(None) => comfy_table::Cell::new(""),
        Cell::Right(Some(right)) => show::verdict(*right),
    }
}

impl From<HostLessonError> for Failure {
    fn from(error: HostLessonError) -> Self {
        match error {
            HostLessonError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}
