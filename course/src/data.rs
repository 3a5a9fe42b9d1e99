//! What lessons reduce: random values, or one of the inputs that texts use.

use crate::glibc::Rand;
use crate::random::{self, Random};
use serde::{Serialize, Serializer};
use std::collections::TryReserveError;
use warpfold_kernels::catalogue::Operator;

/// The values of an input. A seed alone stands for random ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Random values over the whole range of the type, as [`random::operands`] draws them for the operator.
    Random {
        /// Where they begin.
        seed: u64,
    },
    /// 1, 1, 1 …: their sum is their number.
    Ones,
    /// 0, 1, 2 …, which wraps around in integers and rounds in floats.
    Iota,
    /// Random whole numbers from 0 to 9, whose sums neither wrap nor round before they are large.
    Small {
        /// Where they begin.
        seed: u64,
    },
    /// `rand() & 255` with the `rand` of the GNU C library.
    Bytes {
        /// That of `srand`.
        seed: u32,
    },
}

impl From<u64> for Data {
    fn from(seed: u64) -> Self {
        Self::Random { seed }
    }
}

/// Its name.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Data {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random { .. } => "random",
            Self::Ones => "ones",
            Self::Iota => "iota",
            Self::Small { .. } => "small",
            Self::Bytes { .. } => "bytes",
        }
    }

    /// `n` values.
    ///
    /// # Errors
    /// There is not enough memory for them.
    pub fn values<T: Random>(
        self,
        operator: Operator,
        n: usize,
    ) -> Result<Vec<T>, TryReserveError> {
        match self {
            Self::Random { seed } => random::operands(operator, n, seed),
            Self::Ones => random::in_chunks(n, |_, chunk| chunk.fill(T::of(1))),
            Self::Iota => random::in_chunks(n, |first, chunk| {
                for (value, index) in chunk.iter_mut().zip(first as u64..) {
                    *value = T::of(index);
                }
            }),
            Self::Small { seed } => random::digits(n, seed),
            Self::Bytes { seed } => {
                // One number after the other: each depends on those before.
                let mut rand = Rand::new(seed);
                let mut values = Vec::new();
                values.try_reserve_exact(n)?;
                values.extend((0..n).map(|_| T::of((rand.next() & 255).into())));
                Ok(values)
            }
        }
    }

    /// The seed, if there is one.
    pub fn seed(self) -> Option<u64> {
        match self {
            Self::Random { seed } | Self::Small { seed } => Some(seed),
            Self::Bytes { seed } => Some(seed.into()),
            Self::Ones | Self::Iota => None,
        }
    }

    /// What `n` of them are, in words that follow their number: `random i32`, `i32 ones`.
    pub fn describe(self, element_type: &str) -> String {
        match self {
            Self::Random { .. } => format!("random {element_type}"),
            Self::Ones => format!("{element_type} ones"),
            Self::Iota => format!("{element_type} 0, 1, 2, …"),
            Self::Small { .. } => format!("random {element_type} from 0 to 9"),
            Self::Bytes { .. } => format!("{element_type} from rand() & 255"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<T: Random>(data: Data, n: usize) -> Vec<T> {
        data.values(Operator::Sum, n)
            .expect("there is memory for them")
    }

    /// The sum is published, and what a C program adds up on Linux.
    #[test]
    fn bytes_add_up_to_the_published_sum() {
        let bytes: Vec<i32> = values(Data::Bytes { seed: 1 }, 1 << 24);
        let sum: i64 = bytes.iter().copied().map(i64::from).sum();
        assert_eq!(sum, 2_139_353_471);
    }

    #[test]
    fn each_is_what_its_name_says() {
        assert_eq!(
            values::<i32>(7.into(), 100),
            random::i32_values(100, 7).unwrap()
        );
        assert!(
            values::<f64>(Data::Ones, 70_000)
                .iter()
                .all(|&one| one == 1.0)
        );
        let iota: Vec<u32> = values(Data::Iota, 200_000);
        assert!(iota.iter().copied().eq(0..200_000));
        assert_eq!(values::<f32>(Data::Iota, 3), [0.0, 1.0, 2.0]);
        let small: Vec<i64> = values(Data::Small { seed: 3 }, 100_000);
        for digit in 0..10 {
            let count = small.iter().filter(|&&value| value == digit).count();
            assert!((9_000..11_000).contains(&count), "{count} times {digit}");
        }
        assert!(small.iter().all(|digit| (0..10).contains(digit)));
        assert_eq!(
            values::<i64>(Data::Small { seed: 3 }, 70_000),
            small[..70_000]
        );
        let bytes: Vec<f32> = values(Data::Bytes { seed: 1 }, 3);
        assert_eq!(bytes, [103.0, 198.0, 105.0]);
    }

    #[test]
    fn more_than_fits_memory_is_refused() {
        let all = [
            Data::Ones,
            Data::Iota,
            Data::Small { seed: 1 },
            Data::Bytes { seed: 1 },
        ];
        for data in all {
            assert!(data.values::<i32>(Operator::Sum, usize::MAX / 8).is_err());
        }
    }
}
