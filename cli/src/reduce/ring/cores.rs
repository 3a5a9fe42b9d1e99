//! The ring of the cores: pieces are reduced in their order.

use super::dealer::Dealer;
use super::shared::{Filled, Outcome, Shared, Size, Slot, add, lock};
use memmap2::MmapMut;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

/// Reads all pieces, and hands each to `take`, in their order, until that fails. `progress` is told the bytes of each piece that has been taken.
pub(in super::super) fn on_cores<E>(
    size: Size,
    memory: &mut MmapMut,
    dealer: &Mutex<Dealer<'_>>,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
    progress: &dyn Fn(u64),
) -> Result<Outcome, E> {
    let shared = Shared::new(dealer, size.piece);
    let start = Instant::now();
    let (to_free, free) = channel::<Slot<'_>>();
    let (to_filled, filled) = channel::<Filled<'_>>();
    for slot in size.cut(memory, 0) {
        // The other end is here.
        let _ = to_free.send(slot);
    }
    let free = Mutex::new(free);
    let mut failure = None;
    thread::scope(|scope| {
        let senders = [to_filled];
        for _ in 0..size.readers {
            let (shared, free, senders) = (&shared, &free, senders.clone());
            scope.spawn(move || shared.read(free, &senders));
        }
        drop(senders);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        loop {
            let start = Instant::now();
            let Ok(piece) = filled.recv() else {
                break;
            };
            add(&shared.waited_for_values, start.elapsed());
            waiting.insert(piece.number, piece);
            while let Some(piece) = waiting.remove(&next) {
                // After a piece that could not be read whole there is no next one.
                let is_broken = piece.bytes < size.piece;
                if failure.is_none() {
                    if let Err(error) = take(piece.values()) {
                        failure = Some(error);
                        lock(dealer).stop();
                    }
                    progress(piece.bytes as u64);
                }
                next = if is_broken { u64::MAX } else { next + 1 };
                // No thread may be left to take it.
                let _ = to_free.send(piece.slot);
            }
            if next == u64::MAX {
                // What comes after the end goes back unread.
                for (_, piece) in std::mem::take(&mut waiting) {
                    let _ = to_free.send(piece.slot);
                }
            }
        }
    });
    let elapsed = start.elapsed();
    match failure {
        Some(failure) => Err(failure),
        None => Ok(shared.outcome(size, elapsed)),
    }
}
