//! What several threads bring, in the order of its numbers.

use std::collections::BTreeMap;

/// What waits for its turn.
pub(super) struct InOrder<P> {
    waiting: BTreeMap<u64, P>,
    next: u64,
}

impl<P> Default for InOrder<P> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<P> InOrder<P> {
    /// One has come.
    pub(super) fn add(&mut self, number: u64, piece: P) {
        self.waiting.insert(number, piece);
    }

    /// The next one, if it has come.
    pub(super) fn next(&mut self) -> Option<P> {
        let piece = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(piece)
    }

    /// All that waits.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = P> {
        std::mem::take(&mut self.waiting).into_values()
    }
}
