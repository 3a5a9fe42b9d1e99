//! The demonstrations of the part `Divergence`.

use crate::lesson::LessonError;
use crate::prepared::Prepared;
use warpfold_kernels::catalogue::{Divergence, Lesson, Variant};

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Divergence,
    _lesson: &'static Lesson,
    _variant: Variant,
    _n: usize,
    _seed: u64,
) -> Result<Prepared, LessonError> {
    match which {}
}
