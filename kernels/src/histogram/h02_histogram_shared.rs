//! # Histogram 2 · A private histogram
//!
//! ## Before
//! All threads of the launch queue at the same 768 words, and they queue in the L2 cache, far from the multiprocessors.
//!
//! ## Idea
//! Each block counts in a *private* histogram in its shared memory, 3 KiB, and at the end adds its bins to the global ones:
//! *privatisation*. Two lanes with the same bin still take turns, but on their own multiprocessor, and only with the
//! threads of their own block.
//!
//! The price is fixed: 768 bins to clear and up to 768 to merge, however few pixels the block has counted. To make a block
//! count many pixels, each thread takes more than one: thread i takes pixel i, then the pixel that is one grid of threads
//! further on, and so on, a *grid-stride loop*. Any grid covers the image.
//!
//! ## Picture
//! ```text
//! image      ████████████████████████████████      thread i of all takes pixels i, i + T, i + 2T …
//!              │ block 0    │ block 1   …            (T = blocks · B)
//! shared    768 bins      768 bins                 atomics of the block
//!              └──────┬───────┘
//! global           768 bins                        one atomic per block and bin that is not 0
//! ```
//!
//! ## Cost
//! Three loads of a byte and three shared atomics for each pixel; for each block 768 shared stores, 768 shared loads, at
//! most 768 global atomics, two barriers and 3072 bytes of shared memory. With one pixel per thread a block of 64 would
//! clear and read 768 bins to count 192 bytes.
//!
//! ## Observe
//! In the PTX: `.shared .align 16 .b8 own_bins[3072]`, three `red.relaxed.cta.shared.add.u32` in the loop, and an
//! atomic on `global` after it.
//!
//! **Predict.** With one pixel per thread the blocks merge their bins in 49,152 passes through global memory. How
//! many does it take with 32 pixels per thread, and do the collisions in shared memory change?
//! ```console
//! $ warpfold profile histogram_global histogram_shared -n 2^18 --metrics shared_atomic_wavefronts,global_atomic_passes
//! ...
//! metric                    histogram_global  histogram_shared  histogram_shared  histogram_shared  histogram_shared
//! ...
//!                                                     pixels 1          pixels 4         pixels 32        pixels 128
//! ...
//! shared_atomic_wavefronts                 0            86,955            86,955            86,955            86,955
//! global_atomic_passes               546,443            49,152            12,288             1,536               384
//! ...
//! ```
//! With 32 pixels per thread the passes are a small part of those of page 1. The lanes that collide now do so
//! in shared memory, as often for any number of pixels.
//!
//! ## Break it
//! Remove the first `sync_threads()`. A thread then counts in a bin that nobody has cleared yet:
//! ```console
//! $ warpfold try histogram_shared --check -n 1000 --block 64
//! ...
//! racecheck: write after write at shared address 0x240 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Victor Podlozhnyuk, *Histogram calculation in CUDA* (NVIDIA, 2007), with a histogram per warp, which its hardware
//! needed; Nikolay Sakharnykh, *GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell* (NVIDIA, 2015), with one
//! per block, as here.

use crate::histogram::h01_histogram_global::{BINS, add, bins_of, find};
use crate::prelude::*;

/// Adds to `bins` how often each value occurs in the red, the green and the blue of an image.
///
/// # Safety
/// - `image` points to `height` rows of `width` pixels of three bytes, red, green and blue, which nothing writes to; row i
///   begins `i * pitch` bytes further on.
/// - The image has at most 2^32 − 1 pixels, so no bin that began with 0 can overflow.
/// - `bins` points to 768 counts, which other threads touch only by atomics.
/// - The grid has one dimension.
#[kernel]
pub unsafe fn histogram_shared(
    image: *const u8,
    width: u32,
    height: u32,
    pitch: usize,
    bins: *mut u32,
) {
    let tid = thread_idx_x() as usize;
    let block = block_dim_x() as usize;
    let own_bins = shared_array!(own_bins: [u32; BINS]);

    let mut bin = tid;
    while bin < BINS {
        // SAFETY: the bin is one of the block's, and until the barrier only this thread touches it.
        unsafe { *own_bins.add(bin) = 0 };
        bin += block;
    }
    sync_threads();

    let pixels = width as usize * height as usize;
    let threads = grid_dim_x() as usize * block;
    let mut pixel = block_idx_x() as usize * block + tid;
    while pixel < pixels {
        // SAFETY: the image has this pixel, and between the barriers the block touches its bins only by atomics.
        unsafe {
            let [red, green, blue] = bins_of(find(image, width, pitch, pixel as u32));
            add_to_shared(own_bins.add(red), 1);
            add_to_shared(own_bins.add(green), 1);
            add_to_shared(own_bins.add(blue), 1);
        }
        pixel += threads;
    }
    sync_threads();

    let mut bin = tid;
    while bin < BINS {
        // SAFETY: both histograms have this bin, and since the barrier nothing writes the block's own.
        unsafe {
            let counted = *own_bins.add(bin);
            if counted > 0 {
                add(bins.add(bin), counted);
            }
        }
        bin += block;
    }
}
