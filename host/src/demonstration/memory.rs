//! The demonstrations of the part `Memory`.

use crate::lesson::LessonError;
use crate::prepared::Prepared;
use warpfold_kernels::catalogue::{Lesson, Memory, Variant};

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Memory,
    _lesson: &'static Lesson,
    _variant: Variant,
    _n: usize,
    _seed: u64,
) -> Result<Prepared, LessonError> {
    match which {}
}
