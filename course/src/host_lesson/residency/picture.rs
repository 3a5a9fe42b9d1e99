//! Multiprocessors with their resident blocks, as a picture.

use super::HostLessonError;

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Rectangle;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, WHITE};
use warpfold_plot::{BLUE, font, for_dark_pages, heading};

/// Width of the picture.
const WIDTH: u32 = 1000;
/// Where the strips begin, and how wide the widest is.
const LEFT: i32 = 400;
const STRIP: i32 = 384;
/// Pixels between the tops of two strips, and the height of one.
const LINE: i32 = 26;
const HEIGHT: i32 = 16;

/// What to draw.
pub(super) struct Picture {
    /// The compute capability.
    pub(super) sm: u32,
    /// The most warps of a multiprocessor.
    pub(super) warps: u32,
    /// One for each kernel.
    pub(super) strips: Vec<Strip>,
}

/// A multiprocessor that is full of blocks of one kernel.
pub(super) struct Strip {
    /// What stands before it.
    pub(super) kernel: String,
    /// What a block holds.
    pub(super) holds: String,
    /// Warps of a block.
    pub(super) warps_per_block: u32,
    /// Blocks that fit.
    pub(super) blocks: u32,
    /// What stands after it.
    pub(super) limit: String,
}

impl Picture {
    /// The picture as SVG.
    pub(super) fn to_svg(&self) -> Result<String, HostLessonError> {
        let mut text = String::new();
        let height = 80 + LINE as u32 * self.strips.len() as u32;
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        self.draw(&area)
            .map_err(|error| HostLessonError::Picture(error.to_string()))?;
        drop(area);
        Ok(for_dark_pages(&text))
    }

    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let subtitle = format!(
            "each strip is a multiprocessor of sm_{}, with room for {} warps; each box a block",
            self.sm, self.warps
        );
        let head = heading(area, "Resident blocks", &subtitle)? as i32 + 8;
        let before = font(13)
            .into_text_style(area)
            .pos(Pos::new(HPos::Right, VPos::Center));
        let first = font(13)
            .into_text_style(area)
            .pos(Pos::new(HPos::Left, VPos::Center));
        let warp = STRIP / self.warps.max(1) as i32;
        for (index, strip) in self.strips.iter().enumerate() {
            let top = head + LINE * index as i32;
            let (middle, bottom) = (top + HEIGHT / 2, top + HEIGHT);
            area.draw_text(&strip.kernel, &first, (16, middle))?;
            area.draw_text(&strip.holds, &before, (LEFT - 12, middle))?;
            let end = LEFT + warp * self.warps as i32;
            area.draw(&Rectangle::new(
                [(LEFT, top), (end, bottom)],
                BLACK.mix(0.1).filled(),
            ))?;
            let width = warp * strip.warps_per_block as i32;
            for block in 0..strip.blocks as i32 {
                let begin = LEFT + width * block;
                area.draw(&Rectangle::new(
                    [(begin + 1, top), (begin + width - 1, bottom)],
                    BLUE.filled(),
                ))?;
            }
            area.draw_text(&strip.limit, &first, (end + 12, middle))?;
        }
        area.present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_a_box() {
        let strip = |kernel: &str, blocks, warps_per_block| Strip {
            kernel: kernel.to_owned(),
            holds: "72 registers, 32 B".to_owned(),
            warps_per_block,
            blocks,
            limit: "37 %: registers".to_owned(),
        };
        let picture = Picture {
            sm: 90,
            warps: 64,
            strips: vec![strip("in_flight · 256 threads", 3, 8), strip("none", 0, 0)],
        };
        let svg = picture.to_svg().expect("it can be drawn");
        for text in ["in_flight · 256 threads", "72 registers", "sm_90", "37 %"] {
            assert!(svg.contains(text), "{text}");
        }
        // The page, two strips, three blocks.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 3);
    }
}
