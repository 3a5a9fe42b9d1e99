//! Bandwidth against the number of elements.

use warpfold_plot::{Line, LineChart, LinePlot, LinePlotError};

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Measurement, Record};

/// Width and height.
const SIZE: (u32, u32) = (1400, 520);
/// The most types that there is room for.
const CHARTS: usize = 2;

/// Who is drawn beside us, where the record has them: what to call them, and who they are.
type Drawn = (&'static str, fn(&Contender<'_>) -> bool);
const DRAWN: [Drawn; 4] = [
    ("CUB", |one| one.name == figures::CUB),
    ("torch, the faster way", |one| {
        one.name.starts_with("torch.sum")
    }),
    ("CubeCL", |one| one.maker == Maker::Rust),
    ("Thrust", |one| one.name == "thrust::reduce"),
];

/// The picture as SVG.
///
/// # Errors
/// The drawing library's.
pub fn svg(record: &Record) -> Result<String, LinePlotError> {
    // What is cold comes from memory, which is what the data sheet is about.
    let is_cold = |measurement: &Measurement| measurement.finds == Finds::Cold;
    let finds = match record.measurements.iter().any(is_cold) {
        true => Finds::Cold,
        false => Finds::Warm,
    };
    let rate = record.datasheet_gigabytes_per_second;
    let ceiling = rate.map(|rate| (format!("data sheet: {rate:.0} GB/s"), rate));
    let parts = OfType::all(record);
    let parts = parts.iter().take(CHARTS);
    let elements: Vec<String> = parts
        .clone()
        .map(|part| format!("elements of {}", part.element_type))
        .collect();
    let charts = parts.zip(&elements).map(|(&part, elements)| LineChart {
        elements,
        size_name: figures::size,
        quantity: "GB/s",
        log_scale: false,
        ceiling: ceiling.as_ref().map(|(name, rate)| (name.as_str(), *rate)),
        lines: lines(part, finds),
    });
    let plot = LinePlot {
        size: SIZE,
        title: "How fast sums read their input",
        subtitle: &format!("{} · {} L2 cache", record.device, figures::word(finds)),
        charts: charts.collect(),
    };
    plot.to_svg()
}

/// One type.
fn lines(part: OfType<'_>, finds: Finds) -> Vec<Line<'static>> {
    let ours = Line {
        name: figures::LIBRARY,
        is_bold: true,
        points: rates(part, |n| part.of_library(n, finds)),
    };
    let others = DRAWN.into_iter().map(|(name, is_drawn)| Line {
        name,
        is_bold: false,
        points: rates(part, |n| part.fastest(n, finds, is_drawn)),
    });
    let others = others.filter(|line| !line.points.is_empty());
    std::iter::once(ours).chain(others).collect()
}

fn rates<'r>(
    part: OfType<'_>,
    find: impl Fn(usize) -> Option<&'r Measurement>,
) -> Vec<(usize, f64)> {
    let measured = part.sizes().into_iter().filter_map(find);
    measured
        .map(|measurement| (measurement.n, figures::gigabytes_per_second(measurement)))
        .collect()
}
