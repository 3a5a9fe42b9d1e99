//! # Histogram 1 · Every pixel to one histogram
//!
//! ## Before
//! A reduction makes one number of many, and each thread knows beforehand where its value goes. A histogram makes 3 · 256
//! numbers of an image: how often each brightness occurs in red, in green and in blue. Which of them a pixel belongs to is
//! known only once it has been read.
//!
//! ## Idea
//! One thread per pixel. It reads the three bytes of its pixel and adds 1 to three *bins* of one histogram in global
//! memory. Two threads may well add to the same bin, so each addition is *atomic*: the memory itself reads, adds and
//! writes, and no other access to that word comes between.
//!
//! An image is stored in rows, and in some formats a row takes more bytes than its pixels: in a BMP file each row is padded
//! to a multiple of four bytes. So the kernel takes the distance in bytes between the beginnings of two rows, the *pitch*,
//! and finds the pixel by its row and its column.
//!
//! ## Picture
//! ```text
//! an image of 3 × 2 pixels, pitch 12                      768 bins
//!
//! row 0   R G B  R G B  R G B  · · ·                      red     0 … 255
//! row 1   R G B  R G B  R G B  · · ·      atomic + 1 ──▶  green 256 … 511
//!           │ thread 4                                    blue  512 … 767
//!           └ byte 1 · 12 + 1 · 3
//! ```
//!
//! ## Cost
//! Three loads of a byte and three global atomics for each pixel. Atomics on one word happen one after the other, and
//! neighbouring pixels resemble one another: in a picture of one colour every pixel of the image queues at the same
//! three words, and the sky of a photograph is not much better.
//!
//! ## Observe
//! In the PTX: three `ld.global.b8`, then three `atom.global.add.u32` whose results nobody reads.
//!
//! **Predict.** The 2¹⁶ pixels of this image have random colours. About how many of them queue at the fullest of the
//! 768 bins?
//! ```console
//! $ warpfold profile histogram_global -n 2^16 \
//!       --metrics global_atomic_requests,global_atomic_passes,atomics_on_one_address
//! ...
//! global_atomic_requests             6,144
//! global_atomic_passes             136,647
//! atomics_on_one_address               308
//! ...
//! ```
//! Spread evenly, 256 pixels would come to each bin; the last line is the length of the longest queue. The passes are
//! far more than the requests, because the bins of a warp are in many sectors, and lanes with the same bin wait for
//! each other.
//!
//! ## Break it
//! Replace the atomic addition in [`add`] by `*bin += number`. Pixels of one colour then overwrite each other's counts:
//! ```console
//! $ warpfold try histogram_global --check -n 1000 --block 64
//! ...
//! racecheck: write after read at global address 0x7f0000001380 (4 bytes) in kernel ...
//! ...
//! ```
//!
//! ## Source
//! Victor Podlozhnyuk, *Histogram calculation in CUDA* (NVIDIA, 2007); the padded rows are those of Windows bitmaps.

use crate::prelude::*;
use core::hint::assert_unchecked;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bins of one channel: one for each value of a byte.
pub const BINS_PER_CHANNEL: usize = 256;
/// Bins of a histogram: red, then green, then blue.
pub const BINS: usize = 3 * BINS_PER_CHANNEL;

/// Adds to `bins` how often each value occurs in the red, the green and the blue of an image; thread i of the launch
/// takes pixel i.
///
/// # Safety
/// - `image` points to `height` rows of `width` pixels of three bytes, red, green and blue, which nothing writes to; row i
///   begins `i * pitch` bytes further on.
/// - The image has at most 2^32 − 1 pixels, so no bin that began with 0 can overflow.
/// - `bins` points to 768 counts, which other threads touch only by atomics.
/// - The grid has one dimension, at least a thread for each pixel, and no block without a pixel.
#[kernel]
pub unsafe fn histogram_global(
    image: *const u8,
    width: u32,
    height: u32,
    pitch: usize,
    bins: *mut u32,
) {
    let pixel = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
    if pixel < width as usize * height as usize {
        // SAFETY: the image has this pixel; a byte is below 256, so each bin is in its channel's range; the rest is the
        // caller's promise.
        unsafe {
            let [red, green, blue] = bins_of(find(image, width, pitch, pixel as u32));
            add(bins.add(red), 1);
            add(bins.add(green), 1);
            add(bins.add(blue), 1);
        }
    }
}

/// Where the three bytes of a pixel are, counted row by row from the top left.
///
/// # Safety
/// The image has this pixel.
#[inline(always)]
pub unsafe fn find(image: *const u8, width: u32, pitch: usize, pixel: u32) -> *const u8 {
    // SAFETY: an image with a pixel has a width. Without this line the compiler would test for a division by 0.
    unsafe { assert_unchecked(width > 0) };
    let (row, column) = (pixel / width, pixel % width);
    // SAFETY: the pixel is in the image.
    unsafe { image.add(row as usize * pitch + 3 * column as usize) }
}

/// The bins that count a pixel's red, green and blue.
///
/// # Safety
/// `pixel` points to three bytes.
#[inline(always)]
pub unsafe fn bins_of(pixel: *const u8) -> [usize; 3] {
    // SAFETY: the caller's promise. All three loads come before the first addition, so they wait for memory together.
    let (red, green, blue) = unsafe { (*pixel, *pixel.add(1), *pixel.add(2)) };
    [
        red as usize,
        BINS_PER_CHANNEL + green as usize,
        2 * BINS_PER_CHANNEL + blue as usize,
    ]
}

/// Adds to a count to which other threads may be adding, too.
///
/// # Safety
/// `bin` points to a count, which other threads touch only by atomics.
#[inline(always)]
pub unsafe fn add(bin: *mut u32, number: u32) {
    // SAFETY: the caller's promise. A count publishes no other memory, so its order does not matter.
    unsafe { AtomicU32::from_ptr(bin).fetch_add(number, Relaxed) };
}
