//! Numbers in memory, of one of the types that files hold.

use crate::element::ElementType;

/// A type of number that files hold.
pub(super) trait Number: npyz::Deserialize + std::str::FromStr {
    /// Whether it is an infinity.
    fn is_infinite(&self) -> bool;
    /// Its little-endian values, end to end; an incomplete one at the end is left out.
    fn read_all(bytes: &[u8]) -> Vec<Self>;
    /// The values with their type in a variant.
    fn into_values(numbers: Vec<Self>) -> Values;
}

macro_rules! number_types {
    ($($variant:ident => $number:ty),* $(,)?) => {
        /// The numbers of a file, in its order.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant is the Rust type of that name")]
        pub enum Values { $($variant(Vec<$number>)),* }

        impl Values {
            /// The type of the values.
            pub fn element_type(&self) -> ElementType {
                match self { $(Self::$variant(_) => ElementType::$variant),* }
            }

            /// How many there are.
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(numbers) => numbers.len()),* }
            }
        }

        $(impl Number for $number {
            fn is_infinite(&self) -> bool {
                // No integer is so large.
                (*self as f64).is_infinite()
            }

            fn read_all(bytes: &[u8]) -> Vec<Self> {
                let (numbers, _) = bytes.as_chunks();
                numbers.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect()
            }

            fn into_values(numbers: Vec<Self>) -> Values {
                Values::$variant(numbers)
            }
        })*

        /// Evaluates an expression with `$name` standing for the number type of an [`ElementType`]; `None` where files
        /// are not read as that type.
        macro_rules! with_number_type {
            ($element_type:expr, $name:ident => $body:expr) => {
                match $element_type {
                    $(crate::element::ElementType::$variant => { type $name = $number; Some($body) })*
                    _ => None,
                }
            };
        }
    };
}

number_types! { I32 => i32, U32 => u32, I64 => i64, U64 => u64, F32 => f32, F64 => f64 }

pub(super) use with_number_type;

impl Values {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory they take.
    pub fn bytes(&self) -> usize {
        self.len() * self.element_type().bytes()
    }
}
