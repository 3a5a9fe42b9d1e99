//! A histogram as a picture.

use super::{CHANNELS, Counts, Histogram};
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Rectangle;
use plotters::series::{AreaSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, RGBColor, ShapeStyle, WHITE};
use std::path::Path;
use warpfold_plot::{BLUE, GREEN, RED, font, for_dark_pages, grouped};

/// Width and height of the picture in units of an SVG file; a PNG file has [`PNG_SCALE`] pixels for each.
const SIZE: (u32, u32) = (1000, 600);
/// Pixels of a PNG file for each unit, so that it is sharp on any screen.
const PNG_SCALE: u32 = 2;
/// The most letters of a title, which is one line.
const MOST_LETTERS: usize = 80;
/// The colours of the channels.
const COLOURS: [RGBColor; 3] = [RED, GREEN, BLUE];

/// The colour of what is the same in all channels.
const GREY: RGBColor = RGBColor(96, 96, 96);

/// A file format of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotFormat {
    /// Pixels.
    Png,
    /// Shapes and text.
    Svg,
}

impl PlotFormat {
    /// The format that a file's name asks for.
    ///
    /// # Errors
    /// A name that ends in neither .png nor .svg.
    pub fn of(path: &Path) -> Result<Self, PlotError> {
        let extension = path.extension().map(|text| text.to_ascii_lowercase());
        match extension.as_ref().and_then(|text| text.to_str()) {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ => Err(PlotError::Extension(path.display().to_string())),
        }
    }
}

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A file name that names no format.
    #[error("cannot plot to {0}: name the file .png or .svg")]
    Extension(String),
    /// A file name for a format that a plot is not made in.
    #[error("cannot plot to {0}: this plot is made as SVG; name the file .svg")]
    OnlySvg(String),
    /// The drawing itself failed.
    #[error("the plot cannot be drawn: {0}")]
    Drawing(String),
}

impl PlotError {
    fn drawing(error: impl std::fmt::Display) -> Self {
        Self::Drawing(error.to_string())
    }
}

/// What a plot shows.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// The counts.
    pub histogram: &'a Histogram,
}

impl Plot<'_> {
    /// The contents of a file of this format.
    ///
    /// # Errors
    /// The libraries cannot draw it.
    pub fn to_bytes(&self, format: PlotFormat) -> Result<Vec<u8>, PlotError> {
        match format {
            PlotFormat::Svg => self.svg().map(String::into_bytes),
            PlotFormat::Png => self.png(),
        }
    }

    fn svg(&self) -> Result<String, PlotError> {
        let mut text = String::new();
        let backend = SVGBackend::with_string(&mut text, SIZE);
        self.draw(&backend.into_drawing_area(), 1)
            .map_err(PlotError::drawing)?;
        Ok(for_dark_pages(&text))
    }

    fn png(&self) -> Result<Vec<u8>, PlotError> {
        let (width, height) = (PNG_SCALE * SIZE.0, PNG_SCALE * SIZE.1);
        let mut picture = vec![0; (width * height * 3) as usize];
        let backend = BitMapBackend::with_buffer(&mut picture, (width, height));
        self.draw(&backend.into_drawing_area(), PNG_SCALE)
            .map_err(PlotError::drawing)?;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().map_err(PlotError::drawing)?;
        writer
            .write_image_data(&picture)
            .and_then(|()| writer.finish())
            .map_err(PlotError::drawing)?;
        Ok(bytes)
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, plotters::coord::Shift>,
        scale: u32,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let text = |size: u32| font(size * scale).into_text_style(area);
        let statistics = self.histogram.statistics();
        let highest = self.histogram.channels.as_flattened().iter().max();
        // A little room above the highest bin, and an axis even if nothing was counted.
        let top = f64::from(*highest.unwrap_or(&0)).max(1.0) * 1.05;

        area.fill(&WHITE)?;
        let title = text(22).pos(Pos::new(HPos::Center, VPos::Top));
        let middle = (SIZE.0 * scale / 2) as i32;
        area.draw_text(
            &shortened(self.title),
            &title,
            (middle, (16 * scale) as i32),
        )?;
        let mut chart = ChartBuilder::on(area)
            .margin(16 * scale)
            .margin_top(56 * scale)
            .x_label_area_size(52 * scale)
            .y_label_area_size(84 * scale)
            .build_cartesian_2d(0.0..256.0, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .bold_line_style(ShapeStyle::from(&BLACK.mix(0.12)).stroke_width(scale))
            .axis_style(ShapeStyle::from(&BLACK.mix(0.6)).stroke_width(scale))
            .set_all_tick_mark_size(5 * scale)
            .x_labels(9)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|pixels| grouped(*pixels as u64))
            .x_desc("value")
            .y_desc("pixels")
            .label_style(text(15))
            .axis_desc_style(text(17))
            .draw()?;
        let curves = self.curves();
        // All areas before the first line, so that none covers a line.
        for curve in &curves {
            chart.draw_series(AreaSeries::new(
                steps(curve.counts),
                0.0,
                curve.colour.mix(0.28),
            ))?;
        }
        for Curve {
            name,
            channel,
            counts,
            colour,
        } in curves
        {
            let line = ShapeStyle::from(&colour).stroke_width(2 * scale);
            let label = statistics.map_or_else(
                || name.to_owned(),
                |of| format!("{name}, mean {:.1}", of[channel].mean),
            );
            chart
                .draw_series(LineSeries::new(steps(counts), line))?
                .label(label)
                .legend(move |(x, y)| {
                    let half = (6 * scale) as i32;
                    Rectangle::new([(x, y - half), (x + 3 * half, y + half)], colour.filled())
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .margin(12 * scale)
            .legend_area_size(28 * scale)
            .background_style(WHITE.mix(0.85))
            .label_font(text(16))
            .draw()?;
        area.present()
    }

    /// A curve for each channel; of a grey image, whose channels are equal, one.
    fn curves(&self) -> Vec<Curve<'_>> {
        let channels = &self.histogram.channels;
        if channels.iter().all(|counts| *counts == channels[0]) {
            return vec![Curve {
                name: "grey",
                channel: 0,
                counts: &channels[0],
                colour: GREY,
            }];
        }
        let channels = channels.iter().enumerate();
        channels
            .map(|(channel, counts)| Curve {
                name: CHANNELS[channel],
                channel,
                counts,
                colour: COLOURS[channel],
            })
            .collect()
    }
}

/// One curve of the plot.
struct Curve<'h> {
    name: &'static str,
    /// Whose statistics are its own.
    channel: usize,
    counts: &'h Counts,
    colour: RGBColor,
}

/// The outline of a channel's bars: bin i lies between i and i + 1.
fn steps(counts: &Counts) -> impl Iterator<Item = (f64, f64)> {
    counts.iter().enumerate().flat_map(|(value, &count)| {
        let value = value as f64;
        [(value, count.into()), (value + 1.0, count.into())]
    })
}

/// A title that fits, with its middle left out where it is too long.
fn shortened(title: &str) -> String {
    let letters: Vec<char> = title
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if letters.len() <= MOST_LETTERS {
        return letters.into_iter().collect();
    }
    let half = MOST_LETTERS / 2;
    let (begin, end) = (&letters[..half], &letters[letters.len() - half + 1..]);
    begin.iter().chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grey_image_has_one_curve() {
        let mut histogram = Histogram::empty();
        for counts in &mut histogram.channels {
            counts[7] = 3;
        }
        let names = |histogram: &Histogram| -> Vec<&str> {
            let plot = Plot {
                title: "",
                histogram,
            };
            plot.curves().iter().map(|curve| curve.name).collect()
        };
        assert_eq!(names(&histogram), ["grey"]);
        histogram.channels[2][7] = 4;
        assert_eq!(names(&histogram), CHANNELS);
    }
}
