//! Lines over numbers of elements, each with its name at its end: what `warpfold sweep --svg` draws.

use crate::drawing::{font, spread};
use crate::size::short;
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Cross, DashedPathElement, PathElement, Rectangle, TriangleMarker};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, RGBColor, ShapeStyle, TextStyle, WHITE};

/// Width and height.
const SIZE: (u32, u32) = (1100, 640);
/// Pixels between the lines and their names, and behind the names.
const LEADER: u32 = 38;
const BEHIND: u32 = 14;
/// Pixels between the lines of names.
const LINE: i32 = 17;
/// Dark colours, after Paul Tol's schemes, that the colour-blind can tell apart; more lines than colours differ in their dashes and marks, which
/// a print in black and white has as well.
const COLOURS: [RGBColor; 6] = [
    RGBColor(68, 119, 170),
    RGBColor(204, 68, 85),
    RGBColor(34, 136, 51),
    RGBColor(170, 51, 119),
    RGBColor(153, 102, 0),
    RGBColor(34, 34, 85),
];
/// Pixels of dash and gap; none for a line without gaps.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((3, 3)), Some((14, 7))];
/// How many marks there are.
const MARKS: usize = 5;
const GREY: RGBColor = RGBColor(120, 120, 120);

/// What to draw.
#[derive(Clone, Debug)]
pub struct LinePlot<'a> {
    /// What stands above.
    pub title: &'a str,
    /// What stands below that.
    pub subtitle: &'a str,
    /// What the lines show, with its unit.
    pub quantity: &'a str,
    /// Whether a step upwards is a factor, as to the right it always is.
    pub log_scale: bool,
    /// What no line should be above, with its name.
    pub ceiling: Option<(&'a str, f64)>,
    /// The lines.
    pub lines: Vec<Line<'a>>,
}

/// One line of it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// What stands at its end.
    pub name: &'a str,
    /// Whether it is black and thicker than others.
    pub is_bold: bool,
    /// What it shows, for numbers of elements in ascending order.
    pub points: Vec<(usize, f64)>,
}

/// The drawing library's reason.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be drawn: {0}")]
pub struct LinePlotError(String);

/// The least and the greatest of what is to be shown.
struct Ends {
    sizes: (f64, f64),
    values: (f64, f64),
}

impl LinePlot<'_> {
    /// The picture as SVG.
    ///
    /// # Errors
    /// The drawing library's.
    pub fn to_svg(&self) -> Result<String, LinePlotError> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        self.draw(&area)
            .map_err(|error| LinePlotError(error.to_string()))?;
        drop(area);
        Ok(text)
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let centred = Pos::new(HPos::Center, VPos::Top);
        let middle = SIZE.0 as i32 / 2;
        let title = font(22).into_text_style(area).pos(centred);
        area.draw_text(self.title, &title, (middle, 14))?;
        let grey = font(14).color(&BLACK.mix(0.6)).pos(centred);
        area.draw_text(self.subtitle, &grey, (middle, 44))?;

        let mut widest = 0;
        for line in &self.lines {
            let (width, _) = area.estimate_text_size(line.name, &name_style(area))?;
            widest = widest.max(width);
        }
        let Ends { sizes, values } = self.ends();
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(12)
            .margin_top(70)
            .margin_right(LEADER + widest + BEHIND)
            .x_label_area_size(48)
            .y_label_area_size(80);
        // A size alone has no width; half of it to either side has.
        let across = if sizes.0 < sizes.1 {
            sizes
        } else {
            (sizes.0 / 1.5, sizes.1 * 1.5)
        };
        let sizes = (across.0..across.1).log_scale().base(2.0);
        if self.log_scale {
            let values = (values.0 / 1.3..values.1 * 1.3).log_scale();
            self.draw_chart(area, builder.build_cartesian_2d(sizes, values)?)
        } else {
            self.draw_chart(
                area,
                builder.build_cartesian_2d(sizes, 0.0..values.1 * 1.08)?,
            )
        }
    }

    fn ends(&self) -> Ends {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let sizes = points().map(|&(n, _)| n as f64);
        let values = points()
            .map(|&(_, value)| value)
            .chain(self.ceiling.map(|(_, value)| value));
        let of = |values: &mut dyn Iterator<Item = f64>| {
            values
                .map(|value| (value, value))
                .reduce(|(least, most), (value, _)| (least.min(value), most.max(value)))
                .unwrap_or((1.0, 2.0))
        };
        Ends {
            sizes: of(&mut { sizes }),
            values: of(&mut { values }),
        }
    }

    fn draw_chart<Backend: DrawingBackend, Values>(
        &self,
        area: &DrawingArea<Backend, Shift>,
        mut chart: ChartContext<'_, Backend, Cartesian2d<LogCoord<f64>, Values>>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>>
    where
        Values: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(20)
            .x_label_formatter(&|n| short(n.round() as usize))
            .x_desc("elements")
            .y_desc(self.quantity)
            .y_label_formatter(&|value| label(*value))
            .label_style(font(13))
            .axis_desc_style(font(14))
            .bold_line_style(BLACK.mix(0.08))
            .light_line_style(WHITE)
            .draw()?;
        let (across, down) = chart.plotting_area().get_pixel_range();
        if let Some((name, value)) = self.ceiling {
            let left = self.ends().sizes.0;
            let height = chart.backend_coord(&(left, value)).1;
            let line = [(across.start, height), (across.end, height)];
            area.draw(&DashedPathElement::new(line, 2, 4, GREY))?;
            let above = Pos::new(HPos::Left, VPos::Bottom);
            let style = font(13).color(&GREY).pos(above);
            area.draw_text(name, &style, (across.start + 8, height - 3))?;
        }

        let mut names = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            let pixels = line.points.iter();
            let pixels: Vec<(i32, i32)> = pixels
                .map(|&(n, value)| chart.backend_coord(&(n as f64, value)))
                .collect();
            let colour = line.colour(index);
            let stroke = colour.stroke_width(if line.is_bold { 3 } else { 1 });
            match DASHES[index % DASHES.len()].filter(|_| !line.is_bold) {
                None => area.draw(&PathElement::new(pixels.clone(), stroke))?,
                Some((dash, gap)) => {
                    area.draw(&DashedPathElement::new(pixels.clone(), dash, gap, stroke))?;
                }
            }
            for &at in &pixels {
                mark(area, index % MARKS, at, colour)?;
            }
            if let Some(&end) = pixels.last() {
                names.push((end, index, line));
            }
        }

        names.sort_by_key(|((_, height), ..)| *height);
        let heights: Vec<i32> = names.iter().map(|((_, height), ..)| *height).collect();
        let heights = spread(&heights, LINE, down.end);
        let column = across.end + LEADER as i32;
        for ((end, index, line), height) in names.into_iter().zip(heights) {
            let colour = line.colour(index);
            let leader = vec![
                (end.0 + 6, end.1),
                (column - 22, height),
                (column - 16, height),
            ];
            area.draw(&PathElement::new(leader, colour.mix(0.45)))?;
            mark(area, index % MARKS, (column - 10, height), colour)?;
            let style = name_style(area).color(&colour);
            area.draw_text(line.name, &style, (column, height))?;
        }
        area.present()
    }
}

impl Line<'_> {
    fn colour(&self, index: usize) -> RGBColor {
        if self.is_bold {
            BLACK
        } else {
            COLOURS[index % COLOURS.len()]
        }
    }
}

/// The names' letters, beside the place that they are drawn at.
fn name_style<Backend: DrawingBackend>(area: &DrawingArea<Backend, Shift>) -> TextStyle<'static> {
    let beside = Pos::new(HPos::Left, VPos::Center);
    font(13).into_text_style(area).pos(beside)
}

/// A mark in one of [`MARKS`] shapes.
fn mark<Backend: DrawingBackend>(
    area: &DrawingArea<Backend, Shift>,
    shape: usize,
    at: (i32, i32),
    colour: RGBColor,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let filled: ShapeStyle = colour.filled();
    let (x, y) = at;
    let corners = [(x - 3, y - 3), (x + 3, y + 3)];
    match shape {
        0 => area.draw(&Circle::new(at, 3, filled)),
        1 => area.draw(&TriangleMarker::new(at, 4, filled)),
        2 => area.draw(&Rectangle::new(corners, filled)),
        3 => area.draw(&Cross::new(at, 3, colour.stroke_width(1))),
        _ => {
            area.draw(&Circle::new(at, 3, WHITE.filled()))?;
            area.draw(&Circle::new(at, 3, colour.stroke_width(1)))
        }
    }
}

/// A number at the axis, to no more digits than it needs.
fn label(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(log_scale: bool) -> LinePlot<'static> {
        let line = |name, is_bold, factor: f64| Line {
            name,
            is_bold,
            points: (10..20)
                .map(|exponent| (1 << exponent, factor * f64::from(exponent)))
                .collect(),
        };
        LinePlot {
            title: "a title",
            subtitle: "a machine",
            quantity: "GB/s",
            log_scale,
            ceiling: Some(("data sheet: 4800 GB/s", 4800.0)),
            lines: vec![line("slow & steady", false, 1.0), line("fast", true, 200.0)],
        }
    }

    #[test]
    fn every_line_has_its_name_and_every_size_its_tick() {
        for log_scale in [false, true] {
            let svg = plot(log_scale).to_svg().expect("it can be drawn");
            for text in [
                "a title",
                "a machine",
                "GB/s",
                "slow &amp; steady",
                "fast",
                "data sheet: 4800 GB/s",
                "2^10",
                "2^19",
            ] {
                assert!(svg.contains(text), "{text} in {svg}");
            }
        }
    }

    #[test]
    fn one_point_and_no_line_can_be_drawn() {
        let mut plot = plot(false);
        plot.lines.truncate(1);
        plot.lines[0].points.truncate(1);
        assert!(plot.to_svg().is_ok());
        plot.lines.clear();
        plot.ceiling = None;
        assert!(plot.to_svg().is_ok());
    }

    #[test]
    fn labels_have_the_digits_that_they_need() {
        assert_eq!(label(0.1 + 0.2), "0.3");
        assert_eq!(label(4000.0), "4000");
    }
}
