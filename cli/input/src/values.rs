//! Numbers in memory, of one of the types that files hold.

use warpfold_course::element::ElementType;
use warpfold_kernels::for_each_element;

/// A type of number that files hold.
pub trait FileNumber: bytemuck::Pod + std::str::FromStr + Send {
    /// Its name.
    const ELEMENT_TYPE: ElementType;

    /// Whether it is an infinity.
    fn is_infinite(self) -> bool;

    /// The values with their type in a variant.
    #[cfg(test)]
    fn into_values(numbers: Vec<Self>) -> Values;
}

macro_rules! file_numbers {
    ($($variant:ident $number:ident $kind:ident $bits:tt;)*) => {
        /// The numbers of a file, in its order.
        #[cfg(test)]
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant is the Rust type of that name")]
        pub enum Values { $($variant(Vec<$number>)),* }

        $(impl FileNumber for $number {
            const ELEMENT_TYPE: ElementType = ElementType::$variant;

            fn is_infinite(self) -> bool {
                // No integer is infinite.
                (self as f64).is_infinite()
            }

            #[cfg(test)]
            fn into_values(numbers: Vec<Self>) -> Values {
                Values::$variant(numbers)
            }
        })*

        /// Evaluates an expression with `$name` standing for the number type of an [`ElementType`]; `None` where files
        /// are not read as that type.
        macro_rules! with_number_type {
            ($element_type:expr, $name:ident => $body:expr) => {
                match $element_type {
                    $(warpfold_course::element::ElementType::$variant => { type $name = $number; Some($body) })*
                    _ => None,
                }
            };
        }
    };
}

for_each_element!(file_numbers);

#[cfg(test)]
#[allow(
    clippy::single_component_path_imports,
    reason = "other modules take the macro from here"
)]
pub(super) use with_number_type;

/// Whether files are read as this type.
pub fn is_read_from_files(element_type: ElementType) -> bool {
    with_number_type!(element_type, T => T::ELEMENT_TYPE).is_some()
}
