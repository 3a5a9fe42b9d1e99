//! `warpfold trace`: a small launch as a picture.

use super::device::{KernelsArguments, program};
use super::failure::Failure;
use super::lookup::{self, ParameterArguments};
use super::output::{JsonArguments, Output, write_file};
use super::show;
use super::size::parse_count;
use super::sources;
use std::path::PathBuf;
use warpfold::device::DeviceChoice;
use warpfold_course::lesson::entry;
use warpfold_course::trace::{MOST_ELEMENTS, TraceError, trace};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Entries, Finish, Lesson, Variant};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  warpfold trace interleaved -n 16 --block 8\n  warpfold trace shuffle --svg shuffle.svg"
)]
pub struct Arguments {
    /// The lesson, as `warpfold lessons` lists it
    id: String,
    /// Number of elements: 1, 2, 3 … [default: what two blocks take, or three that finish together]
    #[arg(short, value_parser = parse_count)]
    n: Option<usize>,
    /// Threads of a block: a power of two up to 1024 [default: 8 or 32; 64 where the work of several warps is the lesson]
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

/// Threads of a block, if so few show the idea.
const SMALL_BLOCK: u32 = 8;
/// Columns where standard output is no terminal.
const WIDTH: usize = 80;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lesson = lookup::lesson(&arguments.id)?;
    let output = Output::new(&arguments.json)?;
    let block = arguments.block.unwrap_or_else(|| usual_block(lesson));
    let mut variant = Variant {
        block,
        ..arguments.parameter.variant(lesson, BLOCK_SIZES[0])?
    };
    let n = arguments.n.unwrap_or_else(|| usual_n(lesson, variant));
    if !arguments.parameter.is_given() {
        variant.parameter = short_rows(lesson, n).or(variant.parameter);
    }
    let device = arguments.kernels.on(DeviceChoice::Emulator)?;
    let mut picture = trace(&device, lesson, variant, n)?;
    let name = match lesson.entries {
        // Blocks may be smaller than those of a run.
        Entries::AnyBlock(name) => name,
        _ => entry(lesson, variant)?,
    };
    let kernel = program(&device, lesson)?.kernel(name);
    let kernel = kernel.map_err(Failure::input)?;
    picture.name_sources(|line| {
        let (place, text) = sources::of(kernel.origin(line)?);
        Some(format!("{place}  {}", text.unwrap_or_default()))
    });
    if let Some(path) = &arguments.svg {
        write_file(path, picture.to_svg().as_bytes())?;
    }
    output.print(picture.to_text(show::width().unwrap_or(WIDTH)))?;
    output.write_json(&picture)?;
    match &picture.mistake {
        Some(mistake) => Err(Failure::finding(format!("`{}` {mistake}", lesson.id))),
        None => Ok(()),
    }
}

/// The block size that shows the idea of a lesson: a small one, or two warps if each thread takes so many elements that the last
/// warp does the interesting work.
fn usual_block(lesson: &Lesson) -> u32 {
    let small = SMALL_BLOCK.max(lesson.least_block);
    match (lesson.reduction(), lesson.entries) {
        (Some(reduction), Entries::AnyBlock(_) | Entries::PerParameter(_))
            if reduction.elements_per_thread(lesson.usual(small)) < SMALL_BLOCK.into() =>
        {
            small
        }
        _ => BLOCK_SIZES[0],
    }
}

/// As many elements as show who works with whom: those of two blocks, or of three where the blocks of a launch finish together.
fn usual_n(lesson: &Lesson, variant: Variant) -> usize {
    let Some(reduction) = lesson.reduction() else {
        return 2 * variant.block as usize;
    };
    let tile = reduction.elements_per_thread(variant) * u64::from(variant.block);
    let blocks = match reduction.finish {
        Finish::OneLaunch | Finish::TotalInTurns => 3,
        Finish::PartialPerBlock | Finish::Total | Finish::Nested { .. } => 2,
    };
    let most = reduction.most_elements(variant).unwrap_or(u64::MAX);
    (blocks * tile).min(most).min(MOST_ELEMENTS as u64) as usize
}

/// For a matrix whose usual rows are too long for so few elements: the longest rows of which they make two.
fn short_rows(lesson: &Lesson, n: usize) -> Option<u32> {
    let columns = lesson.parameter.filter(|of| of.name == "columns")?;
    let makes_two = |columns: u32| 2 * columns as usize <= n;
    let values = columns.values.iter().copied();
    match columns.usual {
        usual if makes_two(usual) => None,
        _ => values.filter(|&columns| makes_two(columns)).max(),
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Lesson(error) => error.into(),
            error => Self::input(error),
        }
    }
}
