//! Where the least or the greatest value is.

use core::marker::PhantomData;

use super::combine::pairwise;
#[cfg(not(target_arch = "nvptx64"))]
use super::slice::extreme;
use super::{Combine, Operator};
use crate::element::Element;
use crate::number::Number;
use crate::shuffle::shuffle_xor;
use crate::unroll::{array, each, each_of, map_all};

/// The index of the least value. A NaN is less than any number and equal to any NaN, as in NumPy, so that the index is that of a NaN
/// if there is one; −0.0 and 0.0 are equal.
///
/// `I` is the type of the index, `u64` or, by [`with_index`](Self::with_index), `u32`: half as many bytes to write, where no result is of more than
/// 2³² − 1 values. States have the index in 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct ArgMin<I = u64> {
    ties: Ties,
    index: PhantomData<I>,
}

/// The index of the greatest value. A NaN is greater than any number; otherwise as [`ArgMin`].
#[derive(Clone, Copy, Debug)]
pub struct ArgMax<I = u64> {
    ties: Ties,
    index: PhantomData<I>,
}

/// Which of several equal values is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// That with the least index.
    #[default]
    First,
    /// That with the greatest index.
    Last,
}

/// The best value so far, and where it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best<N> {
    /// Its index; the greatest index where there is no value.
    pub index: u64,
    /// The value.
    pub value: N,
}

crate::words! { Best<N> { index, value } }

/// The index that no value has.
const NONE: u64 = u64::MAX;

/// The type of an index.
pub trait Index: Copy {
    /// How many values have one.
    const MOST: u64;

    /// The lower bits.
    fn of(index: u64) -> Self;
}

macro_rules! indices {
    ($($index:ident)*) => {$(
        impl Index for $index {
            const MOST: u64 = Self::MAX as u64;

            #[inline(always)]
            fn of(index: u64) -> Self {
                index as Self
            }
        }
    )*};
}

indices! { u32 u64 }

/// A NaN, of floats.
#[inline(always)]
fn nan<N: Number>() -> N {
    N::LEAST.plus(N::GREATEST)
}

/// The rank of a number among those where both zeros are equal, and all NaNs, which are less than all others or greater.
#[inline(always)]
fn rank_of<const NAN_IS_LEAST: bool, N: Number>(value: N) -> N::Rank {
    let value = if value == N::ADDITIVE_IDENTITY {
        N::ADDITIVE_IDENTITY
    } else if value.is_nan() {
        nan()
    } else {
        value
    };
    value.rank::<NAN_IS_LEAST>()
}

/// Whether `right` takes the place of `left`: it comes `before` in the order of values, or is equal and its index decides.
#[inline(always)]
fn takes_over<N: Number>(left: Best<N>, right: Best<N>, is_before: bool, ties: Ties) -> bool {
    let equal = (left.value == right.value) | (left.value.is_nan() & right.value.is_nan());
    let before = is_before | (right.value.is_nan() & !left.value.is_nan());
    let by_index = match ties {
        Ties::First => right.index < left.index,
        Ties::Last => (right.index > left.index) & (right.index != NONE),
    };
    // What stands for no value comes after all, whatever its value is equal to.
    ((before & !left.value.is_nan()) | (equal & (by_index | (left.index == NONE))))
        & (right.index != NONE)
}

/// The first or the last of some numbers, counted from 0, of which something holds; of none the last or the first.
#[inline(always)]
fn choose<const N: usize>(
    ties: Ties,
    mut holds: impl FnMut(usize) -> bool,
    mut chosen: impl FnMut(usize),
) {
    each(
        N,
        #[inline(always)]
        |step| {
            // What is chosen last stays.
            let number = match ties {
                Ties::First => N - 1 - step,
                Ties::Last => step,
            };
            if step == 0 || holds(number) {
                chosen(number);
            }
        },
    );
}

/// Where among vectors the first or the last value is that is equal to `value`, their extreme, or is NaN: the number of its vector, its place
/// in that, and the value with the sign that its zero has. `extremes` are those of each vector.
#[inline(always)]
fn find<N: Number, const V: usize, const LANES: usize>(
    vectors: [[N; LANES]; V],
    extremes: [N; V],
    value: N,
    is_nan: bool,
    ties: Ties,
) -> (u32, u32, N) {
    let (mut vector, mut place, mut found) = (0, 0, value);
    if is_nan {
        let mut values = vectors[0];
        choose::<V>(
            ties,
            #[inline(always)]
            |number| N::is_any_nan([vectors[number]]),
            #[inline(always)]
            |number| (vector, values) = (number as u32, vectors[number]),
        );
        choose::<LANES>(
            ties,
            #[inline(always)]
            |number| values[number].is_nan(),
            #[inline(always)]
            |number| place = number as u32,
        );
        return (vector, place, nan());
    }
    // First the vector, and then the place in it: a comparison for each of them, not for each value.
    let mut values = vectors[0];
    choose::<V>(
        ties,
        #[inline(always)]
        |number| extremes[number] == value,
        #[inline(always)]
        |number| (vector, values) = (number as u32, vectors[number]),
    );
    choose::<LANES>(
        ties,
        #[inline(always)]
        |number| values[number] == value,
        #[inline(always)]
        |number| (place, found) = (number as u32, values[number]),
    );
    (vector, place, found)
}

/// Of up to so many values the best is found by comparing two at a time; of more their extreme is found first, and then where it is.
const FEW: usize = 8;

/// How many values are searched at once for their extreme: few enough to stay in the nearest cache for a search for its place.
#[cfg(not(target_arch = "nvptx64"))]
const BLOCK: usize = 4096;

/// Where in a block a value of it is.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn place_of<T: Element>(block: &[T], value: T::Wide, ties: Ties) -> usize {
    let is_it = |candidate: &T| {
        let candidate = candidate.widen();
        (candidate == value) | (candidate.is_nan() & value.is_nan())
    };
    // First the piece, whose values are compared without a branch.
    const PIECE: usize = 64;
    let has_it = |piece: &[T]| {
        let mut has = false;
        for value in piece {
            has |= is_it(value);
        }
        has
    };
    let pieces = block.len().div_ceil(PIECE);
    let of = |piece: usize| &block[piece * PIECE..block.len().min((piece + 1) * PIECE)];
    let piece = match ties {
        Ties::First => (0..pieces).find(|&piece| has_it(of(piece))),
        Ties::Last => (0..pieces).rfind(|&piece| has_it(of(piece))),
    };
    let piece = piece.unwrap_or_default();
    let place = match ties {
        Ties::First => of(piece).iter().position(is_it),
        Ties::Last => of(piece).iter().rposition(is_it),
    };
    piece * PIECE + place.unwrap_or_default()
}

macro_rules! arg {
    ($operator:ident: $worst:ident, $before:tt, $not_before:tt, $of_two:ident, $extreme:ident, $is_least:literal) => {
        impl $operator {
            /// The first of equal values.
            pub const FIRST: Self = Self { ties: Ties::First, index: PhantomData };
            /// The last of equal values.
            pub const LAST: Self = Self { ties: Ties::Last, index: PhantomData };
        }

        impl<I> $operator<I> {
            /// The same with an index of this type: `FIRST.with_index::<u32>()`.
            #[inline(always)]
            pub const fn with_index<J>(self) -> $operator<J> {
                $operator { ties: self.ties, index: PhantomData }
            }

            /// Which of equal values it is.
            #[inline(always)]
            pub fn ties(self) -> Ties {
                self.ties
            }

            /// Of small integers, the best and its place, vector by vector; of others nothing. The place becomes the lowest bits of the number.
            #[inline(always)]
            fn best_of_small<T: Element, const V: usize, const N: usize>(
                self,
                wide: [[T::Wide; N]; V],
            ) -> Option<(T::Wide, u32)> {
                let bits = 8 * size_of::<T>() as u32;
                let ranks = (V * N) as u32 - 1;
                if bits > 16 || T::Wide::ADDITIVE_IDENTITY.with_rank(bits, ranks).is_none() {
                    return None;
                }
                let is_rank_the_place = matches!(self.ties, Ties::Last) != $is_least;
                let mut keys = wide;
                each_of(
                    wide,
                    #[inline(always)]
                    |place, value| {
                        let rank = if is_rank_the_place { place as u32 } else { ranks - place as u32 };
                        keys[place / N][place % N] = value.with_rank(bits, rank).unwrap_or(value);
                    },
                );
                let best = pairwise(keys.map(|keys| pairwise(keys, T::Wide::$of_two)), T::Wide::$of_two);
                let (value, rank) = best.without_rank(bits);
                Some((value, if is_rank_the_place { rank } else { ranks - rank }))
            }

            /// The place and the value of the best of a few values, two of which are compared at a time, without a branch.
            #[inline(always)]
            fn best_of_few<N: Number, const V: usize>(self, values: [N; V]) -> (u32, N) {
                let is_last = matches!(self.ties, Ties::Last);
                let numbered = array::<_, V>(#[inline(always)] |place| (place as u32, values[place]));
                pairwise(
                    numbered,
                    #[inline(always)]
                    |left, right| if Self::beats(right.1, left.1, is_last) { right } else { left },
                )
            }

            /// Whether a value takes the place of the best of those before it: it comes before that, or is equal, and the last of equals
            /// is meant. A NaN is neither greater than a number nor less.
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN comes before all numbers, and one comparison says so")]
            fn beats<N: Number>(value: N, best: N, is_last: bool) -> bool {
                let is_before = !best.is_nan() & !(value $not_before best);
                let is_equal = (value == best) | (value.is_nan() & best.is_nan());
                is_before | (is_equal & is_last)
            }
        }

        impl<N: Number, I: Index> Combine<Best<N>> for $operator<I> {
            #[inline(always)]
            fn identity(self) -> Best<N> {
                Best { index: NONE, value: N::$worst }
            }

            #[inline(always)]
            fn combine(self, left: Best<N>, right: Best<N>) -> Best<N> {
                let is_before = right.value $before left.value;
                if takes_over(left, right, is_before, self.ties) { right } else { left }
            }

            /// By ranks, which are compared more quickly than floats. Value and index go together: to find the best value first, and then
            /// the index of its lane, takes fewer instructions and more time, since each waits for the one before.
            #[inline(always)]
            unsafe fn combine_warp(self, state: Best<N>, count: u32) -> Option<Best<N>> {
                let mut rank = rank_of::<$is_least, N>(state.value);
                // Among equal values the greatest number wins; 0 stands for no value.
                let mut number = match self.ties {
                    Ties::First => !state.index,
                    Ties::Last => state.index.wrapping_add(1),
                };
                let mut distance = 1;
                while distance < count {
                    let (other, other_number) =
                        // SAFETY: the caller's promise.
                        unsafe { (shuffle_xor(rank, distance), shuffle_xor(number, distance)) };
                    if (other $before rank) | ((other == rank) & (other_number > number)) {
                        (rank, number) = (other, other_number);
                    }
                    distance *= 2;
                }
                let index = match self.ties {
                    Ties::First => !number,
                    Ties::Last => number.wrapping_sub(1),
                };
                Some(Best { index, value: N::of_rank::<$is_least>(rank) })
            }

            /// The rank in the upper half, and in the lower one the number that is greater where the index is chosen among equals.
            const HAS_KEYS: bool = N::SHORT_RANKS && align_of::<Best<N>>() >= align_of::<u64>();

            #[inline(always)]
            fn key(self, state: Best<N>) -> u64 {
                let rank = N::short_rank(rank_of::<$is_least, N>(state.value));
                let rank = if $is_least { !rank } else { rank };
                // The numbers of those that have no value, 0 and 1, are less than those of all others.
                let index = state.index as u32;
                let number = match self.ties {
                    Ties::First => !index,
                    Ties::Last => index.wrapping_add(2),
                };
                if state.index == NONE { 1 } else { u64::from(rank) << 32 | u64::from(number) }
            }

            #[inline(always)]
            fn of_key(self, key: u64) -> Best<N> {
                if key <= 1 {
                    return self.identity();
                }
                let (rank, number) = ((key >> 32) as u32, key as u32);
                let rank = if $is_least { !rank } else { rank };
                let index = match self.ties {
                    Ties::First => !number,
                    Ties::Last => number.wrapping_sub(2),
                };
                Best { index: index.into(), value: N::of_rank::<$is_least>(N::of_short_rank(rank)) }
            }
        }

        impl<T: Element, I: Index> Operator<T> for $operator<I> {
            const ORDER_MATTERS: bool = false;
            const MOST_VALUES: u64 = I::MOST;
            const INDICES_MOVE: bool = true;
            const NUMBERS_ARE_QUICKER: bool = <T::Wide as Number>::IS_FLOAT;
            const PICKS_VALUES: bool = true;
            /// A short state is the key of the best value, and below it a number that is greater for the value that is meant of equal ones, and
            /// never 0.
            const VALUES_OF_SHORT: u32 = if T::KEY_BITS > 0 { u32::MAX >> T::KEY_BITS } else { 0 };

            type State = Best<T::Wide>;
            type Output = I;

            #[inline(always)]
            fn lift(self, value: T, index: u64) -> Best<T::Wide> {
                Best { index, value: value.widen() }
            }

            #[inline(always)]
            fn lift_spaced<const N: usize>(self, values: [T; N], index: u64, step: u64) -> Best<T::Wide> {
                if N == 0 {
                    return self.identity();
                }
                let wide = map_all([values], T::widen);
                if let Some((value, place)) = self.best_of_small::<T, 1, N>(wide) {
                    return Best { index: index.wrapping_add(u64::from(place) * step), value };
                }
                let (place, value) = if N <= FEW {
                    self.best_of_few(wide[0])
                } else {
                    let is_nan = T::Wide::is_any_nan(wide);
                    let value = pairwise(wide[0], T::Wide::$of_two);
                    let (_, place, value) = find(wide, [value], value, is_nan, self.ties);
                    (place, value)
                };
                Best { index: index.wrapping_add(u64::from(place) * step), value }
            }

            #[inline(always)]
            fn accumulate<const V: usize, const N: usize>(
                self,
                state: Best<T::Wide>,
                vectors: [[T; N]; V],
                index: u64,
                step: u64,
            ) -> Best<T::Wide> {
                let wide = map_all(vectors, T::widen);
                let is_last = matches!(self.ties, Ties::Last);
                let best_at = |vector: u32, place: u32, value| {
                    let index = index.wrapping_add(u64::from(vector) * step).wrapping_add(place.into());
                    Best { index, value }
                };
                let is_first_of_all = state.index == NONE;

                if let Some((value, place)) = self.best_of_small::<T, V, N>(wide) {
                    return if is_first_of_all | Self::beats(value, state.value, is_last) {
                        best_at(place / N as u32, place % N as u32, value)
                    } else {
                        state
                    };
                }

                if N == 1 && V <= FEW && cfg!(target_arch = "nvptx64") {
                    let (place, value) = self.best_of_few(array::<_, V>(|vector| wide[vector][0]));
                    let beats = is_first_of_all | Self::beats(value, state.value, is_last);
                    return if beats { best_at(place, 0, value) } else { state };
                }

                let is_nan = T::Wide::is_any_nan(wide);
                let extremes = array::<_, V>(
                    #[inline(always)]
                    |vector| pairwise(wide[vector], T::Wide::$of_two),
                );
                let value = pairwise(extremes, T::Wide::$of_two);
                let is_before = (value $before state.value) | (is_nan & !state.value.is_nan());
                let is_equal = if is_nan { state.value.is_nan() } else { value == state.value };
                let beats = is_first_of_all | is_before | (is_last & is_equal);
                // Of many values the place is looked for only if the extreme beats the state; of few without a branch, except on a host.
                if (V * N >= 8 || cfg!(not(target_arch = "nvptx64"))) && !beats {
                    return state;
                }
                let (vector, place, value) = find(wide, extremes, value, is_nan, self.ties);
                if beats { best_at(vector, place, value) } else { state }
            }

            #[inline(always)]
            fn short_identity(self) -> u32 {
                i32::MIN as u32
            }

            #[inline(always)]
            fn extend_short(self, short: u32, value: T, place: u32) -> u32 {
                let number = match self.ties {
                    Ties::First => <Self as Operator<T>>::VALUES_OF_SHORT - place,
                    Ties::Last => place + 1,
                };
                let other = value.key::<$is_least>() | number as i32;
                <Self as Operator<T>>::combine_short(self, short, other as u32)
            }

            /// The number is below the key, and stays there, since places are never greater than there is room for.
            #[inline(always)]
            fn moved_short(self, short: u32, by: u32) -> u32 {
                if short == i32::MIN as u32 {
                    return short;
                }
                match self.ties {
                    Ties::First => short.wrapping_sub(by),
                    Ties::Last => short.wrapping_add(by),
                }
            }

            #[inline(always)]
            fn combine_short(self, left: u32, right: u32) -> u32 {
                let (left, right) = (left as i32, right as i32);
                (if right > left { right } else { left }) as u32
            }

            #[inline(always)]
            fn of_short(self, short: u32, index_of: impl Fn(u32) -> u64) -> Best<T::Wide> {
                if short == i32::MIN as u32 {
                    return self.identity();
                }
                let most = <Self as Operator<T>>::VALUES_OF_SHORT;
                let place = match self.ties {
                    Ties::First => most - (short & most),
                    Ties::Last => (short & most) - 1,
                };
                Best {
                    index: index_of(place),
                    value: T::of_key::<$is_least>(short as i32),
                }
            }

            #[inline(always)]
            fn moved(self, state: Best<T::Wide>, by: u64) -> Best<T::Wide> {
                let index = if state.index == NONE { NONE } else { state.index.wrapping_add(by) };
                Best { index, ..state }
            }

            #[inline(always)]
            fn is_any_nan(self, values: [T; 2]) -> bool {
                T::Wide::is_any_nan(map_all([values], T::widen))
            }
            #[inline(always)]
            fn takes_over(self, value: T, best: T) -> bool {
                Self::beats(value.widen(), best.widen(), matches!(self.ties, Ties::Last))
            }
            #[inline(always)]
            fn takes_over_number(self, value: T, best: T) -> bool {
                let (value, best) = (value.widen(), best.widen());
                match self.ties {
                    Ties::First => value $before best,
                    Ties::Last => best $not_before value,
                }
            }

            /// The values alone first, and the index only where they beat all before.
            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn lift_slice(self, values: &[T], index: u64) -> Best<T::Wide> {
                let mut best = self.identity();
                let mut start = index;
                for block in values.chunks(BLOCK) {
                    let value = extreme::<$is_least, T, T::Wide>(block, T::widen);
                    let right = Best { index: start, value };
                    if takes_over(best, right, value $before best.value, self.ties) {
                        let place = place_of(block, value, self.ties);
                        best = Best { index: start + place as u64, value };
                    }
                    start += block.len() as u64;
                }
                best
            }
            #[inline(always)]
            fn finish(self, state: Best<T::Wide>, _count: u64) -> I {
                I::of(state.index)
            }
        }
    };
}

arg!(ArgMin: GREATEST, <, >=, lesser_number, lesser, true);
arg!(ArgMax: LEAST, >, <=, greater_number, greater, false);
