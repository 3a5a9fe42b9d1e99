//! # Operators and types 5 · Step 10 for every operator and type
//!
//! ## Before
//! The page before loads value by value, and launches as many blocks as there are tiles.
//!
//! ## Idea
//! Step 10 of the ladder with its operator taken out: a thread loads 16 bytes at a time, and a block goes on to further
//! tiles. Here the type has to say what 16 bytes of it are: four values of 4 bytes or two of 8. That is the `Vector` of a
//! [`Vectorized`] type.
//!
//! ## Picture
//! A tile is 4·B vectors; thread `tid` has one in each row, from four loads that don't depend on one another.
//! ```text
//!            thread 0    thread 1    thread 2          thread B−1
//! row 0      4 × i32     4 × i32     4 × i32     …     4 × i32          or 2 × i64
//! row 1      4 × i32     4 × i32     4 × i32     …
//! row 2      …
//! row 3      …
//! tiles      block b has tiles b, b + G, b + 2G, …    of a grid of G blocks
//! ```
//!
//! ## Cost
//! For each whole tile: 4 loads per thread. For each block, once: the shuffles and the barrier of the page before, and one
//! store. A tile is 16·B values of 4 bytes, or 8·B of 8.
//!
//! ## Observe
//! In the PTX: `ld.global.v4.b32` for the 4-byte types, `ld.global.v2.b64` for the others.
//!
//! **Predict.** 2¹⁸ values of 4 bytes take 2,048 load requests for 32,768 sectors. How many requests and sectors do
//! as many values of 8 bytes take?
//! ```console
//! $ warpfold profile vectorized_sum_i32 vectorized_sum_f64 -n 2^18 --metrics global_load_requests,global_load_sectors
//! ...
//! metric                vectorized_sum_i32  vectorized_sum_f64
//! ...
//! global_load_requests               2,048               4,096
//! global_load_sectors               32,768              65,536
//! ...
//! ```
//!
//! ## Break it
//! Remove the alignment of `Vector`: write `#[repr(C)]`. The loads fall apart into loads of single values, and the kernel still gives the right
//! result:
//! ```console
//! $ warpfold try vectorized_sum_i32 --profile -n 2^16 --metrics global_load_requests,global_load_sectors_per_request
//! ...
//! global_load_requests                          2,048
//! global_load_sectors_per_request               16.00
//! ...
//! ```
//!
//! ## Source
//! As for step 10: Justin Luitjens, *CUDA Pro Tip: Increase Performance with Vectorized Memory Access* (NVIDIA, 2013); Mark
//! Harris, *CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops* (NVIDIA, 2013).

use pastey::paste;

use crate::for_each_element;
use crate::lists::for_each_instance;
use crate::operators::o01_operators::*;
use crate::operators::o04_shuffle::{MOST_WARPS, reduce_block};
use crate::prelude::*;

/// Values that one load brings.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Vector<Values>(Values);

/// A type whose values are loaded 16 bytes at a time.
pub trait Vectorized: Value {
    /// 16 bytes of values.
    type Vector: Copy;

    /// How many values a vector has.
    const LANES: u32 = 16 / size_of::<Self>() as u32;

    /// The values of the vector combined in the accumulator's type.
    fn reduce_vector<O: Operator<A>, A: From<Self>>(vector: Self::Vector) -> A;
}

/// Each type by its size: 16 bytes are four values or two.
macro_rules! vectorized {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(vectorized!(@$bits $value);)* };
    (@32 $value:ident) => {
        vectorized!(@impl $value: 4, |v| {
            let [a, b, c, d] = v.map(A::from);
            O::combine(O::combine(a, b), O::combine(c, d))
        });
    };
    (@64 $value:ident) => {
        vectorized!(@impl $value: 2, |v| {
            let [a, b] = v.map(A::from);
            O::combine(a, b)
        });
    };
    (@impl $value:ident: $lanes:literal, |$vector:ident| $reduced:expr) => {
        impl Vectorized for $value {
            type Vector = Vector<[$value; $lanes]>;

            #[inline(always)]
            fn reduce_vector<O: Operator<A>, A: From<Self>>(Vector($vector): Self::Vector) -> A {
                $reduced
            }
        }
    };
}

for_each_element!(vectorized);

/// The body of every entry.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn vectorized<O: Operator<T>, T: Vectorized>(input: *const T, partials: *mut T, n: usize) {
    let warp_results = shared_array!(warp_results: [T; MOST_WARPS]);
    // SAFETY: the caller's promise; the shared array has one element per warp, and every thread makes both calls.
    unsafe {
        let result = reduce_block::<O, T>(reduce_tiles::<O, T, T>(input, n), warp_results);
        if thread_idx_x() == 0 {
            *partials.add(block_idx_x() as usize) = result;
        }
    }
}

/// The thread's elements in all tiles of its block combined in the accumulator's type A; the identity if there are none.
///
/// # Safety
/// `input` points to `n` values at a multiple of 16 bytes.
#[inline(always)]
pub unsafe fn reduce_tiles<O: Operator<A>, T: Vectorized, A: From<T>>(
    input: *const T,
    n: usize,
) -> A {
    let tile_length = (4 * T::LANES * block_dim_x()) as usize;
    let step = grid_dim_x() as usize * tile_length;
    let mut start = block_idx_x() as usize * tile_length;
    let mut result = O::IDENTITY;
    // SAFETY: a tile that begins below n has an element; it is whole if enough elements are left, and otherwise has those
    // that are left.
    unsafe {
        while start + tile_length <= n {
            result = O::combine(result, reduce_whole_tile::<O, T, A>(input.add(start)));
            start += step;
        }
        if start < n {
            let rest = reduce_cut_tile::<O, T, A>(input.add(start), (n - start) as u32);
            result = O::combine(result, rest);
        }
    }
    result
}

/// The thread's elements of a whole tile combined: four loads that don't depend on one another.
///
/// # Safety
/// `tile` points to 4·B vectors at a multiple of 16 bytes.
#[inline(always)]
unsafe fn reduce_whole_tile<O: Operator<A>, T: Vectorized, A: From<T>>(tile: *const T) -> A {
    let block = block_dim_x() as usize;
    // SAFETY: the tile has 4·B vectors.
    unsafe {
        let mine = tile.cast::<T::Vector>().add(thread_idx_x() as usize);
        let v0 = *mine;
        let v1 = *mine.add(block);
        let v2 = *mine.add(2 * block);
        let v3 = *mine.add(3 * block);
        let first = O::combine(T::reduce_vector::<O, A>(v0), T::reduce_vector::<O, A>(v1));
        let second = O::combine(T::reduce_vector::<O, A>(v2), T::reduce_vector::<O, A>(v3));
        O::combine(first, second)
    }
}

/// The thread's elements in a tile that n cuts short, combined; the identity if there are none.
///
/// # Safety
/// `tile` points to `count` values at a multiple of 16 bytes.
#[inline(always)]
unsafe fn reduce_cut_tile<O: Operator<A>, T: Vectorized, A: From<T>>(
    tile: *const T,
    count: u32,
) -> A {
    let tid = thread_idx_x();
    let vectors = count / T::LANES;
    let mut result = O::IDENTITY;
    let mut index = tid;
    while index < vectors {
        // SAFETY: the index is below the number of whole vectors.
        let vector = unsafe { *tile.cast::<T::Vector>().add(index as usize) };
        result = O::combine(result, T::reduce_vector::<O, A>(vector));
        index += block_dim_x();
    }
    let index = T::LANES * vectors + tid;
    if index < count {
        // SAFETY: the index is below `count`.
        result = O::combine(result, A::from(unsafe { *tile.add(index as usize) }));
    }
    result
}

macro_rules! entry {
    ($operator:ident $name:ident $value:ident) => { paste! {
        #[doc = concat!("Writes one [`", stringify!($operator), "`] of a part of the input per block to `partials`.")]
        ///
        /// # Safety
        /// - `input` points to `n` values that nothing writes, at a multiple of 16 bytes, and `partials` to one per block
        ///   that nothing else touches.
        /// - The grid has one dimension and any number of blocks, and a block a power of two B of threads, 64 to 1024.
        #[kernel]
        pub unsafe fn [<vectorized_ $name _ $value>](input: *const $value, partials: *mut $value, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { vectorized::<$operator, $value>(input, partials, n) }
        }
    }};
}

for_each_instance!(entry);
