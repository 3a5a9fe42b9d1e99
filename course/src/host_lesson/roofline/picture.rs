//! The roofline as a picture.

use super::HostLessonError;

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, RGBColor, WHITE};
use warpfold_plot::{BLUE, RED, font, for_dark_pages, grouped, heading, spread};

/// Width and height.
const SIZE: (u32, u32) = (1000, 640);
/// Lines between a point and its name.
const LEADER: RGBColor = RGBColor(190, 190, 190);
/// Pixels between the lines of names.
const LINE: i32 = 17;

/// What to draw.
pub(super) struct Picture {
    /// The device in words.
    pub(super) device: String,
    /// Number of elements.
    pub(super) n: usize,
    /// The most gigabytes per second that were measured.
    pub(super) ceiling: f64,
    /// The kernels.
    pub(super) points: Vec<Point>,
}

/// A kernel in the picture.
pub(super) struct Point {
    /// What stands beside it.
    pub(super) name: String,
    /// Its arithmetic intensity.
    pub(super) additions_per_byte: f64,
    /// What it achieves.
    pub(super) giga_additions_per_second: f64,
}

impl Picture {
    /// The picture as SVG.
    pub(super) fn to_svg(&self) -> Result<String, HostLessonError> {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        self.draw(&area)
            .map_err(|error| HostLessonError::Picture(error.to_string()))?;
        drop(area);
        Ok(for_dark_pages(&text))
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let intensities = || self.points.iter().map(|point| point.additions_per_byte);
        let rates = || {
            self.points
                .iter()
                .map(|point| point.giga_additions_per_second)
        };
        let (least, most) = (
            intensities().fold(f64::INFINITY, f64::min),
            intensities().fold(0.0, f64::max),
        );
        // Room on the right for the names, which stand below the ceiling there.
        let (left, right) = (least / 1.25, most * 2.2);
        let slowest = rates().fold(f64::INFINITY, f64::min);
        let (bottom, top) = (slowest / 1.5, self.ceiling * right * 1.15);

        area.fill(&WHITE)?;
        let subtitle = format!("{} · sum of {} i32", self.device, grouped(self.n as u64));
        let head = heading(area, "The ladder under the memory's ceiling", &subtitle)?;

        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_top(head)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d((left..right).log_scale(), (bottom..top).log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .x_label_formatter(&|_| String::new())
            .x_desc("additions for each byte that moves between memory and GPU")
            .y_desc("10⁹ additions a second")
            .y_label_formatter(&|y| format!("{y:.0}"))
            .label_style(font(13))
            .axis_desc_style(font(14))
            .bold_line_style(BLACK.mix(0.08))
            .light_line_style(WHITE)
            .draw()?;
        let roof = [left, right].map(|intensity| (intensity, self.ceiling * intensity));
        chart.draw_series(LineSeries::new(roof, RED.stroke_width(2)))?;

        // The axis is too short for ticks at powers of ten; where kernels stand is what matters.
        let mut ticks: Vec<f64> = intensities().collect();
        ticks.sort_by(f64::total_cmp);
        let below = Pos::new(HPos::Center, VPos::Top);
        let mut last = i32::MIN;
        for tick in ticks {
            let (x, y) = chart.backend_coord(&(tick, bottom));
            // Ticks that are closer than this would write over each other.
            if x - 44 > last {
                last = x;
                let mark = vec![(x, y), (x, y + 6)];
                area.draw(&PathElement::new(mark, BLACK))?;
                let style = font(13).into_text_style(area).pos(below);
                area.draw_text(&format!("{tick:.3}"), &style, (x, y + 10))?;
            }
        }

        let pixel = |x: f64, y: f64| chart.backend_coord(&(x, y));
        let foot = pixel(least, self.ceiling * least);
        let label = format!("the memory's best, measured: {:.0} GB/s", self.ceiling);
        let above = Pos::new(HPos::Left, VPos::Bottom);
        let style = font(14).color(&RED).pos(above);
        area.draw_text(&label, &style, (foot.0, foot.1 - 60))?;
        area.draw(&PathElement::new(
            vec![(foot.0 + 4, foot.1 - 58), (foot.0 + 4, foot.1 - 8)],
            RED,
        ))?;

        let column = pixel(most * 1.35, bottom).0;
        let mut named: Vec<_> = self
            .points
            .iter()
            .map(|point| {
                let at = pixel(point.additions_per_byte, point.giga_additions_per_second);
                (at, &point.name)
            })
            .collect();
        named.sort_by_key(|(at, _)| at.1);
        let beside = font(13)
            .into_text_style(area)
            .pos(Pos::new(HPos::Left, VPos::Center));
        let lowest = pixel(least, bottom).1 - LINE;
        let heights = spread(
            &named.iter().map(|(at, _)| at.1).collect::<Vec<_>>(),
            LINE,
            lowest,
        );
        for (((x, y), name), height) in named.into_iter().zip(heights) {
            area.draw(&PathElement::new(
                vec![(x, y), (column - 22, height), (column - 4, height)],
                LEADER,
            ))?;
            area.draw(&Circle::new((x, y), 5, BLUE.filled()))?;
            area.draw_text(name, &beside, (column, height))?;
        }
        area.present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_and_the_ceiling_are_in_the_picture() {
        let points = [("1 slow", 0.125, 80.0), ("8 fast", 0.25, 1140.0)]
            .map(
                |(name, additions_per_byte, giga_additions_per_second)| Point {
                    name: name.to_owned(),
                    additions_per_byte,
                    giga_additions_per_second,
                },
            )
            .into();
        let picture = Picture {
            device: "a GPU <of two>".to_owned(),
            n: 1 << 28,
            ceiling: 4567.8,
            points,
        };
        let svg = picture.to_svg().expect("it can be drawn");
        for text in ["1 slow", "8 fast", "measured: 4568 GB/s", "&lt;of two&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
