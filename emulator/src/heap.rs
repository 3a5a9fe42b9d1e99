//! The heap from which kernels take global memory with `malloc` (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and
//! Operations"). It lives as long as the memory that it belongs to: what one launch has allocated, a later one may use and free.
//!
//! Every piece has an address that no piece had before, unless the heap is restored from a snapshot: a stale pointer never leads to a
//! newer piece. The contents are in a store as long as the heap, whose parts are used again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::FreePlace;
use crate::region::{Region, zeroed};
use crate::window;

/// What a heap has unless told otherwise, in bytes (`cudaLimitMallocHeapSize`).
pub(crate) const DEFAULT_HEAP_BYTES: usize = 8 << 20;
/// Every piece starts at a multiple of this.
const ALIGNMENT: u64 = 16;
/// Unmapped addresses after every piece.
const GUARD: u64 = 256;
/// How many freed pieces are remembered with who freed them: those with the greatest addresses.
const FREED_PIECES: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Heap {
    /// Length of the store, in bytes.
    limit: u64,
    /// The store, made when first needed; `None` where the host has no room.
    store: OnceLock<Option<Box<[AtomicU64]>>>,
    pieces: RwLock<Pieces>,
    launches: AtomicU64,
}

#[derive(Clone, Debug)]
struct Pieces {
    /// By first address.
    live: BTreeMap<u64, Piece>,
    /// By first address.
    freed: BTreeMap<u64, FreedPiece>,
    spare: Spare,
    /// Where the next piece goes.
    next: u64,
    /// Bytes of the store that have been part of a piece at any time; the others are zeros.
    used: u64,
}

/// Parts of the store that no piece has, none next to another.
#[derive(Clone, Debug, Default)]
struct Spare {
    /// Length by offset, in bytes.
    lengths: BTreeMap<u64, u64>,
    /// Length and offset.
    by_length: BTreeSet<(u64, u64)>,
}

impl Spare {
    fn add(&mut self, offset: u64, length: u64) {
        self.lengths.insert(offset, length);
        self.by_length.insert((length, offset));
    }

    fn remove(&mut self, offset: u64) -> Option<u64> {
        let length = self.lengths.remove(&offset)?;
        self.by_length.remove(&(length, offset));
        Some(length)
    }

    /// Takes `length` bytes out of the shortest part that has them; returns where they are.
    fn take(&mut self, length: u64) -> Option<u64> {
        let &(spare, offset) = self.by_length.range((length, 0)..).next()?;
        self.remove(offset);
        if spare > length {
            self.add(offset + length, spare - length);
        }
        Some(offset)
    }

    /// Gives a part back, and joins it with its neighbours.
    fn give(&mut self, mut offset: u64, mut length: u64) {
        if let Some(next) = self.remove(offset + length) {
            length += next;
        }
        let before = self.lengths.range(..offset).next_back();
        if let Some((&start, &spare)) = before.filter(|&(start, spare)| start + spare == offset) {
            self.remove(start);
            (offset, length) = (start, length + spare);
        }
        self.add(offset, length);
    }
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: u64,
    /// Its place in the store, in bytes.
    offset: u64,
}

impl Piece {
    /// How much of the store it takes, in bytes.
    fn length(self) -> u64 {
        self.bytes.max(1).next_multiple_of(ALIGNMENT)
    }
}

/// A piece that was freed.
#[derive(Clone, Copy, Debug)]
struct FreedPiece {
    bytes: u64,
    launch: u64,
    by: FreePlace,
}

/// Why a piece could not be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFree {
    /// It has been freed before: by whom, if by the same launch.
    Twice(Option<FreePlace>),
    /// No live piece begins there, nor did one that is remembered.
    NoPiece,
}

/// A heap as it was at some time.
pub(crate) struct HeapSnapshot {
    pieces: Pieces,
    contents: Vec<u64>,
}

impl HeapSnapshot {
    /// The addresses of all pieces that there had been.
    pub fn addresses(&self) -> Range<u64> {
        let end = self.pieces.next;
        end - window::within_device(end) + window::HEAP..end
    }
}

impl Heap {
    /// An empty heap of at most `limit` bytes, of the device of this number.
    pub fn new(device: u8, limit: usize) -> Self {
        let limit = limit as u64 / ALIGNMENT * ALIGNMENT;
        let mut spare = Spare::default();
        spare.add(0, limit);
        Self {
            limit,
            store: OnceLock::new(),
            pieces: RwLock::new(Pieces {
                live: BTreeMap::new(),
                freed: BTreeMap::new(),
                spare,
                next: window::first_of(device) + window::HEAP + GUARD,
                used: 0,
            }),
            launches: AtomicU64::new(0),
        }
    }

    /// The number of a new launch, by which it calls [`Heap::free`].
    pub fn begin_launch(&self) -> u64 {
        self.launches.fetch_add(1, Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, Pieces> {
        self.pieces
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Pieces> {
        self.pieces
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn store(&self) -> Option<&[AtomicU64]> {
        let make = || zeroed((self.limit / 8) as usize);
        self.store.get_or_init(make).as_deref()
    }

    /// The store, or nothing where it has not been needed.
    fn made(&self) -> &[AtomicU64] {
        self.store
            .get()
            .and_then(Option::as_deref)
            .unwrap_or_default()
    }

    /// The address of a new piece, a multiple of 16; 0 where the heap has no room for it. It holds zeros, on which a guest must not
    /// rely.
    pub fn allocate(&self, bytes: u64) -> u64 {
        let (Some(store), true) = (self.store(), bytes <= self.limit) else {
            return 0;
        };
        let mut pieces = self.write();
        let mut piece = Piece { bytes, offset: 0 };
        let length = piece.length();
        let Some(offset) = pieces.spare.take(length) else {
            return 0;
        };
        piece.offset = offset;
        let end = offset + length;
        let stale = offset.min(pieces.used) / 8..end.min(pieces.used) / 8;
        pieces.used = pieces.used.max(end);
        // Nobody else has this part: others need not wait for it.
        drop(pieces);
        for word in &store[stale.start as usize..stale.end as usize] {
            word.store(0, Ordering::Relaxed);
        }
        let mut pieces = self.write();
        let base = pieces.next;
        pieces.next = base + length + GUARD;
        pieces.live.insert(base, piece);
        base
    }

    /// Frees the piece that begins at an address.
    pub fn free(&self, address: u64, launch: u64, by: FreePlace) -> Result<(), BadFree> {
        let mut pieces = self.write();
        let Some(piece) = pieces.live.remove(&address) else {
            return Err(match pieces.freed.get(&address) {
                Some(freed) => BadFree::Twice(freed.by_in(launch)),
                None => BadFree::NoPiece,
            });
        };
        pieces.spare.give(piece.offset, piece.length());
        let bytes = piece.bytes;
        pieces
            .freed
            .insert(address, FreedPiece { bytes, launch, by });
        if pieces.freed.len() > FREED_PIECES {
            pieces.freed.pop_first();
        }
        Ok(())
    }

    /// The live piece with the greatest address not above this one.
    pub fn below(&self, address: u64) -> Option<Region<'_>> {
        let pieces = self.read();
        let (&base, piece) = pieces.live.range(..=address).next_back()?;
        let first = piece.offset as usize / 8;
        let words = &self.made()[first..first + piece.length() as usize / 8];
        Some(Region::new(base, piece.bytes, false, words))
    }

    /// First address and length in bytes of the live piece that begins nearest below an address of the heap, or, where there is none,
    /// above.
    pub fn nearest(&self, address: u64) -> Option<(u64, u64)> {
        let pieces = self.read();
        let below = pieces.live.range(..=address).next_back();
        let (&base, piece) = below.or_else(|| pieces.live.iter().next())?;
        Some((base, piece.bytes))
    }

    /// First address and length in bytes of the freed piece that an address lies in, and who freed it, if that was in the same launch.
    pub fn freed(&self, address: u64, launch: u64) -> Option<(u64, u64, Option<FreePlace>)> {
        let pieces = self.read();
        let (&base, freed) = pieces.freed.range(..=address).next_back()?;
        (address - base < freed.bytes).then(|| (base, freed.bytes, freed.by_in(launch)))
    }

    /// The first address past all pieces that there have been.
    pub fn end(&self) -> u64 {
        self.read().next
    }

    pub fn snapshot(&self) -> HeapSnapshot {
        let pieces = self.read().clone();
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        HeapSnapshot {
            contents: self.made()[..pieces.used as usize / 8]
                .iter()
                .map(load)
                .collect(),
            pieces,
        }
    }

    pub fn restore(&self, snapshot: &HeapSnapshot) {
        let mut pieces = self.write();
        let used = pieces.used.max(snapshot.pieces.used);
        *pieces = Pieces {
            used,
            ..snapshot.pieces.clone()
        };
        for (word, &old) in self.made().iter().zip(&snapshot.contents) {
            word.store(old, Ordering::Relaxed);
        }
    }
}

impl FreedPiece {
    fn by_in(&self, launch: u64) -> Option<FreePlace> {
        (self.launch == launch).then_some(self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: FreePlace = FreePlace {
        grid: 0,
        block: [1, 0, 0],
        thread: [2, 0, 0],
        line: 3,
    };

    #[test]
    fn pieces_are_aligned_apart_and_never_at_an_old_address() {
        let heap = Heap::new(0, 1024);
        let mut seen = std::collections::HashSet::new();
        for round in 0..100 {
            let [one, other] = [7, 900].map(|bytes| heap.allocate(bytes));
            assert!(one != 0 && other != 0, "round {round}");
            assert_eq!((one % 16, other % 16), (0, 0));
            assert!(seen.insert(one) && seen.insert(other));
            heap.free(one, 0, BY).unwrap();
            heap.free(other, 0, BY).unwrap();
        }
    }

    #[test]
    fn it_gives_no_more_than_it_has_and_joins_what_is_freed() {
        let heap = Heap::new(0, 1024);
        assert_eq!(heap.allocate(1025), 0);
        assert_eq!(heap.allocate(u64::MAX), 0);
        let pieces: Vec<u64> = (0..64).map(|_| heap.allocate(16)).collect();
        assert!(pieces.iter().all(|&piece| piece != 0));
        assert_eq!(heap.allocate(1), 0);
        // The last first, then every second one: neighbours on both sides are joined.
        for &piece in pieces.iter().skip(1).step_by(2).rev() {
            heap.free(piece, 0, BY).unwrap();
        }
        assert_eq!(heap.allocate(17), 0);
        for &piece in pieces.iter().step_by(2) {
            heap.free(piece, 0, BY).unwrap();
        }
        assert_ne!(heap.allocate(1024), 0);
    }

    #[test]
    fn a_new_piece_holds_zeros() {
        let heap = Heap::new(0, 64);
        let piece = heap.allocate(64);
        heap.below(piece).unwrap().store::<u64>(8, 5);
        heap.free(piece, 0, BY).unwrap();
        let piece = heap.allocate(64);
        assert_eq!(heap.below(piece).unwrap().load::<u64>(8), 0);
    }

    #[test]
    fn misuse_is_told_apart() {
        let heap = Heap::new(0, 1024);
        let piece = heap.allocate(40);
        assert_eq!(heap.free(piece + 16, 7, BY), Err(BadFree::NoPiece));
        assert_eq!(heap.freed(piece, 7), None);
        heap.free(piece, 7, BY).unwrap();
        assert_eq!(heap.free(piece, 7, BY), Err(BadFree::Twice(Some(BY))));
        assert_eq!(heap.free(piece, 8, BY), Err(BadFree::Twice(None)));
        assert_eq!(heap.freed(piece + 39, 7), Some((piece, 40, Some(BY))));
        assert_eq!(heap.freed(piece + 40, 7), None);
    }

    #[test]
    fn it_can_be_put_back() {
        let heap = Heap::new(0, 1024);
        let kept = heap.allocate(16);
        heap.below(kept).unwrap().store::<u64>(0, 1);
        let before = heap.snapshot();
        heap.below(kept).unwrap().store::<u64>(0, 2);
        heap.free(kept, 0, BY).unwrap();
        let next = heap.allocate(1000);
        heap.restore(&before);
        assert_eq!(heap.below(kept).unwrap().load::<u64>(0), 1);
        assert_eq!(heap.allocate(1000), next);
        assert_eq!(heap.below(next).unwrap().load::<u64>(0), 0);
    }
}
