//! Bandwidths and times against the number of elements.

use warpfold_plot::{Line, LineChart, LinePlot, LinePlotError, Scale};

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Measurement, Record};

/// Width and height.
const SIZE: (u32, u32) = (1400, 980);
/// The most types that there is room for.
const COLUMNS: usize = 2;

/// The picture as SVG: a row of charts of bandwidths, below it one of times beside those of our library, in which small sizes differ most.
///
/// # Errors
/// The drawing library's.
pub fn svg(record: &Record) -> Result<String, LinePlotError> {
    let finds = figures::from_memory(record);
    let rate = record.datasheet_gigabytes_per_second;
    let ceiling = rate.map(|rate| (format!("data sheet: {rate:.0} GB/s"), rate));
    let parts: Vec<(OfType<'_>, String)> = OfType::all(record)
        .into_iter()
        .take(COLUMNS)
        .map(|part| (part, format!("elements of {}", part.element_type)))
        .collect();
    let bandwidths = parts.iter().map(|(part, elements)| LineChart {
        elements,
        quantity: "GB/s",
        scale: Scale::Logarithmic { base: 10.0 },
        ceiling: ceiling.as_ref().map(|(name, rate)| (name.as_str(), *rate)),
        lines: lines(*part, finds, |one| Some(figures::gigabytes_per_second(one))),
    });
    let times = parts.iter().map(|(part, elements)| LineChart {
        elements,
        quantity: "× the time of warpfold::sum",
        scale: Scale::Logarithmic { base: 2.0 },
        ceiling: None,
        lines: lines(*part, finds, |one| {
            Some(one.median_ms / part.of_library(one.n, finds)?.median_ms)
        }),
    });
    let plot = LinePlot {
        size: SIZE,
        title: "How fast sums read their input, and how long they take beside warpfold::sum",
        subtitle: &format!("{} · {} L2 cache", record.device, figures::word(finds)),
        rows: vec![bandwidths.collect(), times.collect()],
    };
    plot.to_svg()
}

/// One type.
fn lines(
    part: OfType<'_>,
    finds: Finds,
    value: impl Fn(&Measurement) -> Option<f64>,
) -> Vec<Line<'static>> {
    let line = |name, is_drawn: fn(&Contender<'_>) -> bool| {
        let measured = part.sizes().into_iter();
        let measured = measured.filter_map(|n| part.fastest(n, finds, is_drawn));
        Line {
            name,
            is_bold: name == figures::LIBRARY,
            points: measured
                .filter_map(|one| Some((one.n, value(one)?)))
                .collect(),
        }
    };
    let ours = line(figures::LIBRARY, |one| one.name == figures::LIBRARY);
    let others = figures::BEST_KNOWN.map(|(name, is_drawn)| line(name, is_drawn));
    let others = others.into_iter().filter(|line| !line.points.is_empty());
    std::iter::once(ours).chain(others).collect()
}
