//! The comparison as a picture: what the processor and the kernels take, over the block sizes, a chart for each image.

use super::report::{ImageReport, KernelFigures, Report};
use crate::failure::Failure;
use warpfold_plot::{Line, LineChart, LinePlot, Scale};

/// Height of the picture, and width of each chart.
const HEIGHT: u32 = 520;
const CHART: u32 = 640;

/// The picture as SVG: times on a GPU, and what the emulator counts of the atomics elsewhere. Wrong results are not drawn.
pub fn svg(report: &Report) -> Result<String, Failure> {
    let on_gpu = report
        .images
        .iter()
        .any(|image| image.kernels.iter().any(|kernel| kernel.gpu.is_some()));
    let title = |image: &ImageReport| format!("threads of a block · {}", shortened(&image.title()));
    let titles: Vec<String> = report.images.iter().map(title).collect();
    let names: Vec<Vec<String>> = report
        .images
        .iter()
        .map(|image| image.cpu.iter().map(|cpu| cpu.name()).collect())
        .collect();
    let charts = report.images.iter().zip(&titles).zip(&names);
    let charts = charts.map(|((image, title), names)| LineChart {
        elements: title,
        quantity: if on_gpu {
            "ms"
        } else {
            "turns of atomics for each pixel"
        },
        scale: Scale::Logarithmic { base: 10.0 },
        ceiling: None,
        lines: lines(image, &report.blocks, names, on_gpu),
    });
    let plot = LinePlot {
        size: (CHART * report.images.len() as u32, HEIGHT),
        title: if on_gpu {
            "How long counting takes"
        } else {
            "How often atomics take turns"
        },
        subtitle: &report.device,
        rows: vec![charts.collect()],
    };
    plot.to_svg().map_err(Failure::input)
}

/// A line for each kernel and, beside times, one for the processor on one core and on all, which has no blocks.
fn lines<'a>(
    image: &'a ImageReport,
    blocks: &[u32],
    names: &'a [String],
    on_gpu: bool,
) -> Vec<Line<'a>> {
    let mut ids: Vec<&str> = image.kernels.iter().map(|kernel| kernel.id).collect();
    ids.dedup();
    let of_kernel = |id: &&'a str| Line {
        name: id,
        is_bold: false,
        points: image
            .kernels
            .iter()
            .filter(|kernel| kernel.id == *id && kernel.is_right)
            .filter_map(|kernel| Some((kernel.block as usize, figure(kernel, image)?)))
            .collect(),
    };
    let mut lines: Vec<Line<'a>> = ids.iter().map(of_kernel).collect();
    if on_gpu {
        let cpu = image.cpu.iter().zip(names);
        lines.extend(cpu.map(|(cpu, name)| {
            Line {
                name,
                is_bold: true,
                points: blocks
                    .iter()
                    .map(|&block| (block as usize, cpu.elapsed_ms))
                    .collect(),
            }
        }));
    }
    lines
}

fn figure(kernel: &KernelFigures, image: &ImageReport) -> Option<f64> {
    if let Some(gpu) = &kernel.gpu {
        return Some(gpu.elapsed_ms);
    }
    let atomics = kernel.atomics.as_ref()?;
    let turns = atomics.global_passes + atomics.shared_wavefronts;
    Some(turns as f64 / image.pixels() as f64)
}

/// The end of a title, which has the size of the image, where all of it is wider than the chart.
fn shortened(title: &str) -> String {
    const MOST_LETTERS: usize = 50;
    let letters = title.chars().count();
    if letters <= MOST_LETTERS {
        return title.to_owned();
    }
    let end = title.chars().skip(letters - MOST_LETTERS + 1);
    ['…'].into_iter().chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_keeps_its_end() {
        let title = "é".repeat(60) + " · 4 × 4 pixels";
        let short = shortened(&title);
        assert_eq!(short.chars().count(), 50);
        assert!(short.starts_with("…é") && short.ends_with(" · 4 × 4 pixels"));
        assert_eq!(
            shortened("cat.png · 4 × 4 pixels"),
            "cat.png · 4 × 4 pixels"
        );
    }
}
