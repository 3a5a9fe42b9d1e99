//! Bandwidth against the number of elements.

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    BLACK, Color, FontDesc, FontFamily, FontStyle, IntoTextStyle, RGBColor, WHITE, register_font,
};

use super::figures;
use super::record::{Cache, Maker, Record};

/// Width and height.
const SIZE: (u32, u32) = (1000, 560);
/// How wide the letters are; what shows the picture takes its own sans serif. See `host/fonts/README.md`.
static FONT: &[u8] = include_bytes!("../../../host/fonts/DejaVuSans.subset.ttf");
const FAMILY: FontFamily<'static> = FontFamily::SansSerif;
/// Colours that the colour-blind can tell apart: Paul Tol's bright scheme.
const OURS: RGBColor = RGBColor(68, 119, 170);
const OTHERS: [RGBColor; 3] = [
    RGBColor(238, 102, 119),
    RGBColor(34, 136, 51),
    RGBColor(204, 187, 68),
];
const DATASHEET: RGBColor = RGBColor(120, 120, 120);
/// Who is drawn beside us, where the record has them.
const DRAWN: [(Maker, &str); 3] = [
    (Maker::Library, "cub::DeviceReduce::Sum"),
    (Maker::Python, "torch.sum, dtype=int32"),
    (Maker::Library, "thrust::reduce"),
];

/// A line: name, colour, and gigabytes per second for numbers of elements.
type Line<'r> = (&'r str, RGBColor, Vec<(f64, f64)>);

/// The picture as SVG.
///
/// # Errors
/// The drawing library's.
pub fn svg(record: &Record) -> Result<String, String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(&area, record).map_err(|error| error.to_string())?;
    drop(area);
    Ok(text)
}

fn draw<Backend: DrawingBackend>(
    area: &DrawingArea<Backend, Shift>,
    record: &Record,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    // Every time, because there is no asking whether it is known already; it is a table of pointers into the bytes.
    let _ = register_font(FAMILY.as_str(), FontStyle::Normal, FONT);
    let font = |size: u32| FontDesc::from((FAMILY, f64::from(size)));
    // What is cold comes from memory, which is what the data sheet is about.
    let is_cold = record
        .measurements
        .iter()
        .any(|measurement| measurement.cache == Cache::Cold);
    let cache = if is_cold { Cache::Cold } else { Cache::Warm };
    let lines = lines(record, cache);
    let sizes = figures::sizes(record);
    let ends = |n: Option<&usize>| n.map_or(1.0, |&n| n as f64);
    let (left, right) = (ends(sizes.first()), ends(sizes.last()) * 1.01);
    let points = lines.iter().flat_map(|(_, _, points)| points);
    let most = points
        .map(|&(_, rate)| rate)
        .chain(record.datasheet_gigabytes_per_second)
        .fold(0.0, f64::max);

    area.fill(&WHITE)?;
    let centred = Pos::new(HPos::Center, VPos::Top);
    let middle = SIZE.0 as i32 / 2;
    let title = font(22).into_text_style(area).pos(centred);
    area.draw_text("How fast sums read their input", &title, (middle, 14))?;
    let state = if is_cold { "cold" } else { "warm" };
    let grey = font(14).color(&BLACK.mix(0.6)).pos(centred);
    let subtitle = format!(
        "{} · {} · {state} L2 cache",
        record.device, record.element_type
    );
    area.draw_text(&subtitle, &grey, (middle, 44))?;

    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_top(70)
        .margin_right(28)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d((left..right).log_scale().base(2.0), 0.0..most * 1.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(sizes.len().max(2))
        .x_label_formatter(&|n| figures::size(n.round() as usize))
        .x_desc("elements")
        .y_desc("GB/s")
        .y_label_formatter(&|rate| format!("{rate:.0}"))
        .label_style(font(13))
        .axis_desc_style(font(14))
        .bold_line_style(BLACK.mix(0.08))
        .light_line_style(WHITE)
        .draw()?;
    let key = |colour: RGBColor| {
        move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(3))
    };
    if let Some(rate) = record.datasheet_gigabytes_per_second {
        chart
            .draw_series(LineSeries::new(
                [(left, rate), (right, rate)],
                DATASHEET.stroke_width(1),
            ))?
            .label(format!("data sheet: {rate:.0} GB/s"))
            .legend(key(DATASHEET));
    }
    for (name, colour, points) in lines {
        chart.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 4, colour.filled())),
        )?;
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(key(colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .label_font(font(14))
        .draw()?;
    area.present()
}

fn lines(record: &Record, cache: Cache) -> Vec<Line<'_>> {
    let sizes = figures::sizes(record);
    let ours = |n| figures::of_library(record, n, cache);
    let mut lines: Vec<Line<'_>> = vec![(figures::LIBRARY, OURS, rates(&sizes, ours))];
    for ((maker, name), colour) in DRAWN.into_iter().zip(OTHERS) {
        let points = rates(&sizes, |n| figures::find(record, maker, name, n, cache));
        if !points.is_empty() {
            lines.push((name, colour, points));
        }
    }
    lines
}

fn rates<'r>(
    sizes: &[usize],
    find: impl Fn(usize) -> Option<&'r super::record::Measurement>,
) -> Vec<(f64, f64)> {
    let measured = sizes.iter().filter_map(|&n| find(n));
    measured
        .map(|measurement| {
            (
                measurement.n as f64,
                figures::gigabytes_per_second(measurement),
            )
        })
        .collect()
}
