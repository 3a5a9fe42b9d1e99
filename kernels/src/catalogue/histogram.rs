//! Counting the colours of an image.

use super::Lesson;

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histogram {}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[];
