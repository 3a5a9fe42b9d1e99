//! One launch of an exercise's kernel: its shape, what it gets, and what has to be in memory afterwards.

use std::fmt;
use std::ops::Range;

use crate::source;

/// A launch with its arguments, and the oracle's answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Blocks of the launch.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether blocks may wait for each other.
    pub cooperative: bool,
    /// One for each parameter of the kernel, in order.
    pub arguments: Vec<Argument>,
}

/// What a kernel gets for one parameter.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A number, passed by value.
    Number(Values),
    /// An array, passed by its address.
    Array(Array),
}

/// An array in global memory. It ends where its memory ends; before it lie `offset` elements that nobody may touch.
#[derive(Clone, Debug)]
pub struct Array {
    /// How many elements past an address that is a multiple of 256 bytes it begins.
    pub offset: usize,
    /// What it holds before the launch; `Err` with a number of elements of that kind where nothing has been written.
    pub before: Contents,
    /// What it must hold afterwards.
    pub after: After,
    /// For each element the place in the kernel's inputs that it comes from, or the first of several; the same place where there is no
    /// such list. A message about an element shows the inputs there.
    pub sources: Option<Vec<usize>>,
}

/// What an array holds before the launch.
#[derive(Clone, Debug)]
pub enum Contents {
    /// These values.
    Written(Values),
    /// As many elements as these, which nothing has written yet: a kernel that reads them before it has written them is wrong.
    Unwritten(Values),
}

/// What an array must hold after the launch.
#[derive(Clone, Debug)]
pub enum After {
    /// What it held before.
    Unchanged,
    /// These values, bit for bit.
    Exactly(Values),
    /// These values; each may be off by `relative` times its size, or the same times 1 where it is smaller than that.
    Within {
        /// The values.
        values: Values,
        /// The relative error.
        relative: f64,
    },
    /// Whatever the kernel likes: memory to work in.
    Anything,
}

impl Case {
    /// A launch of this many blocks (at least one) of this many threads.
    pub fn new(grid: usize, block: u32, arguments: Vec<Argument>) -> Self {
        Self {
            grid: grid.max(1) as u32,
            block,
            shared_bytes: 0,
            cooperative: false,
            arguments,
        }
    }

    /// The same with dynamic shared memory.
    pub fn with_shared_bytes(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// The same launched cooperatively: blocks may wait for each other.
    pub fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }
}

impl Case {
    /// The launch in words: the numbers that the kernel gets, its blocks, and which arrays begin past a 256-byte boundary.
    pub(crate) fn in_words(&self, parameters: &[String]) -> String {
        let mut words = Vec::new();
        let mut past = Vec::new();
        let mut past_by = 0;
        for (index, argument) in self.arguments.iter().enumerate() {
            let name = source::shown(parameters, index);
            match argument {
                Argument::Number(value) => words.push(format!("{name} = {}", value.show(0))),
                Argument::Array(array) if array.offset > 0 => {
                    past.push(format!("`{name}`"));
                    past_by = array.offset;
                }
                Argument::Array(_) => {}
            }
        }
        let blocks = if self.grid == 1 { "block" } else { "blocks" };
        words.push(format!("{} {blocks} of {} threads", self.grid, self.block));
        let elements = match past_by {
            1 => "1 element".to_owned(),
            _ => format!("{past_by} elements"),
        };
        let begin = match past[..] {
            [] => return words.join(", "),
            [_] => "begins",
            _ => "begin",
        };
        format!(
            "{}; {} {begin} {elements} after a multiple of 256 bytes",
            words.join(", "),
            past.join(" and ")
        )
    }
}

impl Argument {
    /// A number, passed by value.
    pub fn number(value: impl Number) -> Self {
        Self::Number(Number::values(vec![value]))
    }

    /// An array that the kernel reads and leaves as it is.
    pub fn input<T: Number>(values: Vec<T>, offset: usize) -> Self {
        Self::array(
            offset,
            Contents::Written(Number::values(values)),
            After::Unchanged,
        )
    }

    /// An array that the kernel has to fill with these values, bit for bit.
    pub fn output<T: Number>(expected: Vec<T>, offset: usize) -> Self {
        let expected = Number::values(expected);
        let before = Contents::Unwritten(expected.clone());
        Self::array(offset, before, After::Exactly(expected))
    }

    /// An array that the kernel has to fill with these floats, up to a relative error.
    pub fn output_within<T: Number>(expected: Vec<T>, relative: f64, offset: usize) -> Self {
        let values = Number::values(expected);
        let before = Contents::Unwritten(values.clone());
        Self::array(offset, before, After::Within { values, relative })
    }

    /// An array that the kernel has to turn from one into the other.
    pub fn updated<T: Number>(before: Vec<T>, after: Vec<T>, offset: usize) -> Self {
        let after = After::Exactly(Number::values(after));
        Self::array(offset, Contents::Written(Number::values(before)), after)
    }

    /// Memory for the kernel to work in, which holds these values before; its contents do not matter afterwards.
    pub fn scratch<T: Number>(values: Vec<T>) -> Self {
        Self::array(
            0,
            Contents::Written(Number::values(values)),
            After::Anything,
        )
    }

    fn array(offset: usize, before: Contents, after: After) -> Self {
        Self::Array(Array {
            offset,
            before,
            after,
            sources: None,
        })
    }

    /// The same with the place in the inputs that each element comes from.
    pub fn from_places(self, places: impl IntoIterator<Item = usize>) -> Self {
        match self {
            Self::Number(_) => self,
            Self::Array(array) => Self::Array(Array {
                sources: Some(places.into_iter().collect()),
                ..array
            }),
        }
    }
}

/// A type of number that kernels get.
pub trait Number: Copy {
    /// The numbers.
    fn values(values: Vec<Self>) -> Values;
}

macro_rules! values {
    ($($variant:ident $number:ident;)*) => {
        /// Numbers of one type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Values {
            $(#[doc = concat!("`", stringify!($number), "`.")] $variant(Vec<$number>),)*
        }

        $(
            impl Number for $number {
                fn values(values: Vec<Self>) -> Values {
                    values.into()
                }
            }

            impl From<Vec<$number>> for Values {
                fn from(values: Vec<$number>) -> Self {
                    Self::$variant(values)
                }
            }
        )*

        impl Values {
            /// How many.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(values) => values.len(),)*
                }
            }

            /// Bytes of one.
            pub fn size(&self) -> usize {
                match self {
                    $(Self::$variant(_) => size_of::<$number>(),)*
                }
            }

            /// All of them, little-endian.
            pub fn bytes(&self) -> Vec<u8> {
                match self {
                    $(Self::$variant(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),)*
                }
            }

            /// Numbers of the same type from their bytes.
            pub(crate) fn like(&self, bytes: &[u8]) -> Self {
                match self {
                    $(Self::$variant(_) => {
                        let (elements, _) = bytes.as_chunks();
                        Self::$variant(elements.iter().map(|&bytes| $number::from_le_bytes(bytes)).collect())
                    })*
                }
            }

            /// The element, in words.
            pub(crate) fn show(&self, index: usize) -> String {
                match self {
                    $(Self::$variant(values) => values.get(index).map_or_else(String::new, ToString::to_string),)*
                }
            }

            /// The element as the nearest `f64`.
            fn float(&self, index: usize) -> f64 {
                match self {
                    $(Self::$variant(values) => values[index] as f64,)*
                }
            }
        }
    };
}

values! {
    I32 i32;
    U32 u32;
    I64 i64;
    U64 u64;
    F32 f32;
    F64 f64;
}

/// Values that messages show on either side of one.
const BESIDE: usize = 3;

impl Values {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of the values among its neighbours, in brackets, and which places they are; `None` where there is no such place.
    pub(crate) fn around(&self, place: usize) -> Option<(Range<usize>, String)> {
        if place >= self.len() {
            return None;
        }
        let range = place.saturating_sub(BESIDE)..(place + BESIDE + 1).min(self.len());
        let shown = range.clone().map(|index| match self.show(index) {
            value if index == place => format!("[{value}]"),
            value => value,
        });
        let values: Vec<String> = shown.collect();
        Some((range, values.join(", ")))
    }
}

/// Where an array is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The first index that is wrong.
    pub index: usize,
    /// What is there.
    pub found: String,
    /// What has to be there.
    pub expected: String,
    /// How many elements are wrong.
    pub wrong: usize,
    /// Of how many.
    pub of: usize,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            index,
            found,
            expected,
            wrong,
            of,
        } = self;
        write!(f, "element {index} is {found} and must be {expected}")?;
        match wrong {
            1 if *of == 1 => Ok(()),
            1 => write!(f, "; the other {} are right", of - 1),
            _ => write!(f, "; {wrong} of {of} are wrong"),
        }
    }
}

impl Array {
    /// The values before the launch, or numbers of their type and number where nothing is written.
    pub fn values(&self) -> &Values {
        match &self.before {
            Contents::Written(values) | Contents::Unwritten(values) => values,
        }
    }

    /// Compares what the array holds after the launch with what it must hold.
    pub fn judge(&self, bytes: &[u8]) -> Option<Mismatch> {
        let (expected, relative) = match &self.after {
            After::Anything => return None,
            After::Unchanged => (self.values(), None),
            After::Exactly(values) => (values, None),
            After::Within { values, relative } => (values, Some(*relative)),
        };
        if expected.bytes() == bytes {
            return None;
        }
        let found = expected.like(bytes);
        let size = expected.size();
        let expected_bytes = expected.bytes();
        let is_right = |&index: &usize| match relative {
            None => {
                let range = index * size..(index + 1) * size;
                expected_bytes[range.clone()] == bytes[range]
            }
            Some(relative) => {
                let (found, expected) = (found.float(index), expected.float(index));
                found == expected
                    || (found.is_nan() && expected.is_nan())
                    || (found - expected).abs() <= relative * expected.abs().max(1.0)
            }
        };
        let of = expected.len();
        let wrong: Vec<usize> = (0..of).filter(|index| !is_right(index)).collect();
        let &index = wrong.first()?;
        Some(Mismatch {
            index,
            found: found.show(index),
            expected: expected.show(index),
            wrong: wrong.len(),
            of,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_can_be_large() {
        for exercise in crate::EXERCISES {
            let case = (exercise.case)(1 << 18, exercise.offsets[0]);
            assert!(case.grid > 0, "{}", exercise.id);
        }
    }

    fn array(argument: Argument) -> Array {
        match argument {
            Argument::Array(array) => array,
            Argument::Number(_) => unreachable!("these arguments are arrays"),
        }
    }

    #[test]
    fn every_element_counts() {
        let output = array(Argument::output(vec![1, 2, 3, 4_i32], 0));
        assert_eq!(output.judge(&Values::from(vec![1, 2, 3, 4]).bytes()), None);
        let mismatch = output
            .judge(&Values::from(vec![1, 0, 3, 5]).bytes())
            .unwrap();
        assert_eq!(
            mismatch.to_string(),
            "element 1 is 0 and must be 2; 2 of 4 are wrong"
        );
    }

    #[test]
    fn floats_may_be_a_little_off_and_nan_is_nan() {
        let output = array(Argument::output_within(vec![1000.0, f32::NAN], 1e-3, 0));
        let near = Values::from(vec![1000.9_f32, f32::NAN]);
        assert_eq!(output.judge(&near.bytes()), None);
        let far = Values::from(vec![1001.1_f32, f32::NAN]);
        assert_eq!(
            output.judge(&far.bytes()).map(|mismatch| mismatch.wrong),
            Some(1)
        );
    }

    #[test]
    fn an_input_must_stay_as_it_is() {
        let input = array(Argument::input(vec![7_u32], 2));
        assert!(input.judge(&[8, 0, 0, 0]).is_some());
    }
}
