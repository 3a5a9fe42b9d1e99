//! # Other roads 14 · A warp in one instruction
//!
//! ## Before
//! The sum of a warp takes five shuffles and five additions, each waiting for the one before, and every reduction needs it.
//!
//! ## Idea
//! Since compute capability 8.0 the hardware does it in one instruction, `redux.sync`, for integers of 32 bits: every lane
//! gets the sum of all lanes. This is step 9 with that instruction instead of the shuffles. There is none for 64 bits, none
//! for floats, and none on older GPUs, so the PTX for sm_70 does not have this kernel.
//!
//! ## Picture
//! ```text
//! shuffles   shfl add shfl add shfl add shfl add shfl add     lane 0 has the sum
//! redux      redux                                            every lane has it
//! ```
//!
//! ## Cost
//! For one block over a whole tile: 8B global loads and one global store, as in step 9; B/32 shared stores and as many
//! shared loads; 1 `redux.sync` in each warp and 1 more in the first; 1 barrier; B/8 bytes of shared memory.
//!
//! ## Observe
//! In the PTX: two `redux.sync.add.s32` instead of the ten `shfl.sync.down.b32` and ten `add.s32` of step 9.
//!
//! **Predict.** Step 9 executes 58,688 instructions for these 2¹⁸ elements. Does `redux.sync` save more than half of
//! them, or less than a fifth?
//! ```console
//! $ warpfold profile shuffle redux -n 2^18 --metrics warp_instructions
//! ...
//! metric             shuffle_512  redux_512
//! ...
//! warp_instructions       58,688     49,984
//! ...
//! ```
//! On a GPU the time is the same, because step 9 was already waiting for memory.
//!
//! ## Break it
//! Ask for it where it does not exist:
//! ```console
//! $ warpfold ptx redux --sm 70
//! warpfold: the PTX for sm_70 has no entry of redux for blocks of 512 threads; it needs sm_80 or later
//! ```
//!
//! ## Source
//! NVIDIA, *CUDA C++ Programming Guide*, warp reduce functions; *PTX ISA*, `redux.sync`.

use crate::ladder::l04_unroll::sum_of_eight;
use crate::prelude::*;

/// The body of every entry; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn redux<const B: u32>(input: *const i32, partials: *mut i32, n: usize) {
    let tid = thread_idx_x();
    let lane = tid % WARP_SIZE;
    let warp = tid / WARP_SIZE;
    let warps = B / WARP_SIZE;
    let warp_sums = shared_array!(warp_sums: [i32; B / WARP_SIZE]);

    let tile_length = 8 * B;
    let start = block_idx_x() as usize * tile_length as usize;
    let count = (n - start).min(tile_length as usize) as u32;

    // SAFETY: every block has an element, so `start` is below n, and the tile has `count`; the shared array has one element
    // per warp, each written before the barrier; whole warps make the calls.
    unsafe {
        let tile = input.add(start);
        let sum = redux_add(sum_of_eight(tile, count, B));
        if lane == 0 {
            *warp_sums.add(warp as usize) = sum;
        }
        sync_threads();

        if warp == 0 {
            let mine = if lane < warps {
                *warp_sums.add(lane as usize)
            } else {
                0
            };
            let sum = redux_add(mine);
            if lane == 0 {
                *partials.add(block_idx_x() as usize) = sum;
            }
        }
    }
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        #[doc = concat!("Writes the sum of each block's 8·", $block, " elements to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, and `partials` to one per block that nothing else touches.
        #[doc = concat!("- The grid has ⌈n ∕ 8B⌉ blocks in one dimension, and a block B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(input: *const i32, partials: *mut i32, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { redux::<$block>(input, partials, n) }
        }
    )*};
}

entries! {
    redux_64 = 64;
    redux_128 = 128;
    redux_256 = 256;
    redux_512 = 512;
    redux_1024 = 1024;
}
