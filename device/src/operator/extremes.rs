//! The least and the greatest value together.

use super::{Combine, Operator};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Max, Min};
use crate::element::Element;
use crate::number::Number;
use crate::unroll::map_all;

/// The least and the greatest value, each as [`Min`](super::Min) and [`Max`](super::Max) give it, from one reading of the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinMax;

/// The least and the greatest of some values.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extremes<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}

crate::words! { Extremes<T> { min, max } }

// SAFETY: zero bits are a value of both fields.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Extremes<T> {}
// SAFETY: two fields of one type in C's layout have nothing between them.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Extremes<T> {}

impl<N: Number> Combine<Extremes<N>> for MinMax {
    #[inline(always)]
    fn identity(self) -> Extremes<N> {
        Extremes {
            min: N::GREATEST,
            max: N::LEAST,
        }
    }

    #[inline(always)]
    fn combine(self, left: Extremes<N>, right: Extremes<N>) -> Extremes<N> {
        Extremes {
            min: left.min.lesser(right.min),
            max: left.max.greater(right.max),
        }
    }
}

impl<T: Element> Operator<T> for MinMax {
    const ORDER_MATTERS: bool = <T::Wide as Number>::IS_FLOAT;

    type State = Extremes<T::Wide>;
    type Output = Extremes<T>;

    #[inline(always)]
    fn lift(self, value: T, _index: u64) -> Extremes<T::Wide> {
        let wide = value.widen();
        Extremes {
            min: wide,
            max: wide,
        }
    }

    #[inline(always)]
    fn lift_spaced<const N: usize>(
        self,
        values: [T; N],
        _index: u64,
        _step: u64,
    ) -> Extremes<T::Wide> {
        self.accumulate(self.identity(), [values], 0, 0)
    }

    #[inline(always)]
    fn accumulate<const V: usize, const N: usize>(
        self,
        state: Extremes<T::Wide>,
        vectors: [[T; N]; V],
        _index: u64,
        _step: u64,
    ) -> Extremes<T::Wide> {
        let wide = map_all(vectors, T::widen);
        let of_vectors = Extremes {
            min: T::Wide::least_of(wide),
            max: T::Wide::greatest_of(wide),
        };
        self.combine(state, of_vectors)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn lift_slice(self, values: &[T], _index: u64) -> Extremes<T::Wide> {
        const BLOCK: usize = 4096;
        let mut state = self.identity();
        for block in values.chunks(BLOCK) {
            let right = Extremes {
                min: Operator::<T>::lift_slice(Min, block, 0),
                max: Operator::<T>::lift_slice(Max, block, 0),
            };
            state = self.combine(state, right);
        }
        state
    }

    #[inline(always)]
    fn finish(self, state: Extremes<T::Wide>, _count: u64) -> Extremes<T> {
        Extremes {
            min: T::narrow(state.min),
            max: T::narrow(state.max),
        }
    }
}
