//! Another accumulator than the usual one.

use core::marker::PhantomData;

use super::{Combine, Dot, Operator};
use crate::number::Number;
use crate::unroll::map_all;

/// The operator `O` of values that are converted to `A` first, which must be possible without loss. `As::<i64, _>::new(Sum)` adds `i32`
/// values in `i64`, and `As::<f64, _>::new(Mean)` those of `f32` in `f64`.
#[derive(Debug)]
pub struct As<A, O> {
    operator: O,
    values: PhantomData<A>,
}

impl<A, O> As<A, O> {
    /// The operator, with values of type `A`.
    pub const fn new(operator: O) -> Self {
        Self {
            operator,
            values: PhantomData,
        }
    }
}

impl<A, O: Copy> As<A, O> {
    /// The operator that takes the converted values.
    pub const fn operator(self) -> O {
        self.operator
    }
}

impl<A, O: Copy> Copy for As<A, O> {}

impl<A, O: Copy> Clone for As<A, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, A, O: Combine<S>> Combine<S> for As<A, O> {
    #[inline(always)]
    fn identity(self) -> S {
        self.operator.identity()
    }
    #[inline(always)]
    fn combine(self, left: S, right: S) -> S {
        self.operator.combine(left, right)
    }
    #[inline(always)]
    unsafe fn combine_warp(self, state: S, count: u32) -> Option<S> {
        // SAFETY: the caller's promise.
        unsafe { self.operator.combine_warp(state, count) }
    }

    const IS_CHEAP: bool = O::IS_CHEAP;
    const HAS_KEYS: bool = O::HAS_KEYS;

    #[inline(always)]
    fn key(self, state: S) -> u64 {
        self.operator.key(state)
    }
    #[inline(always)]
    fn of_key(self, key: u64) -> S {
        self.operator.of_key(key)
    }
}

impl<T: Copy, A: From<T> + Copy, O: Operator<A>> Operator<T> for As<A, O> {
    const ORDER_MATTERS: bool = O::ORDER_MATTERS;
    const MOST_VALUES: u64 = O::MOST_VALUES;

    type State = O::State;
    type Output = O::Output;

    #[inline(always)]
    fn lift(self, value: T, index: u64) -> O::State {
        self.operator.lift(value.into(), index)
    }
    #[inline(always)]
    fn lift_spaced<const N: usize>(self, values: [T; N], index: u64, step: u64) -> O::State {
        self.operator.lift_spaced(values.map(A::from), index, step)
    }
    #[inline(always)]
    fn accumulate<const V: usize, const N: usize>(
        self,
        state: O::State,
        vectors: [[T; N]; V],
        index: u64,
        step: u64,
    ) -> O::State {
        let vectors = map_all(vectors, A::from);
        self.operator.accumulate(state, vectors, index, step)
    }
    #[inline(always)]
    fn accumulate_columns<const N: usize, const STATES: usize>(
        self,
        states: &mut [O::State; STATES],
        columns: usize,
        values_of: impl Fn(usize) -> ([T; N], u64),
        step: u64,
    ) {
        self.operator.accumulate_columns(
            states,
            columns,
            #[inline(always)]
            |column| {
                let (values, index) = values_of(column);
                (values.map(A::from), index)
            },
            step,
        );
    }
    /// Block by block, converted in the nearest cache.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn lift_slice(self, values: &[T], index: u64) -> O::State {
        const BLOCK: usize = 512;
        let (mut state, mut index) = (self.identity(), index);
        let Some(&first) = values.first() else {
            return state;
        };
        let mut converted = [A::from(first); BLOCK];
        for block in values.chunks(BLOCK) {
            for (converted, &value) in converted.iter_mut().zip(block) {
                *converted = value.into();
            }
            let right = self.operator.lift_slice(&converted[..block.len()], index);
            state = self.operator.combine(state, right);
            index += block.len() as u64;
        }
        state
    }
    #[inline(always)]
    fn finish(self, state: O::State, count: u64) -> O::Output {
        self.operator.finish(state, count)
    }
}

/// Adds the products of pairs, as [`Dot`], of values that are converted to `A` first, which must be possible without loss.
#[derive(Debug)]
pub struct DotIn<A>(PhantomData<A>);

impl<A> DotIn<A> {
    /// The operator.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<A> Default for DotIn<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A> Copy for DotIn<A> {}

impl<A> Clone for DotIn<A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Number> Combine<A> for DotIn<A> {
    const IS_CHEAP: bool = <Dot as Combine<A>>::IS_CHEAP;

    #[inline(always)]
    fn identity(self) -> A {
        Dot.identity()
    }
    #[inline(always)]
    fn combine(self, left: A, right: A) -> A {
        Dot.combine(left, right)
    }
    #[inline(always)]
    unsafe fn combine_warp(self, state: A, count: u32) -> Option<A> {
        // SAFETY: the caller's promise.
        unsafe { Dot.combine_warp(state, count) }
    }
}

impl<T: Copy, A: From<T> + Number> Operator<(T, T)> for DotIn<A> {
    type State = A;
    type Output = A;

    #[inline(always)]
    fn lift(self, (left, right): (T, T), _index: u64) -> A {
        A::from(left).times(A::from(right))
    }
    #[inline(always)]
    fn finish(self, state: A, _count: u64) -> A {
        state
    }
}
