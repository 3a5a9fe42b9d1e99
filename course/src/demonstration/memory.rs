//! The demonstrations of the part `Memory`.

use super::launch::{extent, first_difference, row_of_threads};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold::device::Shape;
use warpfold_kernels::catalogue::{Lesson, Memory, Variant};
use warpfold_kernels::memory::m08_constant::{WEIGHT_VALUES, WEIGHTS};

/// The value of an element that no kernel has written.
const UNWRITTEN: i32 = i32::MIN;

/// The width of the blocks of `matrix_add`: a warp.
const BLOCK_COLUMNS: u32 = 32;

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Memory,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    let values = random::i32_values(n, seed).map_err(LessonError::host_memory(n))?;
    let parameter = variant.parameter.unwrap_or_default();
    match which {
        Memory::CopyOffset => copy(lesson, variant, values, parameter, 1),
        Memory::CopyStride => copy(lesson, variant, values, 0, parameter),
        Memory::Reverse { dynamic } => {
            let bytes = if dynamic { 4 * variant.block } else { 0 };
            reverse(lesson, variant, values, bytes, vec![])
        }
        Memory::BankStride => {
            let stride = CaseArgument::scalar(parameter);
            reverse(lesson, variant, values, 0, vec![stride])
        }
        Memory::MatrixAdd => {
            let others = random::i32_values(n, !seed).map_err(LessonError::host_memory(n))?;
            matrix_add(lesson, variant, values, others)
        }
        Memory::ReadOnly => read_only(lesson, variant, values),
        Memory::Constant { uniform } => constant(lesson, variant, values, uniform),
    }
}

/// How many bytes a demonstration of a parameter has to read and to write over `n` elements, so that its bandwidth at one value compares
/// with that at another; `None` of those without a parameter.
pub(super) fn useful_bytes(which: Memory, variant: Variant, n: usize) -> Option<u64> {
    let parameter = variant.parameter? as usize;
    let moved = match which {
        Memory::CopyOffset => copied(n, parameter, 1),
        Memory::CopyStride => copied(n, 0, parameter),
        Memory::BankStride => n,
        Memory::Reverse { .. } | Memory::MatrixAdd | Memory::ReadOnly | Memory::Constant { .. } => {
            return None;
        }
    };
    Some(2 * size_of::<i32>() as u64 * moved as u64)
}

/// The number of the elements `first`, `first + stride` and so on.
fn copied(n: usize, first: usize, stride: usize) -> usize {
    n.saturating_sub(first).div_ceil(stride)
}

/// A copy of the elements `first`, `first + stride` and so on, by a thread each. The rest stays unwritten.
fn copy(
    lesson: &'static Lesson,
    variant: Variant,
    values: Vec<i32>,
    first: u32,
    stride: u32,
) -> Result<PreparedLesson, LessonError> {
    let n = values.len();
    let (first, stride) = (first as usize, stride as usize);
    let copied = copied(n, first, stride);
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, copied, n)?,
        arguments: vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::scalar(n),
            CaseArgument::scalar(variant.parameter.unwrap_or_default()),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(1)?;
        let expected = values.iter().enumerate().map(|(index, &value)| {
            let is_copied = index >= first && (index - first).is_multiple_of(stride);
            if is_copied { value } else { UNWRITTEN }
        });
        Ok(Verdict {
            facts: vec![("elements copied", copied.to_string())],
            mistake: first_difference("output", &found, expected),
        })
    };
    let case = (copied > 0).then_some(case);
    // SAFETY: these kernels take input and output of n values, n, and the lesson's parameter, with a thread for each value to copy.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// Each block's tile reversed. The last tile may be shorter.
fn reverse(
    lesson: &'static Lesson,
    variant: Variant,
    values: Vec<i32>,
    dynamic_shared_bytes: u32,
    more_arguments: Vec<CaseArgument<'static>>,
) -> Result<PreparedLesson, LessonError> {
    let n = values.len();
    let mut arguments = vec![
        CaseArgument::rewritten(values.clone()),
        CaseArgument::scalar(n),
    ];
    arguments.extend(more_arguments);
    let shape = row_of_threads(lesson, variant, n, n)?;
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: shape.with_dynamic_shared_bytes(dynamic_shared_bytes),
        arguments,
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(0)?;
        let tiles = values.chunks(variant.block as usize);
        let reversed = tiles.flat_map(|tile| tile.iter().rev().copied());
        Ok(Verdict {
            facts: vec![("tiles reversed", shape.grid[0].to_string())],
            mistake: first_difference("values", &found, reversed),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: these kernels take n values, n, and what the lesson adds to them, with a thread for each value in whole blocks; the array of
    // a dynamic size has a value for each thread, and the stride is one of the catalogue's, 1 to 32.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// Elements of a table at random places, as many as it has.
fn read_only(
    lesson: &'static Lesson,
    variant: Variant,
    table: Vec<i32>,
) -> Result<PreparedLesson, LessonError> {
    let n = table.len();
    // Multiplied by an odd number and cut, neighbours are far apart, and many places are taken more than once.
    let place = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let indices: Vec<u32> = (0..n)
        .map(|index| (place(index) % n as u64) as u32)
        .collect();
    let expected: Vec<i32> = indices.iter().map(|&place| table[place as usize]).collect();
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, n, n)?,
        arguments: vec![
            CaseArgument::input(table),
            CaseArgument::input(indices),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::scalar(n),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(2)?;
        Ok(Verdict {
            facts: vec![("elements looked up", n.to_string())],
            mistake: first_difference("output", &found, expected.iter().copied()),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: the kernel takes a table, indices of it and the output, each of n values, and n, with a thread for each value.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// Elements weighted by a table in constant memory: by all of it, or by the weight of the lane.
fn constant(
    lesson: &'static Lesson,
    variant: Variant,
    values: Vec<i32>,
    uniform: bool,
) -> Result<PreparedLesson, LessonError> {
    let n = values.len();
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, n, n)?,
        arguments: vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::scalar(n),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(1)?;
        let weighted = |(&value, weight): (&i32, i32)| value.wrapping_mul(weight);
        let expected = (0..n).map(|index| {
            if uniform {
                let products = values[index..].iter().zip(WEIGHT_VALUES).map(weighted);
                products.fold(0, i32::wrapping_add)
            } else {
                // Blocks have a multiple of as many threads as there are weights.
                weighted((&values[index], WEIGHT_VALUES[index % WEIGHTS]))
            }
        });
        Ok(Verdict {
            facts: vec![("elements weighted", n.to_string())],
            mistake: first_difference("output", &found, expected),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: these kernels take input and output of n values, and n, with a thread for each value.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// The sum of two matrices that are as square as n allows: ⌊√n⌋ columns, and a shorter last row where n is no multiple of that.
fn matrix_add(
    lesson: &'static Lesson,
    variant: Variant,
    left: Vec<i32>,
    right: Vec<i32>,
) -> Result<PreparedLesson, LessonError> {
    let n = left.len();
    let columns = n.isqrt();
    let rows = if n == 0 { 0 } else { n.div_ceil(columns) };
    let block_rows = variant.block / BLOCK_COLUMNS;
    let across = extent(lesson, variant, columns, BLOCK_COLUMNS, n)?;
    let down = extent(lesson, variant, rows, block_rows, n)?;
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        shape: Shape {
            grid: [across, down, 1],
            block: [BLOCK_COLUMNS, block_rows, 1],
            ..Shape::linear(1, 1)
        },
        arguments: vec![
            CaseArgument::input(left.clone()),
            CaseArgument::input(right.clone()),
            CaseArgument::output(n, UNWRITTEN),
            CaseArgument::scalar(columns),
            CaseArgument::scalar(n),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let found = outputs.read::<i32>(2)?;
        let sums = left.iter().zip(&right).map(|(a, b)| a.wrapping_add(*b));
        let last_row = if n == 0 { 0 } else { n - (rows - 1) * columns };
        Ok(Verdict {
            facts: vec![
                ("columns", columns.to_string()),
                ("rows", rows.to_string()),
                ("elements in the last row", last_row.to_string()),
                ("blocks across and down", format!("{across} × {down}")),
            ],
            mistake: first_difference("sum", &found, sums),
        })
    };
    let case = (n > 0).then_some(case);
    // SAFETY: the kernel takes two inputs and the sum, each of n values, the columns and n, and the grid covers all columns and rows.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}
