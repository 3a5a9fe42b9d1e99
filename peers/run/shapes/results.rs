//! What a launch leaves on the GPU, and whether it is right.

use super::problem::Operator;
use crate::error::PeersError;
use rayon::prelude::*;
use std::ops::Range;
use warpfold::device::{Argument, Buffer, Device, Kernel, Shape, Stream};

/// `spoil(to, bytes)` and `pick(from, to, bytes)`: see there.
const WORDS: &str = include_str!("words.ptx");
const BLOCK: u32 = 256;
/// Of more results than this, evenly spread ranges with as many together are verified.
const VERIFIED: usize = 1 << 22;
const RANGES: usize = 16;

/// Results on the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// Where they are.
    pub address: u64,
    /// How many.
    pub count: usize,
    /// What they are.
    pub of: ResultType,
}

macro_rules! types {
    ($($variant:ident = $name:literal, $bytes:literal, |$it:ident| $number:expr;)*) => {
        /// What a result is in memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ResultType {
            $($variant,)*
        }

        impl ResultType {
            /// The type of this name.
            pub fn of_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Bytes of one.
            pub fn bytes(self) -> usize {
                match self {
                    $(Self::$variant => $bytes,)*
                }
            }

            /// One of them as a number.
            fn number(self, bytes: &[u8]) -> f64 {
                match self {
                    $(Self::$variant => {
                        let $it = bytes;
                        $number
                    })*
                }
            }
        }
    };
}

types! {
    F32 = "f32", 4, |it| f32::from_le_bytes(first(it)).into();
    F64 = "f64", 8, |it| f64::from_le_bytes(first(it));
    Bf16 = "bf16", 2, |it| f32::from_bits(u32::from(u16::from_le_bytes(first(it))) << 16).into();
    I8 = "i8", 1, |it| i8::from_le_bytes(first(it)).into();
    I32 = "i32", 4, |it| i32::from_le_bytes(first(it)).into();
    U32 = "u32", 4, |it| u32::from_le_bytes(first(it)).into();
    I64 = "i64", 8, |it| i64::from_le_bytes(first(it)) as f64;
    U64 = "u64", 8, |it| u64::from_le_bytes(first(it)) as f64;
    // An index of 32 bits, and a value, which takes as much room.
    Pair = "index and value", 8, |it| i32::from_le_bytes(first(it)).into();
    // Of a variance: count, mean, and the sum of the squares of the distances to it, each of 32 bits.
    Moments = "moments", 12, |it| f64::from(f32::from_le_bytes(first(&it[8..])))
        / f64::from(f32::from_le_bytes(first(it)));
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|place| bytes[place])
}

/// The kernels that touch results.
pub struct Words<'d> {
    device: &'d Device,
    spoil: Kernel,
    pick: Kernel,
}

impl<'d> Words<'d> {
    /// Loads them.
    pub fn new(device: &'d Device) -> Result<Self, PeersError> {
        let module = device.load(WORDS)?;
        Ok(Self {
            device,
            spoil: module.kernel("spoil")?,
            pick: module.kernel("pick")?,
        })
    }

    /// Queues that the results are overwritten, so that a launch that leaves none is found out.
    ///
    /// # Safety
    /// The results are memory of this device.
    pub unsafe fn spoil(&self, stream: &Stream, results: &Results) -> Result<(), PeersError> {
        let bytes = results.count * results.of.bytes();
        let arguments = [Argument::Address(results.address), bytes.into()];
        // SAFETY: the caller's promise; the kernel writes `bytes` bytes.
        Ok(unsafe { stream.launch(&self.spoil, &shape(bytes), &arguments) }?)
    }

    /// The results in these ranges, as numbers. Waits for what is queued.
    ///
    /// # Safety
    /// The results are memory of this device.
    unsafe fn read(
        &self,
        stream: &Stream,
        results: &Results,
        ranges: &[Range<usize>],
    ) -> Result<Vec<f64>, PeersError> {
        let width = results.of.bytes();
        let count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let picked: Buffer<u8> = self.device.allocate(count * width)?;
        let mut to = picked.address();
        for range in ranges {
            let bytes = range.len() * width;
            let from = results.address + (range.start * width) as u64;
            let arguments = [Argument::Address(from), Argument::Address(to), bytes.into()];
            // SAFETY: the caller's promise; the buffer has room for all ranges, one after another.
            unsafe { stream.launch(&self.pick, &shape(bytes), &arguments) }?;
            to += bytes as u64;
        }
        stream.synchronize()?;
        let bytes = picked.read()?;
        let numbers = bytes.par_chunks_exact(width);
        Ok(numbers.map(|bytes| results.of.number(bytes)).collect())
    }
}

fn shape(bytes: usize) -> Shape {
    // Results of this program are fewer than 2^40 bytes.
    let blocks = bytes.div_ceil(BLOCK as usize).max(1);
    Shape::linear(blocks as u32, BLOCK)
}

/// The value of a result's part of the input, by the number of the result and an index in it.
pub type ValueOf<'a> = dyn Fn(usize, usize) -> Option<f64> + Sync + 'a;

/// What results should be.
pub struct Expected<'a> {
    /// What is done.
    pub operator: Operator,
    /// How many results there are.
    pub count: usize,
    /// Those that are verified.
    pub ranges: Vec<Range<usize>>,
    /// What they should be, one range after another.
    pub numbers: Vec<f64>,
    /// For indices: what stands there.
    pub value: Box<ValueOf<'a>>,
}

/// Those of this many results that are verified.
pub fn verified(count: usize) -> Vec<Range<usize>> {
    if count <= VERIFIED {
        return std::iter::once(0..count).collect();
    }
    let length = VERIFIED / RANGES;
    let last = count - length;
    let start = |range: usize| last * range / (RANGES - 1);
    (0..RANGES)
        .map(|range| start(range)..start(range) + length)
        .collect()
}

impl Expected<'_> {
    /// Whether the results are right; if not, what the first wrong one is.
    ///
    /// Sums, extremes and indices must be exact, as the values are such that no sum of them rounds; of equal values any may be the
    /// greatest. Means, variances and logarithms may be off by what rounding does to them, and results of 16 bits by theirs.
    ///
    /// # Safety
    /// The results are memory of the device of `words`.
    pub unsafe fn check(
        &self,
        words: &Words<'_>,
        stream: &Stream,
        results: &Results,
    ) -> Result<Result<(), String>, PeersError> {
        if results.count != self.count {
            return Ok(Err(format!(
                "it left {} results, not {}",
                results.count, self.count
            )));
        }
        // SAFETY: the caller's promise.
        let found = unsafe { words.read(stream, results, &self.ranges) }?;
        let numbers = || self.ranges.iter().flat_map(Clone::clone);
        let places: Vec<usize> = numbers().collect();
        let wrong = (0..found.len()).into_par_iter().find_first(|&place| {
            !self.accepts(places[place], found[place], self.numbers[place], results.of)
        });
        Ok(match wrong {
            None => Ok(()),
            Some(place) => Err(format!(
                "result {} is {}, and the CPU's is {}",
                places[place], found[place], self.numbers[place]
            )),
        })
    }

    fn accepts(&self, result: usize, found: f64, expected: f64, of: ResultType) -> bool {
        if found == expected {
            return true;
        }
        let share = match (self.operator, of) {
            (Operator::ArgMax | Operator::ArgMaxU32, _) => {
                let value = |index: f64| (self.value)(result, index as usize);
                return found >= 0.0
                    && value(found).is_some_and(|one| Some(one) == value(expected));
            }
            (_, ResultType::Bf16) => 1.0 / 128.0,
            (Operator::Sum | Operator::Max, _) => return false,
            (Operator::Dot, _) => 1e-4,
            (Operator::Mean | Operator::Variance | Operator::LogSumExp, _) => 2e-4,
        };
        // Written so that NaN is refused.
        (found - expected).abs() <= share * expected.abs().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::device::DeviceChoice;

    #[test]
    fn few_results_are_all_verified_and_of_many_the_first_and_the_last() {
        let few = verified(10);
        assert_eq!((few.len(), few[0].clone()), (1, 0..10));
        let ranges = verified(1 << 26);
        assert_eq!(ranges[0].start, 0);
        assert_eq!(ranges[RANGES - 1].end, 1 << 26);
        assert_eq!(
            ranges.iter().map(ExactSizeIterator::len).sum::<usize>(),
            VERIFIED
        );
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }

    /// Whether these results of i32 would pass for maxima, or for indices, of rows of two values.
    fn check(operator: Operator, given: &[i32]) -> Result<(), String> {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let words = Words::new(&device).expect("the kernels are PTX");
        let stream = device.stream().expect("there is always a stream");
        let buffer = device.upload(given).expect("it fits");
        let expected = Expected {
            operator,
            count: 2,
            ranges: verified(2),
            numbers: vec![0.0, 1.0],
            value: Box::new(|row, index| [[7.0, 7.0], [3.0, 4.0]][row].get(index).copied()),
        };
        let results = Results {
            address: buffer.address(),
            count: given.len(),
            of: ResultType::I32,
        };
        // SAFETY: the buffer has as many values.
        unsafe { expected.check(&words, &stream, &results) }.expect("it can be read")
    }

    #[test]
    fn a_wrong_result_is_told() {
        assert_eq!(check(Operator::Max, &[0, 1]), Ok(()));
        let wrong = Err("result 1 is 2, and the CPU's is 1".to_owned());
        assert_eq!(check(Operator::Max, &[0, 2]), wrong);
        assert!(check(Operator::Max, &[0]).is_err());
    }

    #[test]
    fn of_equal_values_any_may_be_the_greatest() {
        assert_eq!(check(Operator::ArgMax, &[1, 1]), Ok(()));
        assert!(check(Operator::ArgMax, &[0, 0]).is_err());
        assert!(check(Operator::ArgMax, &[0, 2]).is_err());
        assert!(check(Operator::ArgMax, &[-1, 1]).is_err());
    }

    #[test]
    fn spoilt_results_are_no_results() {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let words = Words::new(&device).expect("the kernels are PTX");
        let stream = device.stream().expect("there is always a stream");
        let buffer = device.upload(&[1.0_f32, 2.0]).expect("it fits");
        let results = Results {
            address: buffer.address(),
            count: 2,
            of: ResultType::F32,
        };
        // SAFETY: the buffer has as many values.
        unsafe { words.spoil(&stream, &results) }.expect("it runs");
        assert!(
            buffer
                .read()
                .expect("it can be read")
                .iter()
                .all(|value| value.is_nan())
        );
    }
}
