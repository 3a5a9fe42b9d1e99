//! # Cooperation 5 · Published behind a fence
//!
//! ## Before
//! Barriers order what the threads of a block do. Between blocks there is no barrier, and what one thread writes in some
//! order, a thread of another block may see in another.
//!
//! ## Idea
//! A writer sets X, then Y; a reader reads Y, then X. The reader wants to conclude: *Y is new, therefore X is new*. Nothing
//! says so: the writer's two stores may become visible the other way round, and the reader's second load may be served
//! before the first. A *fence* on each side forbids both: what a thread does before its fence, everybody sees before what it
//! does after. A fence makes nobody wait for anybody; it takes the fence of the reader too.
//!
//! Here X is a value, and Y a flag that says it is there. Threads of one block publish, those of another receive: they ask
//! for the flag until it is up, and then take the value. Asking again and again needs a partner that runs. Blocks start in
//! any order, and not all at once, so a block decides by a *ticket* what it is: even tickets write, and the odd
//! ticket behind reads what the even one writes, which has started for sure.
//!
//! The flag is only touched by atomics, since many may touch it at once; the value needs none, thanks to the fences.
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
//! The reader sees the old X nowhere. In the PTX: `membar.gl` twice; the reader asks by `atom.global.or.b32`, which changes nothing. `warpfold check fence_publish` finds
//! nothing.
//!
//! ## Break it
//! Remove one of the two fences. The results stay right here: the emulator executes memory accesses in the order in which they
//! stand, and so does many a GPU nearly always. `warpfold check` knows better: it reports a race on X, read by one block
//! and written by another with nothing between that orders them.
//!
//! ## Source
//! *CUDA C++ Programming Guide*, on memory fence functions, `writeXY` and `readXY`. The tickets are those of Duane Merrill and
//! Michael Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back* (NVIDIA, 2016).

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::thread::device_fence;

use crate::prelude::*;

/// Publishes each of `input` through X and Y, and leaves what the readers found in X.
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
    // SAFETY: the shared word is read behind the barrier only. Each index below n has one writer and one reader; the reader
    // takes the value after it has seen the flag, with a fence on either side.
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
