//! What threads of a warp, a block and a grid can do together.

use super::Lesson;

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperation {}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[];
