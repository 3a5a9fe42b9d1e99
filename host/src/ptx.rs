//! The PTX of the kernels: what this binary carries, or texts that were built elsewhere.

use crate::device::{DeviceError, newest_runnable};
use std::borrow::Cow;
use warpfold_emulator::entries::{Entries, alone};
use warpfold_kernels::catalogue;
use warpfold_ptx::{Texts, registers};

pub(crate) fn embedded(module: catalogue::PtxText) -> &'static Texts {
    match module {
        catalogue::PtxText::Kernels => &warpfold_ptx::KERNELS,
        catalogue::PtxText::Nested => &warpfold_ptx::NESTED,
        catalogue::PtxText::Operators => &warpfold_ptx::OPERATORS,
        catalogue::PtxText::Recent => &warpfold_ptx::RECENT,
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
    module: catalogue::PtxText,
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
        let of_module = |module| Self::of_module(module, embedded(module)).texts;
        Self {
            texts: catalogue::PtxText::ALL
                .into_iter()
                .flat_map(of_module)
                .collect(),
        }
    }

    /// What was built with this binary of one module.
    pub(crate) fn of_module(module: catalogue::PtxText, texts: &'static Texts) -> Self {
        let text = |&(sm, text)| Text {
            module,
            sm,
            ptx: Cow::Borrowed(text),
        };
        Self {
            texts: texts.iter().map(text).collect(),
        }
    }

    /// Texts that were built elsewhere, each with its module and the compute capability that it is built for.
    ///
    /// # Safety
    /// The entries that the catalogue names do in these texts what they do in the embedded ones: they take the same arguments and
    /// keep to the same memory. Safe functions launch them.
    pub unsafe fn from_texts(
        texts: impl IntoIterator<Item = (catalogue::PtxText, u32, String)>,
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

    fn of(&self, module: catalogue::PtxText) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(move |text| text.module == module)
    }

    /// The compute capabilities there is a text of the module for, oldest first.
    pub fn architectures(&self, module: catalogue::PtxText) -> impl Iterator<Item = u32> {
        self.of(module).map(|text| text.sm)
    }

    /// The text of the module for exactly this compute capability.
    pub fn built_for(&self, module: catalogue::PtxText, sm: u32) -> Option<&str> {
        let text = self.of(module).find(|text| text.sm == sm)?;
        Some(&text.ptx)
    }

    /// The newest text of the module that a device of this compute capability can run.
    ///
    /// # Errors
    /// There is no text of the module, or the device is older than every text.
    pub fn newest_for(&self, module: catalogue::PtxText, sm: u32) -> Result<&str, PtxError> {
        let variants: Vec<(u32, &str)> =
            self.of(module).map(|text| (text.sm, &*text.ptx)).collect();
        if variants.is_empty() {
            return Err(PtxError::NoModule(module.name()));
        }
        newest_runnable(sm, &variants).map_err(PtxError::TooOld)
    }

    /// How many registers NVIDIA's assembler gives each thread of a kernel of this module on a GPU of this compute capability, if that is
    /// [recorded](recorded_by) for the text that the GPU gets. The driver on a machine may be of another version, and differ by a few.
    pub fn recorded_registers(
        &self,
        module: catalogue::PtxText,
        entry: &str,
        sm: u32,
    ) -> Option<u32> {
        let text = self.newest_for(module, sm).ok()?;
        registers::find(warpfold_ptx::REGISTERS, text, entry, sm)
    }

    /// As [`Self::newest_for`], with no other entry than this one, since a driver compiles all that a text has before the first can be
    /// launched. Each line keeps its number. Of a module whose kernels launch one another it is the whole text, as where there is no such
    /// entry.
    ///
    /// # Errors
    /// As [`Self::newest_for`].
    pub fn newest_with(
        &self,
        module: catalogue::PtxText,
        entry: &str,
        sm: u32,
    ) -> Result<Cow<'_, str>, PtxError> {
        let text = self.newest_for(module, sm)?;
        let alone = if stays_together(module) {
            None
        } else {
            alone(text, entry)
        };
        Ok(alone.map_or(Cow::Borrowed(text), Cow::Owned))
    }
}

/// The assembler whose registers are recorded: `ptxas 12.9.86`.
pub fn recorded_by() -> Option<&'static str> {
    registers::assembler(warpfold_ptx::REGISTERS)
}

/// Whether the kernels of a module launch one another, and so have to be loaded together.
pub(crate) fn stays_together(module: catalogue::PtxText) -> bool {
    module == catalogue::PtxText::Nested
}

/// The text of an entry alone, from PTX that has several: a driver compiles all that it is given. `None` where there is no such entry.
#[doc(hidden)]
pub fn only(text: &str, entry: &str) -> Option<String> {
    Entries::of(text)?.only(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::catalogue::{PtxText, entry_names};

    #[test]
    fn each_entry_is_the_same_alone_and_all_others_are_gone() {
        let ptx = PtxSet::embedded();
        for module in [PtxText::Kernels, PtxText::Operators, PtxText::Recent] {
            for &(sm, text) in embedded(module) {
                let lines = text.lines().count();
                // Each takes a walk through the text.
                for entry in entry_names(module, sm).step_by(7) {
                    let alone = ptx.newest_with(module, entry, sm).unwrap();
                    let start = text.find(&format!(".visible .entry {entry}(")).unwrap();
                    let length = text[start..].find("\n}\n").unwrap();
                    assert!(alone.contains(&text[start..start + length]), "{entry}");
                    assert_eq!(alone.matches(".entry").count(), 1, "{entry}");
                    assert_eq!(alone.lines().count(), lines, "{entry}");
                }
            }
        }
    }

    #[test]
    fn kernels_that_launch_one_another_stay_together() {
        let ptx = PtxSet::embedded();
        let whole = ptx.newest_for(PtxText::Nested, 90).unwrap();
        for entry in entry_names(PtxText::Nested, 90) {
            assert_eq!(ptx.newest_with(PtxText::Nested, entry, 90).unwrap(), whole);
        }
    }

    #[test]
    fn what_belongs_to_no_entry_stays() {
        const TEXT: &str = "\
.version 7.0
.target sm_80
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.visible .entry a(
    .param .u64 p
)
.maxntid 64
{
    { // } of a comment
    .pragma \"}\";
    }
    ret;
}
.func f() { ret; }
.visible .entry b() { ret; }
.func g() { ret; }
";
        let only = |entry| alone(TEXT, entry).expect("it is there");
        let lines = |from: &str, to: &str| {
            let (from, to) = (TEXT.find(from).unwrap(), TEXT.find(to).unwrap());
            &TEXT[from..to]
        };
        let blank = |text: &str| "\n".repeat(text.lines().count());
        let (a, b) = (
            lines(".visible .entry a", ".func f"),
            lines(".visible .entry b", ".func g"),
        );
        assert_eq!(only("a"), TEXT.replace(b, &blank(b)));
        assert_eq!(only("b"), TEXT.replace(a, &blank(a)));
    }

    #[test]
    fn entries_are_taken_from_every_text() {
        let committed = PtxSet::embedded();
        let committed = committed.texts().map(Cow::Borrowed);
        let reductions = warpfold_reductions::elements().map(|text| text.read().into());
        for text in committed.chain(reductions) {
            let entries = Entries::of(&text).expect("every body ends");
            assert_eq!(entries.texts().count(), text.matches(".entry").count());
            let common = entries.common().concat();
            assert!(common.contains(".target") && !common.contains(".entry"));
            let all: usize = entries.texts().map(|(_, entry)| entry.len()).sum();
            assert_eq!(common.len() + all, text.len());
            for (name, entry) in entries.texts() {
                assert!(entry.contains(&format!(".entry {name}(")), "{name}");
                assert!(entry.trim_end().ends_with('}'), "{name}");
            }
        }
        assert!(Entries::of(".entry a() {").is_none());
        assert!(Entries::of("").is_some_and(|entries| entries.only("a").is_none()));
    }

    #[test]
    fn text_that_cannot_be_followed_stays_whole() {
        for text in ["", ".entry b() {}", ".entry a() {", "} .entry a() {}"] {
            assert_eq!(alone(text, "a"), None, "{text}");
        }
    }
}
