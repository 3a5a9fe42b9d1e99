//! How the results of the blocks become one, in the same launch.
//!
//! | function | needs | the result is | cost of a block |
//! |---|---|---|---|
//! | [`add_in_turns`] | two words that take turns; an atomic of the operator | of floats, not the same in every run | one atomic, whose answer nobody waits for |
//! | [`finish_by_ticket`] | a state per block and a counter | the same in every run of the same grid | a store, an atomic, a barrier; in the last block a load per block |
//! | [`Turn`] | a slot per block and a counter | the same in every run of the same grid | an atomic while the values are loaded, a store; in the last block a load per block |
//!
//! After its values a block that draws a ticket waits twice for memory, once until its state is stored and once for the answer, before the
//! last one can load the states. With a [`Turn`] the ticket is drawn before the values are loaded, and each state says itself when it is there:
//! of the three ways to memory and back one is left.

use cuda_std::gpu_only;

use crate::block::{self, Memory, Scratch};
use crate::lanes::{WARP_SIZE, sync_lanes};
use crate::memory::{draw_ticket, draw_turn, store_relaxed};
use crate::operator::{All, Any, ByKey, Combine, CountNonzero, KEYED, Max, Min, Sum};
use crate::shuffle::Lanes;
use crate::slots::{AT_ONCE, Hand, Keys, Slots};
use crate::thread::{
    block_dim_x, block_idx_x, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x,
};
use crate::unroll::{array, each};
use crate::warp;
use crate::words::Words;

/// An operator that the memory itself carries out.
pub trait CombineAtomically<S>: Combine<S> {
    /// Combines a word in global memory with a state. It returns nothing, so no thread waits for an answer, and it orders nothing.
    ///
    /// # Safety
    /// `word` points to global memory, and while others use it, they change it only by atomic operations.
    unsafe fn combine_atomically(self, word: *mut S, state: S);
}

/// `red` instructions by operator and type: the instruction, the registers of its operand, and the operand's bits.
macro_rules! atomics {
    ($($operator:ident $state:ident: $instruction:literal $register:ident, |$value:ident| $bits:expr;)*) => {$(
        impl CombineAtomically<$state> for $operator {
            #[gpu_only]
            #[inline(always)]
            unsafe fn combine_atomically(self, word: *mut $state, state: $state) {
                let $value = state;
                // SAFETY: one atomic operation on a word that is valid by the caller's promise.
                unsafe {
                    core::arch::asm!(
                        concat!("red.relaxed.gpu.global.", $instruction, " [{word}], {bits};"),
                        word = in(reg64) word,
                        bits = in($register) $bits,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    )*};
}

atomics! {
    Sum i32: "add.s32" reg32, |value| value;
    Sum u32: "add.u32" reg32, |value| value;
    Sum i64: "add.u64" reg64, |value| value;
    Sum u64: "add.u64" reg64, |value| value;
    Sum f32: "add.f32" reg32, |value| value.to_bits();
    Sum f64: "add.f64" reg64, |value| value.to_bits();
    Min i32: "min.s32" reg32, |value| value;
    Min u32: "min.u32" reg32, |value| value;
    Min i64: "min.s64" reg64, |value| value;
    Min u64: "min.u64" reg64, |value| value;
    Max i32: "max.s32" reg32, |value| value;
    Max u32: "max.u32" reg32, |value| value;
    Max i64: "max.s64" reg64, |value| value;
    Max u64: "max.u64" reg64, |value| value;
    Any u32: "or.b32" reg32, |value| value;
    All u32: "and.b32" reg32, |value| value;
    CountNonzero u64: "add.u64" reg64, |value| value;
}

/// Combines the state of a block with `total`, and writes the identity to `next`, the total of the next launch: the two words take
/// turns, so that no launch is needed to clear them.
///
/// # Safety
/// - The first thread of every block makes the call, once, and no other thread does.
/// - `total` and `next` point to a state each in global memory, which nothing else touches during the launch. The first holds the
///   identity when the launch begins, or what the result is to be combined with.
#[inline(always)]
pub unsafe fn add_in_turns<S>(
    operator: impl CombineAtomically<S>,
    state: S,
    total: *mut S,
    next: *mut S,
) {
    // SAFETY: the caller's promise; only one thread touches `next`.
    unsafe {
        operator.combine_atomically(total, state);
        if block_idx_x() == 0 {
            *next = operator.identity();
        }
    }
}

/// The states of all blocks combined, in the first thread of the block that is the last to come; `None` in every other thread. Each
/// block hands in the state of its first thread.
///
/// The last block takes the states in an order that the shape of the launch alone decides, so that a sum of floats has the same bits in
/// every run. The operator must be commutative. The counter is 0 again afterwards, ready for the next launch.
///
/// Before `scratch` is used again there has to be a barrier; before this call no other is needed, even if the block has just used it.
///
/// # Safety
/// - Every thread of the grid makes the call once, with the same operator. A block has `BLOCK` threads at most.
/// - `states` points to one state per block and `counter` to a word that is 0, in global memory; nothing else touches them during the
///   launch.
#[inline(always)]
pub unsafe fn finish_by_ticket<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    states: *mut S,
    counter: *mut u32,
    scratch: Scratch<S, BLOCK>,
) -> Option<S> {
    let blocks = grid_dim_x();
    if blocks == 1 {
        return (thread_idx_x() == 0).then_some(state);
    }
    // SAFETY: the caller's promise. A ticket orders the store of a state before it, and the loads of the last block after it; being the
    // last holds for all threads of a block.
    unsafe {
        let mut is_last = false;
        if thread_idx_x() == 0 {
            *states.add(block_idx_x() as usize) = state;
            is_last = draw_ticket(counter) == blocks - 1;
        }
        if !sync_threads_or(is_last) {
            return None;
        }
        let mut mine = operator.identity();
        let mut block = thread_idx_x();
        while block < blocks {
            mine = operator.combine(mine, *states.add(block as usize));
            block += block_dim_x();
        }
        let total = block::reduce(operator, mine, scratch);
        (thread_idx_x() == 0).then(|| {
            store_relaxed(counter, 0);
            total
        })
    }
}

/// Which of several blocks that work on the same values a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the block among them: 0 to `of` − 1.
    pub rank: u32,
    /// How many they are, at least one.
    pub of: u32,
}

impl Part {
    /// The block among all of the grid.
    #[inline(always)]
    pub fn of_grid() -> Self {
        Self {
            rank: block_idx_x(),
            of: grid_dim_x(),
        }
    }
}

/// The turn of a block among those that work on the same values: the last to begin combines the states of all.
///
/// A block draws it before it loads its values, and hands in at the end, with a [`Scratch`] or a [`RakingScratch`](block::RakingScratch):
///
/// ```ignore
/// let turn = Turn::draw(Part::of_grid(), slots, 0, counter);
/// let mine = vector::fold::<LOADS, T, O>(operator, input, n, 0, Share::of_grid());
/// if let Some(state) = turn.reduce(operator, mine, n as u64, scratch) {
///     *result = operator.finish(state, n as u64);
/// }
/// ```
#[derive(Debug)]
pub struct Turn<S> {
    part: Part,
    slots: Slots<S>,
    /// The slot of the first part; those of the others follow.
    first: usize,
    /// A word that is 0 between launches.
    counter: *mut u32,
    /// How many blocks have begun before, in the first thread.
    before: u32,
}

impl<S: Words> Turn<S> {
    /// Draws the next turn. The slot of the first part is `first`, and those of the others follow. A single part meets nobody.
    ///
    /// # Safety
    /// Every thread of a block makes the call, once for each part that it takes, and [`Self::reduce`] before the next. All parts are taken.
    /// If there are several, each has a slot, which is empty, and the counter is 0; nothing else touches them.
    #[inline(always)]
    pub unsafe fn draw(part: Part, slots: Slots<S>, first: usize, counter: *mut u32) -> Self {
        let before = if part.of > 1 && thread_idx_x() == 0 {
            // SAFETY: the caller's promise.
            unsafe { draw_turn(counter) }
        } else {
            0
        };
        Self {
            part,
            slots,
            first,
            counter,
            before,
        }
    }

    /// The states of all parts combined, in the first thread of the block that was the last to draw; `None` in every other thread. `state` is
    /// that of a thread's values, and all indices are below `indices`.
    ///
    /// The last block takes the parts in their order, so that a sum of floats has the same bits in every run. It waits for blocks that have
    /// drawn before, and so run already, none of which waits before it has handed in. The operator must be commutative. Slots and counter
    /// are afterwards as before the first draw.
    ///
    /// Before `scratch` is used again there has to be a barrier.
    ///
    /// # Safety
    /// Every thread of the block makes the call, with the same operator; the block has no more threads than `scratch` is for.
    #[inline(always)]
    pub unsafe fn reduce<O: Combine<S>>(
        self,
        operator: O,
        state: S,
        indices: u64,
        scratch: impl Memory<S>,
    ) -> Option<S> {
        // SAFETY: the caller's promise and that of `draw`.
        unsafe {
            if O::HAS_KEYS && indices <= KEYED {
                let (key, keys) = (operator.key(state), Keys::of(self.slots));
                let all = self.meet(keys, ByKey, key, scratch.of_trees())?;
                return Some(operator.of_key(all));
            }
            self.meet(self.slots, operator, state, scratch)
        }
    }

    /// As [`Self::reduce`], by whatever is handed in.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn meet<H: Words>(
        &self,
        hand: impl Hand<H>,
        operator: impl Combine<H>,
        state: H,
        scratch: impl Memory<H>,
    ) -> Option<H> {
        let Part { rank, of } = self.part;
        let is_first_thread = thread_idx_x() == 0;
        // SAFETY: the caller's promise and that of `draw`.
        unsafe {
            if of == 1 {
                let total = scratch.combine(operator, state);
                return is_first_thread.then_some(total);
            }
            let is_last = is_first_thread && self.before == of - 1;
            let at_once = hand.at_once(state);
            let one_warp_takes_all = of <= at_once as u32 * WARP_SIZE && block_dim_x() >= WARP_SIZE;
            // Of a single warp, only that warp has to learn that its block is the last.
            let all_learn = !one_warp_takes_all;
            let (of_block, is_last) = scratch.combine_and_say(operator, state, is_last, all_learn);
            if is_first_thread && !is_last {
                hand.hand_in(self.first + rank as usize, of_block);
            }
            let total = if one_warp_takes_all {
                if thread_idx_x() >= WARP_SIZE {
                    return None;
                }
                let lanes = Lanes::WARP;
                if lanes.shuffle_index(u32::from(is_last), 0) == 0 {
                    return None;
                }
                let own = lanes.shuffle_index(of_block, 0);
                let mine = match at_once {
                    AT_ONCE => self.handed_in::<H, AT_ONCE>(hand, operator, own, lanes.rank()),
                    _ => self.handed_in::<H, 1>(hand, operator, own, lanes.rank()),
                };
                // Lanes that have waited in turns are slow to shuffle.
                sync_lanes(lanes.mask());
                warp::reduce(operator, lanes, mine)
            } else if !is_last {
                return None;
            } else {
                let own = scratch.broadcast(of_block);
                let mut mine = operator.identity();
                let mut rank = thread_idx_x();
                while rank < of {
                    let one = self.handed_in::<H, 1>(hand, operator, own, rank);
                    mine = operator.combine(mine, one);
                    rank += block_dim_x();
                }
                sync_threads();
                scratch.combine(operator, mine)
            };
            is_first_thread.then(|| {
                store_relaxed(self.counter, 0);
                total
            })
        }
    }

    /// The states of several parts combined, as soon as they are handed in: that of this rank and those of ranks 32 apart. `own` is that of
    /// this block. The identity for those that there are not.
    ///
    /// # Safety
    /// Of all threads of the last block, one makes the call for a part.
    #[inline(always)]
    unsafe fn handed_in<H: Copy, const N: usize>(
        &self,
        hand: impl Hand<H>,
        operator: impl Combine<H>,
        own: H,
        rank: u32,
    ) -> H {
        let Part { rank: own_rank, of } = self.part;
        let slot = self.first + rank as usize;
        let slot = |number: usize| slot + number * WARP_SIZE as usize;
        let rank = |number: usize| rank + number as u32 * WARP_SIZE;
        let is_others = |number| (rank(number) < of) & (rank(number) != own_rank);
        // SAFETY: the caller's promise. The blocks of the others have drawn before this one, and hand in without waiting.
        unsafe {
            let states = loop {
                // All loads are under way before the first is looked at.
                let looks = array::<_, N>(
                    #[inline(always)]
                    |number| {
                        if is_others(number) {
                            hand.find(slot(number), own)
                        } else {
                            (own, true)
                        }
                    },
                );
                let mut are_there = true;
                each(
                    N,
                    #[inline(always)]
                    |number| are_there &= looks[number].1,
                );
                if are_there {
                    break looks;
                }
            };
            let mut all = operator.identity();
            each(
                N,
                #[inline(always)]
                |number| {
                    if is_others(number) {
                        hand.clear(slot(number), own);
                    }
                    if rank(number) < of {
                        all = operator.combine(all, states[number].0);
                    }
                },
            );
            all
        }
    }
}
