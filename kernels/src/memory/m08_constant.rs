//! # Memory access 8 · Constant memory
//!
//! ## Before
//! A small table that every thread needs, such as the weights of a filter, is read again and again. Each time it takes the
//! way through global memory's caches.
//!
//! ## Idea
//! *Constant memory* is 64 KiB that kernels can only read. Each multiprocessor has a small cache for it, which gives one
//! word at a time to a whole warp. If all lanes want the same word, one access serves them all, as fast as a register.
//! If they want different words, it takes a turn for each.
//!
//! So it is for what a warp reads *together*. `constant_uniform` is a filter: each element becomes the weighted sum of 16, and
//! all lanes take the same weight at the same time. `constant_scattered` multiplies each element by a weight that depends on
//! the lane, which takes 16 turns for a warp; shared memory, with its 32 banks, would serve it at once.
//!
//! The parameters of a kernel are in constant memory too.
//!
//! How does one get there from Rust? These ways were tried.
//! - A `static`: rustc's own backend puts it into global memory, and reads it by read-only loads if it is immutable. rust-cuda
//!   has an attribute for other memories (`#[cuda_std::address_space(constant)]`), which rustc's own backend lacks.
//! - `global_asm!` with a `.const` array: rustc's own backend writes it into the module, where inline assembly finds it by its
//!   name. libNVVM takes such text too; rust-cuda, which calls it, was not tried.
//! - A `.const` array declared in inline assembly in the body of the kernel, as `shared_array!` declares shared memory: rustc's
//!   own backend and libNVVM pass it through, and NVIDIA's assembler takes it, with its values. That is what stands here.
//!
//! In this way the values are fixed when the PTX is built. CUDA C++ can also set them from the host before a launch
//! (`cudaMemcpyToSymbol`), for which the array would have to be declared outside of the kernel.
//!
//! ## Picture
//! ```text
//! lane              0    1    2    3  …
//! uniform, step k   w[k] w[k] w[k] w[k]      one turn
//! scattered         w[0] w[1] w[2] w[3] …    16 turns
//! ```
//!
//! ## Cost
//! For one whole block of `constant_uniform`: 16B loads of elements, because each thread loads its neighbours' elements again,
//! and 16 loads of a weight by each warp, all uniform; B stores. Of `constant_scattered`: B loads of elements, one load of
//! weights by each warp, 16 turns, and B stores.
//!
//! ## Observe
//! In the PTX: `.const .align 4 .b32 weights[16] = {…}` and `ld.const.b32`. `warpfold run constant_uniform`.
//!
//! **Predict.** Each element becomes the weighted sum of itself and the next 15. The last elements have fewer than
//! 15 after them: how many of the 2¹⁶ elements get a sum anyway?
//! ```console
//! $ warpfold run constant_uniform -n 2^16 --device emulator
//! ...
//! elements weighted                 65536
//! ...
//! ```
//! The last sums have fewer terms.
//!
//! ## Break it
//! Store to the array: there is no such instruction (`st.const`), and the assembler refuses it.
//!
//! ## Source
//! *PTX ISA*, on the constant state space; *CUDA C++ Programming Guide*, on constant memory; *CUDA C++ Best Practices Guide*, on
//! the cost of different addresses in a warp.

use cuda_std::gpu_only;

use crate::prelude::*;

/// The number of weights.
pub const WEIGHTS: usize = 16;

/// What the array in constant memory holds, for whoever verifies the results.
pub const WEIGHT_VALUES: [i32; WEIGHTS] =
    [1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47];

/// The address of the weights in constant memory. It declares the array, and so is called once in a kernel.
#[gpu_only]
#[inline(always)]
fn weights() -> u64 {
    let address: u64;
    // SAFETY: declaring an array and taking its address touches no memory.
    unsafe {
        core::arch::asm!(
            ".const .align 4 .b32 weights[16] = {{ {w0}, {w1}, {w2}, {w3}, {w4}, {w5}, {w6}, {w7}, {w8}, {w9}, {w10}, {w11}, {w12}, {w13}, {w14}, {w15} }};",
            "mov.u64 {address}, weights;",
            w0 = const WEIGHT_VALUES[0],
            w1 = const WEIGHT_VALUES[1],
            w2 = const WEIGHT_VALUES[2],
            w3 = const WEIGHT_VALUES[3],
            w4 = const WEIGHT_VALUES[4],
            w5 = const WEIGHT_VALUES[5],
            w6 = const WEIGHT_VALUES[6],
            w7 = const WEIGHT_VALUES[7],
            w8 = const WEIGHT_VALUES[8],
            w9 = const WEIGHT_VALUES[9],
            w10 = const WEIGHT_VALUES[10],
            w11 = const WEIGHT_VALUES[11],
            w12 = const WEIGHT_VALUES[12],
            w13 = const WEIGHT_VALUES[13],
            w14 = const WEIGHT_VALUES[14],
            w15 = const WEIGHT_VALUES[15],
            address = out(reg64) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address
}

/// The word at an index of an array in constant memory.
///
/// # Safety
/// The array has the word.
#[gpu_only]
#[inline(always)]
unsafe fn load_constant(array: u64, index: usize) -> i32 {
    let value: i32;
    // SAFETY: one load of a word that is valid by the caller's promise, and that nobody can write.
    unsafe {
        core::arch::asm!(
            "ld.const.b32 {value}, [{address}];",
            address = in(reg64) array + 4 * index as u64,
            value = out(reg32) value,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

/// Makes of each element the weighted sum of it and the next 15; where n cuts these off, of those that there are.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `output` to as many that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn constant_uniform(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    let weights = weights();
    let mut sum = 0_i32;
    let mut k = 0;
    while k < WEIGHTS && index + k < n {
        // SAFETY: the index is below n, and k below the number of weights.
        unsafe {
            let value = *input.add(index + k);
            sum = sum.wrapping_add(value.wrapping_mul(load_constant(weights, k)));
        }
        k += 1;
    }
    if index < n {
        // SAFETY: the index is below n.
        unsafe { *output.add(index) = sum };
    }
}

/// Multiplies each element by the weight of its lane: 16 weights for 32 lanes.
///
/// # Safety
/// - `input` points to `n` values that nothing writes, and `output` to as many that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn constant_scattered(input: *const i32, output: *mut i32, n: usize) {
    let index = global_index();
    let weights = weights();
    if index < n {
        // SAFETY: the index is below n, and the remainder below the number of weights.
        unsafe {
            let value = *input.add(index);
            let weight = load_constant(weights, thread_idx_x() as usize % WEIGHTS);
            *output.add(index) = value.wrapping_mul(weight);
        }
    }
}
