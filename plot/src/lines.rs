//! Lines over numbers, such as those of elements, each with its name at its end.

use crate::colours::{BLUE, GREEN, RED, for_dark_pages};
use crate::letters::{font, heading, spread};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Cross, DashedPathElement, PathElement, Rectangle, TriangleMarker};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, RGBColor, ShapeStyle, TextStyle, WHITE};

/// Pixels around a chart.
const MARGIN: u32 = 12;
/// Pixels for what stands below a chart and to its left.
const BELOW: u32 = 48;
const BESIDE: u32 = 80;
/// The least pixels that a size at the axis takes.
const TICK: u32 = 40;
/// Pixels between the lines and their names, and after the names.
const LEADER: u32 = 38;
const AFTER: u32 = 14;
/// Pixels between the lines of names.
const LINE: i32 = 17;
/// The colours of lines. Where there are more lines than colours, dashes and marks tell them apart, as they do in a print in black and white.
const COLOURS: [RGBColor; 6] = [
    BLUE,
    RED,
    GREEN,
    RGBColor(170, 51, 119),
    RGBColor(153, 102, 0),
    RGBColor(34, 34, 85),
];
/// Pixels of dash and gap; none for a line without gaps.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((3, 3)), Some((14, 7))];
/// How many marks there are.
const MARKS: usize = 5;
const GREY: RGBColor = RGBColor(120, 120, 120);

/// A picture of charts in rows.
#[derive(Clone, Debug)]
pub struct LinePlot<'a> {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// What stands above.
    pub title: &'a str,
    /// What stands below that.
    pub subtitle: &'a str,
    /// The charts. Those of a row show one quantity, on one scale.
    pub rows: Vec<Vec<LineChart<'a>>>,
}

/// One chart of it.
#[derive(Clone, Debug)]
pub struct LineChart<'a> {
    /// What stands below the numbers, which are those of elements unless this says something else.
    pub elements: &'a str,
    /// What the lines show, with its unit.
    pub quantity: &'a str,
    /// What both axes are like.
    pub scale: Scale,
    /// What no line should be above, with its name.
    pub ceiling: Option<(&'a str, f64)>,
    /// The lines.
    pub lines: Vec<Line<'a>>,
}

/// What the axes of a chart are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Both are logarithmic, and numbers are written as powers of two.
    Logarithmic {
        /// The factor between ticks of the quantity.
        base: f64,
    },
    /// Both are linear, and the quantity begins at 0.
    Linear,
}

/// One line of it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// What stands at its end.
    pub name: &'a str,
    /// Whether it is black and thicker than others.
    pub is_bold: bool,
    /// What it shows, for numbers in ascending order.
    pub points: Vec<(usize, f64)>,
}

/// The drawing library's reason.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be drawn: {0}")]
pub struct LinePlotError(String);

impl LinePlotError {
    /// What the drawing library says.
    pub(crate) fn new(error: &impl std::error::Error) -> Self {
        Self(error.to_string())
    }
}

/// The least and the greatest of something.
type Ends = (f64, f64);

impl LinePlot<'_> {
    /// The picture as SVG.
    ///
    /// # Errors
    /// The drawing library's.
    pub fn to_svg(&self) -> Result<String, LinePlotError> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, self.size).into_drawing_area();
        self.draw(&area)
            .map_err(|error| LinePlotError::new(&error))?;
        drop(area);
        Ok(for_dark_pages(&text))
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        picture: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        picture.fill(&WHITE)?;
        let head = heading(picture, self.title, self.subtitle)?;
        let (_, below) = picture.split_vertically(head);
        let rows = below.split_evenly((self.rows.len().max(1), 1));
        for (charts, row) in self.rows.iter().zip(rows) {
            let values = ends(charts.iter().flat_map(LineChart::values));
            let areas = row.split_evenly((1, charts.len().max(1)));
            for (chart, area) in charts.iter().zip(areas) {
                chart.draw(&area, values, picture)?;
            }
        }
        picture.present()
    }
}

impl LineChart<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
        values: Ends,
        picture: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let mut widest = 0;
        for line in &self.lines {
            let (width, _) = area.estimate_text_size(line.name, &name_style(area))?;
            widest = widest.max(width);
        }
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(MARGIN)
            .margin_top(0)
            .margin_right(LEADER + widest + AFTER)
            .x_label_area_size(BELOW)
            .y_label_area_size(BESIDE);
        let (first, last) = self.sizes();
        match self.scale {
            Scale::Logarithmic { base } => {
                // A size alone has no width; half of it to either side has.
                let around = if first < last { 1.0 } else { 1.5 };
                let sizes = (first / around..last * around).log_scale().base(2.0);
                let values = (values.0 / 1.3..values.1 * 1.3).log_scale();
                let chart = builder.build_cartesian_2d(sizes, values.base(base))?;
                self.draw_lines(picture, chart, &|n| size_name(n.round() as usize))
            }
            Scale::Linear => {
                let around = if first < last { 0.0 } else { 1.0 };
                let sizes = first - around..last + around;
                let values = 0.0..values.1.max(f64::MIN_POSITIVE) * 1.1;
                let chart = builder.build_cartesian_2d(sizes, values)?;
                self.draw_lines(picture, chart, &|n| label(*n))
            }
        }
    }

    fn sizes(&self) -> Ends {
        let points = self.lines.iter().flat_map(|line| &line.points);
        ends(points.map(|&(n, _)| n as f64))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let ceiling = self.ceiling.map(|(_, value)| value);
        points.map(|&(_, value)| value).chain(ceiling)
    }

    /// Draws the axes, and on the picture, whose pixels the chart counts in, all the rest.
    fn draw_lines<Backend: DrawingBackend, X, Y>(
        &self,
        area: &DrawingArea<Backend, Shift>,
        mut chart: ChartContext<'_, Backend, Cartesian2d<X, Y>>,
        number: &dyn Fn(&f64) -> String,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let (across, down) = chart.plotting_area().get_pixel_range();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(across.len() / TICK as usize)
            .max_light_lines(0)
            .x_label_formatter(&number)
            .x_desc(self.elements)
            .y_desc(self.quantity)
            .y_label_formatter(&|value| label(*value))
            .label_style(font(13))
            .axis_desc_style(font(14))
            .bold_line_style(BLACK.mix(0.08))
            .draw()?;
        if let Some((name, value)) = self.ceiling {
            let (left, _) = self.sizes();
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
        Ok(())
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

/// The least and the greatest of values, of which there may be none.
fn ends(values: impl Iterator<Item = f64>) -> Ends {
    values
        .map(|value| (value, value))
        .reduce(|(least, most), (value, _)| (least.min(value), most.max(value)))
        .unwrap_or((1.0, 2.0))
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

/// A number of elements at the axis: `2²⁴` where it is a power of two.
fn size_name(n: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if !n.is_power_of_two() {
        return n.to_string();
    }
    let exponent = n.trailing_zeros() as usize;
    let tens = (exponent >= 10).then(|| RAISED[exponent / 10]);
    let raised = tens.into_iter().chain([RAISED[exponent % 10]]);
    format!("2{}", raised.collect::<String>())
}

/// A number at the axis, to no more digits than it needs.
fn label(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> LinePlot<'static> {
        let line = |name, is_bold, factor: f64| Line {
            name,
            is_bold,
            points: (10..20)
                .map(|exponent| (1 << exponent, factor * f64::from(exponent)))
                .collect(),
        };
        let chart = LineChart {
            elements: "elements",
            quantity: "GB/s",
            scale: Scale::Logarithmic { base: 10.0 },
            ceiling: Some(("data sheet: 4800 GB/s", 4800.0)),
            lines: vec![line("slow & steady", false, 1.0), line("fast", true, 200.0)],
        };
        LinePlot {
            size: (1100, 640),
            title: "a title",
            subtitle: "a machine",
            rows: vec![vec![chart]],
        }
    }

    #[test]
    fn every_line_has_its_name_and_every_size_its_tick() {
        let svg = plot().to_svg().expect("it can be drawn");
        for text in [
            "a title",
            "a machine",
            "GB/s",
            "slow &amp; steady",
            "fast",
            "data sheet: 4800 GB/s",
            "2¹⁰",
            "2¹⁹",
        ] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn powers_of_two_are_written_as_such() {
        assert_eq!([1, 2, 1 << 30].map(size_name), ["2⁰", "2¹", "2³⁰"]);
        assert_eq!(size_name(1000), "1000");
    }

    #[test]
    fn one_point_and_no_line_can_be_drawn() {
        let mut plot = plot();
        plot.rows[0][0].lines.truncate(1);
        plot.rows[0][0].lines[0].points.truncate(1);
        assert!(plot.to_svg().is_ok());
        plot.rows[0][0].lines.clear();
        plot.rows[0][0].ceiling = None;
        assert!(plot.to_svg().is_ok());
        plot.rows[0].clear();
        assert!(plot.to_svg().is_ok());
        plot.rows.clear();
        assert!(plot.to_svg().is_ok());
    }

    /// The chart of a quantity that is 0 at first, over numbers from 0 on.
    #[test]
    fn linear_axes_have_a_0() {
        let mut plot = plot();
        let chart = &mut plot.rows[0][0];
        chart.scale = Scale::Linear;
        chart.elements = "offset";
        chart.ceiling = None;
        for line in &mut chart.lines {
            line.points = (0..=32)
                .map(|offset| (offset, 2.0 * offset as f64))
                .collect();
        }
        let svg = plot.to_svg().expect("it can be drawn");
        for tick in ["offset", ">\n0\n<", ">\n30\n<", ">\n60\n<"] {
            assert!(svg.contains(tick), "{tick} in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        for line in &mut plot.rows[0][0].lines {
            line.points.truncate(1);
        }
        assert!(!plot.to_svg().expect("it can be drawn").contains("NaN"));
    }

    /// The heights of the dashes of the ceilings, which no other line of these plots is as grey as.
    fn ceilings(plot: &LinePlot<'_>) -> Vec<String> {
        let svg = plot.to_svg().expect("it can be drawn");
        let lines = svg.lines().filter(|line| line.contains("#787878"));
        let height = |line: &str| {
            let (_, points) = line.split_once("points=\"")?;
            let (first, _) = points.split_once(' ')?;
            Some(first.split_once(',')?.1.to_owned())
        };
        let mut heights: Vec<String> = lines.filter_map(height).collect();
        heights.dedup();
        heights
    }

    #[test]
    fn the_charts_of_a_row_have_one_scale() {
        let mut plot = plot();
        let mut beside = plot.rows[0][0].clone();
        let below = beside.clone();
        plot.rows[0][0].lines.truncate(1);
        beside.elements = "elements of another kind";
        let alone = ceilings(&plot);
        assert_eq!(alone.len(), 1, "{alone:?}");
        beside.lines[1].points[0].1 = 9600.0;
        plot.rows[0].push(beside);
        let both = ceilings(&plot);
        assert_eq!(both.len(), 1, "{both:?}");
        assert_ne!(alone, both);
        plot.rows.push(vec![below]);
        assert_eq!(ceilings(&plot).len(), 2);
        let svg = plot.to_svg().expect("it can be drawn");
        assert_eq!(svg.matches("slow &amp; steady").count(), 3);
        assert!(svg.contains("elements of another kind"));
    }

    #[test]
    fn labels_have_the_digits_that_they_need() {
        assert_eq!(label(0.1 + 0.2), "0.3");
        assert_eq!(label(4000.0), "4000");
    }
}
