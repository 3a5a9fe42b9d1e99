//! Lessons that are no reductions: the input of each, and the judge of its results.

use crate::lesson::LessonError;
use crate::prepared::PreparedLesson;
use warpfold_kernels::catalogue::{Demonstration, Lesson, Variant};

mod atomics;
mod cooperation;
mod divergence;
mod histogram;
mod launch;
mod memory;
mod nested;
mod questions;

/// Sets up a demonstration over `n` elements, random ones from this seed where it takes any.
pub(crate) fn prepare(
    demonstration: Demonstration,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    match demonstration {
        Demonstration::Nested(which) => nested::prepare(which, lesson, variant, n, seed),
        Demonstration::Divergence(which) => divergence::prepare(which, lesson, variant, n, seed),
        Demonstration::Memory(which) => memory::prepare(which, lesson, variant, n, seed),
        Demonstration::Cooperation(which) => cooperation::prepare(which, lesson, variant, n, seed),
        Demonstration::Histogram(which) => histogram::prepare(which, lesson, variant, n, seed),
    }
}
