//! Which rank reduces which chunk.

use std::ops::Range;
use warpfold_device::fixed::CHUNK;

/// A rank's part of the values, cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The index of its first value among those of all ranks.
    pub(super) first: u64,
    /// Values at its beginning that complete a chunk which a rank before it has begun.
    pub(super) head: usize,
    /// Values after these whose chunks are all its own.
    pub(super) body: usize,
    /// The values after these: the beginning of a chunk that ranks after it complete, and by how many.
    pub(super) shared: Option<Shared>,
}

/// A chunk that a rank begins and others complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    /// Values of the rank that begins it.
    pub(super) own: usize,
    /// Those of ranks after it.
    pub(super) more: usize,
}

impl Part {
    /// The chunks that the rank reduces.
    pub(super) fn chunks(&self) -> usize {
        self.body.div_ceil(CHUNK) + usize::from(self.shared.is_some())
    }
}

/// The parts of ranks with these numbers of values. Chunks are those of all values, whoever has them, if they are fixed; otherwise each
/// rank's begin with its first value.
pub(super) fn cut(lengths: &[u64], are_fixed: bool) -> Vec<Part> {
    let chunk = CHUNK as u64;
    let all: u64 = lengths.iter().sum();
    let mut first = 0;
    let mut parts = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let begun = if are_fixed { first % chunk } else { 0 };
        let head = length.min((chunk - begun) % chunk);
        let after = length - head;
        let own = after % chunk;
        // The last of all chunks ends with the values.
        let more = (chunk - own).min(all - (first + length));
        let is_shared = are_fixed && own > 0 && more > 0;
        parts.push(Part {
            first,
            head: head as usize,
            body: (if is_shared { after - own } else { after }) as usize,
            shared: is_shared.then_some(Shared {
                own: own as usize,
                more: more as usize,
            }),
        });
        first += length;
    }
    parts
}

/// Where something of each rank lies, one rank's after another's, given the bytes of each.
pub(super) fn places(bytes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    let place = |bytes: usize| {
        let begin = end;
        end += bytes;
        begin..end
    };
    bytes.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, proptest};

    const C: u64 = CHUNK as u64;

    #[test]
    fn whole_parts_share_nothing() {
        for lengths in [&[][..], &[0, 0], &[5], &[C, 5], &[C, 0, 2 * C, 1, 0]] {
            let parts = cut(lengths, true);
            assert!(
                parts
                    .iter()
                    .all(|part| part.head == 0 && part.shared.is_none())
            );
            assert_eq!(parts, cut(lengths, false));
        }
        let chunks: Vec<usize> = cut(&[0, 1, C, C + 1], false)
            .iter()
            .map(Part::chunks)
            .collect();
        assert_eq!(chunks, [0, 1, 1, 2]);
        assert_eq!(
            places([0, 8, 8, 16].into_iter()),
            [0..0, 0..8, 8..16, 16..32]
        );
    }

    #[test]
    fn a_chunk_belongs_to_who_begins_it() {
        let parts = cut(&[C + 10, 20, C, 7], true);
        let shared = |own, more| Some(Shared { own, more });
        let told: Vec<_> = parts
            .iter()
            .map(|part| (part.head, part.body, part.shared))
            .collect();
        assert_eq!(
            told,
            [
                (0, CHUNK, shared(10, CHUNK - 10)),
                (20, 0, None),
                (CHUNK - 30, 0, shared(30, 7)),
                (7, 0, None),
            ]
        );
    }

    proptest! {
        /// The chunks of all ranks are those of the whole, and what is missing is what those after it have at their beginnings.
        #[test]
        fn parts_are_the_whole(
            lengths in prop::collection::vec((0_u64..3, 0_u64..200, 0_u64..2), 1..6),
        ) {
            let lengths: Vec<u64> = lengths.iter().map(|&(chunks, more, less)| (chunks * C + more).saturating_sub(90 * less)).collect();
            let all: u64 = lengths.iter().sum();
            let parts = cut(&lengths, true);
            assert_eq!(parts.iter().map(Part::chunks).sum::<usize>() as u64, all.div_ceil(C));
            for (rank, part) in parts.iter().enumerate() {
                let shared = part.shared.map_or(0, |shared| shared.own);
                assert_eq!((part.head + part.body + shared) as u64, lengths[rank]);
                if part.body > 0 || part.shared.is_some() {
                    assert!((part.first + part.head as u64).is_multiple_of(C));
                }
                if let Some(Shared { own, more }) = part.shared {
                    let heads: usize = parts[rank + 1..].iter().map(|part| part.head).sum();
                    assert!(own + more <= CHUNK && more <= heads);
                    let end = part.first + lengths[rank] + more as u64;
                    assert!(own + more == CHUNK || end == all);
                }
            }
        }
    }
}
