//! `warpfold trace`: a small launch as a picture.

use super::failure::Failure;
use super::lookup::{self, ParameterArguments};
use super::machine::{self, KernelsArguments};
use super::output::{JsonArguments, Output, write_file};
use super::size::parse_count;
use std::path::PathBuf;
use warpfold::device::DeviceChoice;
use warpfold_course::lesson::LessonError;
use warpfold_course::reducible::with_reducible;
use warpfold_course::trace::{TraceError, trace};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Entries, Lesson, Reduction, Variant};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold trace interleaved -n 16 --block 8\n  warpfold trace shuffle --svg shuffle.svg"
)]
pub struct Arguments {
    /// The lesson, as `warpfold lessons` lists it
    id: String,
    /// Number of elements: 1, 2, 3 … [default: what two blocks of 8 threads or one of 64 take]
    #[arg(short, value_parser = parse_count)]
    n: Option<usize>,
    /// Threads of a block: a power of two up to 64 [default: 8; 64 where the work of whole warps is the lesson]
    #[arg(long)]
    block: Option<u32>,
    /// Also write the picture as SVG to FILE
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    parameter: ParameterArguments,
    #[command(flatten)]
    kernels: KernelsArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Threads of a block where they show everything.
const SMALL_BLOCK: u32 = 8;
/// Threads that two small blocks have.
const SMALL_GRID: u32 = 16;
/// Columns of what is no terminal.
const WIDTH: u16 = 80;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lesson = lookup::lesson(&arguments.id)?;
    let output = Output::new(&arguments.json)?;
    let reduction = lesson
        .reduction()
        .ok_or(LessonError::NoReduction { lesson: lesson.id })?;
    let block = arguments
        .block
        .unwrap_or_else(|| usual_block(lesson, reduction));
    let variant = Variant {
        block,
        ..arguments.parameter.variant(lesson, BLOCK_SIZES[0])?
    };
    let n = arguments.n.unwrap_or_else(|| usual_n(reduction, variant));
    let machine = machine::open(DeviceChoice::Emulator, &arguments.kernels)?;
    let picture = with_reducible!(reduction.element_type, T => {
        trace::<T>(&machine, lesson, variant, n)?
    });
    if let Some(path) = &arguments.svg {
        write_file(path, picture.to_svg().as_bytes())?;
    }
    // Only a terminal has a width.
    let width = comfy_table::Table::new().width().unwrap_or(WIDTH);
    output.print(picture.to_text(width.into()))?;
    output.write_json(&picture)?;
    match &picture.mistake {
        Some(mistake) => Err(Failure::finding(format!("`{}` {mistake}", lesson.id))),
        None => Ok(()),
    }
}

/// The block size that shows the idea of a lesson: a small one, or one of two warps where a thread takes so many elements that
/// the work of the last warp is what counts.
fn usual_block(lesson: &Lesson, reduction: &Reduction) -> u32 {
    match lesson.entries {
        Entries::AnyBlock(_)
            if reduction.elements_per_thread(lesson.usual(SMALL_BLOCK)) < SMALL_BLOCK.into() =>
        {
            SMALL_BLOCK.max(lesson.least_block)
        }
        _ => BLOCK_SIZES[0],
    }
}

/// As many elements as a few blocks take.
fn usual_n(reduction: &Reduction, variant: Variant) -> usize {
    let elements =
        reduction.elements_per_thread(variant) * u64::from(variant.block.max(SMALL_GRID));
    reduction
        .most_elements(variant)
        .map_or(elements, |most| most.min(elements)) as usize
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Lesson(error) => error.into(),
            error => Self::input(error),
        }
    }
}
