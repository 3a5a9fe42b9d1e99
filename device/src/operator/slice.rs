//! Values that lie side by side in the memory of a host, reduced in lanes: loops that the compiler turns into vector instructions.

use super::combine::{Combine, combine_all};
use crate::number::Number;
use crate::unroll::array;

/// How many states a loop keeps: enough that no addition waits for the one before, and few enough for the registers.
pub const LANES: usize = 32;

/// How many values are taken at once for each lane. They are combined before the lane's state is, which then waits for the one before less often: sums of
/// `f32` took half to two thirds of the time on one core of an AMD EPYC.
const DEPTH: usize = 8;

/// The state of all values, of which lane l combines those with index l, l + [`LANES`], and so on. `lift` gets a value and its index.
#[inline(always)]
pub fn in_lanes<T: Copy, S: Copy>(
    operator: impl Combine<S>,
    values: &[T],
    index: u64,
    lift: impl Fn(T, u64) -> S,
) -> S {
    let one_by_one = |mut state: S, values: &[T], index: u64| {
        for (place, &value) in values.iter().enumerate() {
            state = operator.combine(state, lift(value, index + place as u64));
        }
        state
    };
    if values.len() < LANES {
        return one_by_one(operator.identity(), values, index);
    }
    let (deep, rest) = values.as_chunks::<{ DEPTH * LANES }>();
    let (whole, rest) = rest.as_chunks::<LANES>();
    let mut states = [operator.identity(); LANES];
    let mut index = index;
    for values in deep {
        for lane in 0..LANES {
            let lifted = array::<_, DEPTH>(
                #[inline(always)]
                |depth| {
                    let place = depth * LANES + lane;
                    lift(values[place], index + place as u64)
                },
            );
            states[lane] = operator.combine(states[lane], combine_all(operator, lifted));
        }
        index += (DEPTH * LANES) as u64;
    }
    for values in whole {
        for lane in 0..LANES {
            states[lane] = operator.combine(states[lane], lift(values[lane], index + lane as u64));
        }
        index += LANES as u64;
    }
    one_by_one(combine_all(operator, states), rest, index)
}

/// The least of some values, as [`Min`](crate::operator::Min) has it, or the greatest, as [`Max`](crate::operator::Max). `number` makes
/// a number of a value.
#[inline(always)]
pub fn extreme<const IS_LEAST: bool, T: Copy, N: Number>(
    values: &[T],
    number: impl Fn(T) -> N,
) -> N {
    let of_none = if IS_LEAST { N::GREATEST } else { N::LEAST };
    let by_rank = ByRank::<N::Rank, IS_LEAST> {
        of_none: of_none.rank::<IS_LEAST>(),
    };
    // Of small integers the compiler compares as many as fit into a vector, and converts one of them.
    let rank = |value| number(value).rank::<IS_LEAST>();
    let (whole, rest) = values.as_chunks::<{ DEPTH * LANES }>();
    let mut ranks = [by_rank.identity(); LANES];
    for values in whole {
        for lane in 0..LANES {
            let deep = array::<_, DEPTH>(
                #[inline(always)]
                |depth| rank(values[depth * LANES + lane]),
            );
            ranks[lane] = by_rank.combine(ranks[lane], combine_all(by_rank, deep));
        }
    }
    let of_rest = in_lanes(
        by_rank,
        rest,
        0,
        #[inline(always)]
        |value, _| rank(value),
    );
    N::of_rank::<IS_LEAST>(by_rank.combine(combine_all(by_rank, ranks), of_rest))
}

/// The lesser of two ranks, or the greater.
#[derive(Clone, Copy)]
struct ByRank<R, const IS_LEAST: bool> {
    of_none: R,
}

impl<R: Copy + Ord, const IS_LEAST: bool> Combine<R> for ByRank<R, IS_LEAST> {
    #[inline(always)]
    fn identity(self) -> R {
        self.of_none
    }
    #[inline(always)]
    fn combine(self, left: R, right: R) -> R {
        if IS_LEAST {
            left.min(right)
        } else {
            left.max(right)
        }
    }
}
