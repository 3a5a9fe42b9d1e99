//! What a `.npy` file says of its values, in any type that is reduced.

use super::InputError;
use super::npy_header::{MOST_HEADER_BYTES, NpyHeader, unquoted};
use std::path::Path;
use warpfold_dynamic::TypeName;

/// The values after a header.
pub(super) struct NpyValues {
    pub element_type: TypeName,
    /// The bytes before them.
    pub start: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The extents, of which the last is that of neighbours in memory.
    pub shape: Vec<usize>,
    /// Whether the array's axes are those of the shape from the last to the first.
    pub is_fortran: bool,
    /// Whether the bytes of a value are in another order than this computer's.
    pub is_swapped: bool,
}

impl NpyValues {
    /// Reads the beginning of a file: [`MOST_HEADER_BYTES`], or all of a shorter one. `length` is the file's, where that is known; the values then
    /// have to be all that follows the header.
    pub(super) fn read(
        path: &Path,
        beginning: &[u8],
        length: Option<u64>,
        asked: Option<TypeName>,
    ) -> Result<Self, InputError> {
        let broken = |reason| InputError::BrokenNpy {
            path: path.into(),
            reason,
        };
        let beginning = &beginning[..beginning.len().min(MOST_HEADER_BYTES)];
        let header = NpyHeader::parse(beginning).map_err(broken)?;
        let element_type =
            type_of_numpy(&header.descriptor).ok_or_else(|| InputError::NoNumbers {
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
        let promised = header
            .shape
            .iter()
            .try_fold(1, |values: u64, &extent| values.checked_mul(extent));
        let promised = promised.and_then(|values| values.checked_mul(element_type.bytes() as u64));
        let follow = length.map(|length| length.saturating_sub(header.bytes as u64));
        let bytes = match (promised, follow) {
            (Some(promised), None) => promised,
            (Some(promised), Some(follow)) if promised == follow => promised,
            _ => {
                let follow = follow.map_or_else(
                    || "any number of bytes".to_owned(),
                    |bytes| format!("the {bytes} bytes that follow the header"),
                );
                return Err(broken(format!(
                    "its shape {:?} of {element_type} does not match {follow}",
                    header.shape
                )));
            }
        };
        // Each fits, except beside an extent of 0.
        let mut shape: Vec<usize> = header.shape.iter().map(|&extent| extent as usize).collect();
        if header.is_fortran {
            shape.reverse();
        }
        let is_big_endian = unquoted(&header.descriptor).is_some_and(|name| name.starts_with('>'));
        Ok(Self {
            element_type,
            start: header.bytes,
            bytes,
            shape,
            is_fortran: header.is_fortran,
            is_swapped: is_big_endian != cfg!(target_endian = "big") && element_type.bytes() > 1,
        })
    }
}

/// NumPy's type, as `f4` and with any byte order before it.
fn type_of_numpy(descriptor: &str) -> Option<TypeName> {
    let name = unquoted(descriptor)?;
    let name = name.strip_prefix(['<', '>', '|', '=']).unwrap_or(name);
    let (kind, bytes) = name.split_at_checked(1)?;
    let bits = bytes.parse::<usize>().ok()?.checked_mul(8)?;
    match kind {
        "b" if bits == 8 => "bool".parse().ok(),
        "i" | "u" | "f" => format!("{kind}{bits}").parse().ok(),
        _ => None,
    }
}
