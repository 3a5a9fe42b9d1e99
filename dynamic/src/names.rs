//! Operators and types by their names.

use std::fmt;
use std::str::FromStr;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::{for_each_element, for_each_operator};

macro_rules! names {
    ($($(#[$doc:meta])* $names:ident, $unknown:ident: $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $names(&'static str);

        impl $names {
            /// The name.
            pub const fn name(self) -> &'static str {
                self.0
            }
        }

        impl fmt::Display for $names {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.0)
            }
        }

        impl FromStr for $names {
            type Err = $unknown;

            fn from_str(name: &str) -> Result<Self, $unknown> {
                let found = Self::ALL.iter().copied().find(|known| known.0 == name);
                found.ok_or_else(|| $unknown(name.to_owned()))
            }
        }

        #[doc = concat!("A name that is not ", $what, "'s.")]
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[error("'{0}' is not {what}; use one of {names}", what = $what, names = $names::NAMES)]
        pub struct $unknown(String);
    )*};
}

names! {
    /// An operator of the library by its name, as `variance`.
    Named, UnknownOperator: "an operator";
    /// A type by its name, as `bf16`.
    TypeName, UnknownType: "an element type";
}

macro_rules! operators {
    ($($name:ident: $operator:ty = $make:expr;)*) => {
        impl Named {
            /// All operators.
            pub const ALL: &[Self] = &[$(Self(stringify!($name))),*];

            /// Their names, as lists in messages show them.
            pub const NAMES: &str = concat!($(stringify!($name), " "),*).trim_ascii_end();
        }
    };
}

for_each_operator!(operators);

macro_rules! types {
    ($($name:ident: $value:ty;)*) => {
        impl TypeName {
            /// All types.
            pub const ALL: &[Self] = &[$(Self(stringify!($name))),*];

            /// Their names, as lists in messages show them.
            pub const NAMES: &str = concat!($(stringify!($name), " "),*).trim_ascii_end();

            /// The size of a value.
            pub fn bytes(self) -> usize {
                match self.0 {
                    $(stringify!($name) => size_of::<$value>(),)*
                    _ => unreachable!("a name is one of the list"),
                }
            }
        }
    };
}

for_each_element!(types);
