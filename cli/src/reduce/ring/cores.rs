//! The ring of the cores: each thread reduces what it has read, while that is in the caches.

use super::dealer::Dealer;
use super::in_order::InOrder;
use super::shared::{Outcome, Shared, Size, add, lock};
use crate::failure::Failure;
use memmap2::MmapMut;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Reads all pieces. `reduce` gets each, with its number, on the thread that has read it, and `take` gets what comes of that, in the order of
/// the pieces. `progress` is told the bytes of each piece that has been taken.
///
/// # Errors
/// The threads cannot be started.
pub(in super::super) fn on_cores<R: Send>(
    size: Size,
    memory: &mut MmapMut,
    dealer: &Mutex<Dealer<'_>>,
    reduce: impl Fn(u64, &[u8]) -> R + Sync,
    take: impl FnMut(R) + Send,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Outcome, Failure> {
    // Where a reduction is halved, these threads take the halves.
    let threads = threads(size.threads_of_cores())?;
    let shared = Shared::new(dealer, size.piece);
    let start = Instant::now();
    let slots = Mutex::new(size.cut(memory, 0));
    let reduced = Mutex::new((InOrder::default(), take, false));
    threads.broadcast(|_| {
        // Who has none only takes halves.
        let Some(mut slot) = lock(&slots).pop() else {
            return;
        };
        let [mut reading, mut reducing] = [Duration::ZERO; 2];
        let mut since = Instant::now();
        let mut elapsed = || {
            let before = std::mem::replace(&mut since, Instant::now());
            since - before
        };
        while let Some(piece) = shared.fill(slot) {
            reading += elapsed();
            let result = reduce(piece.number, piece.values());
            let (results, take, is_over) = &mut *lock(&reduced);
            results.add(piece.number, (piece.bytes, result));
            // After a piece that could not be read whole there is no next one.
            while !*is_over && let Some((bytes, result)) = results.next() {
                take(result);
                progress(bytes as u64);
                *is_over = bytes < size.piece;
            }
            slot = piece.slot;
            reducing += elapsed();
        }
        add(&shared.waited_for_room, reducing);
        add(&shared.waited_for_values, reading / size.readers as u32);
    });
    let elapsed = start.elapsed();
    Ok(shared.outcome(size, elapsed))
}

/// Threads that read and reduce.
fn threads(count: usize) -> Result<ThreadPool, Failure> {
    let threads = ThreadPoolBuilder::new().num_threads(count).build();
    threads.map_err(|error| {
        Failure::Input(format!(
            "{count} threads cannot be started: {error}; let this process have as many, or set RAYON_NUM_THREADS to fewer"
        ))
    })
}
