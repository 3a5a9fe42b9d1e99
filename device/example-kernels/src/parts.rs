//! The parts of the library by themselves, and whole reductions of a few types.

use warpfold_device::block;
use warpfold_device::grid::{CombineAtomically, add_in_turns};
use warpfold_device::group::{self, Block, Coalesced, Group};
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::lanes::ballot;
use warpfold_device::math::Float;
use warpfold_device::operator::*;
use warpfold_device::raking_scratch;
use warpfold_device::scratch;
use warpfold_device::shared_array;
use warpfold_device::shuffle::Lanes;
use warpfold_device::thread::{block_dim_x, global_index, sync_threads, thread_idx_x};
use warpfold_device::vector::{Loaded, Share, fold};
use warpfold_device::warp;

use cuda_std::kernel;

/// The map x ↦ `factor` · x + `term`, of numbers modulo 2³².
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// What x is multiplied by.
    pub factor: u32,
    /// What is added then.
    pub term: u32,
}

warpfold_device::words! { Affine { factor, term } }

/// The map that does what the left one does, and then what the right one does: its order matters.
#[derive(Clone, Copy, Debug)]
pub struct Compose;

impl Combine<Affine> for Compose {
    fn identity(self) -> Affine {
        Affine { factor: 1, term: 0 }
    }

    fn combine(self, left: Affine, right: Affine) -> Affine {
        Affine {
            factor: left.factor.wrapping_mul(right.factor),
            term: left
                .term
                .wrapping_mul(right.factor)
                .wrapping_add(right.term),
        }
    }
}

/// What the kernels of [`warp_32`] and [`block_parts`] write for each thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// `reduce`, of the first lane of a section or the first thread of a block.
    pub reduced: Affine,
    /// `inclusive_scan`.
    pub inclusive: Affine,
    /// `exclusive_scan`.
    pub exclusive: Affine,
    /// `reduce_all` of the sum of the factors.
    pub sum: i32,
    /// `reduce` of the greatest factor, of the first lane or thread.
    pub max: u32,
}

macro_rules! warps {
    ($($name:ident = $width:literal;)*) => {$(
        /// The functions of [`warp`], by sections of lanes.
        ///
        /// # Safety
        /// `maps` and `results` point to one element for each thread of the grid.
        #[kernel]
        pub unsafe fn $name(maps: *const Affine, results: *mut Parts) {
            let lanes = Lanes::<$width>::of_block();
            // SAFETY: the caller's promise; all lanes that the block has in this warp make the calls.
            unsafe {
                let map = *maps.add(global_index());
                *results.add(global_index()) = Parts {
                    reduced: warp::reduce(Compose, lanes, map),
                    inclusive: warp::inclusive_scan(Compose, lanes, map),
                    exclusive: warp::exclusive_scan(Compose, lanes, map),
                    sum: warp::reduce_all(Sum, lanes, map.factor as i32),
                    max: warp::reduce(Max, lanes, map.factor),
                };
            }
        }
    )*};
}

warps! {
    warp_1 = 1;
    warp_2 = 2;
    warp_4 = 4;
    warp_8 = 8;
    warp_16 = 16;
    warp_32 = 32;
}

/// The functions of [`block`], one after another in the same scratch memory.
///
/// # Safety
/// `maps` and `results` point to one element for each thread of the grid.
#[kernel]
pub unsafe fn block_parts(maps: *const Affine, results: *mut Parts, totals: *mut Affine) {
    let scratch = scratch!(scratch: Affine, 1024);
    let sums = scratch!(sums: i32, 1024);
    let maxima = scratch!(maxima: u32, 1024);
    // SAFETY: the caller's promise; all threads make the calls, with a barrier between two uses of the same memory.
    unsafe {
        let map = *maps.add(global_index());
        let reduced = block::reduce(Compose, map, scratch);
        sync_threads();
        let inclusive = block::inclusive_scan(Compose, map, scratch);
        sync_threads();
        let exclusive = block::exclusive_scan(Compose, map, scratch);
        *totals.add(global_index()) = exclusive.total;
        *results.add(global_index()) = Parts {
            reduced,
            inclusive: inclusive.prefix,
            exclusive: exclusive.prefix,
            sum: block::reduce_all(Sum, map.factor as i32, sums),
            max: block::reduce(Max, map.factor, maxima),
        };
    }
}

/// The sum of a block of up to 32 threads, which takes no shared memory.
///
/// # Safety
/// `values` points to one value for each thread of the grid and `sums` to one for each block.
#[kernel]
pub unsafe fn little_block(values: *const u64, sums: *mut u64) {
    let scratch = scratch!(scratch: u64, 32);
    // SAFETY: the caller's promise; all threads make the call.
    unsafe {
        let sum = block::reduce(Sum, *values.add(global_index()), scratch);
        if thread_idx_x() == 0 {
            *sums.add(global_index() / block_dim_x() as usize) = sum;
        }
    }
}

/// What [`raking`] writes for each block.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raked {
    /// The product of the lower words, which are odd: states of 4 bytes.
    pub product: u32,
    /// The greatest of the lower words, which is not raked.
    pub greatest: u32,
    /// The sum: states of 8 bytes.
    pub sum: u64,
    /// The same, of blocks of up to 100 threads in less memory; of others 0.
    pub sum_of_few: u64,
    /// The sum of the value and that of its square, which are too large to be raked.
    pub sums: [u64; 2],
}

/// Two sums, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug)]
struct Sums;

impl Combine<[u64; 2]> for Sums {
    const IS_CHEAP: bool = true;

    fn identity(self) -> [u64; 2] {
        [0; 2]
    }
    fn combine(self, left: [u64; 2], right: [u64; 2]) -> [u64; 2] {
        [
            left[0].wrapping_add(right[0]),
            left[1].wrapping_add(right[1]),
        ]
    }
}

/// [`block::rake`], of states of several sizes; the two of 4 bytes share their memory.
///
/// # Safety
/// `values` points to one value for each thread of the grid and `results` to one for each block.
#[kernel]
pub unsafe fn raking(values: *const u64, results: *mut Raked) {
    let words = raking_scratch!(words: u32, 1024);
    let scratch = raking_scratch!(scratch: u64, 1024);
    let of_few = raking_scratch!(of_few: u64, 100);
    let of_sums = raking_scratch!(of_sums: [u64; 2], 1024);
    // SAFETY: the caller's promise; all threads make the calls, with a barrier between two uses of the same memory.
    unsafe {
        let value = *values.add(global_index());
        let product = block::rake(Product, value as u32 | 1, words);
        sync_threads();
        let raked = Raked {
            product,
            greatest: block::rake(Max, value as u32, words),
            sum: block::rake(Sum, value, scratch),
            sum_of_few: if block_dim_x() <= 100 {
                block::rake(Sum, value, of_few)
            } else {
                0
            },
            sums: block::rake(Sums, [value, value.wrapping_mul(value)], of_sums),
        };
        if thread_idx_x() == 0 {
            *results.add(global_index() / block_dim_x() as usize) = raked;
        }
    }
}

/// What [`groups`] writes for each thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouped {
    /// The sum of the block, of its first thread.
    pub of_block: i32,
    /// The sum of the thread's tile of 8, of the tile's first thread.
    pub of_tile: i32,
    /// The sum of the lanes with a value as even or odd as the thread's, of the first of them.
    pub of_parity: i32,
    /// The place of the thread among them.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// The same sum through shared memory.
    pub of_parity_in_memory: i32,
}

/// The groups of [`group`].
///
/// # Safety
/// `values` and `results` point to one element for each thread of the grid. The size of a block is a multiple of 8.
#[kernel]
pub unsafe fn groups(values: *const i32, results: *mut Grouped) {
    let memory = shared_array!(memory: [i32; 1024]);
    let lanes: Lanes = Lanes::of_block();
    let (warp, tile) = (thread_idx_x() / 32 * 32, Block.tile::<8>());
    // SAFETY: the caller's promise; each group has its part of the memory to itself, with a barrier between two groups. All lanes that
    // the block has in this warp vote.
    unsafe {
        let value = *values.add(global_index());
        let of_block = group::reduce_sum(Block, memory, value);
        sync_threads();
        let mine = memory.add((tile.index() * 8) as usize);
        let of_tile = group::reduce_sum(tile, mine, value);
        sync_threads();
        let is_odd = value & 1 != 0;
        let odd = ballot(lanes.mask(), is_odd);
        // The odd lanes have the lower part of the warp's memory.
        let parity = Coalesced::of(if is_odd { odd } else { lanes.mask() & !odd });
        let start = if is_odd {
            warp
        } else {
            warp + u32::count_ones(odd)
        };
        let in_memory = group::reduce_sum(parity, memory.add(start as usize), value);
        *results.add(global_index()) = Grouped {
            of_block,
            of_tile,
            of_parity: parity.reduce(Sum, value),
            rank: parity.rank(),
            size: parity.size(),
            of_parity_in_memory: in_memory,
        };
    }
}

/// The body of the kernels that combine their total atomically.
///
/// # Safety
/// As for [`add_in_turns`].
#[inline(always)]
unsafe fn in_turns<T: Loaded, O: Operator<T> + CombineAtomically<O::State>>(
    operator: O,
    input: *const T,
    n: usize,
    total: *mut O::State,
    next: *mut O::State,
    scratch: block::Scratch<O::State, 1024>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mine = fold::<1, T, O>(operator, input, n, 0, Share::of_grid());
        let of_block = block::reduce(operator, mine, scratch);
        if thread_idx_x() == 0 {
            add_in_turns(operator, of_block, total, next);
        }
    }
}

/// Calls a macro with a row for each atomic of an operator: the kernel, the operator and the type of the values.
#[macro_export]
macro_rules! for_each_atomic {
    ($callback:ident) => {
        $callback! {
            sum_i8_in_turns: Sum, i8;
            sum_u32_in_turns: Sum, u32;
            sum_i64_in_turns: Sum, i64;
            sum_u64_in_turns: Sum, u64;
            sum_f16_in_turns: Sum, F16;
            sum_f64_in_turns: Sum, f64;
            min_i32_in_turns: Min, i32;
            min_u16_in_turns: Min, u16;
            min_i64_in_turns: Min, i64;
            min_u64_in_turns: Min, u64;
            max_i32_in_turns: Max, i32;
            max_u32_in_turns: Max, u32;
            max_i64_in_turns: Max, i64;
            max_u64_in_turns: Max, u64;
            any_bool_in_turns: Any, Bool;
            all_f32_in_turns: All, f32;
            count_u8_in_turns: CountNonzero, u8;
        }
    };
}

macro_rules! atomics {
    ($($name:ident: $operator:ident, $value:ty;)*) => {$(
        #[doc = concat!("The `", stringify!($operator), "` of the values, in turns.")]
        ///
        /// # Safety
        /// `input` points to `n` values; `total` and `next` as [`add_in_turns`] has them.
        #[kernel]
        pub unsafe fn $name(
            input: *const $value,
            n: usize,
            total: *mut <$operator as Operator<$value>>::State,
            next: *mut <$operator as Operator<$value>>::State,
        ) {
            let scratch = scratch!(scratch: <$operator as Operator<$value>>::State, 1024);
            // SAFETY: the caller's promise.
            unsafe { in_turns($operator, input, n, total, next, scratch) }
        }
    )*};
}

for_each_atomic! { atomics }

/// Calls a macro with a row for each whole reduction that is tested: the kernels' name, the operator, its value, and the type.
#[macro_export]
macro_rules! for_each_reduction {
    ($callback:path) => {
        $callback! {
            /// The sum.
            sum_i32: Sum = Sum, i32;
            /// Where the greatest value is.
            argmax_i8: ArgMax<u32> = ArgMax::FIRST.with_index::<u32>(), i8;
            /// The variance of a sample.
            variance_f32: Variance = Variance { ddof: 1 }, f32;
        }
    };
}

for_each_reduction! { warpfold_device::reductions }

/// A float to its exponential, its logarithm and its root, as the device computes them.
macro_rules! functions {
    ($($name:ident: $value:ident;)*) => {$(
        /// The functions of [`Float`], of each value: the exponential of its negative magnitude, its logarithm, the root of its
        /// magnitude, and both extremes of itself and the value after it.
        ///
        /// # Safety
        /// `values` points to `n` values and `results` to five for each.
        #[kernel]
        pub unsafe fn $name(values: *const $value, results: *mut $value, n: usize) {
            let index = global_index();
            if index < n {
                // SAFETY: both indices are below n.
                unsafe {
                    let value = *values.add(index);
                    let next = *values.add((index + 1) % n);
                    *results.cast::<[$value; 5]>().add(index) = [
                        (-value.magnitude()).exp_of_negative(),
                        value.logarithm(),
                        value.magnitude().square_root(),
                        Float::minimum(value, next),
                        Float::maximum(value, next),
                    ];
                }
            }
        }
    )*};
}

functions! {
    functions_f32: f32;
    functions_f64: f64;
}

/// Each half as a float, and each float as halves of both kinds.
///
/// # Safety
/// All point to one element for each thread of the grid.
#[kernel]
pub unsafe fn conversions(
    halves: *const F16,
    floats: *const f32,
    widened: *mut f32,
    narrowed: *mut F16,
    narrowed_brain: *mut Bf16,
) {
    let index = global_index();
    // SAFETY: the caller's promise.
    unsafe {
        *widened.add(index) = (*halves.add(index)).into();
        *narrowed.add(index) = F16::from_f32(*floats.add(index));
        *narrowed_brain.add(index) = Bf16::from_f32(*floats.add(index));
    }
}
