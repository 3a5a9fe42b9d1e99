//! What demonstrations have in common: how many blocks they take, and where what they leave first goes wrong.

use crate::lesson::{self, LessonError};
use std::fmt::Debug;
use warpfold::device::Shape;
use warpfold_kernels::catalogue::{Lesson, Variant};

/// A row of blocks with a thread for each of `threads`, of which there is one at least.
///
/// # Errors
/// They are more than a grid holds; `n` is the number of elements to say so of.
pub(super) fn row_of_threads(
    lesson: &Lesson,
    variant: Variant,
    threads: usize,
    n: usize,
) -> Result<Shape, LessonError> {
    let blocks = extent(lesson, variant, threads, variant.block, n)?;
    Ok(Shape::linear(blocks, variant.block))
}

/// The number of blocks, `of` threads each, that have `threads` together.
///
/// # Errors
/// As [`row_of_threads`].
pub(super) fn extent(
    lesson: &Lesson,
    variant: Variant,
    threads: usize,
    of: u32,
    n: usize,
) -> Result<u32, LessonError> {
    lesson::extent(lesson, variant, threads.div_ceil(of as usize) as u64, n)
}

/// About the first of `found` that differs from its like in `expected`, if any does; `name` is the buffer's.
pub(super) fn first_difference<T: PartialEq + Debug>(
    name: &str,
    found: &[T],
    expected: impl IntoIterator<Item = T>,
) -> Option<String> {
    let mut elements = found.iter().enumerate().zip(expected);
    elements.find_map(|((index, found), expected)| {
        (*found != expected).then(|| {
            format!("leaves {found:?} in element {index} of `{name}`, which should be {expected:?}")
        })
    })
}
