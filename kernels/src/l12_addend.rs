//! What the flagship has to know of a type: how 16 bytes of it are added, how a warp adds up, and how blocks hand in their
//! sums. Read [`l12_flagship`](crate::l12_flagship) first.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::l12_flagship::{MOST_WARPS, block_sum};
use crate::prelude::*;

/// A type that the flagship adds up.
pub trait Addend: Copy {
    /// What a sum begins with: 0; of floats −0.0, to which any float can be added without a change.
    const ZERO: Self;

    /// 16 bytes of values.
    type Vector: Copy;

    /// How many those are.
    const LANES: usize = 16 / size_of::<Self>();

    /// The sum of two: integers wrap around.
    fn plus(self, other: Self) -> Self;

    /// The sum of the values in a vector.
    fn sum_of(vector: Self::Vector) -> Self;

    /// The vector that begins at any element, value by value.
    ///
    /// # Safety
    /// `values` points to as many as a vector has.
    unsafe fn vector_at(values: *const Self) -> Self::Vector;

    /// The sum of the warp's 32 values, in lane 0; the other lanes get sums of no use.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    unsafe fn warp_sum(self) -> Self;

    /// Adds up what all threads of the grid bring: one of them leaves it in `total`.
    ///
    /// # Safety
    /// Every thread of the grid makes the call, once; the pointers are those of the kernel.
    unsafe fn hand_in(mine: Self, partials: *mut Self, total: *mut Self, ticket: *mut u64);
}

/// Values that one load brings.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Vector<Values>(pub Values);

impl Addend for i32 {
    const ZERO: Self = 0;
    type Vector = Vector<[Self; 4]>;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn sum_of(Vector([a, b, c, d]): Self::Vector) -> Self {
        a.plus(b).plus(c.plus(d))
    }

    #[inline(always)]
    unsafe fn vector_at(values: *const Self) -> Self::Vector {
        // SAFETY: the caller's promise.
        unsafe { Vector(*values.cast()) }
    }

    #[inline(always)]
    unsafe fn warp_sum(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { warp_sum_i32(self) }
    }

    /// The ticket carries the sum.
    #[inline(always)]
    unsafe fn hand_in(mine: Self, _partials: *mut Self, total: *mut Self, ticket: *mut u64) {
        let warp_sums = shared_array!(warp_sums: [i32; MOST_WARPS]);
        // SAFETY: the shared array has an element per warp; nothing but these additions touches the ticket until the last
        // block has drawn its own, and then nothing but that block.
        unsafe {
            let sum = block_sum(mine, warp_sums);
            if thread_idx_x() != 0 {
                return;
            }
            if grid_dim_x() == 1 {
                *total = sum;
                return;
            }
            let ticket = AtomicU64::from_ptr(ticket);
            let before = ticket.fetch_add((sum as u32 as u64) << 32 | 1, Ordering::Relaxed);
            if before as u32 == grid_dim_x() - 1 {
                *total = sum.plus((before >> 32) as i32);
                // Atomic too: a plain store has no place in the order that the additions have among themselves.
                ticket.swap(0, Ordering::Relaxed);
            }
        }
    }
}

/// One instruction where the GPU has it, which is from sm_80 on.
#[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
use crate::prelude::redux_add as warp_sum_i32;

/// The shuffles of step 9 on older GPUs.
#[cfg(not(any(target_feature = "sm_80", target_feature = "compute_80")))]
use crate::l09_shuffle::warp_sum as warp_sum_i32;

/// Types whose blocks hand in their sums through memory.
macro_rules! through_memory {
    ($($value:ident: $zero:literal, $lanes:literal, |$left:ident, $right:ident| $plus:expr, |$vector:ident| $sum:expr;)*) => {$(
        impl Addend for $value {
            const ZERO: Self = $zero;
            type Vector = Vector<[Self; $lanes]>;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($left, $right) = (self, other);
                $plus
            }

            #[inline(always)]
            fn sum_of(Vector($vector): Self::Vector) -> Self {
                $sum
            }

            #[inline(always)]
            unsafe fn vector_at(values: *const Self) -> Self::Vector {
                // SAFETY: the caller's promise.
                unsafe { Vector(*values.cast()) }
            }

            #[inline(always)]
            unsafe fn warp_sum(self) -> Self {
                let mut sum = self;
                let mut delta = WARP_SIZE / 2;
                while delta > 0 {
                    // SAFETY: the caller's promise; `delta` is the same in every lane.
                    sum = sum.plus(unsafe { sum.shuffle_down(delta) });
                    delta /= 2;
                }
                sum
            }

            #[inline(always)]
            unsafe fn hand_in(mine: Self, partials: *mut Self, total: *mut Self, ticket: *mut u64) {
                let warp_sums = shared_array!(warp_sums: [$value; MOST_WARPS]);
                let is_last = shared_array!(is_last: [bool; 1]);
                // SAFETY: the caller's promise; the shared arrays are the block's own and large enough.
                unsafe { last_block_adds(mine, partials, total, ticket, warp_sums, is_last) }
            }
        }
    )*};
}

through_memory! {
    i64: 0, 2, |a, b| a.wrapping_add(b), |v| v[0].plus(v[1]);
    f32: -0.0, 4, |a, b| a + b, |v| v[0].plus(v[1]).plus(v[2].plus(v[3]));
    f64: -0.0, 2, |a, b| a + b, |v| v[0].plus(v[1]);
}

/// A value that a lane can read of another.
trait Shuffled {
    /// The value of the lane `delta` above this one.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it with the same `delta`.
    unsafe fn shuffle_down(self, delta: u32) -> Self;
}

impl Shuffled for f32 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bits(unsafe { shuffle_down(self.to_bits() as i32, delta) } as u32)
    }
}

impl Shuffled for i64 {
    /// A register has 32 bits: two shuffles.
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe {
            (
                shuffle_down(self as i32, delta),
                shuffle_down((self >> 32) as i32, delta),
            )
        };
        Self::from(high) << 32 | Self::from(low as u32)
    }
}

impl Shuffled for f64 {
    #[inline(always)]
    unsafe fn shuffle_down(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bits(unsafe { (self.to_bits() as i64).shuffle_down(delta) } as u64)
    }
}

/// Step 11's way: each block leaves its partial sum in memory and draws a ticket, and the last one adds up all partials, in
/// the order of the blocks.
///
/// # Safety
/// As [`Addend::hand_in`]; `warp_sums` points to one element per warp and `is_last` to one, in the block's shared memory.
#[inline(always)]
unsafe fn last_block_adds<T: Addend>(
    mine: T,
    partials: *mut T,
    total: *mut T,
    ticket: *mut u64,
    warp_sums: *mut T,
    is_last: *mut bool,
) {
    // SAFETY: a barrier lies between the two uses of each shared array; whole blocks make the calls, for a block is the
    // last as a whole.
    unsafe {
        let sum = block_sum(mine, warp_sums);
        if grid_dim_x() == 1 {
            if thread_idx_x() == 0 {
                *total = sum;
            }
            return;
        }
        if thread_idx_x() == 0 {
            *partials.add(block_idx_x() as usize) = sum;
        }
        if draws_last_ticket(ticket, is_last) {
            let sum = block_sum(sum_of_partials(partials, grid_dim_x()), warp_sums);
            if thread_idx_x() == 0 {
                *total = sum;
            }
        }
    }
}

/// Whether this block is the last of the grid to come here; it then sees what the first threads of all others have
/// written before they came. The ticket is 0 again afterwards.
///
/// # Safety
/// Every thread of the grid makes the call, once. `is_last` points to shared memory of the block.
#[inline(always)]
pub unsafe fn draws_last_ticket(ticket: *mut u64, is_last: *mut bool) -> bool {
    // SAFETY: the caller's promise; a barrier lies between the write of the shared word and its reads.
    unsafe {
        if thread_idx_x() == 0 {
            // The lower half of the word is enough.
            let ticket = ticket.cast::<u32>();
            let last = draw_ticket(ticket) == grid_dim_x() - 1;
            if last {
                AtomicU32::from_ptr(ticket).swap(0, Ordering::Relaxed);
            }
            *is_last = last;
        }
        sync_threads();
        *is_last
    }
}

/// The sum of the thread's share of so many partials: those at its index and every block's length further on.
///
/// # Safety
/// `partials` points to `count` values, whose writes are ordered before.
#[inline(always)]
pub unsafe fn sum_of_partials<T: Addend>(partials: *const T, count: u32) -> T {
    let mut sum = T::ZERO;
    let mut index = thread_idx_x();
    while index < count {
        // Volatile, so that it is taken from where all blocks write to, not from a cache of this one's.
        // SAFETY: the index is below `count`.
        sum = sum.plus(unsafe { partials.add(index as usize).read_volatile() });
        index += block_dim_x();
    }
    sum
}
