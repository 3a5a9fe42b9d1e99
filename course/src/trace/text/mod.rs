//! Pictures as text: with an arrow for each thread where there is room, else with one character for each element.

mod dense;
mod line;
mod wide;

use super::geometry::{Geometry, Summary};
use super::picture::{Boundary, Picture};

/// Width of the labels on the left.
const LABEL: usize = 14;

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

/// The rule above a step.
fn heading(step: usize, summary: &Summary, threads: usize, end: usize) -> String {
    let mut heading = format!("── step {}", step + 1);
    if let Some(distance) = &summary.distance {
        heading = format!("{heading} · {distance}");
    }
    let boundary = match summary.boundary {
        Boundary::Start | Boundary::OwnThread | Boundary::Exchange => "",
        Boundary::WarpBarrier => " · after a warp barrier",
        Boundary::BlockBarrier => " · after a barrier",
        Boundary::Unordered => " · without a barrier",
    };
    let threads = summary.threads(threads);
    let length = [heading.as_str(), boundary, &threads]
        .iter()
        .map(|text| text.chars().count())
        .sum::<usize>();
    // Two spaces, and the end of the rule.
    let rule = "─".repeat(end.saturating_sub(length + 5).max(2));
    format!("{heading}{boundary} {rule} {threads} ──")
}

/// What a step without a barrier is, if there is one in the picture.
fn unordered_note(picture: &Picture) -> Option<&'static str> {
    (0..picture.steps())
        .any(|step| picture.boundary(step) == Boundary::Unordered)
        .then_some(
            "without a barrier: lanes read what others have just written, and trust that the\n\
             warp runs in lockstep, which no GPU since Volta promises",
        )
}
