//! The states of an operator, whichever it is: the one module where operators are compiled, for the types that are computed in.

use crate::exact::{ExactMean, ExactSum};
use crate::names::Named;
use crate::results::{Number, Results, Value};
use bytemuck::Pod;
use std::ops::Range;
use std::{any, iter};
use warpfold::cpu::{self, Task, widest};
use warpfold_device::element::Element;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;

/// The states of an operator, one for each result. Values come as the bytes of the type that it computes in.
pub(crate) trait States: Send + Sync {
    /// States of the same operator, without a value yet.
    fn alike(&self, count: usize) -> Box<dyn States>;

    /// Takes values in: the first `length` into the state at `place`, as many into the next one, and so on. The first value of each
    /// state has this index.
    fn take(&mut self, place: usize, values: &[u8], length: usize, index: u64);

    /// Takes in rows with these indices, which have a value for each state and begin this many values apart.
    fn take_rows(&mut self, rows: &[u8], stride: usize, indices: Range<u64>);

    /// Takes the values in that other states of the same operator have taken, each into its own.
    fn join(&mut self, right: Box<dyn States>);

    /// Puts other states of the same operator after these. Neither values nor other states are taken in afterwards.
    fn append(&mut self, right: Box<dyn States>);

    /// The results of states that have taken `count` values each.
    fn finish(&self, count: u64) -> Box<dyn Results>;

    /// For `join` and `append`.
    fn into_any(self: Box<Self>) -> Box<dyn any::Any>;
}

struct Of<A, O: Operator<A>> {
    operator: O,
    states: Vec<O::State>,
    /// Those appended, where they were made: there may be millions.
    appended: Vec<Vec<O::State>>,
}

/// An operator whose states threads share.
trait Shared<A>:
    Operator<A, State: Send + Sync, Output: Into<Value> + Send + Sync> + Send + Sync + 'static
{
}
impl<A, O> Shared<A> for O where
    O: Operator<A, State: Send + Sync, Output: Into<Value> + Send + Sync> + Send + Sync + 'static
{
}

impl<A: Pod, O: Shared<A>> Of<A, O> {
    fn start(operator: O) -> Box<dyn States> {
        Self::with_states(operator, 0)
    }

    fn with_states(operator: O, count: usize) -> Box<dyn States> {
        Box::new(Self {
            operator,
            states: vec![operator.identity(); count],
            appended: Vec::new(),
        })
    }

    fn same(other: Box<dyn States>) -> Box<Self> {
        let same = other.into_any().downcast();
        same.expect("the states are of one operator")
    }
}

impl<A: Pod, O: Shared<A>> States for Of<A, O> {
    fn alike(&self, count: usize) -> Box<dyn States> {
        Self::with_states(self.operator, count)
    }

    fn take(&mut self, place: usize, values: &[u8], length: usize, index: u64) {
        let (operator, states) = (self.operator, &mut self.states[place..]);
        let values = bytemuck::cast_slice(values);
        widest(Take {
            operator,
            states,
            values,
            length,
            index,
        });
    }

    fn take_rows(&mut self, rows: &[u8], stride: usize, indices: Range<u64>) {
        let (operator, states) = (self.operator, &mut self.states[..]);
        let rows = bytemuck::cast_slice(rows);
        widest(TakeRows {
            operator,
            states,
            rows,
            stride,
            indices,
        });
    }

    fn join(&mut self, right: Box<dyn States>) {
        let right = Self::same(right);
        for (left, right) in self.states.iter_mut().zip(right.states) {
            *left = self.operator.combine(*left, right);
        }
    }

    fn append(&mut self, right: Box<dyn States>) {
        let mut right = Self::same(right);
        self.appended.push(right.states);
        self.appended.append(&mut right.appended);
    }

    fn finish(&self, count: u64) -> Box<dyn Results> {
        let all = iter::once(&self.states).chain(&self.appended);
        let mut results: Vec<O::Output> = Vec::with_capacity(all.clone().map(Vec::len).sum());
        for states in all {
            let finish = |&state| self.operator.finish(state, count);
            results.extend(states.iter().map(finish));
        }
        Box::new(results)
    }

    fn into_any(self: Box<Self>) -> Box<dyn any::Any> {
        self
    }
}

/// [`States::take`].
struct Take<'a, A, O: Operator<A>> {
    operator: O,
    states: &'a mut [O::State],
    values: &'a [A],
    length: usize,
    index: u64,
}

impl<A: Pod, O: Operator<A>> Task for Take<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = self.values.chunks(self.length);
        for (state, values) in self.states.iter_mut().zip(values) {
            let further = self.operator.lift_slice(values, self.index);
            *state = self.operator.combine(*state, further);
        }
    }
}

/// [`States::take_rows`].
struct TakeRows<'a, A, O: Operator<A>> {
    operator: O,
    states: &'a mut [O::State],
    rows: &'a [A],
    stride: usize,
    indices: Range<u64>,
}

impl<A: Pod, O: Operator<A>> Task for TakeRows<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        cpu::take_rows(
            self.operator,
            self.states,
            self.rows,
            self.stride,
            self.indices,
        );
    }
}

/// A type that memory holds.
pub(crate) trait Held:
    HasSpread + Element<Wide: Send + Sync> + Pod + Into<Number> + Into<Value> + Send + Sync
{
    /// The operator without a state, if it is a sum or a mean of integers, which are exact.
    fn exact(operator: Named) -> Option<Box<dyn States>>;
}

macro_rules! integers {
    ($($value:ident)*) => {$(
        impl Held for $value {
            fn exact(operator: Named) -> Option<Box<dyn States>> {
                match operator.name() {
                    "sum" => Some(Of::<Self, _>::start(ExactSum)),
                    "mean" => Some(Of::<Self, _>::start(ExactMean)),
                    _ => None,
                }
            }
        }
    )*};
}

macro_rules! floats {
    ($($value:ident)*) => {$(
        impl Held for $value {
            fn exact(_: Named) -> Option<Box<dyn States>> {
                None
            }
        }
    )*};
}

integers! { Bool i8 u8 i16 u16 i32 u32 i64 u64 }
floats! { F16 Bf16 f32 f64 }

/// The operator without a state, if it takes values as memory holds them.
pub(crate) fn own<T: Held>(operator: Named) -> Option<Box<dyn States>> {
    Some(match operator.name() {
        "min" => Of::<T, _>::start(Min),
        "max" => Of::<T, _>::start(Max),
        "minmax" => Of::<T, _>::start(MinMax),
        "argmin" => Of::<T, _>::start(ArgMin::FIRST),
        "argmax" => Of::<T, _>::start(ArgMax::FIRST),
        "last_argmin" => Of::<T, _>::start(ArgMin::LAST),
        "last_argmax" => Of::<T, _>::start(ArgMax::LAST),
        "any" => Of::<T, _>::start(Any),
        "all" => Of::<T, _>::start(All),
        "count_nonzero" => Of::<T, _>::start(CountNonzero),
        _ => return T::exact(operator),
    })
}

/// A type that operators compute in: integers of 32 and 64 bits, and floats.
pub(crate) trait Accumulator: Held + Element<Wide = Self> {}

impl<A: Held + Element<Wide = A>> Accumulator for A {}

/// The operator without a state, if it computes in the values' [wide type](Element::Wide).
pub(crate) fn wide<A: Accumulator>(operator: Named) -> Option<Box<dyn States>> {
    Some(match operator.name() {
        "sum" => Of::<A, _>::start(Sum),
        "product" => Of::<A, _>::start(Product),
        _ => return None,
    })
}

/// The operator without a state, if it computes in the values' [float](Element::Real).
pub(crate) fn real<R: Accumulator + Element<Real = R>>(operator: Named) -> Option<Box<dyn States>> {
    Some(match operator.name() {
        "mean" => Of::<R, _>::start(Mean),
        "variance" => Of::<R, _>::start(Variance { ddof: 0 }),
        "std" => Of::<R, _>::start(StdDev { ddof: 0 }),
        "sample_variance" => Of::<R, _>::start(Variance { ddof: 1 }),
        "sample_std" => Of::<R, _>::start(StdDev { ddof: 1 }),
        "norm1" => Of::<R, _>::start(Norm1),
        "norm2" => Of::<R, _>::start(Norm2),
        "norm_inf" => Of::<R, _>::start(NormInf),
        "logsumexp" => Of::<R, _>::start(LogSumExp),
        _ => return None,
    })
}
