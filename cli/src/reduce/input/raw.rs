//! Numbers as they lie in memory, end to end: all of a raw file, and what follows the header of a `.npy` file.

use super::InputError;
use super::values::FileNumber;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use warpfold_course::element::ElementType;

/// Reads raw numbers piece by piece.
pub(super) struct RawReader {
    path: PathBuf,
    data: Box<dyn Read + Send>,
    element_type: ElementType,
    is_big_endian: bool,
    /// How many numbers there have to be; `None` where the file ends with the last one.
    promised: Option<u64>,
    bytes_read: u64,
}

impl RawReader {
    /// A file of little-endian numbers and nothing else.
    pub(super) fn open(path: &Path, element_type: ElementType) -> Result<Self, InputError> {
        let unreadable = |source| InputError::unreadable(path, source);
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        // The length of a pipe is known only at its end.
        if metadata.is_file() && !metadata.len().is_multiple_of(element_type.bytes() as u64) {
            return Err(partial_value(path, metadata.len(), element_type));
        }
        Ok(Self::new(path, Box::new(file), element_type, false, None))
    }

    /// The rest of a file that another reader has opened.
    pub(super) fn new(
        path: &Path,
        data: Box<dyn Read + Send>,
        element_type: ElementType,
        is_big_endian: bool,
        promised: Option<u64>,
    ) -> Self {
        Self {
            path: path.into(),
            data,
            element_type,
            is_big_endian,
            promised,
            bytes_read: 0,
        }
    }

    pub(super) fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// How much of the file has been read, without a header.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The next numbers: as many as asked for, or all that are left.
    pub(super) fn read<T: FileNumber>(&mut self, most: usize) -> Result<Vec<T>, InputError> {
        // Memory is not reserved all at once: the file may be much shorter than what is asked for.
        const STEP_BYTES: usize = 1 << 24;
        let step = STEP_BYTES / size_of::<T>();
        let left = self.left().unwrap_or(u64::MAX);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        let mut numbers: Vec<T> = Vec::new();
        while numbers.len() < most {
            let start = numbers.len();
            let wanted = step.min(most - start);
            numbers
                .try_reserve(wanted)
                .map_err(|_| InputError::TooLarge(self.path.clone()))?;
            numbers.resize(start + wanted, T::zeroed());
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut numbers[start..]);
            let read = read_up_to(&mut self.data, bytes)
                .map_err(|source| InputError::unreadable(&self.path, source))?;
            self.bytes_read += read as u64;
            let whole = read / size_of::<T>();
            numbers.truncate(start + whole);
            if !read.is_multiple_of(size_of::<T>()) {
                return Err(self.ends_early());
            }
            if whole < wanted {
                break;
            }
        }
        if numbers.len() < most && self.promised.is_some() {
            return Err(self.ends_early());
        }
        if self.is_big_endian != cfg!(target_endian = "big") {
            for number in &mut numbers {
                *number = number.with_bytes_reversed();
            }
        }
        Ok(numbers)
    }

    /// How many numbers there still have to be, if that is known.
    fn left(&self) -> Option<u64> {
        let read = self.bytes_read / self.element_type.bytes() as u64;
        self.promised.map(|promised| promised - read)
    }

    fn ends_early(&self) -> InputError {
        match self.promised {
            None => partial_value(&self.path, self.bytes_read, self.element_type),
            Some(promised) => InputError::BrokenNpy {
                path: self.path.clone(),
                reason: format!(
                    "its header promises {promised} values of {}, and {} bytes follow it",
                    self.element_type, self.bytes_read
                ),
            },
        }
    }
}

fn partial_value(path: &Path, bytes: u64, element_type: ElementType) -> InputError {
    InputError::PartialValue {
        path: path.into(),
        bytes,
        element_type: element_type.to_string(),
        value_bytes: element_type.bytes(),
    }
}

/// Reads until the bytes are full or there is no more; says how many were read.
fn read_up_to(data: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match data.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::super::{Source, Values, read};
    use super::*;

    #[track_caller]
    fn read_as(contents: &[u8], element_type: ElementType) -> Result<Values, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), contents).unwrap();
        read(file.path(), Some(element_type), None)
            .map(|input| input.values)
            .map_err(|error| error.to_string())
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

    #[test]
    fn pieces_follow_one_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let values: Vec<u8> = (0..10_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(file.path(), values).unwrap();
        let mut source = Source::open(file.path(), Some(ElementType::U32), None).unwrap();
        assert_eq!(source.bytes(), Some(40));
        assert_eq!(source.read::<u32>(4).unwrap(), [0, 1, 2, 3]);
        assert_eq!(source.bytes_read(), 16);
        assert!(source.read::<u32>(0).unwrap().is_empty());
        assert_eq!(source.read::<u32>(4).unwrap(), [4, 5, 6, 7]);
        assert_eq!(source.read::<u32>(4).unwrap(), [8, 9]);
        assert!(source.read::<u32>(4).unwrap().is_empty());
    }
}
