//! The PTX of the kernels: what this binary carries, or what a folder holds that was built elsewhere.

mod folder;

use crate::device::{Device, DeviceError};
use crate::ptx_header::{Header, hash_sources};
use std::borrow::Cow;
use std::path::Path;

pub use folder::PtxFolderError;

/// The kernels' PTX for each architecture that it is built for: compute capability and text.
const EMBEDDED: [(u32, &str); 3] = [
    (70, include_str!("../../kernels/ptx/kernels.sm_70.ptx")),
    (80, include_str!("../../kernels/ptx/kernels.sm_80.ptx")),
    (90, include_str!("../../kernels/ptx/kernels.sm_90.ptx")),
];

/// The PTX of the exhibits, with line tables; any architecture would show the same mistakes.
pub const EXHIBITS_PTX: &str = include_str!("../../kernels/ptx/exhibits.sm_80.ptx");

/// One PTX text of the kernels for each of several architectures.
#[derive(Clone, Debug)]
pub struct PtxSet {
    variants: Vec<(u32, Cow<'static, str>)>,
}

impl PtxSet {
    /// What was built with this binary.
    pub fn embedded() -> Self {
        Self {
            variants: EMBEDDED.map(|(sm, text)| (sm, Cow::Borrowed(text))).into(),
        }
    }

    /// What a folder holds: a text for each file named like `kernels.sm_80.ptx`, whatever compiler made it.
    ///
    /// # Errors
    /// There is no such file, one cannot be read, or one lacks a kernel that the catalogue has for its architecture.
    pub fn in_folder(folder: &Path) -> Result<Self, PtxFolderError> {
        let variants = folder::read(folder)?;
        Ok(Self {
            variants: variants
                .into_iter()
                .map(|(sm, text)| (sm, Cow::Owned(text)))
                .collect(),
        })
    }

    /// The compute capabilities there is a text for, oldest first.
    pub fn architectures(&self) -> impl Iterator<Item = u32> {
        self.variants.iter().map(|(sm, _)| *sm)
    }

    /// The text for exactly this compute capability.
    pub fn built_for(&self, sm: u32) -> Option<&str> {
        self.variants
            .iter()
            .find(|(built_for, _)| *built_for == sm)
            .map(|(_, text)| &**text)
    }

    /// The newest text that the device can run.
    ///
    /// # Errors
    /// The device is older than every text.
    pub fn newest_for(&self, device: &Device) -> Result<&str, DeviceError> {
        let variants: Vec<(u32, &str)> = self
            .variants
            .iter()
            .map(|(sm, text)| (*sm, &**text))
            .collect();
        device.newest_ptx(&variants)
    }

    /// Whether the kernels' sources in the checkout that this binary was built from have changed since the PTX was made;
    /// `false` where that checkout is gone, or the PTX does not say what it was made from.
    pub fn is_older_than_sources(&self) -> bool {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let Ok(hash) = hash_sources(&repository) else {
            return false;
        };
        self.variants
            .iter()
            .filter_map(|(_, text)| Header::parse(text))
            .any(|header| header.source_hash != hash)
    }
}
