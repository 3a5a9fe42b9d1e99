//! NumPy's `.npy` arrays, flattened.

use super::InputError;
use super::npy_header::{MOST_HEADER_BYTES, NpyHeader, unquoted};
use super::raw::RawReader;
use super::values::is_read_from_files;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use warpfold_course::element::ElementType;

/// Reads the header; the values follow in the order they are stored in.
pub(super) fn open(path: &Path, asked: Option<ElementType>) -> Result<RawReader, InputError> {
    let unreadable = |source| InputError::unreadable(path, source);
    let broken = |reason: String| InputError::BrokenNpy {
        path: path.into(),
        reason,
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mut beginning = Vec::new();
    (&mut file)
        .take(MOST_HEADER_BYTES as u64)
        .read_to_end(&mut beginning)
        .map_err(unreadable)?;
    let header = NpyHeader::parse(&beginning).map_err(broken)?;
    let (element_type, is_big_endian) =
        element_type(&header.descriptor).ok_or_else(|| InputError::UnknownNpyType {
            path: path.into(),
            descriptor: header.descriptor.clone(),
        })?;
    if let Some(asked) = asked
        && asked != element_type
    {
        return Err(InputError::OtherType {
            path: path.into(),
            found: element_type.to_string(),
            asked: asked.to_string(),
        });
    }
    // Before anything is read: a header may promise more than there is, or than there can be.
    let promised = header
        .shape
        .iter()
        .try_fold(1, |values: u64, &extent| values.checked_mul(extent));
    let promised_bytes =
        promised.and_then(|values| values.checked_mul(element_type.bytes() as u64));
    // The length of a pipe is known only at its end.
    let data_bytes = metadata
        .is_file()
        .then(|| metadata.len().saturating_sub(header.bytes as u64));
    if promised_bytes.is_none() || data_bytes.is_some() && data_bytes != promised_bytes {
        return Err(broken(format!(
            "its shape {:?} of {element_type} does not match the {} bytes that follow the header",
            header.shape,
            data_bytes.unwrap_or((beginning.len() - header.bytes) as u64)
        )));
    }
    let mut data = Cursor::new(beginning);
    data.set_position(header.bytes as u64);
    let data = Box::new(data.chain(file));
    Ok(RawReader::new(
        path,
        data,
        element_type,
        is_big_endian,
        promised,
    ))
}

/// The element type of a plain array of numbers, and whether its bytes are big-endian.
fn element_type(descriptor: &str) -> Option<(ElementType, bool)> {
    let name = unquoted(descriptor)?;
    let is_big_endian = name.starts_with('>');
    let name = name.strip_prefix(['<', '>'])?;
    let npy_name = |element_type: ElementType| {
        let kind = match element_type.integer_range() {
            Some((0, _)) => 'u',
            Some(_) => 'i',
            None => 'f',
        };
        format!("{kind}{}", element_type.bytes())
    };
    let element_type = ElementType::ALL
        .iter()
        .copied()
        .find(|&element_type| is_read_from_files(element_type) && npy_name(element_type) == name)?;
    Some((element_type, is_big_endian))
}

#[cfg(test)]
mod tests {
    use super::super::{Values, read};
    use super::*;

    /// A `.npy` file of version 1.0 with this header dictionary.
    fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
        bytes.extend_from_slice(dictionary.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    fn read_npy(contents: &[u8], asked: Option<ElementType>) -> Result<Values, String> {
        let file = tempfile::Builder::new().suffix(".npy").tempfile().unwrap();
        std::fs::write(file.path(), contents).unwrap();
        read(file.path(), asked, None)
            .map(|input| input.values)
            .map_err(|error| error.to_string())
    }

    const FOUR_I32: &str = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }\n";

    #[test]
    fn arrays_of_any_shape_and_byte_order_are_flattened() {
        let data: Vec<u8> = [1, -2, 3, 4]
            .iter()
            .flat_map(|value: &i32| value.to_le_bytes())
            .collect();
        let expected = Ok(Values::I32(vec![1, -2, 3, 4]));
        assert_eq!(read_npy(&npy(FOUR_I32, &data), None), expected);
        assert_eq!(
            read_npy(&npy(FOUR_I32, &data), Some(ElementType::I32)),
            expected
        );
        let square = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }";
        assert_eq!(read_npy(&npy(square, &data), None), expected);
        let big_endian = "{'descr': '>f8', 'fortran_order': False, 'shape': (), }";
        assert_eq!(
            read_npy(&npy(big_endian, &1.5_f64.to_be_bytes()), None),
            Ok(Values::F64(vec![1.5]))
        );
        let empty = "{'descr': '<u8', 'fortran_order': False, 'shape': (0, 3), }";
        assert_eq!(read_npy(&npy(empty, &[]), None), Ok(Values::U64(vec![])));
    }

    #[test]
    fn broken_files_are_refused_with_the_reason() {
        for (contents, reason) in [
            (vec![], "does not begin with the bytes"),
            (b"not an array".to_vec(), "does not begin with the bytes"),
            (b"\x93NUMPY\x01\x00".to_vec(), "ends before its header"),
            (
                b"\x93NUMPY\x01\x00\xff\x00{'descr'".to_vec(),
                "ends before its header",
            ),
            (npy("(1, 2)", &[]), "no Python dictionary"),
            (npy("{'descr': '<i4'}", &[]), "has no 'fortran_order'"),
            (npy(FOUR_I32, &[0; 15]), "does not match the 15 bytes"),
            (npy(FOUR_I32, &[0; 17]), "does not match the 17 bytes"),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }",
                    &[],
                ),
                "negative",
            ),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
                    &[],
                ),
                "does not match",
            ),
            (
                npy(
                    "{'descr': '<i4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
                    &[],
                ),
                "does not match",
            ),
            (npy(&"(".repeat(9000), &[]), "no Python dictionary"),
            (
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(),
                "longer than any",
            ),
        ] {
            let message = read_npy(&contents, None).unwrap_err();
            assert!(message.contains(reason), "{reason}: {message}");
        }
    }

    #[test]
    fn other_types_are_named() {
        for descriptor in ["<f2", "|b1", "|S3", "<c8", "|O", "i4"] {
            let header =
                format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': (0,), }}");
            let message = read_npy(&npy(&header, &[]), None).unwrap_err();
            assert!(
                message.contains(&format!("NumPy type '{descriptor}'")),
                "{message}"
            );
        }
        let structure =
            "{'descr': [('a, b', '<i4'), ('c', '<f4')], 'fortran_order': False, 'shape': (0,), }";
        let message = read_npy(&npy(structure, &[]), None).unwrap_err();
        assert!(
            message.contains("NumPy type [('a, b', '<i4'), ('c', '<f4')]"),
            "{message}"
        );
        let message = read_npy(&npy(FOUR_I32, &[0; 16]), Some(ElementType::F32)).unwrap_err();
        assert!(message.contains("holds i32 values, not f32"), "{message}");
    }
}
