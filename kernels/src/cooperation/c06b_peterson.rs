//! # Cooperation 6b · A lock of loads and stores
//!
//! ## Before
//! The lock of page 6 is a compare-and-swap. Does a lock need atomic operations?
//!
//! ## Idea
//! No: loads and stores are enough for two threads (Peterson, 1981). Each has a word that says *I want to enter*, and both
//! share a third that says *whose turn it is*. A thread says that it wants to enter, gives the turn to the other, and waits
//! as long as the other wants to enter and has the turn. If both want to at once, whoever gave the turn away last waits.
//!
//! On paper that is proved. On a GPU, and on most CPUs, the proof has a gap: it assumes that each store is visible
//! before the next load is made. Three fences close it.
//!
//! 1. Between *I want* and the look at the other: each must have announced itself before it looks. Without it both may look
//!    before either announcement arrives, and both enter. This needs the strongest kind, a *sequentially consistent* fence,
//!    as `membar` and `__threadfence` are; one that only acquires and releases orders no store before a later load.
//! 2. After the wait: what the other did inside is seen.
//! 3. Before leaving: what was done inside is visible before the word is cleared.
//!
//! All fences are for the device, since the two threads are of different blocks (page 5b).
//!
//! It needs a word for each thread that may ever come, and in this form there are two of them. Locks in practice are atomic
//! (page 6).
//!
//! ## Picture
//! ```text
//! thread 0                               thread 1
//! wants[0] = 1                           wants[1] = 1
//! turn = 1                               turn = 0
//! fence                                  fence
//! wait while wants[1] and turn = 1       wait while wants[0] and turn = 0
//! fence                                  fence
//! total, entries                         total, entries
//! fence                                  fence
//! wants[0] = 0                           wants[1] = 0
//! ```
//!
//! ## Cost
//! Two blocks enter 8 times each. An entry is two loads and two stores of what is guarded, three fences, three stores of the
//! lock's words, and one or two loads of them, or more while waiting. The last entry puts the turn back to 0.
//!
//! ## Observe
//! In the PTX: `st.relaxed.gpu` four times, `ld.relaxed.gpu` twice, `membar.gl` three times, and no atomic on global
//! memory.
//!
//! **Predict.** The threads of two blocks enter 8 times each, and each adds 1 to a plain word when it is inside. What
//! does the word hold at the end?
//! ```console
//! $ warpfold run peterson -n 2^12 --device emulator
//! ...
//! times that a thread entered           16
//! their sum                     1305306566
//! sum on the CPU                1305306566
//! ...
//! ```
//! No entry was lost, and the sum is the CPU's. `warpfold check peterson --schedules 200` finds nothing.
//!
//! ## Break it
//! Leave out the fence in `leave`. What one thread has stored may then be seen by the other after it has entered:
//! ```console
//! $ warpfold try peterson --check -n 1000 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000001300 (4 bytes) in kernel ...
//! ...
//! ```
//! Without any fence that is the exhibit `peterson_without_fences`. The first fence of `enter` is different: the emulator makes each access in the
//! order of the program, so that there the two never meet inside, and its race detector sees only what happened. On a GPU nothing forbids it.
//!
//! ## Source
//! Gary L. Peterson, *Myths About the Mutual Exclusion Problem* (Information Processing Letters 12, 1981); *PTX ISA*, on
//! `fence.sc`.

use cuda_std::thread::device_fence;

use crate::prelude::*;

/// How often each of the two blocks enters.
pub const ROUNDS: u32 = 8;

/// The lock's words: whether thread 0 wants to enter, whether thread 1 does, and whose turn it is.
pub const LOCK_WORDS: usize = 3;

/// # Safety
/// `lock` points to the lock's words, which two threads touch only through this function and [`leave`]: one with `me` 0 and one
/// with 1.
#[inline(always)]
unsafe fn enter(lock: *mut u32, me: u32) {
    let other = 1 - me;
    // SAFETY: these are the lock's words.
    unsafe {
        let (mine, others, turn) = (lock.add(me as usize), lock.add(other as usize), lock.add(2));
        store_relaxed(mine, 1);
        store_relaxed(turn, other);
        device_fence();
        while load_relaxed(others) == 1 && load_relaxed(turn) == other {}
    }
    device_fence();
}

/// # Safety
/// As for [`enter`], by a thread that has entered.
#[inline(always)]
unsafe fn leave(lock: *mut u32, me: u32) {
    device_fence();
    // SAFETY: this is one of the lock's words.
    unsafe { store_relaxed(lock.add(me as usize), 0) };
}

/// Adds all values of `input` to `total`, and counts in `entries` how often a thread entered.
///
/// # Safety
/// - `input` points to `n` values that nothing writes; `lock` to [`LOCK_WORDS`] words, and `entries` to one, all 0; `total` to one
///   value; nothing else touches these.
/// - The grid has two blocks in one dimension; B is a multiple of 32.
#[kernel]
pub unsafe fn peterson(
    input: *const i32,
    lock: *mut u32,
    total: *mut i32,
    entries: *mut u32,
    n: usize,
) {
    let (tid, me) = (thread_idx_x(), block_idx_x());
    let shares = shared_array!(shares: [i32; WARP_SIZE]);
    // A round of both blocks takes two chunks.
    let chunk = n / (2 * ROUNDS as usize) + 1;

    for round in 0..ROUNDS {
        let first = (2 * round + me) as usize * chunk;
        let mut sum = 0_i32;
        let mut index = first + tid as usize;
        while index < first + chunk && index < n {
            // SAFETY: the index is below n.
            sum = sum.wrapping_add(unsafe { *input.add(index) });
            index += block_dim_x() as usize;
        }

        // SAFETY: between the barriers the shares are touched by their own lanes, only by atomics, and only by thread 0.
        // `total` and `entries` are touched only by the one thread that has entered, with a fence on each side.
        unsafe {
            if tid < WARP_SIZE {
                *shares.add(tid as usize) = 0;
            }
            sync_threads();
            add_to_shared(
                shares.add((tid % WARP_SIZE) as usize).cast(),
                sum.cast_unsigned(),
            );
            sync_threads();
            if tid == 0 {
                let mut share = 0_i32;
                for lane in 0..WARP_SIZE as usize {
                    share = share.wrapping_add(*shares.add(lane));
                }
                enter(lock, me);
                *total = (*total).wrapping_add(share);
                *entries += 1;
                if *entries == 2 * ROUNDS {
                    // Nobody comes any more, and the lock is left as it was found.
                    store_relaxed(lock.add(2), 0);
                }
                leave(lock, me);
            }
            sync_threads();
        }
    }
}
