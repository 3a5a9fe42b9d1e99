//! Reductions and scans by all threads of a block, of one dimension and any size from 1 to 1024.
//!
//! Each warp works by itself; its result goes through a word of shared memory, and the first warp combines those. W is the number of
//! warps, ⌈B ∕ 32⌉. In [`rake`], one warp combines the states of all threads.
//!
//! | function | result | barriers | shared memory |
//! |---|---|---|---|
//! | [`reduce`] | in the first thread | 1, of one warp none | W states |
//! | [`rake`] | in the first thread; the operator must be commutative | 1, of one warp none | min(B, 512) states of 4 or 8 bytes, rounded up to 16 bytes, and 16 more; of others W |
//! | [`reduce_all`] | in every thread | 1 more | W states |
//! | [`inclusive_scan`], [`exclusive_scan`] | each thread's, and the whole block's | 1, with a last warp that is not whole 2 | W states |
//!
//! A kernel declares the shared memory with [`scratch!`](crate::scratch!), or for [`rake`] with [`raking_scratch!`](crate::raking_scratch!), for
//! blocks of up to as many threads as it says:
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

use core::marker::PhantomData;

use crate::lanes::WARP_SIZE;
use crate::opaque::from_here_on;
use crate::operator::{Combine, combine_all};
use crate::shuffle::Lanes;
use crate::thread::{block_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::unroll::array;
use crate::vector::Quad;
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

/// The most states that are raked. In a larger block two neighbouring threads combine theirs first: still more loads of a single warp would take
/// longer.
const RAKED: u32 = 512;

/// Bytes of a vector of states that are raked.
const VECTOR: u32 = size_of::<Quad>() as u32;

/// Whether such states can be [raked](rake). Larger ones would take more memory and registers than raking saves.
const fn can_be_raked<S>() -> bool {
    matches!(size_of::<S>(), 4 | 8)
}

/// Shared memory in which a warp [rakes](rake) the states of a block of up to `BLOCK` threads, which is uninitialised.
#[derive(Debug)]
pub struct RakingScratch<S, const BLOCK: u32> {
    vectors: *mut Quad,
    states: PhantomData<S>,
}

impl<S, const BLOCK: u32> Copy for RakingScratch<S, BLOCK> {}

impl<S, const BLOCK: u32> Clone for RakingScratch<S, BLOCK> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, const BLOCK: u32> RakingScratch<S, BLOCK> {
    /// How many vectors of 16 bytes it has.
    pub const LENGTH: u32 = {
        let (of_warps, bytes) = (Scratch::<S, BLOCK>::LENGTH, size_of::<S>() as u32);
        if can_be_raked::<S>() {
            let raked = if BLOCK < RAKED { BLOCK } else { RAKED };
            // The last vector is made whole.
            (raked * bytes).div_ceil(VECTOR) + 1
        } else {
            (of_warps * bytes).div_ceil(VECTOR)
        }
    };

    /// The scratch memory in a shared array; [`raking_scratch!`](crate::raking_scratch!) makes both.
    ///
    /// # Safety
    /// `vectors` points to [`LENGTH`](Self::LENGTH) vectors in shared memory, which the block uses for nothing else.
    #[inline(always)]
    pub unsafe fn new(vectors: *mut Quad) -> Self {
        Self {
            vectors,
            states: PhantomData,
        }
    }

    /// The memory as states.
    #[inline(always)]
    fn states(self) -> *mut S {
        self.vectors.cast()
    }
}

/// `raking_scratch!(name: State, block)`: [`RakingScratch`](crate::block::RakingScratch) for blocks of up to `block` threads, in a shared array
/// of that name.
#[macro_export]
macro_rules! raking_scratch {
    ($name:ident: $state:ty, $block:expr) => {{
        type Scratch = $crate::block::RakingScratch<$state, { $block }>;
        let vectors = $crate::shared_array!($name: [$crate::vector::Quad; Scratch::LENGTH]);
        // SAFETY: the array is as long, and nobody else knows it.
        unsafe { Scratch::new(vectors) }
    }};
}

mod sealed {
    pub trait Sealed {}
}

impl<S, const BLOCK: u32> sealed::Sealed for Scratch<S, BLOCK> {}

impl<S, const BLOCK: u32> sealed::Sealed for RakingScratch<S, BLOCK> {}

/// Shared memory in which a block combines the states of its threads: [`Scratch`] as [`reduce`] does, [`RakingScratch`] as [`rake`] does.
/// What takes either leaves it to the kernel. Nobody else can implement it.
pub trait Memory<S: Words>: Copy + sealed::Sealed {
    /// That of the same memory in which states of another type are combined as [`reduce`] does.
    #[doc(hidden)]
    type OfTrees<T: Words>: Memory<T>;

    /// It.
    ///
    /// # Safety
    /// A state of that type takes no more bytes than one of `S`, and has no larger alignment.
    #[doc(hidden)]
    unsafe fn of_trees<T: Words>(self) -> Self::OfTrees<T>;

    /// Where it begins.
    #[doc(hidden)]
    fn states(self) -> *mut S;

    /// [`reduce`] or [`rake`]: the operator must be commutative.
    ///
    /// # Safety
    /// As for these.
    #[doc(hidden)]
    unsafe fn combine(self, operator: impl Combine<S>, state: S) -> S;

    /// As [`Self::combine`]; and what a thread says about its block. Every thread learns whether any says so if `all_learn`, by the barrier
    /// that is needed anyway; that takes one of a single warp, too, and is slower than a plain one. Else each gets back what it has said.
    ///
    /// # Safety
    /// As for [`Self::combine`]; `all_learn` is the same in every thread.
    #[doc(hidden)]
    unsafe fn combine_and_say(
        self,
        operator: impl Combine<S>,
        state: S,
        says_so: bool,
        all_learn: bool,
    ) -> (S, bool);

    /// The state of the first thread, in every thread. Has two barriers: the memory may be in use before. Before it is used again there has
    /// to be another.
    ///
    /// # Safety
    /// Every thread of the block makes the call.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn broadcast(self, state: S) -> S {
        // SAFETY: there is room for a state, which the first thread writes between the barriers and the others read after them.
        unsafe {
            sync_threads();
            if thread_idx_x() == 0 {
                *self.states() = state;
            }
            sync_threads();
            *self.states()
        }
    }
}

impl<S: Words, const BLOCK: u32> Memory<S> for Scratch<S, BLOCK> {
    type OfTrees<T: Words> = Scratch<T, BLOCK>;

    #[inline(always)]
    unsafe fn of_trees<T: Words>(self) -> Scratch<T, BLOCK> {
        let states = self.states.cast();
        Scratch { states }
    }
    #[inline(always)]
    fn states(self) -> *mut S {
        self.states
    }
    #[inline(always)]
    unsafe fn combine(self, operator: impl Combine<S>, state: S) -> S {
        // SAFETY: the caller's promise, as below.
        unsafe { reduce(operator, state, self) }
    }
    #[inline(always)]
    unsafe fn combine_and_say(
        self,
        operator: impl Combine<S>,
        state: S,
        says_so: bool,
        all_learn: bool,
    ) -> (S, bool) {
        let (of_one_warp, barrier) = saying(says_so, all_learn);
        // SAFETY: see above.
        unsafe { reduce_by(operator, of_block(), state, self, of_one_warp, barrier) }
    }
}

impl<S: Words, const BLOCK: u32> Memory<S> for RakingScratch<S, BLOCK> {
    type OfTrees<T: Words> = Scratch<T, BLOCK>;

    #[inline(always)]
    unsafe fn of_trees<T: Words>(self) -> Scratch<T, BLOCK> {
        let states = self.vectors.cast();
        Scratch { states }
    }
    #[inline(always)]
    fn states(self) -> *mut S {
        self.vectors.cast()
    }
    #[inline(always)]
    unsafe fn combine(self, operator: impl Combine<S>, state: S) -> S {
        // SAFETY: the caller's promise, as below.
        unsafe { rake(operator, state, self) }
    }
    #[inline(always)]
    unsafe fn combine_and_say(
        self,
        operator: impl Combine<S>,
        state: S,
        says_so: bool,
        all_learn: bool,
    ) -> (S, bool) {
        let (of_one_warp, barrier) = saying(says_so, all_learn);
        // SAFETY: see above.
        unsafe { rake_by(operator, state, self, of_one_warp, barrier) }
    }
}

/// What a thread learns in a block of one warp, and by the barrier of another: see [`Memory::combine_and_say`].
#[inline(always)]
fn saying(says_so: bool, all_learn: bool) -> (impl FnOnce() -> bool, impl FnOnce() -> bool) {
    let of_one_warp = move || all_learn && sync_threads_or(says_so) || says_so;
    let barrier = move || {
        if !all_learn {
            sync_threads();
        }
        of_one_warp()
    };
    (of_one_warp, barrier)
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

/// The states of the block's threads combined in any order, in its first thread. What the others get is meaningless.
///
/// If the operator [is cheap](Combine::IS_CHEAP) and a state has 4 or 8 bytes, each thread writes its own to shared memory, and the first warp
/// combines them, several in each lane: CUB's "raking" (`BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY`). Some loads of 16 bytes and what combines them
/// take less time than the five steps of a warp. Other states are combined as [`reduce`] does.
///
/// The operator must be commutative. Before `scratch` is used again there has to be a barrier.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub unsafe fn rake<S: Words, O: Combine<S>, const BLOCK: u32>(
    operator: O,
    state: S,
    scratch: RakingScratch<S, BLOCK>,
) -> S {
    // SAFETY: the caller's promise.
    unsafe { rake_by(operator, state, scratch, || (), sync_threads).0 }
}

/// As [`rake`], and what the barrier gives, or `of_one_warp` in a block that needs none.
///
/// # Safety
/// As for [`rake`]; `barrier` is one of the block.
#[inline(always)]
unsafe fn rake_by<S: Words, O: Combine<S>, R, const BLOCK: u32>(
    operator: O,
    state: S,
    scratch: RakingScratch<S, BLOCK>,
    of_one_warp: impl FnOnce() -> R,
    barrier: impl FnOnce() -> R,
) -> (S, R) {
    let lanes = of_block();
    // SAFETY: the caller's promise; each state is written before the barrier and read after it; all lanes that there are make the calls, and
    // before another warp there is a whole one. There is room for `count` states and a vector more, and what makes the last vector whole comes
    // after all states.
    unsafe {
        if !(O::IS_CHEAP && can_be_raked::<S>()) {
            let scratch = scratch.of_trees();
            return reduce_by(operator, lanes, state, scratch, of_one_warp, barrier);
        }
        let threads = from_here_on(block_dim_x());
        if BLOCK <= WARP_SIZE || threads <= WARP_SIZE {
            return (warp::reduce(operator, lanes, state), of_one_warp());
        }
        let (mut mine, mut place, mut count, mut hands_in) = (state, thread_idx_x(), threads, true);
        if BLOCK > RAKED && threads > RAKED {
            let next = lanes.shuffle_down(mine, 1);
            if lane() < lanes.last() {
                mine = operator.combine(mine, next);
            }
            (hands_in, place, count) = (place % 2 == 0, place / 2, threads.div_ceil(2));
        }
        let states = scratch.states();
        if hands_in {
            *states.add(place as usize) = mine;
        }
        // The last vector is made whole.
        if thread_idx_x() < VECTOR / size_of::<S>() as u32 {
            *states.add((count + thread_idx_x()) as usize) = operator.identity();
        }
        let given = barrier();

        if warp_index() != 0 {
            return (mine, given);
        }
        let of_lane = match size_of::<S>() {
            4 => raked::<S, 4, 4>(operator, states, count),
            _ => raked::<S, 2, 8>(operator, states, count),
        };
        (warp::reduce(operator, Lanes::WARP, of_lane), given)
    }
}

/// What a lane of a warp rakes of `count` states: every 32nd of the vectors of `LANES` states, `VECTORS` of them at most.
///
/// # Safety
/// They are there, from a multiple of 16 bytes on, and the last vector is whole. `LANES` states have 16 bytes, and `count` is no more than 32 times
/// what `VECTORS` have.
#[inline(always)]
unsafe fn raked<S: Words, const LANES: usize, const VECTORS: usize>(
    operator: impl Combine<S>,
    states: *const S,
    count: u32,
) -> S {
    let vectors = states.cast::<RakedVector<S, LANES>>();
    let raked = array::<_, VECTORS>(
        #[inline(always)]
        |turn| {
            let place = lane() + turn as u32 * WARP_SIZE;
            if place * (LANES as u32) < count {
                // SAFETY: the caller's promise.
                unsafe { *vectors.add(place as usize) }.0
            } else {
                [operator.identity(); LANES]
            }
        },
    );
    let of_vectors = array::<_, VECTORS>(
        #[inline(always)]
        |turn| combine_all(operator, raked[turn]),
    );
    combine_all(operator, of_vectors)
}

/// 16 bytes of states.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct RakedVector<S, const LANES: usize>([S; LANES]);

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
