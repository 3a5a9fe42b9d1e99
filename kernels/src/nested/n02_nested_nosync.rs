//! # Nested 2 · Nobody waits
//!
//! ## Before
//! Every parent of `nested_sync` waits for its child only to pass on a sum that the child could have stored itself.
//!
//! ## Idea
//! Leave out the wait. The launch is the last thing that the parent does, and the last child, which has one or two elements
//! left, writes the block's partial sum. The barrier before the launch stays: a child sees what the launching thread wrote
//! before the launch, and what other threads wrote before a barrier that they passed together, and nothing more. The host
//! needs no wait either: a grid is complete only when all grids that it has launched are.
//!
//! ## Picture
//! One tile of 8 elements: threads a, b, c … of each grid, and the element that each works on. Nothing is left of a grid when
//! the next one runs.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! host       a   b   c   d   +a  +b  +c  +d    1 block of 8 threads
//! then       a   b   +a  +b                    1 block of 4
//! then       a   +a                            1 block of 2, whose thread a writes the partial
//! ```
//!
//! ## Cost
//! For one block over a whole tile: log₂ B − 1 launches, one after another; B − 1 additions. The launches dominate the
//! time: each is a grid of one small block. On an H200, 2²² elements in blocks of 512 take 65,536 launches and 105 ms: 1.6 µs for each
//! launch, and 1800 times as long as step 1 of the ladder. For every tile one grid may run while another waits, 2·⌈n ∕ B⌉ in all, and the
//! host must have asked the device to reserve room for them.
//!
//! ## Observe
//! In the PTX: the same two calls for a launch as in `nested_sync`, and no wait.
//!
//! **Predict.** `nested_sync` launches 80 grids for these elements, in 5 generations. How many are left without the
//! wait?
//! ```console
//! $ warpfold run nested_nosync -n 1000 --block 64 --device emulator
//! ...
//! sum                           -1804912496
//! sum on the CPU                -1804912496
//! ...
//! grids launched by kernels              80
//! their generations                       5
//! ...
//! ```
//! As many as before: leaving out the wait saves time, but no launch.
//!
//! On a GPU: far slower than any step of the ladder, because grids of B/2, B/4 … threads are far too small for a GPU.
//!
//! ## Break it
//! Remove the barrier before the launch. A thread of the child then reads what one of the parent may not have written yet:
//! ```console
//! $ warpfold try nested_nosync --check -n 64 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000000004 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! John Cheng, Max Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3, `gpuRecursiveReduceNosync`.

use crate::nested::device_runtime::{Stream, launch, report};
use crate::prelude::*;

/// The kernel's parameters.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parameters {
    input: *mut i32,
    partials: *mut i32,
    n: usize,
    tile: u32,
    status: *mut u32,
}

/// Writes the sum of each block's tile to `partials`; overwrites `input`.
///
/// # Safety
/// - `input` points to `n` values and `partials` to one per block; they don't overlap, and nothing else touches them.
/// - The grid has ⌈n ∕ `tile`⌉ blocks in one dimension, of at least `tile` ∕ 2 threads each.
/// - `status` points to a word that only such kernels touch.
#[kernel]
pub unsafe fn nested_nosync(
    input: *mut i32,
    partials: *mut i32,
    n: usize,
    tile: u32,
    status: *mut u32,
) {
    let tid = thread_idx_x();
    let start = block_idx_x() as usize * tile as usize;
    let count = (n - start).min(tile as usize) as u32;
    let half = count.div_ceil(2);
    // SAFETY: every block has an element, so `start` is below n; and there is one partial per block.
    let (mine, partial) = unsafe { (input.add(start), partials.add(block_idx_x() as usize)) };

    if tid + half < count {
        // SAFETY: both elements are in the tile, and no other thread touches them now.
        unsafe {
            let element = mine.add(tid as usize);
            let partner = mine.add((tid + half) as usize);
            *element = (*element).wrapping_add(*partner);
        }
    }
    sync_threads();

    if tid == 0 {
        if half == 1 {
            // SAFETY: the tile has a first element, and this is the last grid that touches it.
            unsafe { *partial = *mine };
        } else {
            let parameters = Parameters {
                input: mine,
                partials: partial,
                n: half as usize,
                tile: half,
                status,
            };
            let kernel = nested_nosync as *const ();
            // SAFETY: the struct has the kernel's parameters in their order. `half` elements are left in the tile, one
            // block of `half` threads takes them, and this block touches neither them nor the partial any more.
            unsafe { report(launch(kernel, 1, half, Stream::OfBlock, parameters), status) };
        }
    }
}
