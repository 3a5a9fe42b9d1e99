//! How any lesson is prepared: a reduction here, a demonstration in its own file.

use crate::case::Outputs;
use crate::demonstration;
use crate::lesson::{self, LessonError};
use crate::oracle::Oracle;
use crate::prepared::{PreparedLesson, Verdict};
use crate::reducible::{Reducible, with_reducible};
use warpfold_kernels::catalogue::{Lesson, Reduction, Task, Variant};

impl PreparedLesson {
    /// A lesson over `n` random elements of this seed, for a device with this many multiprocessors.
    ///
    /// # Errors
    /// A variant or a number of elements that the lesson does not take; too little memory for them.
    pub fn new(
        lesson: &'static Lesson,
        variant: Variant,
        n: usize,
        seed: u64,
        multiprocessors: u32,
    ) -> Result<Self, LessonError> {
        match &lesson.task {
            Task::Reduction(reduction) => with_reducible!(reduction.element_type, T => {
                Self::of_reduction::<T>(lesson, reduction, variant, n, seed, multiprocessors)
            }),
            Task::Demonstration(demonstration) => {
                // Before anything is made of a size that the lesson does not have.
                lesson::entry(lesson, variant)?;
                demonstration::prepare(*demonstration, lesson, variant, n, seed)
            }
        }
    }

    fn of_reduction<T: Reducible>(
        lesson: &'static Lesson,
        reduction: &'static Reduction,
        variant: Variant,
        n: usize,
        seed: u64,
        multiprocessors: u32,
    ) -> Result<Self, LessonError> {
        let values = T::random(reduction.operator, n, seed).map_err(LessonError::host_memory(n))?;
        let oracle = T::Oracle::new(reduction.operator, &values);
        let Some(case) = lesson::case(lesson, variant, &values, multiprocessors)? else {
            return Ok(Self::without_launch(lesson));
        };
        let case = case.into_owned();
        let blocks = case.shape.grid[0];
        let roundings = lesson::roundings::<T>(reduction, variant, n, blocks);
        let judge = move |outputs: &Outputs<'_>| {
            let (result, leftover) = lesson::result::<T>(reduction, outputs)?;
            let expected = oracle.expected();
            let mistake = if !oracle.accepts(result, roundings) {
                Some(format!(
                    "gives {}, which should be {expected}",
                    result.into()
                ))
            } else {
                leftover
            };
            Ok(Verdict {
                facts: vec![
                    ("result", result.into().to_string()),
                    ("on the CPU", expected.to_string()),
                ],
                mistake,
            })
        };
        // SAFETY: every reduction of the catalogue takes the arguments that `lesson::case` makes for its finish, over its element type,
        // and, launched with the catalogue's geometry, keeps to them; the tests hold each to it on the emulator.
        Ok(unsafe { Self::of_case(lesson, Some(case), judge) })
    }
}
