//! The demonstrations of the part `Scans`.

use super::launch::{first_difference, row_of_threads};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold_kernels::catalogue::{Lesson, Scan, Variant};
use warpfold_kernels::scans::s03_look_back::EACH;

/// The value of an element that no kernel has written.
const UNWRITTEN: i32 = i32::MIN;

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Scan,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    let values = random::i32_values(n, seed).map_err(LessonError::host_memory(n))?;
    match which {
        Scan::Warp => {
            let width = variant.parameter.unwrap_or(32);
            of_parts(lesson, variant, values, width as usize)
        }
        Scan::Block => of_parts(lesson, variant, values, variant.block as usize),
        Scan::Array => of_array(lesson, variant, values),
    }
}

/// The sums of the values up to each.
fn scan(values: &[i32]) -> impl Iterator<Item = i32> {
    values.iter().scan(0_i32, |sum, &value| {
        *sum = sum.wrapping_add(value);
        Some(*sum)
    })
}

/// A scan of each part of this many elements, and the parts' totals. The last part may be shorter.
fn of_parts(
    lesson: &'static Lesson,
    variant: Variant,
    values: Vec<i32>,
    length: usize,
) -> Result<PreparedLesson, LessonError> {
    let n = values.len();
    let parts = n.div_ceil(length);
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, n, n)?,
        arguments: vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::output(parts, UNWRITTEN),
            CaseArgument::scalar(n),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let (sums, totals) = (outputs.read::<i32>(1)?, outputs.read::<i32>(2)?);
        let parts = || values.chunks(length);
        let expected = parts().flat_map(scan);
        let of_parts = parts().map(|part| scan(part).last().unwrap_or(0));
        Ok(Verdict {
            facts: vec![("parts scanned", totals.len().to_string())],
            mistake: first_difference("sums", &sums, expected)
                .or_else(|| first_difference("totals", &totals, of_parts)),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: these kernels take n values and n sums, a total for each part, and n, with a thread for each value in whole blocks.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// A scan of all values, by one launch, the first on its words.
fn of_array(
    lesson: &'static Lesson,
    variant: Variant,
    values: Vec<i32>,
) -> Result<PreparedLesson, LessonError> {
    const LAUNCH: u32 = 1;
    let n = values.len();
    let shape = row_of_threads(lesson, variant, n.div_ceil(EACH as usize), n)?;
    let tiles = shape.grid[0];
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape,
        arguments: vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::scalar(n),
            CaseArgument::rewritten(vec![0_u64; tiles as usize]),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::scalar(LAUNCH),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let sums = outputs.read::<i32>(1)?;
        let ticket = outputs.read::<u32>(4)?[0];
        let left =
            || (ticket != 0).then(|| format!("leaves {ticket} in its ticket, which should be 0"));
        Ok(Verdict {
            facts: vec![
                ("tiles", tiles.to_string()),
                ("sum of all", scan(&values).last().unwrap_or(0).to_string()),
            ],
            mistake: first_difference("sums", &sums, scan(&values)).or_else(left),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: the kernel takes n values and n sums, n, a word for each block and a ticket, which are 0, and the number of the launch; the
    // grid has a thread for each four values in whole blocks, and buffers begin at multiples of 16 bytes.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}
