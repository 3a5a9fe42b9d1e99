//! How the addresses of a warp decide what an access costs.

use super::Lesson;

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[];
