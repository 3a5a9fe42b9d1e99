//! # Shapes 1 · Where the greatest is
//!
//! ## Before
//! The ladder ends with one number. Often the question is not how great the greatest element is but where it stands: the likeliest word,
//! the nearest neighbour, the worst error. A maximum has forgotten that.
//!
//! ## Idea
//! Let a *pair* go through the tree: a value and its place. The tree is that of step 9. A shuffle moves one word, so a pair takes two.
//! One function decides which of two pairs goes on, and all the rest is as before:
//!
//! - The greater value beats the other.
//! - Of equal values the one further left beats the other. So the result doesn't depend on who meets whom in the tree. 0.0 and −0.0 are
//!   equal.
//! - A NaN beats every number, and two NaNs are equal: the result is the first NaN if there is one, as in NumPy. Without this rule
//!   the tree would decide whether a NaN survives, because all comparisons with it are false.
//!
//! A missing element is a pair that every element beats: −∞ at a place beyond all others. With −∞ alone, an input of nothing but −∞ would
//! have its greatest element nowhere.
//!
//! In the tree the place is counted from the beginning of the tile, which fits into 32 bits. Only the result is a place in the array, of 64 bits.
//!
//! ## Picture
//! A warp of 8 lanes; each pair is value at place:
//! ```text
//! lane       0      1      2      3      4      5      6      7
//! pair      3@0    7@1    2@2    7@3    1@4    7@5    NaN@6  4@7
//! delta 4   3@0    7@1    NaN@6  7@3    ·      ·      ·      ·       7@1 and 7@5 are equal: further left
//! delta 2   NaN@6  7@1    ·      ·      ·      ·      ·      ·
//! delta 1   NaN@6  ·      ·      ·      ·      ·      ·      ·
//! ```
//!
//! ## Cost
//! For one block over a whole tile of 8B elements: 8B loads, and two stores of the result; 10 shuffles in each warp and 10 more in the
//! first; B/32 pairs of two words stored in shared memory, and as many loaded; 1 barrier. Apart from the loads and the
//! barrier, that is twice what step 9 takes.
//!
//! ## Observe
//! In the PTX of `argmax`: twenty `shfl.sync.down.b32`, and `setp.nan.f32` wherever two values are compared.
//!
//! **Predict.** Step 9 takes 1,088 wavefronts of shared memory for 2¹⁸ elements. How many does a tree of pairs take, and does it load more
//! sectors of global memory than the sum?
//! ```console
//! $ warpfold profile argmax -n 2^18 --set nans=0 --metrics global_load_sectors,shared_wavefronts,barriers
//! ...
//! global_load_sectors     32,768
//! shared_wavefronts        2,176
//! barriers                 1,024
//! ...
//! ```
//! Twice as many turns, because a pair is two words. The input is the same.
//!
//! **Predict.** Two elements are NaN. Which place is the result?
//! ```console
//! $ warpfold run argmax -n 2^16 --set nans=2 --device emulator
//! ...
//! greatest                            NaN
//! its first place                   21845
//! ...
//! ```
//! The first of the two.
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take 0.077 ms, 3460 GB/s; the sum of step 9 takes 0.071 ms.
//!
//! ## Break it
//! Let any equal value beat the other: leave `& (self.place < other.place)` out. The place then depends on who meets whom:
//! ```console
//! $ warpfold try argmax -n 2^12
//! ...
//! warpfold: `argmax` leaves 484 in element 0 of `places`, which should be 32
//! ```
//!
//! ## Source
//! NumPy's `argmax`, for what happens to NaN and to equal values; Duane Merrill's CUB, `ArgMax`, for the pair as the value of a reduction.

use crate::prelude::*;

/// Elements of a tile for each thread.
pub const EACH: u32 = 8;

/// The most warps of a block.
const MOST_WARPS: u32 = 32;

/// Whether a value is the greater one. A NaN is greater than any number.
#[inline(always)]
fn is_greater(one: f32, other: f32) -> bool {
    (one > other) | (one.is_nan() & !other.is_nan())
}

/// A value, and its place in the tile.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair {
    value: f32,
    place: u32,
}

impl Pair {
    /// What every element beats.
    const NONE: Self = Self {
        value: f32::NEG_INFINITY,
        place: u32::MAX,
    };

    /// Whether the value is greater, or as great and further left. A NaN is as great as another NaN.
    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        let are_nan = self.value.is_nan() & other.value.is_nan();
        let are_equal = (self.value == other.value) | are_nan;
        is_greater(self.value, other.value) | (are_equal & (self.place < other.place))
    }

    /// The one that beats the other.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        if other.beats(self) { other } else { self }
    }
}

/// Writes the greatest value of each tile of 8B elements to `greatest`, and to `places` where it first stands in the array.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, `greatest` and `places` to one per block each that nothing else touches.
/// - The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn argmax(values: *const f32, greatest: *mut f32, places: *mut u64, n: usize) {
    let warp_pairs = shared_array!(warp_pairs: [Pair; MOST_WARPS]);
    let block = block_dim_x();
    let start = block_idx_x() as usize * (EACH * block) as usize;
    let count = (n - start).min((EACH * block) as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one element per warp,
    // and every thread of the block makes the call.
    unsafe {
        let mine = pair_of_thread(values.add(start), count, block);
        if let Some(pair) = pair_of_block(mine, warp_pairs) {
            *greatest.add(block_idx_x() as usize) = pair.value;
            *places.add(block_idx_x() as usize) = start as u64 + u64::from(pair.place);
        }
    }
}

/// The pair that beats the others of this thread's elements: the one at its index and every B-th after it.
///
/// # Safety
/// `tile` points to `count` values.
#[inline(always)]
unsafe fn pair_of_thread(tile: *const f32, count: u32, block: u32) -> Pair {
    let tid = thread_idx_x();
    // SAFETY: the places are below `count`.
    unsafe {
        if count < EACH * block {
            let mut best = Pair::NONE;
            let mut place = tid;
            while place < count {
                let value = *tile.add(place as usize);
                best = best.or(Pair { value, place });
                place += block;
            }
            return best;
        }
        // A whole tile: eight loads that don't depend on one another.
        let mine = tile.add(tid as usize);
        let values: [f32; EACH as usize] =
            core::array::from_fn(|step| *mine.add(step * block as usize));
        let mut best = Pair {
            value: values[0],
            place: tid,
        };
        let mut step = 1;
        while step < EACH {
            let value = values[step as usize];
            // Those that come later are further right.
            if is_greater(value, best.value) {
                best = Pair {
                    value,
                    place: tid + step * block,
                };
            }
            step += 1;
        }
        best
    }
}

/// The pair that beats the others of the block, in thread 0.
///
/// # Safety
/// `warp_pairs` points to one element per warp that only this block touches; all threads of the block make the call, once.
#[inline(always)]
unsafe fn pair_of_block(mine: Pair, warp_pairs: *mut Pair) -> Option<Pair> {
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let warps = block_dim_x() / WARP_SIZE;
    // SAFETY: whole warps make the calls; there is one element per warp, each written before the barrier.
    unsafe {
        let pair = pair_of_warp(mine);
        if lane == 0 {
            *warp_pairs.add(warp as usize) = pair;
        }
        sync_threads();

        if warp != 0 {
            return None;
        }
        let mine = if lane < warps {
            *warp_pairs.add(lane as usize)
        } else {
            Pair::NONE
        };
        let pair = pair_of_warp(mine);
        if lane == 0 { Some(pair) } else { None }
    }
}

/// The pair that beats the others of the warp, in lane 0. What the other lanes get is meaningless.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
unsafe fn pair_of_warp(mine: Pair) -> Pair {
    let mut best = mine;
    let mut delta = WARP_SIZE / 2;
    while delta > 0 {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        let above = unsafe {
            Pair {
                value: shuffle_down(best.value, delta),
                place: shuffle_down(best.place, delta),
            }
        };
        best = best.or(above);
        delta /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_pairs_one_beats_the_other_whatever_their_order() {
        let values = [
            f32::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            1.0,
            f32::INFINITY,
            f32::NAN,
            -f32::NAN,
        ];
        let pairs = || {
            let places = 0..3_u32;
            values
                .into_iter()
                .flat_map(move |value| places.clone().map(move |place| Pair { value, place }))
        };
        for one in pairs() {
            assert!(one.beats(Pair::NONE) && !Pair::NONE.beats(one));
            for other in pairs() {
                let differ = one.place != other.place
                    || (one.value != other.value && !(one.value.is_nan() & other.value.is_nan()));
                assert_eq!(one.beats(other) ^ other.beats(one), differ);
            }
        }
    }
}
