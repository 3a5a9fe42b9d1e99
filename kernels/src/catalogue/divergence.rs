//! Threads of one warp on different ways.

use super::Lesson;

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[];
