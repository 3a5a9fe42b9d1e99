//! What both drawings have.

use crate::trace::geometry::Summary;
use crate::trace::picture::{Boundary, Picture};

/// Width of the labels on the left.
pub(super) const LABEL: usize = 14;

/// The rule above a step.
pub(super) fn heading(step: usize, summary: &Summary, threads: usize, end: usize) -> String {
    let mut heading = format!("── step {}", step + 1);
    if let Some(distance) = &summary.distance {
        heading = format!("{heading} · {distance}");
    }
    let boundary = match summary.boundary {
        Boundary::Start | Boundary::OwnThread | Boundary::Exchange => "",
        Boundary::Copy => " · after asynchronous copies",
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
pub(super) fn unordered_note(picture: &Picture) -> Option<&'static str> {
    (0..picture.steps())
        .any(|step| picture.boundary(step) == Boundary::Unordered)
        .then_some(
            "without a barrier: lanes read what others have just written, and trust that the\n\
             warp runs in lockstep, which no GPU since Volta promises",
        )
}
