//! How any lesson is prepared: a reduction here, a demonstration in its own file.

use crate::case::Outputs;
use crate::data::Data;
use crate::demonstration;
use crate::lesson::{self, LessonError};
use crate::oracle::Oracle;
use crate::prepared::{PreparedLesson, Verdict};
use crate::reducible::Reducible;
use crate::wide::with_reduction;
use warpfold_kernels::catalogue::{Lesson, Reduction, Task, Variant};

impl PreparedLesson {
    /// A lesson over `n` elements, for a device with this many multiprocessors. A seed alone stands for random elements. A demonstration
    /// makes its own from the seed.
    ///
    /// # Errors
    /// A variant or a number of elements that the lesson does not take; too little memory for them; data for a demonstration that are not
    /// random.
    pub fn new(
        lesson: &'static Lesson,
        variant: Variant,
        n: usize,
        data: impl Into<Data>,
        multiprocessors: u32,
    ) -> Result<Self, LessonError> {
        match (&lesson.task, data.into()) {
            (Task::Reduction(reduction), data) => with_reduction!(reduction, T => {
                Self::of_reduction::<T>(lesson, reduction, variant, n, data, multiprocessors)
            }),
            (Task::Demonstration(demonstration), Data::Random { seed }) => {
                // Before anything is made of a size that the lesson does not have.
                lesson::entry(lesson, variant)?;
                demonstration::prepare(*demonstration, lesson, variant, n, seed)
            }
            (Task::Demonstration(_), _) => Err(LessonError::OwnData { lesson: lesson.id }),
        }
    }

    fn of_reduction<T: Reducible>(
        lesson: &'static Lesson,
        reduction: &'static Reduction,
        variant: Variant,
        n: usize,
        data: Data,
        multiprocessors: u32,
    ) -> Result<Self, LessonError> {
        let values: Vec<T> = data
            .values(reduction.operator, n)
            .map_err(LessonError::host_memory(n))?;
        let oracle = T::oracle(reduction, variant, &values);
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

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::{Device, DeviceChoice};
    use warpfold_kernels::catalogue::find;

    #[test]
    fn copies_of_the_buffers_are_judged_as_the_buffers_are() {
        let lesson = find("shuffle").expect("there is such a lesson");
        let device = Device::open(&DeviceChoice::Emulator).expect("it is always there");
        let variant = lesson.usual(64);
        let prepared = PreparedLesson::new(lesson, variant, 1000, 42, device.multiprocessors())
            .expect("a lesson of any length");
        let launch = prepared.load(&device).expect("it fits");
        let mut launch = launch.expect("there are elements");
        launch.launch().expect("the kernel is right");
        let case = prepared.case().expect("there are elements");
        let arguments = case.arguments.iter().enumerate();
        let mut copies: Vec<Vec<u8>> = arguments
            .map(|(index, argument)| match argument.number() {
                Some(_) => Vec::new(),
                None => launch.outputs().read(index).expect("it can be read"),
            })
            .collect();
        let judge = |copies: &[Vec<u8>]| {
            let verdict = prepared.judge_copies(copies).expect("nothing is read");
            verdict.mistake
        };
        assert_eq!(judge(&copies), None);
        // The partial sum of the first block.
        copies[1][0] ^= 1;
        assert!(judge(&copies).is_some_and(|mistake| mistake.starts_with("gives ")));
    }
}
