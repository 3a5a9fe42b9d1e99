//! `warpfold histogram`: how often each value occurs in the red, the green and the blue of an image.

mod report;
mod table;

use super::device::DeviceArguments;
use super::failure::Failure;
use super::output::{JsonArguments, Output, check_folder, write_file};
use super::progress;
use super::workload::{block_help, parse_block};
use report::Report;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use warpfold::device::Timing;
use warpfold_course::histogram::{
    self, Histogram, Image, ImageError, MOST_IMAGE_BYTES, Plot, PlotFormat,
};
use warpfold_kernels::catalogue::{Lesson, Part, lessons_of};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The image: PNG, JPEG or BMP, by its contents
    image: PathBuf,
    /// Also draw the histogram to FILE, which ends in .png or .svg
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The kernel: counting in global memory, in shared memory, or both in turn
    #[arg(long, value_enum, default_value_t = Kernels::Both)]
    kernel: Kernels,
    #[arg(long, default_value_t = 512, value_parser = parse_block, help = block_help())]
    block: u32,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    json: JsonArguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold histogram photo.jpg
  warpfold histogram tests/data/chelsea.png --plot chelsea.svg --device emulator
  warpfold histogram scan.bmp --kernel shared --block 256 --json -

Grey values count in all three channels; transparency is dropped; 16 bits become 8 by rounding.";

/// The kernels that are to run.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kernels {
    Global,
    Shared,
    Both,
}

impl Kernels {
    /// The lessons that count in global memory, in shared memory, or in each after the other.
    fn chosen(self) -> &'static [Lesson] {
        let both = lessons_of(Part::Histogram);
        match self {
            Self::Global => &both[..1],
            Self::Shared => &both[1..],
            Self::Both => both,
        }
    }
}

/// Launches of each kernel that a GPU times.
const TIMING: Timing = Timing {
    repeat: 20,
    cold: false,
};

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let path = &arguments.image;
    let plot = arguments
        .plot
        .as_deref()
        .map(|plot| check_plot(plot, path))
        .transpose()?;
    let image = read(path)?;
    let device = arguments.device.open()?;
    let expected = Histogram::of(&image);
    let lessons = arguments.kernel.chosen();
    let mut runs = Vec::new();
    let progress = progress::bar(lessons.len() as u64)?;
    for lesson in lessons {
        progress.set_message(lesson.id);
        let variant = lesson.usual(arguments.block);
        let run = histogram::launch(&device, lesson, variant, &image, &TIMING)?;
        runs.push((lesson.id, run));
        progress.inc(1);
    }
    progress.finish_and_clear();
    let report = Report::new(path, &image, arguments.block, &device, &expected, &runs);
    output.print(table::describe(&report))?;
    output.print(table::kernels(&report))?;
    // The device's own counts, so that nothing is shown that no kernel has counted.
    let (_, counted) = &runs[0];
    output.print(table::bars(&counted.histogram))?;
    output.write_json(&report)?;
    report.judge()?;
    if let Some((path, format)) = plot {
        let plot = Plot {
            title: &report.title(),
            histogram: &counted.histogram,
        };
        let bytes = plot.to_bytes(format).map_err(Failure::input)?;
        write_file(path, &bytes)?;
    }
    Ok(())
}

/// The image in a file.
fn read(path: &Path) -> Result<Image, Failure> {
    let unreadable = |error| Failure::Input(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(unreadable)?;
    let mut contents = Vec::new();
    file.take(MOST_IMAGE_BYTES + 1)
        .read_to_end(&mut contents)
        .map_err(unreadable)?;
    if contents.len() as u64 > MOST_IMAGE_BYTES {
        return Err(Failure::input(ImageError::TooLarge(path.into())));
    }
    histogram::decode(path, &contents).map_err(Failure::input)
}

/// The format of the plot. Its name is checked before a long run, not after it.
fn check_plot<'a>(plot: &'a Path, image: &Path) -> Result<(&'a Path, PlotFormat), Failure> {
    let format = PlotFormat::of(plot).map_err(Failure::input)?;
    check_folder(plot)?;
    if let (Ok(plot), Ok(image)) = (plot.canonicalize(), image.canonicalize())
        && plot == image
    {
        return Err(Failure::Input(format!(
            "{} is the image itself, which a plot would overwrite; give --plot another name",
            plot.display()
        )));
    }
    Ok((plot, format))
}
