//! # Scans 3 · Any length in one pass
//!
//! ## Before
//! A block knows the sums of its own tile, and not what comes before it. Scanning the totals of all tiles by a second launch, and adding
//! them by a third, reads and writes the whole array twice.
//!
//! ## Idea
//! Let each block find out while it runs. As soon as it knows the *sum* of its tile it publishes it in a word of its own. Then it *looks
//! back*: it adds up what the tiles before it have published, from the nearest one on. Sooner or later it comes to a tile that has
//! published its *prefix* as well, the sum of everything up to its end, and looks no further. It adds its own sum, publishes that
//! prefix for the tiles after it, and only then writes its elements. The array is read once and written once.
//!
//! A warp looks back at 32 tiles at a time. It waits until all of them have published something, which every tile does without waiting
//! for anybody.
//!
//! *Nobody waits for a block that has not begun.* The hardware may start blocks in any order, and if those that run wait for one that
//! can't start before they end, none ever will. So a block does not take the tile of its own index: it draws a ticket when it begins, and
//! takes the tile of that number. All tiles before it then belong to blocks that run already.
//!
//! *One word says everything.* Its lower half is the value; its upper half says whether that is a sum or a prefix, and of which launch. One
//! load sees both or neither, so no fence has to order one word after another. A value that fills the word itself would need a second word
//! as its flag, stored with release and loaded with acquire. What an earlier launch has left has that launch's number and counts as
//! nothing yet, so nothing has to be cleared.
//!
//! ## Picture
//! Tile 4 looks back, by warps of four lanes; A: only its sum, P: its prefix as well:
//! ```text
//! tile            0     1     2     3     4
//! sum             9    22    21     7    12
//! published      P 9  P 31  A 21  A 7   A 12
//!                       └─────┴─────┘
//! tile 4 adds 7 + 21 + 31 = 59, and publishes P 71
//! ```
//!
//! ## Cost
//! A tile is 4·B elements. For each: B loads and B stores of 16 bytes; a ticket; 2 words published (the first tile: 1), and up to 32
//! loaded where the prefix is near; four barriers. In all n elements are read and n written, and 8 bytes for each tile.
//!
//! ## Observe
//! In the PTX of `look_back`: `ld.relaxed.gpu.b64` in a loop, with a vote that says when to leave it,
//! `st.relaxed.gpu.b64` twice and no `membar`.
//!
//! **Predict.** The blocks begin in 200 different orders, and a block waits for those before it. Does one of them
//! wait forever, or do the sums differ?
//! ```console
//! $ warpfold check look_back --schedules 200
//! ...
//! blocks     7 of  512 threads: clean
//! ...
//! ```
//! The sums are the same in each order.
//!
//! ## Break it
//! Let the loop accept a tile that has published nothing: write `seen.is_of(launch) | true`. Where blocks run in another order, sums are missing:
//! ```console
//! $ warpfold try look_back --check -n 2^12 --block 64 --schedules 20
//! ...
//! schedules: result depends on the schedule at global address 0x7f0000004500 (4 bytes) in kernel ...
//! ...
//! ```
//! And take the tile of the block's own index instead of a ticket's. On the emulator and on most GPUs the sums stay right, because they
//! start blocks in that order; but nothing promises it.
//!
//! ## Source
//! Duane Merrill, Michael Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back* (NVIDIA, 2016).

use core::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;
use crate::scans::s02_block_scan::{MOST_WARPS, scan_block};

/// Elements of a tile for each thread: what one load brings.
pub const EACH: u32 = 4;

/// The elements of one load.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Vector([i32; EACH as usize]);

/// What a tile has published: nothing in this launch, the sum of its elements, or that of all up to its end.
#[derive(Clone, Copy)]
struct Published(u64);

impl Published {
    const SUM: u32 = 0;
    const PREFIX: u32 = 1;

    /// A word of launch number `launch`.
    #[inline(always)]
    fn new(launch: u32, kind: u32, value: i32) -> Self {
        let upper = 2 * launch + kind;
        Self(u64::from(upper) << 32 | u64::from(value as u32))
    }

    #[inline(always)]
    fn value(self) -> i32 {
        self.0 as i32
    }

    /// Whether it is of that launch.
    #[inline(always)]
    fn is_of(self, launch: u32) -> bool {
        (self.0 >> 33) as u32 == launch
    }

    #[inline(always)]
    fn is_prefix(self) -> bool {
        (self.0 >> 32) as u32 % 2 == Self::PREFIX
    }
}

/// Scans an array: `sums` gets for each element the sum of all elements up to it.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, at a multiple of 16 bytes, and `sums` to `n`, at another one, that nothing else
///   touches.
/// - `published` points to one word per block and `ticket` to one; nothing else touches those. The ticket is 0, and is 0 again at the
///   end. The words are 0 or what earlier launches have left, each with another number: `launch`, from 1 to 2³¹ − 1.
/// - The grid has ⌈n ∕ 4B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn look_back(
    values: *const i32,
    sums: *mut i32,
    n: usize,
    published: *mut u64,
    ticket: *mut u32,
    launch: u32,
) {
    let warp_sums = shared_array!(warp_sums: [i32; MOST_WARPS]);
    let tile_number = shared_array!(tile_number: [u32; 1]);
    let prefix = shared_array!(prefix: [i32; 1]);
    let tid = thread_idx_x();
    // SAFETY: the elements are those below n; there is a barrier between each write of shared memory and the reads of it. Tickets give
    // each tile to one block. The first warp is whole, and looks back at tiles whose blocks have drawn their tickets before.
    unsafe {
        if tid == 0 {
            *tile_number = draw(ticket);
        }
        sync_threads();
        let tile = *tile_number;

        let place = (tile as usize * block_dim_x() as usize + tid as usize) * EACH as usize;
        let mine = scan_of_thread(load(values, place, n));
        let of_thread = mine[EACH as usize - 1];
        let scan = scan_block(of_thread, warp_sums);

        if tid < WARP_SIZE {
            let before = look_back_from(published, tile, launch, scan.total);
            if tid == 0 {
                *prefix = before;
            }
        }
        sync_threads();

        // What comes before this thread's elements.
        let before = (*prefix).wrapping_add(scan.sum).wrapping_sub(of_thread);
        store(sums, place, n, mine.map(|sum| sum.wrapping_add(before)));
    }
}

/// A ticket, one more than the one before. Whoever draws the last of the launch leaves 0 for the next launch.
///
/// # Safety
/// `ticket` points to a word that nothing but this function touches, and each block of the grid draws once.
#[inline(always)]
pub unsafe fn draw(ticket: *mut u32) -> u32 {
    // SAFETY: the caller's promise. Nothing is handed on by a ticket, so that it need not order anything.
    let ticket = unsafe { AtomicU32::from_ptr(ticket) };
    let mine = ticket.fetch_add(1, Ordering::Relaxed);
    if mine == grid_dim_x() - 1 {
        ticket.swap(0, Ordering::Relaxed);
    }
    mine
}

/// The sum of all tiles before this one, in every lane. Publishes the sum of this one, and then the prefix.
///
/// # Safety
/// All 32 lanes of one warp of the block make the call, once. `published` is that of [`look_back`], and blocks that run now, or have run, have
/// drawn the tiles before `tile`.
#[inline(always)]
pub unsafe fn look_back_from(published: *mut u64, tile: u32, launch: u32, sum: i32) -> i32 {
    let publish = |kind, value| {
        if thread_idx_x() % WARP_SIZE == 0 {
            let word = Published::new(launch, kind, value);
            // SAFETY: the word is the tile's own.
            unsafe { store_relaxed_u64(published.add(tile as usize), word.0) };
        }
    };
    let mut before = 0_i32;
    if tile > 0 {
        publish(Published::SUM, sum);
        // SAFETY: there is a tile before.
        before = unsafe { sum_of_tiles_before(published, tile, launch) };
    }
    publish(Published::PREFIX, before.wrapping_add(sum));
    before
}

/// The sum of all tiles before this one, in every lane: the look-back.
///
/// # Safety
/// All 32 lanes of the warp make the call. `published` points to one word per tile; blocks that run now, or have run, publish those before
/// `tile`, at least one.
#[inline(always)]
unsafe fn sum_of_tiles_before(published: *const u64, tile: u32, launch: u32) -> i32 {
    let lane = thread_idx_x() % WARP_SIZE;
    let mut sum = 0_i32;
    // The tiles before this one are still to be added.
    let mut end = tile;
    loop {
        // SAFETY: the word is that of a tile before `end`; before all tiles there is nothing.
        let seen = unsafe {
            loop {
                let seen = if lane < end {
                    Published(load_relaxed_u64(published.add((end - 1 - lane) as usize)))
                } else {
                    Published::new(launch, Published::PREFIX, 0)
                };
                if vote_all(u32::MAX, seen.is_of(launch)) {
                    break seen;
                }
            }
        };
        // SAFETY: the caller's promise.
        unsafe {
            let prefixes = ballot(u32::MAX, seen.is_prefix());
            // The lanes up to the nearest prefix; all of them if there is none.
            let nearest = u32::trailing_zeros(prefixes);
            let mine = if lane <= nearest { seen.value() } else { 0 };
            sum = sum.wrapping_add(sum_of_warp(mine));
            if prefixes != 0 {
                return sum;
            }
        }
        // Lanes without a tile have a prefix, so there were 32 tiles.
        end -= WARP_SIZE;
    }
}

/// The sum of the warp's 32 values, in every lane.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
unsafe fn sum_of_warp(value: i32) -> i32 {
    let mut sum = value;
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: the caller's promise.
        sum = sum.wrapping_add(unsafe { shuffle_xor(sum, distance) });
        distance /= 2;
    }
    sum
}

/// The sums of a thread's own elements, each with those before it.
#[inline(always)]
fn scan_of_thread(mut values: [i32; EACH as usize]) -> [i32; EACH as usize] {
    let mut index = 1;
    while index < EACH as usize {
        values[index] = values[index].wrapping_add(values[index - 1]);
        index += 1;
    }
    values
}

/// The elements from `place` on, in one load if all of them are there; 0 for those that are not.
///
/// # Safety
/// `values` points to `n` values at a multiple of 16 bytes; `place` is a multiple of 4.
#[inline(always)]
unsafe fn load(values: *const i32, place: usize, n: usize) -> [i32; EACH as usize] {
    let mut loaded = [0; EACH as usize];
    // SAFETY: the places that are accessed are below n.
    unsafe {
        if place + EACH as usize <= n {
            return (*values.add(place).cast::<Vector>()).0;
        }
        let mut index = 0;
        while index < EACH as usize {
            if place + index < n {
                loaded[index] = *values.add(place + index);
            }
            index += 1;
        }
    }
    loaded
}

/// Writes what [`load`] would load.
///
/// # Safety
/// `sums` points to `n` values at a multiple of 16 bytes that nothing else touches; `place` is a multiple of 4.
#[inline(always)]
unsafe fn store(sums: *mut i32, place: usize, n: usize, values: [i32; EACH as usize]) {
    // SAFETY: the places that are accessed are below n.
    unsafe {
        if place + EACH as usize <= n {
            *sums.add(place).cast::<Vector>() = Vector(values);
            return;
        }
        let mut index = 0;
        while index < EACH as usize {
            if place + index < n {
                *sums.add(place + index) = values[index];
            }
            index += 1;
        }
    }
}
