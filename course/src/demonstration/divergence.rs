//! The demonstrations of the part `Divergence`.

use super::launch::{first_difference, row_of_threads};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold_kernels::catalogue::{Divergence, Lesson, Variant};

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Divergence,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    let before = match which {
        Divergence::EvenOdd => Vec::new(),
        Divergence::OddEvenAdd => {
            random::i32_values(n, seed).map_err(LessonError::host_memory(n))?
        }
    };
    let values = match which {
        Divergence::EvenOdd => CaseArgument::output(n, i32::MIN),
        Divergence::OddEvenAdd => CaseArgument::rewritten(before.clone()),
    };
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, n, n)?,
        arguments: vec![values, CaseArgument::scalar(n)],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(0)?;
        let by_parity =
            |even: i32, odd: i32| (0..n).map(move |index| if index % 2 == 0 { even } else { odd });
        let mistake = match which {
            Divergence::EvenOdd => first_difference("out", &found, by_parity(2, 1)),
            Divergence::OddEvenAdd => {
                let sums = before.iter().zip(by_parity(1, 2));
                first_difference("values", &found, sums.map(|(a, b)| a.wrapping_add(b)))
            }
        };
        Ok(Verdict {
            facts: vec![
                ("even indices", n.div_ceil(2).to_string()),
                ("odd indices", (n / 2).to_string()),
            ],
            mistake,
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: these kernels take n values and n, with a thread for each value in whole blocks, which are multiples of 64 threads.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}
