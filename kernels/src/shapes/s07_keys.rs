//! # Shapes 7 · Runs of a key
//!
//! ## Before
//! For segments, somebody has written down where each begins. A table sorted by customer has no such list: it has a *key* beside each element, and
//! where the key changes a new run begins. Finding the runs first would read the keys once more, and write and read a list that nobody wants.
//!
//! ## Idea
//! One pass finds the runs and adds them up. An element whose key differs from the one before it is a *head*. The number of heads up
//! to an element says which run it is in, and so where the result goes: that is a scan. Within a block it is that of scans 2. What comes before
//! the block is found by looking back (scans 3), while the block's own elements are in registers already.
//!
//! The sums are those of segments (page 6) whose ends are the heads: a thread walks its four elements, keeps what comes before its first
//! head, stores the runs that begin and end in between, and hands on the rest as its carry. What crosses blocks is added atomically.
//!
//! The key before a thread's first is in the lane below it: a shuffle. Only lane 0 loads it.
//!
//! ## Picture
//! Threads of four elements; `h` is a head:
//! ```text
//! key         5  5  5  8 │ 8  8  2  9 │ 9  9  9  9
//! head        h        h │       h  h │
//! before it   0          │ 2          │ 4           heads
//! run         0  0  0  1 │ 1  1  2  3 │ 3  3  3  3
//! stored      run 0      │ run 1, 2   │             run 1 with the carry of the thread before
//! carry       1 element  │ 1 element  │ 4 elements  in all, 5 of run 3: added at the end of the block
//! ```
//!
//! ## Cost
//! A tile is 4·B elements. For each: B loads of 16 bytes of keys and as many of elements, and one more key for each warp; what a tile of
//! scans 3 costs for the ticket and the published words; six barriers; two atomics for the sums. For each run a key and a sum are stored.
//!
//! ## Observe
//! In the PTX of `by_key`: `shfl.sync.up.b32` for the key, for the scan of heads and for that of carries, and `st.relaxed.gpu.b64` twice.
//!
//! **Predict.** With runs of 1 there are as many results as elements, with runs of 1000 hardly any. Which counter tells them apart: the
//! loaded sectors, the stored ones, or the atomics?
//! ```console
//! $ warpfold profile by_key -n 2^18 --in-order --metrics global_load_sectors,global_store_sectors,atomics,inst_per_warp
//! ...
//!                           run 1      run 8   run 1000
//! ...
//! inst_per_warp            275.78     271.22     233.52
//! global_load_sectors      68,559     68,559     68,559
//! global_store_sectors    264,320     26,736        646
//! atomics                     384        384        384
//! ...
//! ```
//! The input is read once, whatever the keys are. The atomics are those of the blocks: up to two for the sums that cross them, and one for the
//! ticket. (Without `--in-order` blocks wait for one another, and how often each of them looks back depends on timing.)
//!
//! **Predict.** The blocks begin in 200 different orders. Does the number of a run depend on which is first?
//! ```console
//! $ warpfold check by_key --schedules 200
//! ...
//! blocks     7 of  512 threads, run 8: clean
//! ...
//! ```
//!
//! On an H200, 2²⁶ elements from memory with their keys take 0.422 ms in blocks of 512.
//!
//! ## Break it
//! Leave out lane 0's load. The shuffle then gives lane 0 its own last key as the key before. If a run ends among its elements, its first
//! element counts as a head even when it is none. There are then more heads than runs, and no room for their results:
//! ```console
//! $ warpfold try by_key -n 2^12 --block 64
//! warpfold: store of 4 bytes out of bounds at global address ...
//! ...
//! ```
//!
//! ## Source
//! Thrust's `reduce_by_key`; Duane Merrill's CUB, `DeviceReduce::ReduceByKey`, which makes one scan of both: of pairs of the number of heads
//! and the sum since the last head.

use crate::ladder::l10_vectorized::Vector;
use crate::prelude::*;
use crate::scans::s02_block_scan::scan_block;
use crate::scans::s03_look_back::{draw, look_back_from};
use crate::shapes::s04_rows_by_threads::load;
use crate::shapes::s06_segments::{Carry, MOST_WARPS, add_to, scan_carries};

/// Elements of a tile for each thread: what one load brings.
pub const EACH: u32 = 4;

/// Writes the key of each run of equal neighbours to `run_keys`, the sum of its elements to `sums`, which are 0 before, and how many runs
/// there are to `runs`.
///
/// # Safety
/// - `keys` and `values` point to `n` values each that nothing writes, at multiples of 16 bytes.
/// - `run_keys` points to as many values as there are runs, fewer than 2³¹, and `sums` to as many, which are 0; `runs` to one. `published`
///   points to one word per block and `ticket` to one. Nothing else touches any of those. The ticket is 0, and is 0 again at the end. The
///   words are 0 or what earlier launches have left, each with another number: `launch`, from 1 to 2³¹ − 1.
/// - The grid has ⌈n ∕ 4B⌉ blocks in one dimension, and B is a multiple of 32.
#[kernel]
pub unsafe fn by_key(
    keys: *const i32,
    values: *const i32,
    n: usize,
    run_keys: *mut i32,
    sums: *mut i32,
    runs: *mut u32,
    published: *mut u64,
    ticket: *mut u32,
    launch: u32,
) {
    let warp_heads = shared_array!(warp_heads: [i32; MOST_WARPS]);
    let warp_carries = shared_array!(warp_carries: [Carry; MOST_WARPS]);
    let tile_number = shared_array!(tile_number: [u32; 1]);
    let heads_before = shared_array!(heads_before: [i32; 1]);
    let tid = thread_idx_x();

    // SAFETY: the elements are those below n; there is a barrier between each write of shared memory and the reads of it. Tickets give
    // each tile to one block. The first warp is whole, and looks back at tiles whose blocks have drawn their tickets before. A run that
    // begins and ends in the tile is stored by one thread; any other is added to atomically.
    unsafe {
        if tid == 0 {
            *tile_number = draw(ticket);
        }
        sync_threads();
        let tile = *tile_number;

        let place = (tile as usize * block_dim_x() as usize + tid as usize) * EACH as usize;
        let mine = Elements::load(keys, values, place, n);
        let heads = scan_block(mine.heads(), warp_heads);
        if tid < WARP_SIZE {
            let before = look_back_from(published, tile, launch, heads.total);
            if tid == 0 {
                *heads_before = before;
                if tile == grid_dim_x() - 1 {
                    *runs = (before + heads.total) as u32;
                }
            }
        }
        sync_threads();

        // Of the runs that begin in the tile, and the one that is open where the tile begins: it has the number before.
        let first_run = *heads_before as usize;
        let run = first_run + (heads.sum - mine.heads()) as usize;
        let walked = mine.walk(run, run_keys, sums);
        let carries = scan_carries(walked.carry, warp_carries);
        // There is none before the first head of all.
        if walked.carry.has_end && run > 0 {
            let total = carries.before.sum.wrapping_add(walked.before_first_head);
            if carries.before.has_end {
                *sums.add(run - 1) = total;
            } else {
                add_to(sums.add(run - 1), total);
            }
        }
        if tid == 0 {
            let last_run = first_run + heads.total as usize - 1;
            add_to(sums.add(last_run), carries.all.sum);
        }
    }
}

/// The elements of a thread.
#[derive(Clone, Copy)]
struct Elements {
    keys: [i32; EACH as usize],
    values: [i32; EACH as usize],
    /// Bit i says whether element i is the first of its run.
    is_head: u32,
}

/// What a thread has found.
struct Walked {
    /// The sum of the elements before its first head.
    before_first_head: i32,
    /// What it hands on, where a head ends the run before it.
    carry: Carry,
}

impl Elements {
    /// The elements from `place` on.
    ///
    /// # Safety
    /// `keys` and `values` point to `n` values at multiples of 16 bytes, and `place` is a multiple of 4. All 32 lanes of the warp make the
    /// call, each for the place after the one of the lane below.
    #[inline(always)]
    unsafe fn load(keys: *const i32, values: *const i32, place: usize, n: usize) -> Self {
        // SAFETY: the caller's promise; the key before is that of a place that has one.
        unsafe {
            let Vector(of_keys) = load(keys, place, n);
            let Vector(of_values) = load(values, place, n);
            let mut before = Lanes::WARP.shuffle_up(of_keys[EACH as usize - 1], 1);
            if (Lanes::WARP.rank() == 0) & (place > 0) & (place < n) {
                before = *keys.add(place - 1);
            }
            let mut is_head = 0;
            let mut index = 0;
            while index < EACH as usize {
                let there = place + index;
                let begins = (there == 0) | (of_keys[index] != before);
                is_head |= u32::from((there < n) & begins) << index;
                before = of_keys[index];
                index += 1;
            }
            Self {
                keys: of_keys,
                values: of_values,
                is_head,
            }
        }
    }

    /// How many heads there are.
    #[inline(always)]
    fn heads(&self) -> i32 {
        u32::count_ones(self.is_head) as i32
    }

    /// Adds up; stores the key of each run that begins here, `run` the first of them, and the sum of each that ends here as well.
    ///
    /// # Safety
    /// `run_keys` and `sums` point to an element for each of these runs, and nothing else touches what is stored.
    #[inline(always)]
    unsafe fn walk(&self, mut run: usize, run_keys: *mut i32, sums: *mut i32) -> Walked {
        let mut walked = Walked {
            before_first_head: 0,
            carry: Carry::NONE,
        };
        let mut index = 0;
        while index < EACH as usize {
            if self.is_head >> index & 1 != 0 {
                // SAFETY: the caller's promise.
                unsafe {
                    if walked.carry.has_end {
                        *sums.add(run - 1) = walked.carry.sum;
                    } else {
                        walked.before_first_head = walked.carry.sum;
                    }
                    *run_keys.add(run) = self.keys[index];
                }
                walked.carry = Carry {
                    has_end: true,
                    sum: 0,
                };
                run += 1;
            }
            walked.carry.sum = walked.carry.sum.wrapping_add(self.values[index]);
            index += 1;
        }
        walked
    }
}
