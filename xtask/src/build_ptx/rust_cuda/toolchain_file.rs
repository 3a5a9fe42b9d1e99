//! `rust-cuda/rust-toolchain.toml`: the one place that names the nightly and its components.

use std::fs;
use std::path::Path;

use crate::build_ptx::error::BuildPtxError;
use crate::failure::io;

/// What the file asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolchainFile {
    /// `nightly-2026-04-02`.
    pub(super) channel: String,
    /// `rust-src`, `rustc-dev` …
    pub(super) components: Vec<String>,
}

impl ToolchainFile {
    /// Reads the file in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, BuildPtxError> {
        let path = folder.join("rust-toolchain.toml");
        let failed = || io(format!("read {}", path.display()));
        let text = fs::read_to_string(&path).map_err(failed())?;
        Self::parse(&text).ok_or_else(|| failed()(std::io::ErrorKind::InvalidData.into()).into())
    }

    /// Reads the two lines that count, each with its value in double quotes.
    fn parse(text: &str) -> Option<Self> {
        let values = |key: &str| -> Option<Vec<String>> {
            let line = text.lines().find_map(|line| {
                let (found, value) = line.split_once('=')?;
                (found.trim() == key).then_some(value)
            })?;
            let quoted = line.split('"').skip(1).step_by(2);
            Some(quoted.map(str::to_owned).collect())
        };
        Some(Self {
            channel: values("channel")?.pop()?,
            components: values("components")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_workspace_names_a_nightly_and_its_components() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rust-cuda");
        let file = ToolchainFile::read(&folder).unwrap();
        assert!(file.channel.starts_with("nightly-"), "{file:?}");
        assert_eq!(file.components, ["rust-src", "rustc-dev", "llvm-tools"]);
    }

    #[test]
    fn a_file_without_channel_is_none() {
        assert_eq!(
            ToolchainFile::parse("[toolchain]\ncomponents = [\"rust-src\"]\n"),
            None
        );
    }
}
