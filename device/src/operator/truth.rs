//! What is not 0.

use super::{Combine, Operator};
use crate::element::Element;
use crate::half::Bool;

/// Whether any value is not 0. NaN is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Any;

/// Whether no value is 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

/// How many values are not 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountNonzero;

macro_rules! truth {
    ($operator:ident: $state:ident = $identity:literal, |$left:ident, $right:ident| $combined:expr, $output:ident by $finish:expr $(, $of_warp:ident)?) => {
        impl Combine<$state> for $operator {
            const IS_CHEAP: bool = true;

            #[inline(always)]
            fn identity(self) -> $state {
                $identity
            }
            #[inline(always)]
            fn combine(self, $left: $state, $right: $state) -> $state {
                $combined
            }
            $(
                #[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
                #[inline(always)]
                unsafe fn combine_warp(self, state: $state, _count: u32) -> Option<$state> {
                    // SAFETY: the caller's promise.
                    Some(unsafe { crate::redux::$of_warp(state) })
                }
            )?
        }

        impl<T: Element> Operator<T> for $operator {
            const ORDER_MATTERS: bool = false;

            type State = $state;
            type Output = $output;

            #[inline(always)]
            fn lift(self, value: T, _index: u64) -> $state {
                value.is_nonzero().into()
            }
            #[inline(always)]
            fn finish(self, state: $state, _count: u64) -> $output {
                ($finish)(state)
            }
        }
    };
}

truth!(Any: u32 = 0, |left, right| left | right, Bool by |state| Bool::from(state != 0), redux_or);
truth!(All: u32 = 1, |left, right| left & right, Bool by |state| Bool::from(state != 0), redux_and);
truth!(CountNonzero: u64 = 0, |left, right| left.wrapping_add(right), u64 by |state| state);
