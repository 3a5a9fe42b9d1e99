//! The judge of integers: exact.

use super::Oracle;
use crate::number::Number;
use rayon::prelude::*;
use warpfold_kernels::catalogue::Operator;

/// The sum of integers without any wrapping. A kernel's sum must be what is left of it modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerOracle {
    /// The true sum.
    pub exact: i128,
}

impl IntegerOracle {
    /// What is left of the sum in an `i32` that wraps: wrapping is arithmetic modulo 2^32, as the truncation is.
    fn wrapped(&self) -> i32 {
        self.exact as i32
    }
}

impl Oracle<i32> for IntegerOracle {
    fn new(operator: Operator, values: &[i32]) -> Self {
        // So few that their sum fits 64 bits, which are faster to add up than 128.
        const CHUNK_ELEMENTS: usize = 1 << 16;
        let sum = |chunk: &[i32]| chunk.iter().map(|&value| i64::from(value)).sum::<i64>();
        let exact = match operator {
            Operator::Sum => values
                .par_chunks(CHUNK_ELEMENTS)
                .map(|chunk| i128::from(sum(chunk)))
                .sum(),
        };
        Self { exact }
    }

    fn expected(&self) -> Number {
        Number::I32(self.wrapped())
    }

    fn tolerance(&self, _roundings: u32) -> Option<f64> {
        None
    }

    fn accepts(&self, result: i32, _roundings: u32) -> bool {
        result == self.wrapped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::cpu_sequential;
    use proptest::prelude::*;

    #[test]
    fn the_true_sum_is_not_lost_and_the_wrapped_one_is_expected() {
        let oracle = IntegerOracle::new(Operator::Sum, &[i32::MAX, i32::MAX, 1]);
        assert_eq!(oracle.exact, 4_294_967_295);
        assert_eq!(oracle.expected(), Number::I32(-1));
        assert!(oracle.accepts(-1, 0) && !oracle.accepts(0, 100));
        assert_eq!(IntegerOracle::new(Operator::Sum, &[]).exact, 0);
    }

    #[test]
    fn the_true_sum_of_more_than_one_chunk_is_not_lost() {
        let oracle = IntegerOracle::new(Operator::Sum, &[i32::MIN; 100_000]);
        assert_eq!(oracle.exact, -214_748_364_800_000);
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_references(values in prop::collection::vec(any::<i32>(), 0..2_000)) {
            let oracle = IntegerOracle::new(Operator::Sum, &values);
            prop_assert!(oracle.accepts(cpu_sequential(&values), 0));
        }
    }
}
