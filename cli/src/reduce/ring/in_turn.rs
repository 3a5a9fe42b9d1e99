//! The ring of one thread, which takes the pieces in their order while others read.

use super::dealer::Dealer;
use super::in_order::InOrder;
use super::shared::{Filled, Outcome, Shared, Size, Slot, add, lock};
use memmap2::MmapMut;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

/// Reads all pieces, and hands each to `take`, in their order, until that fails. `progress` is told the bytes of each piece that has been taken.
pub(in super::super) fn in_turn<E>(
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
        let mut pieces = InOrder::default();
        let mut is_over = false;
        loop {
            let start = Instant::now();
            let Ok(piece) = filled.recv() else {
                break;
            };
            add(&shared.waited_for_values, start.elapsed());
            pieces.add(piece.number, piece);
            while !is_over && let Some(piece) = pieces.next() {
                if failure.is_none() {
                    if let Err(error) = take(piece.values()) {
                        failure = Some(error);
                        lock(dealer).stop();
                    }
                    progress(piece.bytes as u64);
                }
                // After a piece that could not be read whole there is no next one.
                is_over = piece.bytes < size.piece;
                // No thread may be left to take it.
                let _ = to_free.send(piece.slot);
            }
            if is_over {
                // What comes after the end goes back unread.
                for piece in pieces.rest() {
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
