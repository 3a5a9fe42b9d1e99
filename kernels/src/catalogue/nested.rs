//! Kernels that launch kernels.

use super::Lesson;

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {}

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[];
