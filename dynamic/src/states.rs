//! The states of an operator, whichever it is: the one module where operators are compiled, for the types that are computed in.

use crate::exact::{ExactMean, ExactSum};
use crate::names::Named;
use crate::results::{Number, Results, Value};
use bytemuck::Pod;
use std::{any, iter};
use warpfold::cpu::{Task, widest};
use warpfold_device::element::Element;
use warpfold_device::operator::*;

/// The states of an operator, one for each result. Values come as the bytes of the type that it computes in.
pub(crate) trait States: Send + Sync {
    /// States of the same operator, without a value yet.
    fn alike(&self, count: usize) -> Box<dyn States>;

    /// Takes values in: the first `length` into the state at `place`, as many into the next one, and so on. The first value of each
    /// state has this index.
    fn take(&mut self, place: usize, values: &[u8], length: usize, index: u64);

    /// Takes rows in that have a value for each state; the first row has this index.
    fn take_rows(&mut self, rows: &[u8], index: u64);

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

    fn take_rows(&mut self, rows: &[u8], index: u64) {
        let (operator, states) = (self.operator, &mut self.states[..]);
        let rows = bytemuck::cast_slice(rows);
        widest(TakeRows {
            operator,
            states,
            rows,
            index,
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
    index: u64,
}

impl<A: Pod, O: Operator<A>> Task for TakeRows<'_, A, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.rows.chunks(self.states.len());
        for (row, index) in rows.zip(self.index..) {
            for (state, &value) in self.states.iter_mut().zip(row) {
                let lifted = self.operator.lift(value, index);
                *state = self.operator.combine(*state, lifted);
            }
        }
    }
}

/// A type that operators compute in: integers of 32 and 64 bits, and floats.
pub(crate) trait Accumulator:
    Element<Wide = Self> + Pod + Into<Number> + Into<Value> + Send + Sync
{
    /// The operator without a state, if it is a sum or a mean of integers, which are exact, or a sum of floats.
    fn sum(operator: Named) -> Option<Box<dyn States>>;
}

macro_rules! accumulators {
    ($($value:ident { $($name:literal: $operator:expr),* })*) => {$(
        impl Accumulator for $value {
            fn sum(operator: Named) -> Option<Box<dyn States>> {
                match operator.name() {
                    $($name => Some(Of::<Self, _>::start($operator)),)*
                    _ => None,
                }
            }
        }
    )*};
}

accumulators! {
    i32 { "sum": ExactSum, "mean": ExactMean }
    u32 { "sum": ExactSum, "mean": ExactMean }
    i64 { "sum": ExactSum, "mean": ExactMean }
    u64 { "sum": ExactSum, "mean": ExactMean }
    f32 { "sum": Sum }
    f64 { "sum": Sum }
}

/// The operator without a state, if it computes in the values' [wide type](Element::Wide).
pub(crate) fn wide<A: Accumulator>(operator: Named) -> Option<Box<dyn States>> {
    Some(match operator.name() {
        "product" => Of::<A, _>::start(Product),
        "min" => Of::<A, _>::start(Min),
        "max" => Of::<A, _>::start(Max),
        "minmax" => Of::<A, _>::start(MinMax),
        "argmin" => Of::<A, _>::start(ArgMin::<u64>::FIRST),
        "argmax" => Of::<A, _>::start(ArgMax::<u64>::FIRST),
        "last_argmin" => Of::<A, _>::start(ArgMin::<u64>::LAST),
        "last_argmax" => Of::<A, _>::start(ArgMax::<u64>::LAST),
        "any" => Of::<A, _>::start(Any),
        "all" => Of::<A, _>::start(All),
        "count_nonzero" => Of::<A, _>::start(CountNonzero),
        _ => return A::sum(operator),
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
