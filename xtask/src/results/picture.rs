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

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Measurement, Record};

/// Width and height.
const SIZE: (u32, u32) = (1200, 520);
/// Of what stands above the charts.
const HEAD: i32 = 70;
/// How wide the letters are; what shows the picture takes its own sans serif. See `host/fonts/README.md`.
static FONT: &[u8] = include_bytes!("../../../host/fonts/DejaVuSans.subset.ttf");
const FAMILY: FontFamily<'static> = FontFamily::SansSerif;
/// Colours that the colour-blind can tell apart: Paul Tol's bright scheme.
const OURS: RGBColor = RGBColor(68, 119, 170);
const OTHERS: [RGBColor; 4] = [
    RGBColor(238, 102, 119),
    RGBColor(34, 136, 51),
    RGBColor(204, 187, 68),
    RGBColor(170, 51, 119),
];
const DATASHEET: RGBColor = RGBColor(120, 120, 120);
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

/// A line: name, colour, and gigabytes per second for numbers of elements.
type Line = (&'static str, RGBColor, Vec<(f64, f64)>);

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
    let is_cold = |measurement: &Measurement| measurement.finds == Finds::Cold;
    let finds = match record.measurements.iter().any(is_cold) {
        true => Finds::Cold,
        false => Finds::Warm,
    };
    let parts = OfType::all(record);
    let parts = &parts[..parts.len().min(CHARTS)];
    let charts: Vec<Vec<Line>> = parts.iter().map(|&part| lines(part, finds)).collect();
    let rates = charts.iter().flatten().flat_map(|(_, _, points)| points);
    let most = rates
        .map(|&(_, rate)| rate)
        .chain(record.datasheet_gigabytes_per_second)
        .fold(0.0, f64::max);

    area.fill(&WHITE)?;
    let centred = Pos::new(HPos::Center, VPos::Top);
    let middle = SIZE.0 as i32 / 2;
    let title = font(22).into_text_style(area).pos(centred);
    area.draw_text("How fast sums read their input", &title, (middle, 14))?;
    let grey = font(14).color(&BLACK.mix(0.6)).pos(centred);
    let subtitle = format!("{} · {} L2 cache", record.device, figures::word(finds));
    area.draw_text(&subtitle, &grey, (middle, 44))?;

    let (_, below) = area.split_vertically(HEAD);
    let areas = below.split_evenly((1, charts.len()));
    for ((area, part), lines) in areas.iter().zip(parts).zip(charts) {
        draw_part(area, *part, lines, most)?;
    }
    area.present()
}

/// One type.
fn draw_part<Backend: DrawingBackend>(
    area: &DrawingArea<Backend, Shift>,
    part: OfType<'_>,
    lines: Vec<Line>,
    most: f64,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let font = |size: u32| FontDesc::from((FAMILY, f64::from(size)));
    let sizes = part.sizes();
    let ends = |n: Option<&usize>| n.map_or(1.0, |&n| n as f64);
    let (left, right) = (ends(sizes.first()), ends(sizes.last()) * 1.01);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(24)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d((left..right).log_scale().base(2.0), 0.0..most * 1.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(sizes.len().max(2))
        .x_label_formatter(&|n| figures::size(n.round() as usize))
        .x_desc(format!("elements of {}", part.element_type))
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
    if let Some(rate) = part.record.datasheet_gigabytes_per_second {
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
        .position(SeriesLabelPosition::MiddleLeft)
        .background_style(WHITE.mix(0.9))
        .label_font(font(14))
        .draw()
}

fn lines(part: OfType<'_>, finds: Finds) -> Vec<Line> {
    let ours = rates(part, |n| part.of_library(n, finds));
    let mut lines: Vec<Line> = vec![(figures::LIBRARY, OURS, ours)];
    for ((name, is_drawn), colour) in DRAWN.into_iter().zip(OTHERS) {
        let points = rates(part, |n| part.fastest(n, finds, is_drawn));
        if !points.is_empty() {
            lines.push((name, colour, points));
        }
    }
    lines
}

fn rates<'r>(part: OfType<'_>, find: impl Fn(usize) -> Option<&'r Measurement>) -> Vec<(f64, f64)> {
    let measured = part.sizes().into_iter().filter_map(find);
    measured
        .map(|measurement| {
            (
                measurement.n as f64,
                figures::gigabytes_per_second(measurement),
            )
        })
        .collect()
}
