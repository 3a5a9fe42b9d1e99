//! How the results of the blocks become one, in the same launch.
//!
//! | function | needs | the result is | cost of a block |
//! |---|---|---|---|
//! | [`add_in_turns`] | two words that take turns; an atomic of the operator | of floats, not the same in every run | one atomic, whose answer nobody waits for |
//! | [`finish_by_ticket`] | a state per block and a counter | the same in every run of the same grid | a store, an atomic, a barrier; in the last block a load per block |

use cuda_std::gpu_only;

use crate::block::{self, Scratch};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{All, Any, Combine, CountNonzero, Max, Min, Sum};
use crate::thread::{block_dim_x, block_idx_x, grid_dim_x, sync_threads_or, thread_idx_x};
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
    // SAFETY: the caller's promise, with every block as a part.
    unsafe {
        let parts = Part {
            rank: block_idx_x(),
            of: grid_dim_x(),
        };
        finish_part_by_ticket(operator, state, parts, states, counter, scratch)
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

/// As [`finish_by_ticket`], for some blocks of the grid, or for parts that a block takes one after another. A single part meets nobody.
///
/// # Safety
/// - Every thread of a block makes the call once for a part, with the same operator; each part is handed in once. A block has `BLOCK`
///   threads at most.
/// - `states` points to one state per part and `counter` to a word that is 0, in global memory; nothing else touches them during the
///   launch.
#[inline(always)]
pub unsafe fn finish_part_by_ticket<S: Words, const BLOCK: u32>(
    operator: impl Combine<S>,
    state: S,
    part: Part,
    states: *mut S,
    counter: *mut u32,
    scratch: Scratch<S, BLOCK>,
) -> Option<S> {
    if part.of == 1 {
        return (thread_idx_x() == 0).then_some(state);
    }
    // SAFETY: the caller's promise. A ticket orders the store of a state before it, and the loads of the last block after it; being the
    // last holds for all threads of a block.
    unsafe {
        let mut is_last = false;
        if thread_idx_x() == 0 {
            *states.add(part.rank as usize) = state;
            is_last = draw_ticket(counter) == part.of - 1;
        }
        if !sync_threads_or(is_last) {
            return None;
        }
        let mut mine = operator.identity();
        let mut rank = thread_idx_x();
        while rank < part.of {
            mine = operator.combine(mine, *states.add(rank as usize));
            rank += block_dim_x();
        }
        let total = block::reduce(operator, mine, scratch);
        (thread_idx_x() == 0).then(|| {
            store_relaxed(counter, 0);
            total
        })
    }
}
