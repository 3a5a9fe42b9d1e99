//! The PTX of the kernels: what this binary carries, or texts that were built elsewhere.

use crate::device::{DeviceError, newest_runnable};
use std::borrow::Cow;
use warpfold_kernels::catalogue;
use warpfold_ptx::Texts;

fn embedded(module: catalogue::Module) -> &'static Texts {
    match module {
        catalogue::Module::Kernels => &warpfold_ptx::KERNELS,
        catalogue::Module::Nested => &warpfold_ptx::NESTED,
        catalogue::Module::Operators => &warpfold_ptx::OPERATORS,
    }
}

/// PTX texts of the kernels: of each module for several architectures.
#[derive(Clone, Debug)]
pub struct PtxSet {
    texts: Vec<Text>,
}

/// One module for one architecture.
#[derive(Clone, Debug)]
struct Text {
    module: catalogue::Module,
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
            embedded(module).iter().map(move |&(sm, text)| Text {
                module,
                sm,
                ptx: Cow::Borrowed(text),
            })
        };
        Self {
            texts: catalogue::Module::ALL
                .into_iter()
                .flat_map(texts_of)
                .collect(),
        }
    }

    /// Texts that were built elsewhere, each with its module and the compute capability that it is built for.
    ///
    /// # Safety
    /// The entries that the catalogue names do in these texts what they do in the embedded ones: they take the same arguments and
    /// keep to the same memory. Safe functions launch them.
    pub unsafe fn from_texts(
        texts: impl IntoIterator<Item = (catalogue::Module, u32, String)>,
    ) -> Self {
        let text = |(module, sm, ptx)| Text {
            module,
            sm,
            ptx: Cow::Owned(ptx),
        };
        let mut texts: Vec<Text> = texts.into_iter().map(text).collect();
        texts.sort_by_key(|text| text.sm);
        Self { texts }
    }

    /// Every text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &*text.ptx)
    }

    /// The texts for exactly this compute capability, as if there were no others.
    #[cfg(test)]
    pub(crate) fn only(mut self, sm: u32) -> Self {
        self.texts.retain(|text| text.sm == sm);
        self
    }

    fn of(&self, module: catalogue::Module) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(move |text| text.module == module)
    }

    /// The compute capabilities there is a text of the module for, oldest first.
    pub fn architectures(&self, module: catalogue::Module) -> impl Iterator<Item = u32> {
        self.of(module).map(|text| text.sm)
    }

    /// The text of the module for exactly this compute capability.
    pub fn built_for(&self, module: catalogue::Module, sm: u32) -> Option<&str> {
        let text = self.of(module).find(|text| text.sm == sm)?;
        Some(&text.ptx)
    }

    /// The newest text of the module that a device of this compute capability can run.
    ///
    /// # Errors
    /// There is no text of the module, or the device is older than every text.
    pub fn newest_for(&self, module: catalogue::Module, sm: u32) -> Result<&str, PtxError> {
        let variants: Vec<(u32, &str)> =
            self.of(module).map(|text| (text.sm, &*text.ptx)).collect();
        if variants.is_empty() {
            return Err(PtxError::NoModule(module.name()));
        }
        newest_runnable(sm, &variants).map_err(PtxError::TooOld)
    }
}
