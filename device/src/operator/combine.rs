//! How two states become one, and several.

use crate::unroll::each;

/// A way to combine two states into one, in any grouping.
///
/// # Laws
/// For all states a, b and c, where ⊕ is [`combine`](Self::combine):
/// - a ⊕ [`identity`](Self::identity) = [`identity`](Self::identity) ⊕ a = a, to the last bit (a NaN stays a NaN);
/// - (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c); where floats are added or multiplied, up to the rounding of each ⊕;
/// - a ⊕ b = b ⊕ a, to the last bit (a NaN, where one is a NaN). [`warp::reduce`](crate::warp::reduce),
///   [`block::reduce`](crate::block::reduce) and the scans keep the order of the values and do without this law; whatever spreads
///   an array over threads needs it.
pub trait Combine<S>: Copy {
    /// The state that stands for no value.
    fn identity(self) -> S;

    /// One state of two.
    fn combine(self, left: S, right: S) -> S;

    /// The states of the first lanes of a warp combined, in the first lane, if there is a faster way than one [`combine`](Self::combine)
    /// after the other: an instruction of the architecture, say. With a count of 32 every lane has them.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it with the same count, and none has exited; the lanes after the first `count` bring the identity.
    #[inline(always)]
    unsafe fn combine_warp(self, state: S, count: u32) -> Option<S> {
        let _ = (state, count);
        None
    }

    /// Whether two states are combined by an instruction or two, as numbers are added. One lane then combines a few states sooner than
    /// several lanes, which have to shuffle them: [`block::rake`](crate::block::rake) does so.
    const IS_CHEAP: bool = false;

    /// Whether states have a [`key`](Self::key). Such a state takes 8 bytes or more, and begins at a multiple of 8.
    const HAS_KEYS: bool = false;

    /// A number that stands for a state, where [`HAS_KEYS`](Self::HAS_KEYS) and all indices are below 2³² − 2: of two states, the one with
    /// the greater key is the two combined. It is never 0, and that of the identity is the least. Keys are combined in fewer instructions than
    /// states, and stored at once.
    #[inline(always)]
    fn key(self, state: S) -> u64 {
        let _ = state;
        1
    }

    /// The state that a key stands for, and of 0 the identity.
    #[inline(always)]
    fn of_key(self, key: u64) -> S {
        let _ = key;
        self.identity()
    }
}

/// Indices below this one fit into a [`key`](Combine::key).
pub(crate) const KEYED: u64 = u32::MAX as u64 - 1;

/// Up to 32 states combined in their order, neighbours first; the identity of none.
#[inline(always)]
pub fn combine_all<S: Copy, const N: usize>(operator: impl Combine<S>, states: [S; N]) -> S {
    if N == 0 {
        return operator.identity();
    }
    pairwise(
        states,
        #[inline(always)]
        |left, right| operator.combine(left, right),
    )
}

/// As [`combine_all`], by a function, of one state at least.
#[inline(always)]
pub(super) fn pairwise<S: Copy, const N: usize>(
    mut states: [S; N],
    combine: impl Fn(S, S) -> S,
) -> S {
    const { assert!(N <= 32) };
    each(
        5,
        #[inline(always)]
        |level| {
            let stride = 1 << level;
            each(
                16,
                #[inline(always)]
                |pair| {
                    let place = 2 * stride * pair;
                    if place + stride < N {
                        states[place] = combine(states[place], states[place + stride]);
                    }
                },
            );
        },
    );
    states[0]
}
