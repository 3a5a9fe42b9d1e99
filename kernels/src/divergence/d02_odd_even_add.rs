//! # Divergence 2 · An `if` without a branch
//!
//! ## Before
//! The two kernels of the page before were written so that their branch stays a branch. Most that look like them don't.
//!
//! ## Idea
//! Add 1 to every even element and 2 to every odd one, in place, with the obvious `if`. This is the example that texts give of
//! a diverging `if`: half of the lanes take one side, half the other. But either side is an addition, and only its operand
//! differs. The compiler turns the `if` into a selection of that operand, and no lane waits for another.
//!
//! ## Picture
//! ```text
//! index   0    1    2    3    4    5
//! before  a    b    c    d    e    f
//! after   a+1  b+2  c+1  d+2  e+1  f+2
//! ```
//!
//! ## Cost
//! For each whole warp one branch, the test of n, which does not diverge; one load and one store of 4 sectors each.
//!
//! ## Observe
//! **Predict.** 2¹⁶ threads are 2,048 warps. How many branches do they execute, and how many of these diverge?
//! ```console
//! $ warpfold profile odd_even_add -n 2^16 --metrics branches,divergent_branches,branch_efficiency
//! ...
//! branches                   2,048
//! divergent_branches             0
//! branch_efficiency       100.00 %
//! ...
//! $ warpfold ptx odd_even_add
//! ...
//! @%p1 bra ...
//! ...
//! selp.b32 ...
//! ...
//! ```
//! The one `bra` is for n. The parity has none; in its place a `selp` picks the operand. In the machine code of sm_90 both additions
//! stand one after the other, the second guarded by the parity (`VIADD R3, R0, 2; @!P0 VIADD R3, R0, 1`), and the test of n is a
//! conditional exit: no branch is left at all.
//!
//! ## Break it
//! Give one side more to do, such as a division of one element by another: `2 + *values / (*values.add(n - 1) | 1)`. The compiler will not compute
//! for all lanes what half of them need, and the branch is back:
//! ```console
//! $ warpfold try odd_even_add --profile -n 4096 --metrics divergent_branches
//! ...
//! divergent_branches           128
//! ...
//! ```
//!
//! ## Source
//! An exercise that CUDA courses set for divergence, often without a look at what the compiler made of it.

use crate::prelude::*;

/// Adds 1 to the elements at even indices and 2 to those at odd ones.
///
/// # Safety
/// - `values` points to `n` values that nothing else touches.
/// - The grid has ⌈n ∕ B⌉ blocks in one dimension.
#[kernel]
pub unsafe fn odd_even_add(values: *mut i32, n: usize) {
    let index = global_index();
    if index < n {
        // SAFETY: the index is below n, and is this thread's alone.
        unsafe {
            let mine = values.add(index);
            if index.is_multiple_of(2) {
                *mine = (*mine).wrapping_add(1);
            } else {
                *mine = (*mine).wrapping_add(2);
            }
        }
    }
}
