//! The numbers that operators compute in: integers and floats of 32 and 64 bits.

use crate::math::Float;
use crate::unroll::each_of;
use crate::words::Words;

/// A number of 32 or 64 bits. Integers wrap around; floats round to the nearest.
pub trait Number: Words + PartialEq + PartialOrd {
    /// What can be added without a change: 0, of floats −0.0 (−0.0 + 0.0 is 0.0).
    const ADDITIVE_IDENTITY: Self;
    /// The number 1.
    const ONE: Self;
    /// The least number there is, of floats −∞.
    const LEAST: Self;
    /// The greatest number there is, of floats ∞.
    const GREATEST: Self;

    /// Whether it is a float: rounded, of two zeros, and possibly NaN.
    const IS_FLOAT: bool;

    /// An integer in whose order the numbers are; a NaN of floats comes before all others or after them.
    type Rank: Words + Ord;

    /// The rank among numbers where a NaN is less than all others, or greater.
    fn rank<const NAN_IS_LEAST: bool>(self) -> Self::Rank;

    /// The number with this rank.
    fn of_rank<const NAN_IS_LEAST: bool>(rank: Self::Rank) -> Self;

    /// Whether a rank has 32 bits.
    const SHORT_RANKS: bool = false;

    /// A rank of 32 bits as an unsigned integer in the same order.
    #[inline(always)]
    fn short_rank(rank: Self::Rank) -> u32 {
        let _ = rank;
        0
    }

    /// The rank that was one.
    #[inline(always)]
    fn of_short_rank(short: u32) -> Self::Rank {
        let _ = short;
        Self::LEAST.rank::<false>()
    }

    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// The lesser; of floats NaN if one is NaN, and −0.0 is less than 0.0.
    fn lesser(self, other: Self) -> Self;
    /// The greater; of floats NaN if one is NaN, and 0.0 is greater than −0.0.
    fn greater(self, other: Self) -> Self;
    /// The least of several, as [`lesser`](Self::lesser) gives it; the greatest number there is of none.
    #[inline(always)]
    fn least_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
        fold_all(Self::GREATEST, values, Self::lesser)
    }
    /// The greatest of several, as [`greater`](Self::greater) gives it; the least number there is of none.
    #[inline(always)]
    fn greatest_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
        fold_all(Self::LEAST, values, Self::greater)
    }
    /// The lowest bits of an integer of 32 bits above a rank, as many of them as fit beside it; `None` of other numbers. Two of these are
    /// in the order of the numbers, and equal numbers in that of their ranks.
    #[inline(always)]
    fn with_rank(self, bits: u32, rank: u32) -> Option<Self> {
        let _ = (bits, rank);
        None
    }
    /// The number and the rank of such a one.
    #[inline(always)]
    fn without_rank(self, bits: u32) -> (Self, u32) {
        let _ = bits;
        (self, 0)
    }

    /// The lesser of two numbers, and of a number and a NaN the number.
    fn lesser_number(self, other: Self) -> Self;
    /// The greater of two numbers, and of a number and a NaN the number.
    fn greater_number(self, other: Self) -> Self;

    /// Whether it is no number at all.
    fn is_nan(self) -> bool;
    /// Whether one of several is NaN.
    #[inline(always)]
    fn is_any_nan<const V: usize, const N: usize>(values: [[Self; N]; V]) -> bool {
        let mut is_nan = false;
        if Self::IS_FLOAT {
            each_of(
                values,
                #[inline(always)]
                |place, value| {
                    // Of each pair at once: one instruction.
                    if place % 2 == 1 {
                        is_nan |=
                            values[(place - 1) / N][(place - 1) % N].is_nan() | value.is_nan();
                    } else if place + 1 == V * N {
                        is_nan |= value.is_nan();
                    }
                },
            );
        }
        is_nan
    }

    /// The sum of the warp's 32 numbers in every lane, if the architecture has one instruction for it.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it, and none has exited. So for the next two.
    #[inline(always)]
    unsafe fn sum_of_warp(self) -> Option<Self> {
        None
    }
    /// The least of the warp's 32 numbers.
    ///
    /// # Safety
    /// As for [`sum_of_warp`](Self::sum_of_warp).
    #[inline(always)]
    unsafe fn least_of_warp(self) -> Option<Self> {
        None
    }
    /// The greatest of the warp's 32 numbers.
    ///
    /// # Safety
    /// As for [`sum_of_warp`](Self::sum_of_warp).
    #[inline(always)]
    unsafe fn greatest_of_warp(self) -> Option<Self> {
        None
    }
}

/// One value after the other taken into the first.
#[inline(always)]
fn fold_all<S: Copy, const V: usize, const N: usize>(
    first: S,
    values: [[S; N]; V],
    combine: impl Fn(S, S) -> S,
) -> S {
    let mut state = first;
    each_of(
        values,
        #[inline(always)]
        |_, value| state = combine(state, value),
    );
    state
}

/// The least or the greatest of several by their ranks, which a host compares in fewer instructions than floats.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn by_ranks<const IS_LEAST: bool, R: Number, const V: usize, const N: usize>(
    of_none: R,
    values: [[R; N]; V],
    choose: impl Fn(R::Rank, R::Rank) -> R::Rank,
) -> R {
    let mut chosen = of_none.rank::<IS_LEAST>();
    each_of(
        values,
        #[inline(always)]
        |_, value| chosen = choose(chosen, value.rank::<IS_LEAST>()),
    );
    R::of_rank::<IS_LEAST>(chosen)
}

/// `integers! { i32 { what it overrides } u64 {} }`
macro_rules! integers {
    ($($value:ident { $($overridden:item)* })*) => {$(
        impl Number for $value {
            const ADDITIVE_IDENTITY: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;
            const IS_FLOAT: bool = false;

            type Rank = Self;
            #[inline(always)]
            fn rank<const NAN_IS_LEAST: bool>(self) -> Self {
                self
            }
            #[inline(always)]
            fn of_rank<const NAN_IS_LEAST: bool>(rank: Self) -> Self {
                rank
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
            #[inline(always)]
            fn lesser_number(self, other: Self) -> Self {
                self.lesser(other)
            }
            #[inline(always)]
            fn greater_number(self, other: Self) -> Self {
                self.greater(other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            $($overridden)*
        }
    )*};
}

/// Ranks of 32 bits, of which signed ones have their sign inverted.
macro_rules! short_ranks {
    ($rank:ident) => {
        const SHORT_RANKS: bool = true;
        #[inline(always)]
        fn short_rank(rank: $rank) -> u32 {
            rank as u32 ^ $rank::MIN as u32
        }
        #[inline(always)]
        fn of_short_rank(short: u32) -> $rank {
            (short ^ $rank::MIN as u32) as $rank
        }
    };
}

/// A reduction of a warp by one instruction, where there is one.
macro_rules! by_redux {
    ($name:ident, |$value:ident| $reduced:expr) => {
        #[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
        #[inline(always)]
        unsafe fn $name(self) -> Option<Self> {
            let $value = self;
            // SAFETY: the caller's promise.
            Some(unsafe { $reduced })
        }
    };
}

/// Of integers of 32 bits.
macro_rules! ranked {
    () => {
        #[inline(always)]
        fn with_rank(self, bits: u32, rank: u32) -> Option<Self> {
            Some((self << (32 - bits)) | rank as Self)
        }
        #[inline(always)]
        fn without_rank(self, bits: u32) -> (Self, u32) {
            (self >> (32 - bits), self as u32 & (u32::MAX >> bits))
        }
    };
}

integers! {
    i32 {
        short_ranks!(i32);
        ranked!();
        by_redux!(sum_of_warp, |value| crate::redux::redux_add(value));
        by_redux!(least_of_warp, |value| crate::redux::redux_min(value));
        by_redux!(greatest_of_warp, |value| crate::redux::redux_max(value));
    }
    u32 {
        short_ranks!(u32);
        ranked!();
        by_redux!(sum_of_warp, |value| crate::redux::redux_add(value as i32) as u32);
        by_redux!(least_of_warp, |value| crate::redux::redux_min_u32(value));
        by_redux!(greatest_of_warp, |value| crate::redux::redux_max_u32(value));
    }
    i64 {}
    u64 {}
}

macro_rules! floats {
    ($($value:ident $rank:ident $bits:ident { $($short:item)* })*) => {$(
        const _: () = {
        const INFINITE: $rank = $value::INFINITY.to_bits() as $rank;

        /// The bits of a float as an integer that is greater where the float is, and back.
        #[inline(always)]
        fn in_order(bits: $rank) -> $rank {
            bits ^ (((bits >> ($rank::BITS - 1)) as $bits) >> 1) as $rank
        }

        impl Number for $value {
            const ADDITIVE_IDENTITY: Self = -0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = Self::NEG_INFINITY;
            const GREATEST: Self = Self::INFINITY;
            const IS_FLOAT: bool = true;

            type Rank = $rank;
            #[inline(always)]
            fn rank<const NAN_IS_LEAST: bool>(self) -> $rank {
                let rank = in_order(self.to_bits() as $rank);
                // The NaNs of one sign go round to the others.
                if NAN_IS_LEAST { rank.wrapping_add($rank::MAX - INFINITE) } else { rank.wrapping_sub($rank::MAX - INFINITE) }
            }
            #[inline(always)]
            fn of_rank<const NAN_IS_LEAST: bool>(rank: $rank) -> Self {
                let rank = if NAN_IS_LEAST { rank.wrapping_sub($rank::MAX - INFINITE) } else { rank.wrapping_add($rank::MAX - INFINITE) };
                Self::from_bits(in_order(rank) as $bits)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                Float::minimum(self, other)
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                Float::maximum(self, other)
            }
            #[inline(always)]
            fn least_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                return by_ranks::<true, Self, V, N>(Self::INFINITY, values, Ord::min);
                #[cfg(target_arch = "nvptx64")]
                Float::least_of(values)
            }
            #[inline(always)]
            fn greatest_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
                #[cfg(not(target_arch = "nvptx64"))]
                return by_ranks::<false, Self, V, N>(Self::NEG_INFINITY, values, Ord::max);
                #[cfg(target_arch = "nvptx64")]
                Float::greatest_of(values)
            }
            #[inline(always)]
            fn lesser_number(self, other: Self) -> Self {
                Float::lesser_number(self, other)
            }
            #[inline(always)]
            fn greater_number(self, other: Self) -> Self {
                Float::greater_number(self, other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            $($short)*
        }
        };
    )*};
}

floats! {
    f32 i32 u32 { short_ranks!(i32); }
    f64 i64 u64 {}
}
