//! What a kernel prints.

use crate::observer::{Observer, PrintEvent, Wants};

/// The most bytes that are kept, as by default on a GPU.
const LIMIT: usize = 1 << 20;

/// Collects the texts that threads print: block by block, and within a block in the order in which they are printed.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// `%ctaid`, last axis first, and the text.
    texts: Vec<([u32; 3], String)>,
    bytes: usize,
    lost: bool,
}

impl Printed {
    /// All texts, one after the other.
    pub fn text(&self) -> String {
        let mut texts: Vec<_> = self.texts.iter().collect();
        texts.sort_by_key(|(block, _)| block);
        texts.into_iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Whether more was printed than the mebibyte that is kept.
    pub fn is_cut(&self) -> bool {
        self.lost
    }

    fn keep(&mut self, block: [u32; 3], text: String) {
        if self.bytes + text.len() > LIMIT {
            self.lost = true;
        } else {
            self.bytes += text.len();
            self.texts.push((block, text));
        }
    }
}

impl Observer for Printed {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::LITTLE
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.lost |= other.lost;
        for (block, text) in other.texts {
            self.keep(block, text);
        }
    }

    fn print(&mut self, event: PrintEvent<'_>) {
        let [x, y, z] = event.block;
        self.keep([z, y, x], event.text.to_owned());
    }
}
