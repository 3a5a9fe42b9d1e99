//! # Cooperation 5b · Fences of three scopes
//!
//! ## Before
//! The fence of page 5 counts for every thread of the device. That is a promise to threads far away, and it takes the longest
//! way: the writes before it have to reach a cache that all of them share.
//!
//! ## Idea
//! A fence comes in three *scopes*, and so do the flags that go with it. The scope says who may rely on the order.
//!
//! | scope | PTX | CUDA C++ | counts for |
//! |---|---|---|---|
//! | block | `membar.cta` | `__threadfence_block` | the threads of the block |
//! | device | `membar.gl` | `__threadfence` | every thread of the device |
//! | system | `membar.sys` | `__threadfence_system` | these, the host, and other devices that share the memory |
//!
//! Each promises all that a narrower one does. Writer and reader each need a fence, and a flag, whose scope includes the
//! other: two threads of different blocks that both fence for their block have promised each other nothing.
//!
//! Order is passed on. Here a value goes through three hands. A writer hands it to a *courier*, a thread of the same block,
//! under fences for the block. The courier tells a reader in another block, under fences for the device. The reader takes
//! the value from where the *writer* put it. That is allowed: the courier's fence passes on all that the courier has seen,
//! including the writer's store, although the writer's own fence was for its block only. Last, the reader leaves a receipt
//! in the system's scope. If the receipts were in memory of the host, a thread of the host could read them while the kernel
//! runs, and rely on what stands beside them.
//!
//! Waiting needs a partner that runs, as on page 5: the block with the odd ticket reads from the one before.
//!
//! ## Picture
//! ```text
//! writer          courier, same block    reader, another block    host, another device
//! X = value
//! fence (block)
//! near = 1   ──▶  wait until near = 1
//!                 fence (block)
//!                 fence (device)
//!                 far = 1           ──▶  wait until far = 1
//!                                        fence (device)
//!                                        seen = X
//!                                        fence (system)
//!                                        receipt = 1         ──▶  wait until receipt = 1 …
//! ```
//!
//! ## Cost
//! For each element five fences: two for the block, two for the device, one for the system. Three stores of flags, and two
//! loads of flags, or more for threads that had to wait.
//!
//! ## Observe
//! In the PTX: `membar.cta` and `membar.gl` twice each, `membar.sys` once; `st.relaxed.cta`, `st.relaxed.gpu` and
//! `st.relaxed.sys`.
//!
//! **Predict.** The writer fences for its own block only, and the reader is in another. How many of the 4096 values
//! does it find old?
//! ```console
//! $ warpfold run fence_scopes -n 2^12 --device emulator
//! ...
//! receipts                          4096
//! flag new, X old                      0
//! ...
//! ```
//! Every value has been seen. `warpfold check fence_scopes --schedules 200` finds nothing.
//!
//! ## Break it
//! Leave out the courier's second fence, so that the one for the block is all it has. On the emulator the values are still right, and on a GPU
//! they may be for years:
//! ```console
//! $ warpfold try fence_scopes --check -n 1000 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000001100 (4 bytes) in kernel ...
//! ...
//! ```
//! The exhibit `fence_too_narrow` is this mistake on its own. `check` does not notice a device fence in place of the system fence:
//! the launch has one device, and no host thread reads the receipts.
//!
//! ## Source
//! *PTX ISA*, on the memory consistency model (scopes, causality order) and on `membar`; *CUDA C++ Programming Guide*, on
//! memory fence functions.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::gpu_only;
use cuda_std::thread::{device_fence, system_fence};

use crate::prelude::*;

/// Flags of a scope: how to set one, and how to wait for one.
macro_rules! flags {
    ($set:ident, $wait:ident, $scope:literal) => {
        /// # Safety
        /// `flag` points to global memory, and others in the scope use it only through these functions.
        #[gpu_only]
        #[inline(always)]
        #[allow(dead_code, reason = "nobody on the device waits for a receipt")]
        unsafe fn $set(flag: *mut u32) {
            // SAFETY: one store to a word that is valid by the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("st.relaxed.", $scope, ".b32 [{flag}], {one};"),
                    flag = in(reg64) flag,
                    one = in(reg32) 1_u32,
                    options(nostack, preserves_flags),
                );
            }
        }

        /// # Safety
        /// As for setting it; and a thread that runs sets it.
        #[gpu_only]
        #[inline(always)]
        #[allow(dead_code, reason = "nobody on the device waits for a receipt")]
        unsafe fn $wait(flag: *mut u32) {
            let mut is_set = 0_u32;
            while is_set == 0 {
                // SAFETY: one load of a word that is valid by the caller's promise.
                unsafe {
                    core::arch::asm!(
                        concat!("ld.relaxed.", $scope, ".b32 {is_set}, [{flag}];"),
                        flag = in(reg64) flag,
                        is_set = out(reg32) is_set,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

flags!(set_in_block, wait_in_block, "cta");
flags!(set_in_device, wait_in_device, "gpu");
flags!(set_in_system, wait_in_system, "sys");

/// Hands each value of `input` from a writer over a courier to a reader, who writes what it found in X to `seen`.
///
/// # Safety
/// - `input` points to `n` values that nothing writes; `x`, `near`, `far`, `seen` and `receipts` to `n` values that nothing else
///   touches; `tickets` to one. The flags (`near`, `far`, `receipts`) and `tickets` are all 0.
/// - B is a multiple of 64, and the grid has 2·⌈n ∕ (B ∕ 2)⌉ blocks in one dimension.
#[kernel]
pub unsafe fn fence_scopes(
    input: *const i32,
    x: *mut i32,
    near: *mut u32,
    far: *mut u32,
    tickets: *mut u32,
    seen: *mut i32,
    receipts: *mut u32,
    n: usize,
) {
    let tid = thread_idx_x();
    let half = block_dim_x() / 2;
    let ticket_of_block = shared_array!(ticket: [u32; 1]);
    // SAFETY: the shared word is read only after the barrier. Each index below n has one writer, one courier in the same block
    // and one reader in the next; each touches X and `seen` after it has seen the flag of the one before, with fences that
    // reach the other on each side.
    unsafe {
        if tid == 0 {
            *ticket_of_block = AtomicU32::from_ptr(tickets).fetch_add(1, Relaxed);
        }
        sync_threads();
        let ticket = *ticket_of_block;

        let index = (ticket / 2) as usize * half as usize + (tid % half) as usize;
        if index < n {
            let (near, far) = (near.add(index), far.add(index));
            if ticket % 2 == 0 && tid < half {
                *x.add(index) = *input.add(index);
                block_fence();
                set_in_block(near);
            } else if ticket % 2 == 0 {
                wait_in_block(near);
                block_fence();
                device_fence();
                set_in_device(far);
            } else if tid < half {
                wait_in_device(far);
                device_fence();
                *seen.add(index) = *x.add(index);
                system_fence();
                set_in_system(receipts.add(index));
            }
        }
    }
}
