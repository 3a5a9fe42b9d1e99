//! # Peterson's lock without fences
//!
//! ## What is wrong
//! Two threads take turns by loads and stores alone: each says that it wants to enter, gives the turn to the other, and waits
//! while the other wants and has the turn. The proof of this lock takes every store to be visible before the next access is
//! made. A GPU promises nothing of the kind: both threads may look before either announcement arrives, and whoever enters
//! second may miss what the first has done.
//!
//! ## The finding
//! `read after write` in global memory: one thread's load of the total, and the other's store of it.
//!
//! ## Repair
//! Three fences: between the announcement and the look (it has to be a sequentially consistent one, as `device_fence()` is),
//! after the wait, and before leaving. The lesson `peterson` has them.

use warpfold_kernels::prelude::*;

/// Adds one value of each of two blocks to `total`.
///
/// # Safety
/// `input` points to two values, `lock` to three words that are 0, and `total` to one value. The grid has two blocks.
#[kernel]
pub unsafe fn peterson_without_fences(input: *const i32, lock: *mut u32, total: *mut i32) {
    if thread_idx_x() != 0 {
        return;
    }
    let me = block_idx_x();
    let other = 1 - me;
    // SAFETY: all pointers are valid by the contract. That nothing orders the two blocks is the mistake.
    unsafe {
        let (mine, others, turn) = (lock.add(me as usize), lock.add(other as usize), lock.add(2));
        store_relaxed(mine, 1);
        store_relaxed(turn, other);
        while load_relaxed(others) == 1 && load_relaxed(turn) == other {}
        *total = (*total).wrapping_add(*input.add(me as usize));
        store_relaxed(mine, 0);
        // Nobody looks at it any more; so every run leaves the same.
        store_relaxed(turn, 0);
    }
}
