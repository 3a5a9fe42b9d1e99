//! What a build gives.

use std::{fs, io, path::Path};

/// The ending of files that are kept compressed.
const COMPRESSED: &str = ".zst";
/// Small enough for a package of all of them, and far from the slowest.
const LEVEL: i32 = 19;

/// A generated file: its path relative to the repository, and its text with header. Files whose names end with `.zst` have the text
/// compressed by Zstandard.
pub struct Generated {
    pub file: String,
    pub text: String,
}

impl Generated {
    /// What is to be in the file.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        match is_compressed(&self.file) {
            true => zstd::encode_all(self.text.as_bytes(), LEVEL),
            false => Ok(self.text.clone().into_bytes()),
        }
    }
}

/// The text that a file has now.
pub fn committed(repository: &Path, file: &str) -> io::Result<String> {
    let bytes = fs::read(repository.join(file))?;
    let bytes = match is_compressed(file) {
        true => zstd::decode_all(&bytes[..])?,
        false => bytes,
    };
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn is_compressed(file: &str) -> bool {
    file.ends_with(COMPRESSED)
}
