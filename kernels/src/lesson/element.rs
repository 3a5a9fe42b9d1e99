//! The element types and the operators, from the [lists](crate::lists).

macro_rules! element_type {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
        /// The type of the elements that a lesson takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each variant is the Rust type of that name")]
        pub enum ElementType {
            $($variant,)*
        }

        impl ElementType {
            /// All types.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The names of all types, as lists in messages show them: `i32 u32 …`.
            pub const NAMES: &str = concat!($(stringify!($value), " "),*).trim_ascii_end();

            /// Size of one value.
            pub const fn bytes(self) -> u32 {
                match self {
                    $(Self::$variant => $bits / 8,)*
                }
            }

            /// Its name in Rust: `i32`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($value),)*
                }
            }
        }
    };
}

crate::for_each_element!(element_type);

macro_rules! operator {
    ($($operator:ident $name:ident;)*) => {
        /// How a lesson combines values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each variant is the operator of that name, which the generic bodies describe")]
        pub enum Operator {
            $($operator,)*
        }

        impl Operator {
            /// All operators.
            pub const ALL: &[Self] = &[$(Self::$operator),*];

            /// The names of all operators, as lists in messages show them: `sum product …`.
            pub const NAMES: &str = concat!($(stringify!($name), " "),*).trim_ascii_end();

            /// Its name in ids: `sum`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$operator => stringify!($name),)*
                }
            }
        }
    };
}

crate::for_each_operator!(operator);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_the_size_and_the_name_that_rust_gives_it() {
        macro_rules! compare {
            ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {$(
                assert_eq!(ElementType::$variant.bytes() as usize, size_of::<$value>());
                assert_eq!(ElementType::$variant.name(), core::any::type_name::<$value>());
            )*};
        }
        crate::for_each_element!(compare);
    }
}
