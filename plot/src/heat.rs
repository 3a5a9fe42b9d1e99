//! Heat maps: tables whose cells are coloured by a ratio.

use crate::colours::{BLUE, RED, for_dark_pages};
use crate::letters::{font, heading};
use crate::lines::LinePlotError;
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Rectangle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, RGBColor, WHITE};

/// Pixels around a picture, and between its columns.
const MARGIN: i32 = 24;
/// Pixels of the heading.
const HEAD: i32 = 76;
/// Pixels of a row of cells, of the names above the cells, and of the title of a map.
const ROW: i32 = 26;
const NAMES: i32 = 24;
const TITLE: i32 = 32;
/// Pixels for the names of rows, and of the widest cell.
const BESIDE: i32 = 150;
const CELL: i32 = 112;
/// Pixels below a map.
const BELOW: i32 = 10;
/// The ratio, and the reciprocal of the one, from which on colours are the same, as a power of two.
const MOST: f64 = 3.0;
/// How many shades a colour has.
const SHADES: f64 = 12.0;
/// How much of the colour the darkest shade has: black letters stay readable on it.
const DARKEST: f64 = 0.7;
const GREY: RGBColor = RGBColor(225, 225, 225);

/// A picture of heat maps, in columns.
#[derive(Clone, Debug)]
pub struct HeatPlot<'a> {
    /// What stands above.
    pub title: &'a str,
    /// What stands below that.
    pub subtitle: &'a str,
    /// The maps, one below another in each column.
    pub columns: Vec<Vec<HeatMap>>,
}

/// A table of cells.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// What stands above it.
    pub title: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows: the name, and a cell for each column that has one.
    pub rows: Vec<(String, Vec<Option<HeatCell>>)>,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct HeatCell {
    /// What colours it: 1 is white, more is blue, less is red. A cell without is grey.
    pub ratio: Option<f64>,
    /// What stands in it.
    pub text: String,
}

impl HeatPlot<'_> {
    /// The picture as SVG, as large as it needs to be.
    ///
    /// # Errors
    /// The drawing library's.
    pub fn to_svg(&self) -> Result<String, LinePlotError> {
        let widths = self.columns.iter().map(|maps| width(maps) + MARGIN);
        let heights = self
            .columns
            .iter()
            .map(|maps| maps.iter().map(HeatMap::height).sum());
        let width: i32 = MARGIN + widths.sum::<i32>();
        let height: i32 = HEAD + MARGIN + heights.max().unwrap_or(0);
        let mut text = String::new();
        let area =
            SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
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
        heading(picture, self.title, self.subtitle)?;
        let mut left = MARGIN;
        for maps in &self.columns {
            let mut top = HEAD;
            for map in maps {
                map.draw(picture, (left, top))?;
                top += map.height();
            }
            left += width(maps) + MARGIN;
        }
        picture.present()
    }
}

/// Of the widest map.
fn width(maps: &[HeatMap]) -> i32 {
    let columns = maps.iter().map(|map| map.columns.len() as i32);
    BESIDE + CELL * columns.max().unwrap_or(0)
}

impl HeatMap {
    fn height(&self) -> i32 {
        TITLE + NAMES + ROW * self.rows.len() as i32 + BELOW
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        picture: &DrawingArea<Backend, Shift>,
        (left, top): (i32, i32),
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let style = |size, horizontal| {
            let place = Pos::new(horizontal, VPos::Center);
            font(size).color(&BLACK).pos(place)
        };
        let title = style(16, HPos::Left);
        picture.draw_text(&self.title, &title, (left, top + TITLE / 2))?;
        let (names, cells) = (style(14, HPos::Right), style(13, HPos::Center));
        let middle = |column: usize| left + BESIDE + CELL * column as i32 + CELL / 2;
        let above = style(14, HPos::Center);
        for (column, name) in self.columns.iter().enumerate() {
            let place = (middle(column), top + TITLE + NAMES / 2);
            picture.draw_text(name, &above, place)?;
        }
        for (row, (name, of_row)) in self.rows.iter().enumerate() {
            let from = top + TITLE + NAMES + ROW * row as i32;
            let height = from + ROW / 2;
            picture.draw_text(name, &names, (left + BESIDE - 10, height))?;
            for (column, cell) in of_row.iter().enumerate() {
                let Some(cell) = cell else { continue };
                let start = left + BESIDE + CELL * column as i32;
                let corners = [(start, from), (start + CELL - 2, from + ROW - 2)];
                let colour = cell.ratio.map_or(GREY, colour);
                picture.draw(&Rectangle::new(corners, colour.filled()))?;
                picture.draw_text(&cell.text, &cells, (middle(column) - 1, height - 1))?;
            }
        }
        Ok(())
    }
}

/// The colour of a ratio.
fn colour(ratio: f64) -> RGBColor {
    let powers = ratio.log2().clamp(-MOST, MOST);
    let shade = (powers.abs() / MOST * SHADES).round() / SHADES * DARKEST;
    let RGBColor(red, green, blue) = if powers < 0.0 { RED } else { BLUE };
    let mixed = |part: u8| (255.0 - (255.0 - f64::from(part)) * shade).round() as u8;
    RGBColor(mixed(red), mixed(green), mixed(blue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_white_more_is_blue_and_less_is_red() {
        assert_eq!(colour(1.0), RGBColor(255, 255, 255));
        let RGBColor(red, _, blue) = colour(4.0);
        assert!(blue > red);
        let RGBColor(red, _, blue) = colour(0.25);
        assert!(red > blue);
        assert_eq!(colour(8.0), colour(100.0));
    }

    #[test]
    fn every_cell_has_its_text_and_a_map_without_rows_has_none() {
        let map = |rows| HeatMap {
            title: "rows".to_owned(),
            columns: vec!["sum".to_owned(), "max".to_owned()],
            rows,
        };
        let cell = HeatCell {
            ratio: Some(2.0),
            text: "2.00 · 95 %".to_owned(),
        };
        let plot = HeatPlot {
            title: "a title",
            subtitle: "a GPU",
            columns: vec![
                vec![map(vec![("2^4".to_owned(), vec![Some(cell), None])])],
                vec![map(Vec::new())],
            ],
        };
        let svg = plot.to_svg().expect("it can be drawn");
        assert_eq!(svg.matches("2.00 · 95 %").count(), 1);
        assert_eq!(svg.matches("2^4").count(), 1);
    }
}
