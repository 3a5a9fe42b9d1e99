//! Arrays in memory: a `.npy` or raw file, mapped, in any type that the CPU reduces.

use super::InputError;
use super::archive::Member;
use super::npy_values::NpyValues;
use super::open::{Name, open};
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use warpfold_dynamic::TypeName;

/// The values of a file with their shape.
pub struct Array {
    bytes: Bytes,
    /// Where the values begin.
    start: usize,
    /// Their type.
    pub element_type: TypeName,
    /// The extents, of which the last is that of neighbours in memory.
    pub shape: Vec<usize>,
    /// Whether the array's axes are those of the shape from the last to the first.
    pub is_fortran: bool,
    /// Its name, in a `.npz` file.
    pub name: Option<String>,
}

enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
    /// At an address for any type, and perhaps more of them than values.
    Aligned(Vec<u64>),
}

impl Bytes {
    fn open(path: &Path) -> Result<Self, InputError> {
        Self::try_open(path).map_err(|source| InputError::unreadable(path, source))
    }

    fn try_open(path: &Path) -> io::Result<Self> {
        let name = Name::of(path);
        let mut bytes = Vec::new();
        if name.is_gz || name.is_standard_input {
            open(path)?.read_to_end(&mut bytes)?;
            return Ok(Self::Read(bytes));
        }
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() > 0 {
            // SAFETY: nobody changes the file while it is reduced; that a command cannot rule out, as with any mapped file. The values are
            // plain numbers, so other bits are another result.
            return unsafe { Mmap::map(&file) }.map(Self::Mapped);
        }
        file.read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }

    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
            Self::Aligned(words) => bytemuck::cast_slice(words),
        }
    }
}

impl Array {
    /// Opens a `.npy` file, an array of a `.npz` file by its name, or a file of raw values.
    ///
    /// # Errors
    /// One sentence: the file cannot be read, or is not what it should be.
    pub fn open(
        path: &Path,
        asked: Option<TypeName>,
        array: Option<&str>,
    ) -> Result<Self, InputError> {
        let name = Name::of(path);
        let extension = name.extension.as_deref();
        if extension == Some("npz") {
            return Self::npz(path, asked, array);
        }
        if array.is_some() {
            return Err(InputError::ColumnOfOther(path.into()));
        }
        match (extension, asked) {
            (Some("npy"), _) => Self::npy(path, Bytes::open(path)?, asked),
            // A table otherwise.
            _ if name.is_standard_input => Self::npy(path, Bytes::open(path)?, asked),
            (_, Some(element_type)) => Self::raw(path, element_type),
            (Some("bin"), None) => Err(InputError::NoType(path.into())),
            (_, None) => Err(InputError::UnknownFormat(path.into())),
        }
    }

    /// An array of an archive.
    fn npz(path: &Path, asked: Option<TypeName>, array: Option<&str>) -> Result<Self, InputError> {
        let file = Bytes::open(path)?;
        let all = file.all();
        let member = Member::find(path, all, all.len() as u64, array)?;
        let mut bytes = Vec::new();
        let mut unpacked = member.unpacked(&all[member.start as usize..]);
        let read = unpacked.read_to_end(&mut bytes);
        read.map_err(|source| InputError::unreadable(path, source))?;
        let array = Self::npy(path, Bytes::Read(bytes), asked)?;
        Ok(Self {
            name: Some(member.name),
            ..array
        })
    }

    fn raw(path: &Path, element_type: TypeName) -> Result<Self, InputError> {
        let bytes = Bytes::open(path)?;
        let length = bytes.all().len();
        if !length.is_multiple_of(element_type.bytes()) {
            return Err(InputError::PartialValue {
                path: path.into(),
                bytes: length as u64,
                element_type: element_type.to_string(),
                value_bytes: element_type.bytes(),
            });
        }
        let shape = vec![length / element_type.bytes()];
        Ok(Self::new(bytes, 0, element_type, false, shape, false))
    }

    fn npy(path: &Path, bytes: Bytes, asked: Option<TypeName>) -> Result<Self, InputError> {
        let all = bytes.all();
        let values = NpyValues::read(path, all, Some(all.len() as u64), asked)?;
        Ok(Self::new(
            bytes,
            values.start,
            values.element_type,
            values.is_swapped,
            values.shape,
            values.is_fortran,
        ))
    }

    /// Where the values are in another order of bytes than this computer's, or not at an address for their type, they are copied.
    fn new(
        mut bytes: Bytes,
        mut start: usize,
        element_type: TypeName,
        is_swapped: bool,
        shape: Vec<usize>,
        is_fortran: bool,
    ) -> Self {
        let values = &bytes.all()[start..];
        if is_swapped || !values.as_ptr().addr().is_multiple_of(element_type.bytes()) {
            let mut words = vec![0_u64; values.len().div_ceil(size_of::<u64>())];
            let copy: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[..values.len()];
            copy.copy_from_slice(values);
            if is_swapped {
                copy.chunks_mut(element_type.bytes())
                    .for_each(<[u8]>::reverse);
            }
            (bytes, start) = (Bytes::Aligned(words), 0);
        }
        Self {
            bytes,
            start,
            element_type,
            shape,
            is_fortran,
            name: None,
        }
    }

    /// The bytes of the values, as this computer has them, at an address for their type.
    pub fn values(&self) -> &[u8] {
        let count: usize = self.shape.iter().product();
        &self.bytes.all()[self.start..][..count * self.element_type.bytes()]
    }
}
