//! The PTX of the kernels, as this binary carries it.

use crate::device::{Device, DeviceError};
use crate::ptx_header::{Header, hash_sources};
use std::path::Path;

/// The kernels' PTX for each architecture that it is built for: compute capability and text.
const EMBEDDED: [(u32, &str); 3] = [
    (70, include_str!("../../kernels/ptx/kernels.sm_70.ptx")),
    (80, include_str!("../../kernels/ptx/kernels.sm_80.ptx")),
    (90, include_str!("../../kernels/ptx/kernels.sm_90.ptx")),
];

/// One PTX text of the kernels for each of several architectures.
#[derive(Clone, Debug)]
pub struct PtxSet {
    variants: Vec<(u32, &'static str)>,
}

impl PtxSet {
    /// What was built with this binary.
    pub fn embedded() -> Self {
        Self {
            variants: EMBEDDED.to_vec(),
        }
    }

    /// The compute capabilities there is a text for, oldest first.
    pub fn architectures(&self) -> impl Iterator<Item = u32> {
        self.variants.iter().map(|&(sm, _)| sm)
    }

    /// The text for exactly this compute capability.
    pub fn built_for(&self, sm: u32) -> Option<&str> {
        self.variants
            .iter()
            .find(|&&(built_for, _)| built_for == sm)
            .map(|&(_, text)| text)
    }

    /// The newest text that the device can run.
    ///
    /// # Errors
    /// The device is older than every text.
    pub fn newest_for(&self, device: &Device) -> Result<&str, DeviceError> {
        device.newest_ptx(&self.variants)
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
