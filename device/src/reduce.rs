//! The reduction of an array: what the first of the kernels of [`reductions!`](crate::reductions!) does; and of two arrays of pairs.

use crate::block::Memory;
use crate::grid::{Part, Turn};
use crate::operator::Operator;
use crate::slots::Slots;
use crate::vector::{self, Kept, Loaded, Share};

/// Vectors that a thread loads before it uses the first.
const LOADS: usize = 4;

/// Reduces an array of any length that begins anywhere, in one launch of any grid.
///
/// Each thread loads vectors of 16 bytes; then each block combines the states of its threads, and the one that began last those of all blocks.
/// The result depends on the shape of the launch only as far as the operator's rounding depends on the grouping, and is the same in every run. A
/// [`RakingScratch`](crate::block::RakingScratch) is the faster `scratch`.
///
/// # Safety
/// - Every thread of the grid makes the call, once. A block has no more threads than `scratch` is for.
/// - `input` points to `n` values that nothing writes, `slots` to those of a state per block, all empty, `counter` to a word that is 0, and
///   `result` to one result; nothing else touches the last three. Slots and counter are so again afterwards.
#[inline(always)]
pub unsafe fn array<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    n: usize,
    slots: *mut u64,
    counter: *mut u32,
    result: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    let kept = Kept::ALL;
    // SAFETY: the caller's promise.
    unsafe { large_array(operator, input, n, kept, slots, counter, result, scratch) }
}

/// As [`array()`], of an array that the L2 cache does not hold: so much of it stays there.
///
/// # Safety
/// As for [`array()`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of a kernel")]
pub unsafe fn large_array<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    n: usize,
    kept: Kept,
    slots: *mut u64,
    counter: *mut u32,
    result: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let begin = || {
            let part = Part::of_grid();
            Turn::draw(part, Slots::new(slots, part.of as usize), 0, counter)
        };
        let share = Share::of_grid();
        let (turn, mine) =
            vector::fold_after::<LOADS, T, O, _>(operator, (input, n, 0), share, kept, begin);
        if let Some(state) = turn.reduce(operator, mine, n as u64, scratch) {
            *result = operator.finish(state, n as u64);
        }
    }
}

/// Reduces the pairs of two arrays, in one launch of any grid, as [`array()`] reduces values.
///
/// # Safety
/// As for [`array()`], of both.
#[inline(always)]
pub unsafe fn pairs<T: Loaded, O: Operator<(T, T)>>(
    operator: O,
    inputs: [*const T; 2],
    n: usize,
    slots: *mut u64,
    counter: *mut u32,
    result: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    let kept = Kept::ALL;
    // SAFETY: the caller's promise.
    unsafe { large_pairs(operator, inputs, n, kept, slots, counter, result, scratch) }
}

/// As [`pairs()`], of arrays that the L2 cache does not hold together: so much of them stays there.
///
/// # Safety
/// As for [`pairs()`].
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of a kernel")]
pub unsafe fn large_pairs<T: Loaded, O: Operator<(T, T)>>(
    operator: O,
    inputs: [*const T; 2],
    n: usize,
    kept: Kept,
    slots: *mut u64,
    counter: *mut u32,
    result: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let begin = || {
            let part = Part::of_grid();
            Turn::draw(part, Slots::new(slots, part.of as usize), 0, counter)
        };
        let share = Share::of_grid();
        let (turn, mine) = vector::fold_pairs_after::<LOADS, T, O, _>(
            operator,
            (inputs, n, 0),
            share,
            kept,
            begin,
        );
        if let Some(state) = turn.reduce(operator, mine, n as u64, scratch) {
            *result = operator.finish(state, n as u64);
        }
    }
}
