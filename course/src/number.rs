//! A number with its type: what a reduction comes to.

use serde::{Serialize, Serializer};
use std::fmt;
use warpfold_kernels::for_each_scalar;

macro_rules! number {
    ($($variant:ident $number:ident $kind:ident $bits:tt;)*) => {
        /// A number of one of the types that buffers hold.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant is the Rust type of that name")]
        pub enum Number {
            $($variant($number),)*
        }

        $(impl From<$number> for Number {
            fn from(number: $number) -> Self {
                Self::$variant(number)
            }
        })*

        impl Number {
            /// As an integer, if it is of an integer type.
            pub fn to_integer(self) -> Option<i128> {
                match self {
                    $(Self::$variant(number) => number!(@to integer $kind i128 number),)*
                }
            }

            /// As a float, if it is of a float type.
            pub fn to_float(self) -> Option<f64> {
                match self {
                    $(Self::$variant(number) => number!(@to float $kind f64 number),)*
                }
            }
        }

        /// Floats with as many digits as it takes to read them back, and at least one after the point.
        impl fmt::Display for Number {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(number) => write!(formatter, "{number:?}"),)*
                }
            }
        }

        /// A number; a string for what JSON has no number for: `"NaN"`, `"inf"`, `"-inf"`.
        impl Serialize for Number {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if self.to_float().is_some_and(|number| !number.is_finite()) {
                    return serializer.collect_str(self);
                }
                match self {
                    $(Self::$variant(number) => number.serialize(serializer),)*
                }
            }
        }
    };
    (@to integer integer $to:ident $number:ident) => { Some($to::from($number)) };
    (@to float float $to:ident $number:ident) => { Some($to::from($number)) };
    (@to $asked:ident $kind:ident $to:ident $number:ident) => {{
        let _ = $number;
        None
    }};
}

for_each_scalar!(number);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_numbers_where_it_can() {
        let json = |number: Number| serde_json::to_string(&number).unwrap();
        assert_eq!(json(Number::I32(-7)), "-7");
        assert_eq!(json(Number::U64(u64::MAX)), "18446744073709551615");
        assert_eq!(json(Number::F32(0.1)), "0.1");
        assert_eq!(json(Number::F64(-0.0)), "-0.0");
        assert_eq!(json(Number::F32(f32::NAN)), "\"NaN\"");
        assert_eq!(json(Number::F64(f64::NEG_INFINITY)), "\"-inf\"");
    }

    #[test]
    fn floats_look_like_floats() {
        assert_eq!(Number::F32(3.0).to_string(), "3.0");
        assert_eq!(Number::F32(16_777_216.5).to_string(), "16777216.0");
        assert_eq!(Number::F64(f64::INFINITY).to_string(), "inf");
    }
}
