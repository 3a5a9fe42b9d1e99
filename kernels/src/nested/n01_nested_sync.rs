//! # Nested 1 · The parent waits
//!
//! ## Before
//! The interleaved step of the ladder halves a tile in a loop. Each round needs half the threads of the one before, and the
//! others stay in the block and wait at its barriers to the end.
//!
//! ## Idea
//! Use recursion instead of the loop. A block does one halving and then *launches a grid*: one block with as many threads
//! as there is work left. The kernel launches itself; a tile of one or two elements ends the recursion. Every block waits
//! for its child, as a function waits for one that it calls. It takes the sum that the child has left in the first element
//! of the tile, and returns it to its own parent.
//!
//! A missing element, or the missing half of an odd tile, is left out of the sum: `count` elements become ⌈count ∕ 2⌉.
//!
//! ## Picture
//! One tile of 8 elements: threads a, b, c … of each grid, and the element that each works on.
//! ```text
//! element    0   1   2   3   4   5   6   7
//! host       a   b   c   d   +a  +b  +c  +d    1 block of 8 threads; half of them have work
//! └ child    a   b   +a  +b                    1 block of 4
//!   └ child  a   +a                            1 block of 2: the end
//! ```
//!
//! ## Cost
//! For one block over a whole tile: log₂ B − 1 launches, one inside the other, each a grid of one block; B − 1 additions,
//! as on the ladder. While the innermost grid runs, log₂ B − 1 blocks are suspended, with all their registers.
//!
//! ## Observe
//! In the PTX: the kernel takes its own address (`mov.b64 …, nested_sync`), stores parameters into a buffer, and
//! calls `cudaDeviceSynchronize`.
//!
//! **Predict.** 1000 elements take 16 blocks of 64 threads. How many grids do kernels launch, and how many
//! generations of them are there?
//! ```console
//! $ warpfold run nested_sync -n 1000 --block 64 --device emulator
//! ...
//! sum                           -1804912496
//! sum on the CPU                -1804912496
//! ...
//! grids launched by kernels              80
//! their generations                       5
//! ...
//! ```
//! A grid for each halving of each block.
//!
//! It runs on the emulator only. Suspending blocks was expensive, and CUDA 12 took the wait out of its device runtime. For GPUs below
//! compute capability 9.0 the older runtime can still be asked for when a program is compiled (`-DCUDA_FORCE_CDP1_IF_SUPPORTED`); from
//! 9.0 on there is none. `--device gpu` says so.
//!
//! ## Break it
//! Remove the wait. The parent then reads the sum from the tile while its child may still be at work, and both write the partial sum:
//! ```console
//! $ warpfold try nested_sync --check -n 64 --block 64
//! ...
//! racecheck: write after read at global address 0x7f0000000000 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! John Cheng, Max Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3, `gpuRecursiveReduce`, whose tiles
//! are powers of two. Texts that end the recursion one level early, and take the first of two sums for the whole, lose half of a
//! tile; here it ends at one.

use crate::nested::device_runtime::{Stream, launch, report, wait_for_launched};
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
pub unsafe fn nested_sync(
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
    // Every thread of the block has to write what the child reads before one of them launches the child.
    sync_threads();

    if tid == 0 {
        if half > 1 {
            let parameters = Parameters {
                input: mine,
                partials: partial,
                n: half as usize,
                tile: half,
                status,
            };
            let kernel = nested_sync as *const ();
            // SAFETY: the struct has the kernel's parameters in their order. `half` elements are left in the tile, one
            // block of `half` threads takes them, and nothing else touches them, nor the partial, before the wait is over.
            unsafe { report(launch(kernel, 1, half, Stream::OfBlock, parameters), status) };
            wait_for_launched();
        }
        // SAFETY: the tile has a first element, which the child is done with.
        unsafe { *partial = *mine };
    }
}
