//! # Nested 3 · One child for all blocks
//!
//! ## Before
//! In `nested_nosync` every block launches a child of one block: ⌈n ∕ B⌉ tiny grids per level, and each costs a launch.
//!
//! ## Idea
//! Launch one child grid for all blocks: as many blocks as its parent has, with half the threads. Thread 0 of block 0
//! launches it. The child finds its tiles as its parent did, because the tile size is passed along; the number of threads
//! tells it how many elements are left of a tile: two for each thread.
//!
//! So every thread that is launched adds. In the two kernels before, half of each grid had nothing to do.
//!
//! But nothing says that the other blocks of the parent are done when block 0 launches. A child may begin at once, beside
//! its parent. Here it must not, so this is a *tail launch*: it begins when the whole grid is complete.
//!
//! ## Picture
//! Two tiles of 8 elements, one row per grid: threads a, b, c … of each block.
//! ```text
//! element    0   1   2   3   4   5   6   7 │ 8   9  10  11  12  13  14  15
//! host       a   b   c   d   +a  +b  +c  +d│ a   b   c   d   +a  +b  +c  +d    2 blocks of 4 threads
//! tail       a   b   +a  +b                │ a   b   +a  +b                    2 blocks of 2
//! tail       a   +a                        │ a   +a                            2 blocks of 1
//! ```
//!
//! ## Cost
//! A block of B threads has a tile of 2B elements. log₂ B launches in all, whatever n is; for each tile 2B − 1 threads in
//! log₂ B + 1 grids, and as many additions. A level costs no more than its own work and one launch. On an H200,
//! 2²² elements in blocks of 512 take 0.116 ms with nine launches, about 10 µs each, where step 1 of the ladder takes 0.058 ms.
//! `warpfold run` on the emulator counts the launches, because no number of instructions shows what they cost.
//!
//! ## Observe
//! In the PTX: the stream of the launch is 3, the tail.
//!
//! **Predict.** `nested_nosync` launches 80 grids for these elements. How many does this kernel launch for 8 tiles of
//! 128 elements, and how many threads are there in all?
//! ```console
//! $ warpfold run nested_fixed -n 1000 --block 64 --device emulator
//! ...
//! sum                           -1804912496
//! sum on the CPU                -1804912496
//! ...
//! threads launched                    1,016
//! threads that accessed memory          992
//! grids launched by kernels               6
//! their generations                       6
//! ...
//! ```
//! A grid for each halving of all blocks, in which nearly every thread works.
//!
//! On a GPU: many times faster than `nested_nosync`, because the number of launches no longer grows with n.
//!
//! ## Break it
//! Write `Stream::OfBlock` for `Stream::Tail`, as the book launches it. Nothing then orders the blocks of the parent and those of the child:
//! ```console
//! $ warpfold try nested_fixed --check -n 256 --block 64
//! ...
//! racecheck: read after write at global address 0x7f0000000004 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! John Cheng, Max Grossman, Ty McKercher, *Professional CUDA C Programming* (2014), chapter 3, `gpuRecursiveReduce2`, launched
//! `<<<grid, block.x / 2>>>` for tiles of `block.x` elements; tail launches: NVIDIA,
//! *CUDA C++ Programming Guide*, "CUDA Dynamic Parallelism".

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
/// - The grid has ⌈n ∕ `tile`⌉ blocks in one dimension, of a power of two of threads each: half as many as elements of a
///   tile are left, which for the host's grid is `tile` ∕ 2.
/// - `status` points to a word that only such kernels touch.
#[kernel]
pub unsafe fn nested_fixed(
    input: *mut i32,
    partials: *mut i32,
    n: usize,
    tile: u32,
    status: *mut u32,
) {
    let tid = thread_idx_x();
    let start = block_idx_x() as usize * tile as usize;
    // Half of what is left of a tile; and what is left of this one, which n may have cut short.
    let half = block_dim_x();
    let count = (n - start).min(2 * half as usize) as u32;
    // SAFETY: every block has an element, so `start` is below n.
    let mine = unsafe { input.add(start) };

    if tid + half < count {
        // SAFETY: both elements are in the tile, and no other thread touches them now.
        unsafe {
            let element = mine.add(tid as usize);
            let partner = mine.add((tid + half) as usize);
            *element = (*element).wrapping_add(*partner);
        }
    }

    if tid == 0 {
        if half == 1 {
            // SAFETY: there is one partial per block, and this thread has just written the last sum.
            unsafe { *partials.add(block_idx_x() as usize) = *mine };
        } else if block_idx_x() == 0 {
            let parameters = Parameters {
                input,
                partials,
                n,
                tile,
                status,
            };
            let (kernel, blocks) = (nested_fixed as *const (), grid_dim_x());
            // SAFETY: the struct has the kernel's parameters in their order. The child has this grid's blocks, with a thread for
            // every two of the `half` elements that are left of a tile, and begins when nobody else touches them.
            unsafe {
                report(
                    launch(kernel, blocks, half / 2, Stream::Tail, parameters),
                    status,
                )
            };
        }
    }
}
