//! Raw little-endian values.

use super::values::{Number, with_number_type};
use super::{InputError, Values, read_bytes};
use crate::element::ElementType;
use std::path::Path;

/// All values of the file.
pub fn read(path: &Path, element_type: ElementType) -> Result<Values, InputError> {
    let bytes = read_bytes(path)?;
    if !bytes.len().is_multiple_of(element_type.bytes()) {
        return Err(InputError::PartialValue {
            path: path.into(),
            bytes: bytes.len(),
            element_type,
        });
    }
    with_number_type!(element_type, T => T::into_values(T::read_all(&bytes))).ok_or_else(|| {
        InputError::UnsupportedType {
            path: path.into(),
            element_type,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read_as(contents: &[u8], element_type: ElementType) -> Result<Values, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), contents).unwrap();
        read(file.path(), element_type).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_little_endian() {
        assert_eq!(
            read_as(&[1, 0, 0, 0, 255, 255, 255, 255], ElementType::I32),
            Ok(Values::I32(vec![1, -1]))
        );
        assert_eq!(
            read_as(&1.5_f64.to_le_bytes(), ElementType::F64),
            Ok(Values::F64(vec![1.5]))
        );
        assert_eq!(read_as(&[], ElementType::U64), Ok(Values::U64(vec![])));
    }

    #[test]
    fn a_value_must_be_whole() {
        let message = read_as(&[0; 7], ElementType::F32).unwrap_err();
        assert!(
            message.contains("7 bytes, which is no whole number of f32 values of 4 bytes"),
            "{message}"
        );
    }

    #[test]
    fn narrow_types_are_refused() {
        let message = read_as(&[0; 4], ElementType::I16).unwrap_err();
        assert!(message.contains("cannot be read as i16"), "{message}");
    }
}
