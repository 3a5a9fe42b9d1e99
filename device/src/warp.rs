//! Reductions and scans by the lanes of a warp, without memory and without a barrier of the block.
//!
//! All functions take the [`Lanes`] that work together: the whole warp ([`Lanes::WARP`]), sections of it (`Lanes::<8>::ALL`), or those
//! that the block has in its last warp ([`Lanes::of_block`]). Each section works by itself. W is the width of a section.
//!
//! | function | result | shuffles per word | `combine`s |
//! |---|---|---|---|
//! | [`reduce`] | in the first lane of each section | log₂ W | log₂ W |
//! | [`reduce_all`] | in every lane | log₂ W, and one more where lanes are missing | log₂ W |
//! | [`inclusive_scan`] | each lane's | log₂ W | log₂ W |
//! | [`exclusive_scan`] | each lane's | log₂ W + 1 | log₂ W |
//!
//! A reduction of a whole warp is one instruction, `redux.sync`, where the operator, the type and the architecture have it: sum, minimum
//! and maximum of `i32` and `u32`, any and all, from sm_80 on.

use crate::lanes::WARP_SIZE;
use crate::operator::Combine;
use crate::shuffle::Lanes;
use crate::slots::words_of;
use crate::words::Words;

/// The states of each section combined in the order of its lanes, in its first lane. What the other lanes get is meaningless.
///
/// The grouping is that of neighbours: ranks 0 and 1, 2 and 3; then 0 to 3, 4 to 7; and so on.
///
/// # Safety
/// All of `lanes`, and no others, make the call with the same operator; none has exited.
#[inline(always)]
pub unsafe fn reduce<S: Words, const WIDTH: u32>(
    operator: impl Combine<S>,
    lanes: Lanes<WIDTH>,
    state: S,
) -> S {
    // SAFETY: the caller's promise; all lanes of the warp are here if the warp is whole.
    unsafe {
        if WIDTH == WARP_SIZE
            && lanes.is_whole_warp()
            && let Some(reduced) = operator.combine_warp(state, WARP_SIZE)
        {
            return reduced;
        }
        let mut reduced = state;
        let mut delta = 1;
        if lanes.is_whole_warp() {
            // Nothing that the first lane of a section gets comes from a lane without a partner.
            while delta < WIDTH {
                let other = Lanes::<WIDTH>::ALL.shuffle_down(reduced, delta);
                reduced = operator.combine(reduced, other);
                delta *= 2;
            }
            return reduced;
        }
        while delta < WIDTH {
            let other = lanes.shuffle_down(reduced, delta);
            if lanes.rank() + delta <= lanes.last() {
                reduced = operator.combine(reduced, other);
            }
            delta *= 2;
        }
        reduced
    }
}

/// The states of the first lanes of a warp combined in their order, in its first lane. States of several words take only the steps that
/// so many lanes need. What the other lanes get is meaningless.
///
/// # Safety
/// The whole warp makes the call with the same operator and the same count; the lanes after the first `count` bring the identity.
#[inline(always)]
pub(crate) unsafe fn reduce_first<S: Words>(operator: impl Combine<S>, count: u32, state: S) -> S {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(reduced) = operator.combine_warp(state, count) {
            return reduced;
        }
        // A step with one word is over sooner than a look at whether it is needed.
        let count = if words_of(state) == 1 {
            WARP_SIZE
        } else {
            count
        };
        let mut reduced = state;
        let mut delta = 1;
        while delta < count {
            reduced = operator.combine(reduced, Lanes::WARP.shuffle_down(reduced, delta));
            delta *= 2;
        }
        reduced
    }
}

/// The states of each section combined, in every lane of it, with the same bits in each.
///
/// The operator must be commutative.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn reduce_all<S: Words, const WIDTH: u32>(
    operator: impl Combine<S>,
    lanes: Lanes<WIDTH>,
    state: S,
) -> S {
    // SAFETY: the caller's promise.
    unsafe {
        if !lanes.is_whole_warp() {
            return lanes.shuffle_index(reduce(operator, lanes, state), 0);
        }
        if WIDTH == WARP_SIZE
            && let Some(reduced) = operator.combine_warp(state, WARP_SIZE)
        {
            return reduced;
        }
        let mut reduced = state;
        let mut distance = 1;
        while distance < WIDTH {
            reduced = operator.combine(reduced, lanes.shuffle_xor(reduced, distance));
            distance *= 2;
        }
        reduced
    }
}

/// In each lane: the states of its section combined in their order, up to and with its own.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn inclusive_scan<S: Words, const WIDTH: u32>(
    operator: impl Combine<S>,
    lanes: Lanes<WIDTH>,
    state: S,
) -> S {
    let mut scanned = state;
    let mut delta = 1;
    while delta < WIDTH {
        // SAFETY: the caller's promise.
        let before = unsafe { lanes.shuffle_up(scanned, delta) };
        if lanes.rank() >= delta {
            scanned = operator.combine(before, scanned);
        }
        delta *= 2;
    }
    scanned
}

/// In each lane: the states of its section combined in their order, up to and without its own; the identity in the first.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn exclusive_scan<S: Words, const WIDTH: u32>(
    operator: impl Combine<S>,
    lanes: Lanes<WIDTH>,
    state: S,
) -> S {
    // SAFETY: the caller's promise.
    unsafe { exclusive(operator, lanes, inclusive_scan(operator, lanes, state)) }
}

/// The exclusive scan that belongs to an inclusive one.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub(crate) unsafe fn exclusive<S: Words, const WIDTH: u32>(
    operator: impl Combine<S>,
    lanes: Lanes<WIDTH>,
    inclusive: S,
) -> S {
    // SAFETY: the caller's promise.
    let before = unsafe { lanes.shuffle_up(inclusive, 1) };
    if lanes.rank() == 0 {
        operator.identity()
    } else {
        before
    }
}
