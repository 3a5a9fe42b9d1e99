//! Element types: the scalars that buffers hold, by the names the command line and the file readers use.

use crate::number::Number;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::{catalogue, for_each_element, for_each_scalar};

macro_rules! element_type {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
        /// The type of one element of a buffer, little-endian wherever it is bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        #[allow(missing_docs, reason = "each variant is the Rust type of that name")]
        pub enum ElementType {
            $($variant,)*
        }

        impl ElementType {
            /// All element types.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Their names, as lists in messages show them.
            pub const NAMES: &str = concat!($(stringify!($value), " "),*).trim_ascii_end();

            /// Its name in Rust: `i32`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($value),)*
                }
            }

            /// Size of one element.
            pub const fn bytes(self) -> usize {
                match self {
                    $(Self::$variant => $bits / 8,)*
                }
            }

            /// The least and the greatest value of an integer type; `None` for a float.
            pub const fn integer_range(self) -> Option<(i128, i128)> {
                match self {
                    $(Self::$variant => element_type!(@range $kind $value),)*
                }
            }

            /// The number that these bytes are; `None` where they are not as many as an element has.
            pub fn number(self, bytes: &[u8]) -> Option<Number> {
                Some(match self {
                    $(Self::$variant => $value::from_le_bytes(bytes.try_into().ok()?).into(),)*
                })
            }
        }
    };
    (@range integer $value:ident) => { Some(($value::MIN as i128, $value::MAX as i128)) };
    (@range float $value:ident) => { None };
}

for_each_scalar!(element_type);

macro_rules! from_catalogue {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
        impl From<catalogue::ElementType> for ElementType {
            fn from(element_type: catalogue::ElementType) -> Self {
                match element_type {
                    $(catalogue::ElementType::$variant => Self::$variant,)*
                }
            }
        }
    };
}

for_each_element!(from_catalogue);

impl fmt::Display for ElementType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an element type; use one of {names}", names = ElementType::NAMES)]
pub struct UnknownElementType(pub String);

impl FromStr for ElementType {
    type Err = UnknownElementType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .iter()
            .find(|element_type| element_type.name() == name);
        found
            .copied()
            .ok_or_else(|| UnknownElementType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &element_type in ElementType::ALL {
            assert_eq!(element_type.name().parse(), Ok(element_type));
        }
        assert_eq!(
            "int".parse::<ElementType>().unwrap_err().to_string(),
            "'int' is not an element type; use one of i8 u8 i16 u16 i32 u32 i64 u64 f32 f64"
        );
    }

    #[test]
    fn integer_ranges_are_those_of_rust() {
        let range = |element_type: ElementType| element_type.integer_range();
        assert_eq!(range(ElementType::I8), Some((-128, 127)));
        assert_eq!(range(ElementType::U64), Some((0, u64::MAX.into())));
        assert_eq!(range(ElementType::F32), None);
    }

    #[test]
    fn bytes_are_numbers() {
        assert_eq!(
            ElementType::I16.number(&[0xfe, 0xff]),
            Some((-2_i16).into())
        );
        assert_eq!(ElementType::I16.number(&[0xfe]), None);
    }
}
