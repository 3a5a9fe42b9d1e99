//! # Cooperation 11 · The lanes that are here, as a group
//!
//! ## Before
//! Page 4 ended with a warning: the hardware decides which lanes come to an instruction together, so that nobody may take them for all that
//! took the branch. What are they good for?
//!
//! ## Idea
//! They are good for work that each lane could as well do alone. Keep the positive elements of an array, in any order: each needs a place in
//! the output, and the obvious way is an atomic addition of 1 for each. Thousands of them on one word wait for one another.
//!
//! The lanes that are here form a *group* with a size; each has a rank in it, the number of lanes before its own. One of them adds the size
//! of the group to the counter and tells the others the answer, and each takes the place at that answer plus its rank. This is *aggregated*:
//! one atomic for a group instead of one for a lane. If the hardware brings the lanes here in two groups, there are two atomics, and the
//! result is right all the same. That is why it may ask who is here.
//!
//! A group can also reduce. Its lanes are not neighbours, but each finds the next one in the mask, adds its value, and asks it for *its*
//! next: after each step a lane has the sum of twice as many. So the sum of the kept elements takes one atomic for a group as well. The
//! group is a value, [`Coalesced`], with [`rank`](Group::rank), [`size`](Group::size) and [`reduce`](Coalesced::reduce); the compiler
//! optimises it away.
//!
//! ## Picture
//! Lanes 0, 2, 3 and 5 keep their elements; all come together, and the counter is 40:
//! ```text
//! lane        0   1   2   3   4   5   6   7
//! rank        0       1   2       3              size 4
//! counter    40 → 44, by lane 0, which tells 40 to the others
//! place      40      41  42      43
//! next        2       3   5       –              a lane adds the value of its next
//! then        3       5   –       –              and then that of its next but one
//! ```
//!
//! ## Cost
//! For each group: two atomics, and for the size, the ranks and the answer two population counts and one shuffle; for the sum, 5 steps of two
//! shuffles. For each kept element one store; neighbours in a group write neighbouring places.
//!
//! ## Observe
//! In the PTX of `coalesced_group`: `activemask.b32`; eleven `shfl.sync.idx.b32`, one for the place and ten for the
//! sum; two `atom.global.add.u32`, of which nobody reads the second's answer.
//!
//! **Predict.** The lanes of a warp come together here. How many atomics do 2,048 warps execute in all, for the
//! places and for the sum?
//! ```console
//! $ warpfold profile coalesced_group -n 2^16 --metrics warps_launched,global_atomic_requests
//! ...
//! warps_launched                    2,048
//! global_atomic_requests            4,096
//! ...
//! ```
//! Two for each warp. About half of the elements are kept, so that without groups there would be sixteen for the
//! places alone.
//!
//! ## Break it
//! Let the leader take one place for the whole group: `fetch_add(1, …)`. The groups then write over one another's elements:
//! ```console
//! $ warpfold try coalesced_group --check -n 1000 --block 64
//! ...
//! blocks    16 of   64 threads: 1 finding
//! ...
//! racecheck: write after write at global address 0x7f0000001104 (4 bytes) in kernel ...
//! ...
//! ```
//! Or take the ballot of the whole warp for the group: on a GPU that brings the lanes here in two parts, the leader of one waits for lanes of the
//! other.
//!
//! ## Source
//! Andrew Adinets, *CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics* (NVIDIA, 2014); Mark Harris, Kyrylo Perelygin,
//! *Cooperative Groups: Flexible CUDA Thread Programming* (NVIDIA, 2017).

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use warpfold_device::group::{Coalesced, Group};
use warpfold_device::operator::Sum;

use crate::prelude::*;

/// Appends the positive elements to `kept`, in any order, and adds their number to `count` and their sum to `sum`.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `kept` to `n` that nothing else touches; `count` and `sum` to one word each that
///   others change by atomics at most. The count is 0 before.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn coalesced_group(
    values: *const i32,
    kept: *mut i32,
    count: *mut u32,
    sum: *mut i32,
    n: usize,
) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n. The lanes of the group are those that are here, so that all of them come to the shuffles. No
        // two threads get the same place, and there are no more places than elements.
        unsafe {
            let value = *values.add(index);
            if value > 0 {
                let group = Coalesced::here();
                let place = next_place(group, count);
                let of_group = group.reduce(Sum, value);
                if group.rank() == 0 {
                    AtomicI32::from_ptr(sum).fetch_add(of_group, Ordering::Relaxed);
                }
                *kept.add(place as usize) = value;
            }
        }
    }
}

/// A place of its own for each lane of the group, by one atomic.
///
/// # Safety
/// `count` points to a word in global memory that others change by atomics at most; all lanes of the group make the call.
#[inline(always)]
unsafe fn next_place(group: Coalesced, count: *mut u32) -> u32 {
    let mut first = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if group.rank() == 0 {
            first = AtomicU32::from_ptr(count).fetch_add(group.size(), Ordering::Relaxed);
        }
        group.shuffle(first, group.leader()) + group.rank()
    }
}
