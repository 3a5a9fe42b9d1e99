//! Pieces that several threads bring, in the order of their numbers.

use std::collections::BTreeMap;

/// Pieces that wait for their turn.
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
    /// Takes a piece.
    pub(super) fn add(&mut self, number: u64, piece: P) {
        self.waiting.insert(number, piece);
    }

    /// The next piece, if it is there.
    pub(super) fn next(&mut self) -> Option<P> {
        let piece = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(piece)
    }

    /// All pieces that wait.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = P> {
        std::mem::take(&mut self.waiting).into_values()
    }
}
