//! The demonstrations of the part `Cooperation`.

use crate::lesson::LessonError;
use crate::prepared::Prepared;
use warpfold_kernels::catalogue::{Cooperation, Lesson, Variant};

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Cooperation,
    _lesson: &'static Lesson,
    _variant: Variant,
    _n: usize,
    _seed: u64,
) -> Result<Prepared, LessonError> {
    match which {}
}
