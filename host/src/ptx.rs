//! The PTX of the kernels: what this binary carries, or what a folder holds that was built elsewhere.

mod folder;

use crate::device::{DeviceError, newest_runnable};
use crate::ptx_header::{Header, hash_sources};
use std::borrow::Cow;
use std::path::Path;
use warpfold_kernels::catalogue::Module;

pub use folder::PtxFolderError;

/// The PTX of one module for each architecture that it is built for: compute capability and text.
macro_rules! embedded {
    ($module:literal) => {
        [
            (
                70,
                include_str!(concat!("../../kernels/ptx/", $module, ".sm_70.ptx")),
            ),
            (
                80,
                include_str!(concat!("../../kernels/ptx/", $module, ".sm_80.ptx")),
            ),
            (
                90,
                include_str!(concat!("../../kernels/ptx/", $module, ".sm_90.ptx")),
            ),
        ]
    };
}

fn embedded(module: Module) -> [(u32, &'static str); 3] {
    match module {
        Module::Kernels => embedded!("kernels"),
        Module::Nested => embedded!("nested"),
        Module::Operators => embedded!("operators"),
    }
}

/// The PTX of the exhibits, with line tables; any architecture would show the same mistakes.
pub const EXHIBITS_PTX: &str = include_str!("../../kernels/ptx/exhibits.sm_80.ptx");

/// PTX texts of the kernels: of each module for several architectures.
#[derive(Clone, Debug)]
pub struct PtxSet {
    texts: Vec<Text>,
}

/// One module for one architecture.
#[derive(Clone, Debug)]
struct Text {
    module: Module,
    sm: u32,
    ptx: Cow<'static, str>,
}

/// Why there is no PTX for a device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxError {
    /// A folder need not have all modules.
    #[error(
        "the PTX has no module `{0}`, which this lesson is in; build its {0}.sm_80.ptx and the like as well"
    )]
    NoModule(&'static str),
    /// The device is older than every text.
    #[error(transparent)]
    TooOld(DeviceError),
}

impl PtxSet {
    /// What was built with this binary.
    pub fn embedded() -> Self {
        let texts_of = |module| {
            embedded(module).map(|(sm, text)| Text {
                module,
                sm,
                ptx: Cow::Borrowed(text),
            })
        };
        Self {
            texts: Module::ALL.into_iter().flat_map(texts_of).collect(),
        }
    }

    /// What a folder holds: a text for each file named like `kernels.sm_80.ptx`, whatever compiler made it.
    ///
    /// # Errors
    /// There is no such file, one cannot be read, or one lacks a kernel that the catalogue has for its architecture.
    pub fn in_folder(folder: &Path) -> Result<Self, PtxFolderError> {
        Ok(Self {
            texts: folder::read(folder)?,
        })
    }

    /// The texts for exactly this compute capability, as if there were no others.
    #[cfg(test)]
    pub(crate) fn only(mut self, sm: u32) -> Self {
        self.texts.retain(|text| text.sm == sm);
        self
    }

    fn of(&self, module: Module) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(move |text| text.module == module)
    }

    /// The compute capabilities there is a text of the module for, oldest first.
    pub fn architectures(&self, module: Module) -> impl Iterator<Item = u32> {
        self.of(module).map(|text| text.sm)
    }

    /// The text of the module for exactly this compute capability.
    pub fn built_for(&self, module: Module, sm: u32) -> Option<&str> {
        let text = self.of(module).find(|text| text.sm == sm)?;
        Some(&text.ptx)
    }

    /// The newest text of the module that a device of this compute capability can run.
    ///
    /// # Errors
    /// There is none of the module at all, or the device is older than every text.
    pub fn newest_for(&self, module: Module, sm: u32) -> Result<&str, PtxError> {
        let variants: Vec<(u32, &str)> =
            self.of(module).map(|text| (text.sm, &*text.ptx)).collect();
        if variants.is_empty() {
            return Err(PtxError::NoModule(module.name()));
        }
        newest_runnable(sm, &variants).map_err(PtxError::TooOld)
    }

    /// Whether the kernels' sources in the checkout that this binary was built from have changed since the PTX was made;
    /// `false` where that checkout is gone, or the PTX does not say what it was made from.
    pub fn is_older_than_sources(&self) -> bool {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let Ok(hash) = hash_sources(&repository) else {
            return false;
        };
        self.texts
            .iter()
            .filter_map(|text| Header::parse(&text.ptx))
            .any(|header| header.source_hash != hash)
    }
}
