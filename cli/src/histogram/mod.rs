//! `warpfold histogram`: how often each value occurs in the red, the green and the blue of an image.

mod comparison;
mod cpu;
mod report;
mod table;

use super::device::DeviceArguments;
use super::failure::Failure;
use super::output::{JsonArguments, Output, check_folder, write_file};
use super::progress;
use super::workload::{block_help, parse_block};
use cpu::CpuFigures;
use report::{ImageReport, Report, Run};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use warpfold::Device;
use warpfold::device::Timing;
use warpfold_course::histogram::{
    self, Histogram, Image, ImageError, MOST_IMAGE_BYTES, Plot, PlotError, PlotFormat,
};
use warpfold_kernels::catalogue::{Lesson, Part, lessons_of};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The image: PNG, JPEG or BMP, by its contents
    #[arg(required_unless_present = "synthetic")]
    image: Option<PathBuf>,
    /// Also count a fractal of W × H pixels, which needs no file
    #[arg(long, value_name = "WxH", value_parser = parse_extent)]
    synthetic: Option<(u32, u32)>,
    /// Also draw the histogram to FILE, which ends in .png or .svg: that of the image, or else of the fractal
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Also draw what the processor and the kernels take, over the block sizes, as SVG to FILE
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// The kernel: counting in global memory, in shared memory, or both in turn
    #[arg(long, value_enum, default_value_t = Kernels::Both)]
    kernel: Kernels,
    #[arg(long = "block", value_name = "BLOCK", default_values_t = [128, 512, 1024], value_parser = parse_block,
          help = format!("{}; give it several times to compare", block_help()))]
    blocks: Vec<u32>,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    json: JsonArguments,
}

const EXAMPLES: &str = "\
Examples:
  warpfold histogram photo.jpg
  warpfold histogram tests/data/chelsea.png --plot chelsea.svg --device emulator
  warpfold histogram photo.jpg --synthetic 6000x4000 --compare times.svg
  warpfold histogram scan.bmp --kernel shared --block 256 --json -

Grey values count in all three channels; transparency is dropped; 16 bits become 8 by rounding.";

/// Reads `1920x1080`.
fn parse_extent(text: &str) -> Result<(u32, u32), String> {
    let extents = text.split_once(['x', '×']);
    extents
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| "give width and height in pixels, as in 1920x1080".to_owned())
}

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
    output.check_inputs(arguments.image.as_deref())?;
    let plot = arguments
        .plot
        .as_deref()
        .map(|plot| check_plot(plot, arguments.image.as_deref()))
        .transpose()?;
    if let Some(path) = &arguments.compare {
        check_svg(path, arguments.image.as_deref())?;
    }
    let images = images(arguments)?;
    let device = arguments.device.open("a histogram is counted")?;
    let mut blocks = arguments.blocks.clone();
    blocks.sort_unstable();
    blocks.dedup();
    let lessons = arguments.kernel.chosen();
    let progress = progress::bar((images.len() * lessons.len() * blocks.len()) as u64)?;
    let mut reports = Vec::new();
    let mut counted = Vec::new();
    for (name, image) in &images {
        progress.set_message("on the processor");
        let expected = Histogram::of(image);
        let cpu = CpuFigures::measure(image, &expected);
        let runs = launch(&device, lessons, &blocks, image, &progress)?;
        reports.push(ImageReport::new(name, image, &expected, cpu, &runs));
        // The device's own counts, so that nothing is shown that no kernel has counted.
        counted.extend(runs.into_iter().next().map(|run| run.of.histogram));
    }
    progress.finish_and_clear();
    let report = Report {
        device: device.describe(),
        blocks,
        images: reports,
    };
    output.print(&report.device)?;
    for (image, counted) in report.images.iter().zip(&counted) {
        output.print(table::describe(image))?;
        output.print(table::kernels(image, device.is_gpu()))?;
        output.print(table::bars(counted))?;
        output.print("")?;
    }
    output.print(table::footnote(device.is_gpu()))?;
    output.write_json(&report)?;
    report.judge()?;
    if let (Some((path, format)), [image, ..], [counted, ..]) =
        (plot, &report.images[..], &counted[..])
    {
        let plot = Plot {
            title: &image.title(),
            histogram: counted,
        };
        let bytes = plot.to_bytes(format).map_err(Failure::input)?;
        write_file(path, &bytes)?;
    }
    if let Some(path) = &arguments.compare {
        write_file(path, comparison::svg(&report)?.as_bytes())?;
    }
    Ok(())
}

/// Counts an image with each kernel in blocks of each size.
fn launch(
    device: &Device,
    lessons: &[Lesson],
    blocks: &[u32],
    image: &Image,
    progress: &indicatif::ProgressBar,
) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    for lesson in lessons {
        for &block in blocks {
            progress.set_message(format!("{}, block {block}", lesson.id));
            let variant = lesson.usual(block);
            runs.push(Run {
                id: lesson.id,
                block,
                of: histogram::launch(device, lesson, variant, image, &TIMING)?,
            });
            progress.inc(1);
        }
    }
    Ok(runs)
}

/// The images that are asked for, with their names.
fn images(arguments: &Arguments) -> Result<Vec<(String, Image)>, Failure> {
    let mut images = Vec::new();
    if let Some(path) = &arguments.image {
        images.push((path.display().to_string(), read(path)?));
    }
    if let Some((width, height)) = arguments.synthetic {
        let image = histogram::fractal(width, height).map_err(Failure::input)?;
        images.push(("fractal".to_owned(), image));
    }
    Ok(images)
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
fn check_plot<'a>(plot: &'a Path, image: Option<&Path>) -> Result<(&'a Path, PlotFormat), Failure> {
    let format = PlotFormat::of(plot).map_err(Failure::input)?;
    check_folder(plot)?;
    if let (Ok(canonical), Some(Ok(image))) = (plot.canonicalize(), image.map(Path::canonicalize))
        && canonical == image
    {
        return Err(Failure::Input(format!(
            "{} is the image itself, which a plot would overwrite; give the plot another name",
            plot.display()
        )));
    }
    Ok((plot, format))
}

/// The same for a plot that is made as SVG only.
fn check_svg(plot: &Path, image: Option<&Path>) -> Result<(), Failure> {
    match check_plot(plot, image)? {
        (_, PlotFormat::Svg) => Ok(()),
        (_, PlotFormat::Png) => Err(Failure::input(PlotError::OnlySvg(
            plot.display().to_string(),
        ))),
    }
}
