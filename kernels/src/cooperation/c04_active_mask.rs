//! # Cooperation 4 · Who is here?
//!
//! ## Before
//! Every mask so far was computed from what the program knows. The hardware knows which lanes execute an instruction at
//! this moment, so why not ask it?
//!
//! ## Idea
//! `activemask` returns the set of lanes that execute this very call together with the calling lane. But *together* is
//! decided by the hardware. Since Volta the lanes of a warp that took the same branch may arrive at a reconvergence point
//! in several groups, and the compiler may move code; neither promises to bring them together. Only two things are certain:
//!
//! - the calling lane is in the answer;
//! - no lane is in it that did not come to this call.
//!
//! So it is right to ask who *happens* to be here, for instance to add up for those lanes and let others add for
//! themselves. It is wrong to take the answer for "all lanes that took the branch": that is a ballot before the branch.
//!
//! ## Picture
//! Lanes 0, 2, 3 and 5 take a branch in which they ask; three answers that a GPU may give:
//! ```text
//! all together     00101101 to each
//! in two groups    00000101 to lanes 0 and 2, 00101000 to lanes 3 and 5
//! one by one       00000001, 00000100, 00001000, 00100000
//! ```
//!
//! ## Cost
//! One instruction, which waits for nobody. It exists from sm_80 on, since the PTX version that the compilers write for
//! sm_70 is older.
//!
//! ## Observe
//! The kernel stores whether the two promises were kept, and not the mask, which may differ in every run.
//!
//! **Predict.** In 20 orders of execution warps are split where a GPU might split them. For which block sizes does
//! what the kernel stores depend on the order?
//! ```console
//! $ warpfold check active_mask --schedules 20
//! ...
//! memcheck, initcheck, racecheck, synccheck; 20 schedules, seeds 0 to 19
//! ...
//! blocks   193 of   64 threads: clean
//! blocks    97 of  128 threads: clean
//! blocks    49 of  256 threads: clean
//! blocks    25 of  512 threads: clean
//! blocks    13 of 1024 threads: clean
//! ```
//! For none: the promises hold in each of them.
//!
//! ## Break it
//! Store the mask itself, `here` in the place of `FOUND_ITSELF`. Which lanes are active together depends on the order of execution:
//! ```console
//! $ warpfold try active_mask --check -n 1000 --block 64 --schedules 20
//! ...
//! blocks    16 of   64 threads: 1 finding
//! ...
//! schedules: result depends on the schedule at global address 0x7f0000001104 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Yuan Lin, Vinod Grover, *Using CUDA Warp-Level Primitives* (NVIDIA, 2018), on the dangers of `__activemask`.

use cuda_std::warp::activemask;

use crate::cooperation::c02_votes::lanes_below;
use crate::prelude::*;

/// What [`active_mask`] writes for an element that is not positive.
pub const DID_NOT_ASK: u32 = 0;
/// What it writes for a positive element whose lane was among those that it found, all of them positive.
pub const FOUND_ITSELF: u32 = 1;
/// What it writes otherwise, which never happens.
pub const BROKEN_PROMISE: u32 = 2;

/// The lanes with a positive element ask who is here; each writes whether the two promises were kept.
///
/// # Safety
/// - `values` points to `n` values that nothing writes, and `answers` to `n` that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn active_mask(values: *const i32, answers: *mut u32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n and this thread's alone; all lanes with an element, and no others, come to the ballot.
        unsafe {
            let is_positive = *values.add(index) > 0;
            let askers = ballot(lanes_below(n), is_positive);
            let mut answer = DID_NOT_ASK;
            if is_positive {
                let here = activemask();
                let myself = 1 << (thread_idx_x() % WARP_SIZE);
                answer = if (here & myself != 0) & (here & !askers == 0) {
                    FOUND_ITSELF
                } else {
                    BROKEN_PROMISE
                };
            }
            *answers.add(index) = answer;
        }
    }
}
