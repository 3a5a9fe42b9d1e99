//! # Memory access 7 · Read-only loads
//!
//! ## Before
//! A load from global memory has to see what other threads may have stored. So the compilers and the hardware are careful:
//! they never move a load before an earlier barrier or fence, and they load a word again if it may have changed.
//!
//! ## Idea
//! What nobody writes while the kernel runs needs no such care. `ld.global.nc` says so of one load: *non-coherent*, served
//! from a cache that need not notice stores. The assembler may move such a load past stores, barriers and other loads, and
//! the hardware may keep its word in the first-level cache, whatever that does with other loads. CUDA C++ has `__ldg` for it,
//! and emits it by itself for a `const __restrict__` pointer, because nothing else then points there. rustc does so for an
//! immutable `static`. Nothing of the kind is known of a raw pointer, so this kernel uses inline assembly.
//!
//! It is a promise for the whole kernel, not for the moment of the load.
//!
//! The kernel looks values up in a table, at random places. A warp's 32 lanes then touch up to 32 sectors, and use 4 bytes of
//! each: such a table is the usual reason for a cache.
//!
//! ## Picture
//! ```text
//! indices     7  2  7  0 …         read in order, 4 sectors a warp
//! table    a b c d e f g h …       read at these places by ld.global.nc
//! output      h  c  h  a …         written in order
//! ```
//!
//! ## Cost
//! For one whole block: 2B loads, B of them read-only, and B stores. The loads of the table touch as many sectors as the warp
//! has different ones, 31 of 32 lanes on average for a table of 1024 sectors.
//!
//! ## Observe
//! In the PTX: `ld.global.nc.b32` once, between `ld.global.b32` and `st.global.b32`. `warpfold profile read_only --by line --sort
//! global_sectors` begins with the sectors of the three.
//!
//! **Predict.** If all three accesses were in order, they would take 8,192 sectors each, 24,576 in all. How many do
//! they take with the table read at random places?
//! ```console
//! $ warpfold run read_only -n 2^16 --device emulator
//! ...
//! global sectors                   81,920
//! global sectors, ideal            24,576
//! ...
//! ```
//!
//! ## Break it
//! Let threads also write to the table. Each load may then give the old value or the new one, even to the thread that wrote:
//! ```console
//! $ warpfold try read_only --check -n 1000 --block 64
//! ...
//! racecheck: read-only load of what is written at global address 0x7f0000000000 (4 bytes) in kernel ...
//! ...
//! ```
//! The emulator has no caches and gives the new one. The exhibit `read_only_but_written` is such a kernel.
//!
//! ## Source
//! *PTX ISA*, on `ld.global.nc`; *CUDA C++ Programming Guide*, on the read-only data cache load function.

use crate::prelude::*;

/// Writes to each place of `output` the element of `table` that `indices` has there.
///
/// # Safety
/// - `table` points to values that nothing writes as long as the kernel runs, `indices` to `n` indices of such values, which nothing
///   writes either, and `output` to `n` values that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn read_only(table: *const i32, indices: *const u32, output: *mut i32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and the table has the element.
        unsafe {
            let place = *indices.add(index) as usize;
            *output.add(index) = load_read_only(table.add(place));
        }
    }
}
