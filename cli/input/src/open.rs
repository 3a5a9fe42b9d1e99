//! Files by their names, as bytes.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// How every `.npy` file begins.
pub(super) const NPY: &[u8] = b"\x93NUMPY";

/// What a file's name says of it.
pub(super) struct Name {
    /// The extension in lower case, before `.gz` where that is the last.
    pub extension: Option<String>,
    /// Whether it is compressed.
    pub is_gz: bool,
    /// Whether it is standard input, `-`.
    pub is_standard_input: bool,
}

impl Name {
    pub(super) fn of(path: &Path) -> Self {
        let extension = |path: &Path| {
            let extension = path.extension()?;
            Some(extension.to_string_lossy().to_lowercase())
        };
        let last = extension(path);
        let is_gz = last.as_deref() == Some("gz");
        Self {
            extension: if is_gz {
                extension(&path.with_extension(""))
            } else {
                last
            },
            is_gz,
            is_standard_input: path.as_os_str() == "-",
        }
    }
}

/// What the file holds, or what is left of standard input.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let name = Name::of(path);
    Ok(if name.is_standard_input {
        Box::new(io::stdin())
    } else if name.is_gz {
        Box::new(MultiGzDecoder::new(BufReader::new(File::open(path)?)))
    } else {
        Box::new(File::open(path)?)
    })
}

/// Whether the values are those of one column: of text, or of a Parquet file. Standard input is looked at, and nothing is taken from it.
pub fn is_table(path: &Path) -> bool {
    let name = Name::of(path);
    if name.is_standard_input {
        // An error comes again when it is read.
        return io::stdin()
            .lock()
            .fill_buf()
            .is_ok_and(|start| !is_npy(start));
    }
    matches!(name.extension.as_deref(), Some("csv" | "tsv" | "parquet"))
}

/// Whether what begins so, of which a pipe may have given little yet, is a `.npy` file: no text begins with its first byte.
fn is_npy(start: &[u8]) -> bool {
    let told = start.len().min(NPY.len());
    told > 0 && start[..told] == NPY[..told]
}

/// Whether the values, of a `.npy`, `.csv` or raw file, can be read piece by piece as they lie there.
pub fn comes_in_pieces(path: &Path) -> bool {
    let name = Name::of(path);
    let is_other = matches!(name.extension.as_deref(), Some("npz" | "tsv" | "parquet"));
    !(is_other || name.is_gz || name.is_standard_input)
}
