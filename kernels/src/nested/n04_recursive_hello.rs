//! # Nested 4 · Who launched whom
//!
//! ## Before
//! The grids of the pages before form a chain: each has one child, and only the sum shows that it ran.
//!
//! ## Idea
//! A kernel launches itself in its own shape, from every block, to a fixed depth: the grids form a tree. Every block takes
//! a number from a counter, atomically, and records three things: its number, the number of the block that launched its
//! grid, and its depth. The records are the tree, and the host draws it. The order in which siblings get their numbers is
//! not defined. A child's number is always greater than its parent's, because the parent takes its own before it launches.
//!
//! ## Picture
//! Grids of 2 blocks to depth 1; a number is a block's.
//! ```text
//! host ─┬─ 0 ─┬─ 2
//!       │     └─ 3
//!       └─ 1 ─┬─ 4
//!             └─ 5
//! ```
//!
//! ## Cost
//! With G blocks per grid, each grid launches G grids: G + G² + … blocks, each with one atomic addition and three words of
//! a record. Most of the threads do nothing: one thread suffices for a launch.
//!
//! ## Observe
//! In a run: the tree, and the order in which its blocks began. Another run may number them differently. Every schedule of the emulator
//! does, which is why `warpfold check` does not compare the results.
//!
//! **Predict.** The host launches a grid of 2 blocks, and each block a grid of 2, for two generations. How many
//! blocks has the tree, and how many grids do kernels launch?
//! ```console
//! $ warpfold run recursive_hello -n 1000 --block 64 --device emulator
//! ...
//! blocks of the tree                        14
//! ...
//! grids launched by kernels                 6
//! their generations                         2
//! ...
//! $ warpfold check recursive_hello --block 64 --schedules 20
//! ...
//! blocks     2 of   64 threads, depth 0: clean
//! ...
//! ```
//!
//! ## Break it
//! Launch from two threads of each block: `thread_idx_x() > 1`. There are twice as many grids on each level, and soon no room for their records:
//! ```console
//! $ warpfold try recursive_hello --check --block 64
//! ...
//! memcheck: access out of bounds at global address 0x7f0000000018 (4 bytes) in kernel ...
//!   block (1) thread (0) writes ...
//! ...
//! ```
//! With a launch from every thread, more grids soon wait than the device has room for. The emulator traps and says so; a GPU returns error
//! 69, which `report` stores for the host.
//!
//! ## Source
//! NVIDIA, *CUDA Samples*, `cdpSimplePrint`; John Cheng, Max Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3,
//! `nestedHelloWorld`.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::nested::device_runtime::{Stream, launch, report};
use crate::prelude::*;

/// The kernel's parameters.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parameters {
    records: *mut u32,
    counter: *mut u32,
    parent: u32,
    depth: u32,
    deepest: u32,
    status: *mut u32,
}

/// Records every block of a tree of grids: number, parent and depth, in `records[3 × number ..]`.
///
/// # Safety
/// - `records` has room for three words for each block of the tree, and nothing else touches it.
/// - `counter` and `status` each point to a word that only such kernels touch; the counter is 0 before the host's launch.
#[kernel]
pub unsafe fn recursive_hello(
    records: *mut u32,
    counter: *mut u32,
    parent: u32,
    depth: u32,
    deepest: u32,
    status: *mut u32,
) {
    if thread_idx_x() != 0 {
        return;
    }
    // SAFETY: the counter is a word that all blocks of the tree access atomically.
    let number = unsafe { AtomicU32::from_ptr(counter) }.fetch_add(1, Ordering::Relaxed);
    // SAFETY: no other block has this number, and there is room for every block's record.
    unsafe {
        let record = records.add(3 * number as usize);
        *record = number;
        *record.add(1) = parent;
        *record.add(2) = depth;
    }
    if depth < deepest {
        let parameters = Parameters {
            records,
            counter,
            parent: number,
            depth: depth + 1,
            deepest,
            status,
        };
        let (blocks, threads) = (grid_dim_x(), block_dim_x());
        let kernel = recursive_hello as *const ();
        // SAFETY: the struct has the kernel's parameters in their order, and the records have room for the whole tree.
        unsafe {
            report(
                launch(kernel, blocks, threads, Stream::OfBlock, parameters),
                status,
            )
        };
    }
}
