//! Element types: the scalars that buffers hold, by the names the command line and the file readers use.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use warpfold_kernels::{catalogue, for_each_element};

/// The type of one element of a buffer, little-endian wherever it is bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each variant is the Rust type of that name")]
pub enum ElementType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl ElementType {
    /// Every element type, integers first.
    pub const ALL: [Self; 10] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Its name in Rust: `i32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Size of one element.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The least and the greatest value of an integer type; `None` for a float.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            Self::F32 | Self::F64 => None,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some((0, (1 << bits) - 1)),
        }
    }
}

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
#[error("'{0}' is not an element type; it is one of i8 u8 i16 u16 i32 u32 i64 u64 f32 f64")]
pub struct UnknownElementType(pub String);

impl FromStr for ElementType {
    type Err = UnknownElementType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|element_type| element_type.name() == name)
            .ok_or_else(|| UnknownElementType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for element_type in ElementType::ALL {
            assert_eq!(element_type.name().parse(), Ok(element_type));
        }
        assert!("int".parse::<ElementType>().is_err());
    }

    #[test]
    fn integer_ranges_are_those_of_rust() {
        let range = |element_type: ElementType| element_type.integer_range();
        assert_eq!(range(ElementType::I8), Some((-128, 127)));
        assert_eq!(range(ElementType::U64), Some((0, u64::MAX.into())));
        assert_eq!(
            range(ElementType::I64),
            Some((i64::MIN.into(), i64::MAX.into()))
        );
        assert_eq!(range(ElementType::F32), None);
    }
}
