//! # Cooperation 5 · Publishing with fences
//!
//! ## Before
//! Barriers order what the threads of a block do. Between blocks there is no barrier. What one thread writes in some order,
//! a thread of another block may see in a different order.
//!
//! ## Idea
//! A writer sets X, then Y; a reader reads Y, then X. The reader wants to conclude: *Y is new, therefore X is new*. Nothing
//! guarantees that. The writer's two stores may become visible the other way round, and the reader's second load may be
//! served before the first. A *fence* on each side forbids both: whoever sees what the writer did after its fence also
//! sees, after its own, what the writer did before. At a fence nobody waits for anybody, and one alone is not enough: the
//! reader needs one too.
//!
//! Here X is a value, and Y a flag that says that it is there. Threads of one block publish, those of another receive: they
//! read the flag until it is set, and then read the value. Such polling needs a partner that runs. Blocks start in any
//! order, and not all at once, so a block decides by a *ticket* what it is: a block with an even ticket writes, and the one
//! with the next, odd ticket reads what that block writes, which has certainly started.
//!
//! The flag is touched only by atomics, since many threads may touch it at once. The value needs none, thanks to the
//! fences.
//!
//! ## Picture
//! ```text
//! writer              reader
//! X = value           wait until Y = 1
//! fence               fence
//! Y = 1               take X
//! ```
//!
//! ## Cost
//! For each element two fences, one atomic by the writer, and one or more by the reader; a ticket and a barrier per block.
//!
//! ## Observe
//! In the PTX: `membar.gl` twice; the reader reads the flag by `atom.global.or.b32`, which changes nothing.
//!
//! **Predict.** Of 1000 readers that find Y new, how many find X old?
//! ```console
//! $ warpfold run fence_publish -n 1000 --block 64
//! ...
//! Y new, X new                      1000
//! Y new, X old                         0
//! ...
//! $ warpfold check fence_publish
//! ...
//! memcheck, initcheck, racecheck, synccheck
//! ...
//! blocks   386 of   64 threads: clean
//! blocks   194 of  128 threads: clean
//! blocks    98 of  256 threads: clean
//! blocks    50 of  512 threads: clean
//! blocks    26 of 1024 threads: clean
//! ```
//!
//! ## Break it
//! Remove one of the two fences. Here the results stay right: the emulator executes memory accesses in program order, and many a GPU nearly
//! always does. But nothing orders the write of X and its read:
//! ```console
//! $ warpfold try fence_publish --check -n 1000 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000001180 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on memory fence functions, `writeXY` and `readXY`. The tickets are those of Duane Merrill and
//! Michael Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back* (NVIDIA, 2016).

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::thread::device_fence;

use crate::prelude::*;

/// Publishes each value of `input` through X and Y, and writes what the readers found in X to `seen`.
///
/// # Safety
/// - `input` points to `n` values that nothing writes; `x`, `y` and `seen` to `n` values that nothing else touches; `tickets`
///   to one. `y` and `tickets` are all 0.
/// - The grid has 2·⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn fence_publish(
    input: *const i32,
    x: *mut i32,
    y: *mut u32,
    tickets: *mut u32,
    seen: *mut i32,
    n: usize,
) {
    let tid = thread_idx_x();
    let ticket_of_block = shared_array!(ticket: [u32; 1]);
    // SAFETY: the shared word is read only after the barrier. Each index below n has one writer and one reader; the reader
    // takes the value after it has seen the flag, with a fence on each side.
    unsafe {
        if tid == 0 {
            *ticket_of_block = AtomicU32::from_ptr(tickets).fetch_add(1, Relaxed);
        }
        sync_threads();
        let ticket = *ticket_of_block;

        let index = (ticket / 2) as usize * block_dim_x() as usize + tid as usize;
        if index < n {
            let flag = AtomicU32::from_ptr(y.add(index));
            if ticket % 2 == 0 {
                *x.add(index) = *input.add(index);
                device_fence();
                flag.swap(1, Relaxed);
            } else {
                while flag.fetch_add(0, Relaxed) == 0 {}
                device_fence();
                *seen.add(index) = *x.add(index);
            }
        }
    }
}
