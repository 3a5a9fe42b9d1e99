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
    fn is_compressed(&self) -> bool {
        self.file.ends_with(COMPRESSED)
    }

    /// The text that the file has now.
    pub fn committed(&self, repository: &Path) -> io::Result<String> {
        let bytes = fs::read(repository.join(&self.file))?;
        let bytes = match self.is_compressed() {
            true => zstd::decode_all(&bytes[..])?,
            false => bytes,
        };
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// What is to be in the file.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        match self.is_compressed() {
            true => zstd::encode_all(self.text.as_bytes(), LEVEL),
            false => Ok(self.text.clone().into_bytes()),
        }
    }
}
