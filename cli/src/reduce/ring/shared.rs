//! What the threads of a run share: memory for the pieces, and what is known of them.

use super::dealer::{Dealer, Piece};
use super::file::{ALIGNMENT, Came};
use crate::failure::Failure;
use memmap2::{MmapMut, MmapOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How large the ring is, and how it is filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Bytes of a piece.
    pub(crate) piece: usize,
    /// The threads that read.
    pub(crate) readers: usize,
    /// The slots of each device, or of the cores.
    pub(crate) slots: usize,
    /// How many devices there are; the cores have one ring.
    pub(crate) rings: usize,
}

impl Size {
    /// The most memory that all slots have together, unless a piece is so large that there have to be more.
    const MOST: usize = 1 << 30;
    /// Slots of a device that a thread does not wait for: what is copied, what is reduced, and one more.
    const BEYOND: usize = 3;

    /// Threads that read, at least: while a disk is slow, they wait most of the time.
    const LEAST_READERS: usize = 4;
    /// Threads that read into one of the cores' slots each, at most. If there are more cores, they help to reduce.
    const MOST_READERS_OF_CORES: usize = 64;

    /// For pieces of this many bytes on the cores. `most` is as many bytes as there can be, where that is known.
    pub(crate) fn of_cores(piece: usize, most: Option<u64>) -> Self {
        let cores = rayon::current_num_threads();
        let room = Self::MOST / piece.saturating_add(2 * ALIGNMENT);
        let readers = (cores.min(Self::MOST_READERS_OF_CORES).min(room)).max(Self::LEAST_READERS);
        let readers = readers.min(pieces(piece, most));
        Self {
            piece,
            readers,
            // Each thread reduces what it has read.
            slots: readers,
            rings: 1,
        }
    }

    /// Threads of the cores, which read and reduce or only reduce.
    pub(crate) fn threads_of_cores(self) -> usize {
        self.readers.max(rayon::current_num_threads())
    }

    /// The same for this many devices.
    pub(crate) fn of_devices(piece: usize, devices: usize, most: Option<u64>) -> Self {
        let rings = devices;
        let cores = rayon::current_num_threads();
        let pieces = pieces(piece, most);
        let readers = cores.clamp(Self::LEAST_READERS, 32).max(rings).min(pieces);
        let wanted = (2 * readers).div_ceil(rings) + Self::BEYOND;
        // Each thread has to have one.
        let least = readers.div_ceil(rings).max(2);
        let slots = wanted
            .min(Self::MOST / (piece + 2 * ALIGNMENT) / rings)
            .max(least);
        Self {
            piece,
            readers,
            slots: slots.min(pieces + 1),
            rings,
        }
    }

    /// For chunks of at most this many bytes, of values of `each`: one is reduced, one waits, and one is being read.
    pub(crate) fn of_chunks(chunk: usize, most: Option<u64>, each: usize) -> Self {
        let all = most.map_or(usize::MAX, |most| {
            usize::try_from(most).unwrap_or(usize::MAX)
        });
        let all = all.max(1).checked_next_multiple_of(each);
        let piece = chunk.min(all.unwrap_or(usize::MAX));
        let readers = 2.min(pieces(piece, most));
        Self {
            piece,
            readers,
            slots: readers + 1,
            rings: 1,
        }
    }

    /// Bytes of a slot: a piece need not begin at its beginning.
    pub(super) fn slot(self) -> usize {
        let piece = self.piece.checked_next_multiple_of(ALIGNMENT);
        piece.map_or(usize::MAX, |piece| piece.saturating_add(2 * ALIGNMENT))
    }

    /// Bytes of all slots.
    pub(crate) fn bytes(self) -> usize {
        (self.slot().saturating_mul(self.slots)).saturating_mul(self.rings)
    }

    /// Memory for the slots of one device.
    pub(crate) fn memory(self) -> Result<MmapMut, Failure> {
        let bytes = self.slot().saturating_mul(self.slots);
        let map = MmapOptions::new().len(bytes).populate().map_anon();
        map.map_err(|error| {
            Failure::Input(format!(
                "there is no memory for a ring of {bytes} bytes: {error}; ask for less with --chunk"
            ))
        })
    }

    /// The slots in it.
    pub(super) fn cut(self, memory: &mut MmapMut, ring: usize) -> Vec<Slot<'_>> {
        let slots = memory.chunks_exact_mut(self.slot());
        slots.map(|memory| Slot { ring, memory }).collect()
    }
}

/// How many pieces there can be, at least one.
pub(super) fn pieces(piece: usize, most: Option<u64>) -> usize {
    most.map_or(1 << 20, |most| {
        (most.div_ceil(piece.max(1) as u64)).clamp(1, 1 << 20) as usize
    })
}

/// Room for a piece.
pub(super) struct Slot<'m> {
    /// Whose it is.
    pub(super) ring: usize,
    pub(super) memory: &'m mut [u8],
}

/// A piece that has been read.
pub(super) struct Filled<'m> {
    pub(super) number: u64,
    pub(super) bytes: usize,
    pub(super) shift: usize,
    pub(super) slot: Slot<'m>,
}

impl Filled<'_> {
    pub(super) fn values(&self) -> &[u8] {
        &self.slot.memory[self.shift..][..self.bytes]
    }
}

/// What came of a run.
pub(crate) struct Outcome {
    /// How many bytes were reduced: all, or those before what could not be read.
    pub(crate) bytes: u64,
    /// Files of which all values are among them.
    pub(crate) files: usize,
    /// What could not be read.
    pub(crate) failure: Option<Failure>,
    /// Where the bytes came from.
    pub(crate) came: Came,
    pub(crate) elapsed: Duration,
    /// How long each thread that reads has waited for room, on the average. On the cores: how long it has reduced.
    pub(crate) waited_for_room: Duration,
    /// How long each device has waited for values, on the average. On the cores: how long each thread has read.
    pub(crate) waited_for_values: Duration,
}

/// What the threads of a run share.
pub(super) struct Shared<'d, 'a> {
    pub(super) dealer: &'d Mutex<Dealer<'a>>,
    value_bytes: usize,
    piece_bytes: usize,
    /// The piece that could not be read whole: its number, its bytes, and why; of several the first.
    broken: Mutex<Option<(u64, usize, Failure)>>,
    came: Mutex<Came>,
    pub(super) waited_for_room: AtomicU64,
    pub(super) waited_for_values: AtomicU64,
}

/// The lock of what no thread leaves half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'d, 'a> Shared<'d, 'a> {
    pub(super) fn new(dealer: &'d Mutex<Dealer<'a>>, piece_bytes: usize) -> Self {
        let value_bytes = lock(dealer).element_type().bytes();
        Self {
            dealer,
            value_bytes,
            piece_bytes,
            broken: Mutex::default(),
            came: Mutex::default(),
            waited_for_room: AtomicU64::new(0),
            waited_for_values: AtomicU64::new(0),
        }
    }

    /// Fills slots until no more is dealt: what each thread does that reads.
    pub(super) fn read<'m>(&self, free: &Mutex<Receiver<Slot<'m>>>, filled: &[Sender<Filled<'m>>]) {
        loop {
            let start = Instant::now();
            let slot = lock(free).recv();
            add(&self.waited_for_room, start.elapsed());
            let Ok(slot) = slot else {
                return;
            };
            let Some(piece) = self.fill(slot) else {
                return;
            };
            if filled[piece.slot.ring].send(piece).is_err() {
                return;
            }
        }
    }

    /// Reads the next piece into a slot; `None` when no more is dealt.
    pub(super) fn fill<'m>(&self, slot: Slot<'m>) -> Option<Filled<'m>> {
        let mut piece = lock(self.dealer).deal(slot.memory)?;
        let came = piece.read(slot.memory, self.value_bytes);
        lock(&self.came).add(came);
        let Piece {
            number,
            bytes,
            shift,
            failure,
            ..
        } = piece;
        if let Some(failure) = failure {
            self.break_off(number, bytes, failure);
        }
        Some(Filled {
            number,
            bytes,
            shift,
            slot,
        })
    }

    pub(super) fn break_off(&self, number: u64, bytes: usize, failure: Failure) {
        lock(self.dealer).stop();
        let mut broken = lock(&self.broken);
        if broken.as_ref().is_none_or(|(first, ..)| number < *first) {
            *broken = Some((number, bytes, failure));
        }
    }

    /// How many bytes count, once all pieces have been read.
    pub(super) fn bytes(&self) -> u64 {
        match &*lock(&self.broken) {
            Some((number, bytes, _)) => number * self.piece_bytes as u64 + *bytes as u64,
            None => lock(self.dealer).dealt(),
        }
    }

    pub(super) fn outcome(self, size: Size, elapsed: Duration) -> Outcome {
        let bytes = self.bytes();
        let each =
            |sum: AtomicU64, count: usize| Duration::from_nanos(sum.into_inner() / count as u64);
        let broken = self.broken.into_inner();
        let broken = broken.unwrap_or_else(PoisonError::into_inner);
        Outcome {
            bytes,
            files: lock(self.dealer).files_within(bytes),
            failure: broken.map(|(.., failure)| failure),
            came: *lock(&self.came),
            elapsed,
            waited_for_room: each(self.waited_for_room, size.readers),
            waited_for_values: each(self.waited_for_values, size.rings),
        }
    }
}

pub(super) fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}
