//! Pictures as text: with an arrow for each thread where there is room, else with one character for each element.

mod dense;
mod line;
mod parts;
mod wide;

use super::geometry::Geometry;
use super::picture::Picture;

impl Picture {
    /// The picture as text, for a terminal of so many columns.
    pub fn to_text(&self, width: usize) -> String {
        let geometry = Geometry::new(self);
        let drawing = wide::draw(self, &geometry, width)
            .unwrap_or_else(|| dense::draw(self, &geometry, width));
        let sizes = match self.blocks.len() {
            1 => format!("one block of {} threads", self.block),
            blocks => format!("{blocks} blocks of {} threads", self.block),
        };
        format!(
            "{} · {}\nn = {} · {sizes} · element i begins as i + 1\n\n{drawing}",
            self.lesson, self.title, self.n
        )
    }
}
