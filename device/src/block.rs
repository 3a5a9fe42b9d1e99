//! Reductions and scans by all threads of a block, of one dimension and any size from 1 to 1024.
//!
//! Each warp works by itself; its result goes through a word of shared memory, and the first warp combines those. W is the number of
//! warps, ⌈B ∕ 32⌉.
//!
//! | function | result | barriers | shared memory |
//! |---|---|---|---|
//! | [`reduce`] | in the first thread | 1, of one warp none | W states |
//! | [`reduce_all`] | in every thread | 1 more | W states |
//! | [`inclusive_scan`], [`exclusive_scan`] | each thread's, and the whole block's | 1, with a last warp that is not whole 2 | W states |
//!
//! A kernel declares the shared memory with [`scratch!`](crate::scratch!), for blocks of up to as many threads as it says:
//!
//! ```ignore
//! #[kernel]
//! pub unsafe fn sum_of_block(input: *const i32, sums: *mut i32) {
//!     let scratch = scratch!(scratch: i32, 1024);
//!     unsafe {
//!         let sum = block::reduce(Sum, *input.add(global_index()), scratch);
//!         if thread_idx_x() == 0 {
//!             *sums.add(block_idx_x() as usize) = sum;
//!         }
//!     }
//! }
//! ```

use crate::lanes::WARP_SIZE;
use crate::opaque::from_here_on;
use crate::operator::Combine;
use crate::shuffle::Lanes;
use crate::thread::{block_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::warp;
use crate::words::Words;

/// Shared memory for the states of the warps of a block of up to `BLOCK` threads, which is uninitialised.
#[derive(Debug)]
pub struct Scratch<S, const BLOCK: u32> {
    states: *mut S,
}

impl<S, const BLOCK: u32> Copy for Scratch<S, BLOCK> {}

impl<S, const BLOCK: u32> Clone for Scratch<S, BLOCK> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Copy, const BLOCK: u32> Scratch<S, BLOCK> {
    /// The same memory for states of another type.
    ///
    /// # Safety
    /// That takes no more bytes and has no larger alignment.
    #[inline(always)]
    pub(crate) unsafe fn of_smaller<T>(self) -> Scratch<T, BLOCK> {
        Scratch {
            states: self.states.cast(),
        }
    }

    /// The state of the first thread, in every thread. Has two barriers: the memory may be in use before. Before it is used again there has
    /// to be another.
    ///
    /// # Safety
    /// Every thread of the block makes the call.
    #[inline(always)]
    pub(crate) unsafe fn broadcast(self, state: S) -> S {
        // SAFETY: there is room for a state, which the first thread writes between the barriers and the others read after them.
        unsafe {
            sync_threads();
            if thread_idx_x() == 0 {
                *self.states = state;
            }
            sync_threads();
            *self.states
        }
    }
}

impl<S, const BLOCK: u32> Scratch<S, BLOCK> {
    /// How many states it has room for.
    pub const LENGTH: u32 = {
        assert!(BLOCK >= 1 && BLOCK <= 1024, "a block has 1 to 1024 threads");
        BLOCK.div_ceil(WARP_SIZE)
    };

    /// The scratch memory in a shared array; [`scratch!`](crate::scratch!) makes both.
    ///
    /// # Safety
    /// `states` points to [`LENGTH`](Self::LENGTH) states in shared memory, which the block uses for nothing else.
    #[inline(always)]
    pub unsafe fn new(states: *mut S) -> Self {
        Self { states }
    }
}

/// `scratch!(name: State, block)`: [`Scratch`](crate::block::Scratch) for blocks of up to `block` threads, in a shared array of that
/// name.
#[macro_export]
macro_rules! scratch {
    ($name:ident: $state:ty, $block:expr) => {{
        type Scratch = $crate::block::Scratch<$state, { $block }>;
        let states = $crate::shared_array!($name: [$state; Scratch::LENGTH]);
        // SAFETY: the array is as long, and nobody else knows it.
        unsafe { Scratch::new(states) }
    }};
}

/// The number of this thread's warp in its block.
#[inline(always)]
fn warp_index() -> u32 {
    thread_idx_x() / WARP_SIZE
}

/// The number of this thread in its warp. From the number in the block, which is at hand: to read the hardware's takes longer.
#[inline(always)]
fn lane() -> u32 {
    thread_idx_x() % WARP_SIZE
}

/// The number of warps of the block.
#[inline(always)]
fn warps() -> u32 {
    block_dim_x().div_ceil(WARP_SIZE)
}

/// The states of the block's threads combined in their order, in its first thread. What the others get is meaningless.
///
/// Before `scratch` is used again there has to be a barrier.
///
/// # Safety
/// Every thread of the block makes the call, with the same operator; the block has `BLOCK` threads at most.
#[inline(always)]
pub unsafe fn reduce<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    scratch: Scratch<S, BLOCK>,
) -> S {
    // SAFETY: the caller's promise.
    unsafe { reduce_by(operator, of_block(), state, scratch, || (), sync_threads).0 }
}

/// As [`reduce`], by a block of whole warps.
///
/// # Safety
/// As for [`reduce`]; the size of the block is a multiple of 32.
#[inline(always)]
pub(crate) unsafe fn reduce_whole_warps<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    scratch: Scratch<S, BLOCK>,
) -> S {
    // SAFETY: the caller's promise.
    unsafe { reduce_by(operator, Lanes::WARP, state, scratch, || (), sync_threads).0 }
}

/// As [`reduce`]; and what a thread says about its block. Every thread learns whether any says so if `all_learn`, by the barrier that is
/// needed anyway; that takes one of a single warp, too, and is slower than a plain one. Else each gets back what it has said.
///
/// # Safety
/// As for [`reduce`]; `all_learn` is the same in every thread.
#[inline(always)]
pub(crate) unsafe fn reduce_and_say<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    says_so: bool,
    all_learn: bool,
    scratch: Scratch<S, BLOCK>,
) -> (S, bool) {
    let of_one_warp = || all_learn && sync_threads_or(says_so) || says_so;
    let barrier = || {
        if !all_learn {
            sync_threads();
        }
        of_one_warp()
    };
    // SAFETY: the caller's promise.
    unsafe { reduce_by(operator, of_block(), state, scratch, of_one_warp, barrier) }
}

/// The lanes of this thread's warp that the block has. In a loop, what follows from the size of the block would otherwise be computed before
/// the loop, and so before its first load.
#[inline(always)]
fn of_block() -> Lanes {
    Lanes::first(from_here_on(block_dim_x()) - warp_index() * WARP_SIZE)
}

/// As [`reduce`], by these lanes of each warp, and what the barrier gives, or `of_one_warp` in a block that needs none.
///
/// # Safety
/// As for [`reduce`]; `barrier` is one of the block.
#[inline(always)]
unsafe fn reduce_by<S: Words, R, const BLOCK: u32>(
    operator: impl Combine<S>,
    lanes: Lanes,
    state: S,
    scratch: Scratch<S, BLOCK>,
    of_one_warp: impl FnOnce() -> R,
    barrier: impl FnOnce() -> R,
) -> (S, R) {
    let warps = from_here_on(block_dim_x()).div_ceil(WARP_SIZE);
    // SAFETY: the caller's promise; each state is written before the barrier and read after it; whole warps, but for lanes that do not
    // exist, make the calls.
    unsafe {
        let reduced = warp::reduce(operator, lanes, state);
        if BLOCK <= WARP_SIZE || warps == 1 {
            return (reduced, of_one_warp());
        }
        if lane() == 0 {
            *scratch.states.add(warp_index() as usize) = reduced;
        }
        let given = barrier();

        if warp_index() != 0 {
            return (reduced, given);
        }
        let mine = if lane() < warps {
            *scratch.states.add(lane() as usize)
        } else {
            operator.identity()
        };
        // Before another warp there is a whole one.
        (warp::reduce_first(operator, warps, mine), given)
    }
}

/// The states of the block's threads combined in their order, in every thread.
///
/// Before `scratch` is used again there has to be a barrier.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn reduce_all<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    scratch: Scratch<S, BLOCK>,
) -> S {
    // SAFETY: the caller's promise; only the first thread has read the first state, which it overwrites.
    unsafe {
        let reduced = reduce(operator, state, scratch);
        if thread_idx_x() == 0 {
            *scratch.states = reduced;
        }
        sync_threads();
        *scratch.states
    }
}

/// What a scan gives to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned<S> {
    /// The states up to the thread's combined: with its own in an inclusive scan, without it in an exclusive one.
    pub prefix: S,
    /// The states of all threads of the block combined.
    pub total: S,
}

/// For each thread, the states of the threads up to it and its own combined in their order.
///
/// Before `scratch` is used again there has to be a barrier.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn inclusive_scan<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    scratch: Scratch<S, BLOCK>,
) -> Scanned<S> {
    let lanes: Lanes = Lanes::of_block();
    // SAFETY: the caller's promise.
    unsafe {
        let of_warp = warp::inclusive_scan(operator, lanes, state);
        scan(operator, lanes, of_warp, of_warp, scratch)
    }
}

/// For each thread, the states of the threads up to it without its own combined in their order; the identity for the first.
///
/// Before `scratch` is used again there has to be a barrier.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn exclusive_scan<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    scratch: Scratch<S, BLOCK>,
) -> Scanned<S> {
    let lanes: Lanes = Lanes::of_block();
    // SAFETY: the caller's promise.
    unsafe {
        let of_warp = warp::inclusive_scan(operator, lanes, state);
        let mine = warp::exclusive(operator, lanes, of_warp);
        scan(operator, lanes, of_warp, mine, scratch)
    }
}

/// Puts what the warps before this one have before `mine`. `of_warp` is the inclusive scan of the warp.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn scan<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    lanes: Lanes,
    of_warp: S,
    mine: S,
    scratch: Scratch<S, BLOCK>,
) -> Scanned<S> {
    let (states, warp) = (scratch.states, warp_index());
    // SAFETY: as in `reduce`; between the barriers each state is read and written by one thread alone.
    unsafe {
        if lanes.rank() == lanes.last() {
            *states.add(warp as usize) = of_warp;
        }
        sync_threads();

        if warps() * WARP_SIZE == block_dim_x() {
            // Whole warps: each scans what all of them have.
            let total = if lanes.rank() < warps() {
                *states.add(lanes.rank() as usize)
            } else {
                operator.identity()
            };
            let scanned = warp::inclusive_scan(operator, Lanes::WARP, total);
            let before = lanes.shuffle_index(scanned, if warp == 0 { 0 } else { warp - 1 });
            return Scanned {
                prefix: if warp == 0 {
                    mine
                } else {
                    operator.combine(before, mine)
                },
                total: lanes.shuffle_index(scanned, warps() - 1),
            };
        }

        if warp == 0 {
            let is_of_warp = lanes.rank() < warps();
            let total = if is_of_warp {
                *states.add(lanes.rank() as usize)
            } else {
                operator.identity()
            };
            let scanned = warp::inclusive_scan(operator, lanes, total);
            if is_of_warp {
                *states.add(lanes.rank() as usize) = scanned;
            }
        }
        sync_threads();

        let prefix = if warp == 0 {
            mine
        } else {
            operator.combine(*states.add(warp as usize - 1), mine)
        };
        Scanned {
            prefix,
            total: *states.add(warps() as usize - 1),
        }
    }
}
