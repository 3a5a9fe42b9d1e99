//! The sum of the products of two arrays.

use super::order::Order;
use super::slots::{self, CHUNK};
use super::widest::{Task, widest};
use rayon::prelude::*;
use warpfold_device::element::Element;
use warpfold_device::number::Number;
use warpfold_device::operator::Dot;

/// Chunks that a thread takes at least, so that it is busy for longer than it takes to hand them to it.
const CHUNKS: usize = 8;

/// The sum, of arrays that are as long as each other. It does not depend on the number of cores in either order.
pub(super) fn dot<T: Element<Wide: Send + Sync> + Send + Sync>(
    left: &[T],
    right: &[T],
    order: Order,
) -> T::Wide {
    let chunks = left.par_chunks(CHUNK).zip(right.par_chunks(CHUNK));
    let chunks = chunks.with_min_len(CHUNKS);
    match order {
        Order::Fast => {
            let sums: Vec<_> = chunks
                .map(|(left, right)| widest(Products { left, right }))
                .collect();
            sums.into_iter()
                .fold(T::Wide::ADDITIVE_IDENTITY, T::Wide::plus)
        }
        Order::Deterministic => {
            let room = || (Vec::new(), Vec::new());
            let of_chunk = |(pairs, slots): &mut (Vec<(T, T)>, _), (left, right): (&[T], &[T])| {
                pairs.clear();
                pairs.extend(left.iter().copied().zip(right.iter().copied()));
                widest(InOrder { pairs, slots })
            };
            let sums: Vec<_> = chunks.map_init(room, of_chunk).collect();
            slots::of_chunks(Dot, &mut Vec::new(), &sums)
        }
    }
}

/// The sum of the products of a chunk, in the deterministic order.
struct InOrder<'a, T: Element> {
    pairs: &'a [(T, T)],
    slots: &'a mut Vec<T::Wide>,
}

impl<T: Element> Task for InOrder<'_, T> {
    type Output = T::Wide;

    #[inline(always)]
    fn run(self) -> T::Wide {
        slots::state(Dot, self.slots, self.pairs, 0)
    }
}

/// The sum of the products of some pairs.
struct Products<'a, T> {
    left: &'a [T],
    right: &'a [T],
}

impl<T: Element> Task for Products<'_, T> {
    type Output = T::Wide;

    #[inline(always)]
    fn run(self) -> T::Wide {
        /// Sums side by side, for as many lanes of vectors.
        const LANES: usize = 64;
        let mut sums = [T::Wide::ADDITIVE_IDENTITY; LANES];
        let (lefts, left_rest) = self.left.as_chunks::<LANES>();
        let (rights, right_rest) = self.right.as_chunks::<LANES>();
        for (left, right) in lefts.iter().zip(rights) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum = sum.plus(left.widen().times(right.widen()));
            }
        }
        let rest = left_rest.iter().zip(right_rest);
        let rest = rest.map(|(left, right)| left.widen().times(right.widen()));
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                sums[lane] = sums[lane].plus(sums[lane + half]);
            }
            half /= 2;
        }
        rest.fold(sums[0], T::Wide::plus)
    }
}
