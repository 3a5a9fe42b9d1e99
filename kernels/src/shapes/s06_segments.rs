//! # Shapes 6 · Segments of any length
//!
//! ## Before
//! All rows are equally long. The words of a document, the neighbours in a graph, the orders of a customer are not. A list of *offsets* says
//! where each of these *segments* begins and the one before it ends. Some are empty, most are tiny, and one may have half of all elements.
//!
//! ## Idea
//! `segments_by_warps` gives each a warp, as page 3 does. A tiny segment leaves most lanes idle. A huge one is added up by a single warp while the
//! rest of the GPU has long finished: it takes as long as if it were alone.
//!
//! `merge_path` divides the *work* and not the segments. There are two kinds of work: adding an element, and ending a segment. Put both into
//! one sequence: the elements in order, and after its last element the end of each segment. That is one *path* of n + s steps, and each
//! thread walks seven of them, whatever they are. An empty segment is one step, as is an element of the giant.
//!
//! Where does a thread begin? The end of segment i comes after offsets[i + 1] elements and i other ends: it is step offsets[i + 1] + i. These
//! numbers grow with i, so a search finds how many ends come before step d; all other steps before it are elements. A block searches for
//! its two borders in global memory, with a *warp* for each. The 32 lanes look at 32 places at a time, so five rounds suffice for 2²⁵
//! segments. The block then copies its elements and ends to shared memory, coalesced (page 4), and each thread finds its own first step there.
//!
//! *What crosses threads.* A segment that begins and ends in a thread's steps is that thread's alone. The first end that a thread comes to
//! ends a segment that may have begun before. So each thread hands on what it has added since its last end: its *carry*. With a bit that
//! says whether there was an end at all, carries are scanned like sums (scans 2): after an end the sum begins anew.
//!
//! *What crosses blocks* is added to the result atomically: the sum up to the first end, and what comes after the last. So the results must
//! be 0 before the launch. Each block adds twice, however many blocks a giant goes through.
//!
//! Seven steps and not eight: threads begin seven words apart in shared memory, and seven is odd (memory access 4).
//!
//! ## Picture
//! Segments of 2, 0, 5 and 1 elements; `]` is an end; threads of four steps:
//! ```text
//! offsets        0  2  2  7  8
//! step           0  1  2  3 │ 4  5  6  7 │ 8  9 10 11
//! path           a  b  ]  ] │ c  d  e  f │ g  ]  h  ]
//! thread         0          │ 1          │ 2
//! first end      a + b      │ none       │ carry + g
//! carry          0, ended   │ c+d+e+f    │ 0, ended
//! ```
//!
//! ## Cost
//! For a block of 7B whole steps: 7B loads, of elements (4 bytes) and offsets (8 bytes); 7B shared words stored and about as many loaded
//! for the walk, besides the searches; 12 shuffles in each warp and 10 more in the first; four barriers; two atomics. The search for a border
//! takes 32 loads for every five bits of the number of segments.
//!
//! ## Observe
//! In the PTX of `merge_path_512`: `vote.sync.ballot.b32` in the search, and `atom.global.add.u32` twice.
//!
//! **Predict.** Half of 2¹⁸ elements are in one segment, the others in segments of 0 to 7. How much work has the busiest warp, in either
//! kernel?
//! ```console
//! $ warpfold run segments_by_warps -n 2^18 --device emulator
//! ...
//! segments                           37477
//! empty ones                          4700
//! elements of the longest           131072
//! most elements of a warp           131072
//! ...
//! $ warpfold run merge_path -n 2^18 --device emulator
//! ...
//! most steps of a warp                 224
//! ...
//! ```
//! The counters of both would look harmless, because they add up all warps. But the time is that of the slowest.
//!
//! **Predict.** Without the giant all segments are tiny: a warp for each gets three or four elements. Which of the two takes fewer
//! instructions, and by how much?
//! ```console
//! $ warpfold profile segments_by_warps merge_path -n 2^18 --set giant=0 --metrics warps_launched,warp_instructions
//! ...
//! metric             segments_by_warps  merge_path_512
//! ...
//! warp_instructions          3,964,744       1,027,522
//! warps_launched                74,800           1,520
//! ...
//! ```
//! In `segments_by_warps` a warp takes more than fifty instructions for its few elements. On the path every lane has steps, so the search
//! and the scan pay for themselves.
//!
//! On an H200, 2²⁶ elements from memory in blocks of 512 take 0.460 ms on the path, and 3.01 ms with a warp for each segment. With half of the
//! elements in one segment they take 0.353 ms and 105.6 ms.
//!
//! ## Break it
//! Write `*sums.add(place) = total;` for the atomic addition of `total`. That wipes out what other blocks have already added:
//! ```console
//! $ warpfold try merge_path --check -n 2^14 --block 64
//! ...
//! racecheck: write after write at global address ...
//! ...
//! ```
//!
//! ## Source
//! Duane Merrill, Michael Garland, *Merge-Based Parallel Sparse Matrix-Vector Multiplication* (2016).

use core::sync::atomic::{AtomicI32, Ordering};

use crate::ladder::l09_shuffle::warp_sum;
use crate::prelude::*;
use crate::shapes::s03_rows_by_warps::sum_of_lane;

/// Steps of a thread.
pub const STEPS: u32 = 7;

/// The most warps of a block.
pub const MOST_WARPS: u32 = 32;

/// Writes the sum of each of the `count` segments to `sums`.
///
/// # Safety
/// - `offsets` points to `count + 1` places, which do not decrease, the first of them 0, and `values` to as many values as the last says;
///   nothing writes either. `sums` points to `count` values that nothing else touches.
/// - The grid has one dimension and a warp for each segment, and B is a multiple of 32.
#[kernel]
pub unsafe fn segments_by_warps(
    values: *const i32,
    offsets: *const u64,
    sums: *mut i32,
    count: usize,
) {
    let segment = global_index() / WARP_SIZE as usize;
    let lane = thread_idx_x() % WARP_SIZE;
    // It holds for all lanes of a warp or for none.
    if segment < count {
        // SAFETY: there are two offsets, and the places between them have values; the whole warp is here.
        unsafe {
            let (start, end) = (*offsets.add(segment), *offsets.add(segment + 1));
            let sum = warp_sum(sum_of_lane(values, start as usize, end as usize));
            if lane == 0 {
                *sums.add(segment) = sum;
            }
        }
    }
}

/// The body of every entry of `merge_path`; `B` is the number of threads in a block.
///
/// # Safety
/// As for the entries.
#[inline(always)]
unsafe fn merge_path<const B: u32>(
    values: *const i32,
    offsets: *const u64,
    sums: *mut i32,
    count: usize,
) {
    let steps = shared_array!(steps: [i32; STEPS * B]);
    let borders = shared_array!(borders: [usize; 2]);
    let warp_carries = shared_array!(warp_carries: [Carry; MOST_WARPS]);
    let tid = thread_idx_x();
    let (lane, warp) = (tid % WARP_SIZE, tid / WARP_SIZE);

    // SAFETY: the caller's promise; there is a barrier between each write of shared memory and the reads of it by other threads. Whole
    // warps search, and the whole block scans. A segment that begins and ends in the block is stored by one thread; any other is added to
    // atomically.
    unsafe {
        // The block's part of the path, and how many ends come before it and before what follows it.
        let all = *offsets.add(count) as usize + count;
        let from = block_idx_x() as usize * (STEPS * B) as usize;
        let to = all.min(from + (STEPS * B) as usize);
        if warp < 2 {
            let ends = ends_before(offsets, count, if warp == 0 { from } else { to });
            if lane == 0 {
                *borders.add(warp as usize) = ends;
            }
        }
        sync_threads();
        let (segment, next_segment) = (*borders, *borders.add(1));
        let (value, next_value) = (from - segment, to - next_segment);
        let part = Part {
            steps,
            ends: (next_segment - segment) as u32,
            values: (next_value - value) as u32,
        };
        part.copy(values.add(value), offsets.add(segment + 1), value);
        sync_threads();

        // This thread's steps.
        let sums = sums.add(segment);
        let walked = part.walk(sums);
        let carries = scan_carries(walked.carry, warp_carries);
        if let Some(place) = walked.first_end {
            let place = place as usize;
            let total = carries.before.sum.wrapping_add(walked.before_first_end);
            if carries.before.has_end {
                *sums.add(place) = total;
            } else {
                add_to(sums.add(place), total);
            }
        }
        // What comes after the block's last end belongs to the next segment, unless that was the last.
        if tid == 0 && next_segment < count {
            add_to(sums.add(part.ends as usize), carries.all.sum);
        }
    }
}

/// Adds a part of a segment's sum, to which other blocks may add others.
///
/// # Safety
/// `sum` points to global memory, and while others use it, they change it only by atomic operations.
#[inline(always)]
pub unsafe fn add_to(sum: *mut i32, part: i32) {
    // SAFETY: the caller's promise.
    unsafe { AtomicI32::from_ptr(sum) }.fetch_add(part, Ordering::Relaxed);
}

/// How many ends come before a step of the path, in every lane: the end of segment i is step offsets[i + 1] + i.
///
/// # Safety
/// `offsets` points to `count + 1` places, which do not decrease. All 32 lanes of the warp make the call, for the same step.
#[inline(always)]
unsafe fn ends_before(offsets: *const u64, count: usize, step: usize) -> usize {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let (mut least, mut most) = (0, count.min(step));
    while least < most {
        // The last places of 32 equal parts.
        let length = (most - least).div_ceil(WARP_SIZE as usize);
        let place = least + (lane + 1) * length - 1;
        // SAFETY: the place is below `count`; all lanes are here, since the bounds are the same in all of them.
        let parts = unsafe {
            let comes_before = place < most && *offsets.add(place + 1) as usize + place < step;
            u32::count_ones(ballot(u32::MAX, comes_before)) as usize
        };
        // The end that is looked for is in the part after those, whose last place does not come before.
        least += parts * length;
        most = most.min(least + length - 1);
    }
    least
}

/// A block's part of the path, in shared memory: first the ends, as numbers of elements from the part's first on, then the elements.
#[derive(Clone, Copy)]
struct Part {
    steps: *mut i32,
    ends: u32,
    values: u32,
}

/// What a thread has found on its steps.
struct Walked {
    /// The first segment that ends there, counted from the block's first.
    first_end: Option<u32>,
    /// The sum of the elements before that.
    before_first_end: i32,
    carry: Carry,
}

impl Part {
    /// Fills the shared memory; a barrier is to follow.
    ///
    /// # Safety
    /// `values` points to the part's elements, the first of which is number `first` of all, and `ends` to its ends; shared memory has room
    /// for both. All threads of the block make the call.
    #[inline(always)]
    unsafe fn copy(self, values: *const i32, ends: *const u64, first: usize) {
        let mut place = thread_idx_x();
        // SAFETY: the caller's promise.
        unsafe {
            while place < self.ends {
                *self.steps.add(place as usize) =
                    (*ends.add(place as usize) as usize - first) as i32;
                place += block_dim_x();
            }
            // The threads go on where the ends have ended, and each element lies after them.
            while place < self.ends + self.values {
                *self.steps.add(place as usize) = *values.add((place - self.ends) as usize);
                place += block_dim_x();
            }
        }
    }

    /// Walks this thread's steps, and stores the sums of the segments that begin and end on them.
    ///
    /// # Safety
    /// The part has been copied; `sums` points to the sum of its first segment, and nothing else touches those that are stored.
    #[inline(always)]
    unsafe fn walk(self, sums: *mut i32) -> Walked {
        let all = self.ends + self.values;
        let mut step = (thread_idx_x() * STEPS).min(all);
        let last = (step + STEPS).min(all);
        let mut walked = Walked {
            first_end: None,
            before_first_end: 0,
            carry: Carry::NONE,
        };
        // SAFETY: an end is read where its number is below that of the ends, and an element where its number is below that of the
        // elements: there are as many steps as both.
        unsafe {
            let mut end = self.ends_before(step);
            while step < last {
                let value = step - end;
                if end < self.ends && *self.steps.add(end as usize) == value as i32 {
                    if walked.carry.has_end {
                        *sums.add(end as usize) = walked.carry.sum;
                    } else {
                        walked.first_end = Some(end);
                        walked.before_first_end = walked.carry.sum;
                    }
                    walked.carry = Carry {
                        has_end: true,
                        sum: 0,
                    };
                    end += 1;
                } else {
                    let element = *self.steps.add((self.ends + value) as usize);
                    walked.carry.sum = walked.carry.sum.wrapping_add(element);
                }
                step += 1;
            }
        }
        walked
    }

    /// How many of the part's ends come before a step of it.
    ///
    /// # Safety
    /// The part has been copied.
    #[inline(always)]
    unsafe fn ends_before(self, step: u32) -> u32 {
        let (mut least, mut most) = (0, self.ends.min(step));
        while least < most {
            let middle = u32::midpoint(least, most);
            // SAFETY: it is below the number of ends.
            let end = unsafe { *self.steps.add(middle as usize) };
            if end as u32 + middle < step {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        least
    }
}

/// What some neighbouring steps hand on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Carry {
    /// Whether a segment ends on them.
    pub has_end: bool,
    /// The sum of the elements after the last end.
    pub sum: i32,
}

impl Carry {
    /// Of no steps.
    pub const NONE: Self = Self {
        has_end: false,
        sum: 0,
    };

    /// Of these steps and the next ones.
    #[inline(always)]
    fn then(self, next: Self) -> Self {
        let before = if next.has_end { 0 } else { self.sum };
        Self {
            has_end: self.has_end | next.has_end,
            sum: before.wrapping_add(next.sum),
        }
    }

    /// That of the lane `delta` below this one; nothing if there is none.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call with the same `delta`.
    #[inline(always)]
    unsafe fn shuffled_up(self, delta: u32) -> Self {
        // SAFETY: the caller's promise.
        let below = unsafe {
            Self {
                has_end: Lanes::WARP.shuffle_up(self.has_end, delta),
                sum: Lanes::WARP.shuffle_up(self.sum, delta),
            }
        };
        if Lanes::WARP.rank() < delta {
            Self::NONE
        } else {
            below
        }
    }
}

/// What a scan of carries gives to a thread.
pub struct Carries {
    /// That of all threads of the block before this one.
    pub before: Carry,
    /// That of all threads of the block.
    pub all: Carry,
}

/// Scans the carries of a block's threads: warp by warp, then those of the warps, as a block scans sums.
///
/// # Safety
/// `warp_carries` points to one element per warp that only this block touches, and all threads of the block make the call, once; B is a
/// multiple of 32.
#[inline(always)]
pub unsafe fn scan_carries(mine: Carry, warp_carries: *mut Carry) -> Carries {
    let lane = thread_idx_x() % WARP_SIZE;
    let warp = thread_idx_x() / WARP_SIZE;
    let warps = block_dim_x() / WARP_SIZE;
    // SAFETY: whole warps make the calls; there is one element per warp, and between two barriers each is touched by one thread or only
    // read.
    unsafe {
        let of_warp = scan_carries_of_warp(mine);
        if lane == WARP_SIZE - 1 {
            *warp_carries.add(warp as usize) = of_warp;
        }
        let before = of_warp.shuffled_up(1);
        sync_threads();

        if warp == 0 {
            let mine = if lane < warps {
                *warp_carries.add(lane as usize)
            } else {
                Carry::NONE
            };
            let scanned = scan_carries_of_warp(mine);
            if lane < warps {
                *warp_carries.add(lane as usize) = scanned;
            }
        }
        sync_threads();

        let before_warp = if warp == 0 {
            Carry::NONE
        } else {
            *warp_carries.add(warp as usize - 1)
        };
        Carries {
            before: before_warp.then(before),
            all: *warp_carries.add(warps as usize - 1),
        }
    }
}

/// The carry of the warp's lanes up to and with this one.
///
/// # Safety
/// All 32 lanes of the warp make the call.
#[inline(always)]
unsafe fn scan_carries_of_warp(mine: Carry) -> Carry {
    let mut carry = mine;
    let mut delta = 1;
    while delta < WARP_SIZE {
        // SAFETY: the caller's promise; `delta` is the same in every lane.
        carry = unsafe { carry.shuffled_up(delta) }.then(carry);
        delta *= 2;
    }
    carry
}

macro_rules! entries {
    ($($name:ident = $block:literal;)*) => {$(
        /// Writes the sum of each of the `count` segments to `sums`, which are 0 before.
        ///
        /// # Safety
        /// - `offsets` points to `count + 1` places, which do not decrease, the first of them 0, and `values` to as many values as the last
        ///   says; nothing writes either. `sums` points to `count` values, which are 0 and which nothing else touches.
        /// - The grid has one dimension and a block for every 7B of the elements and segments together.
        #[doc = concat!("- A block has B = ", $block, " threads.")]
        #[kernel]
        pub unsafe fn $name(values: *const i32, offsets: *const u64, sums: *mut i32, count: usize) {
            // SAFETY: the caller's promise.
            unsafe { merge_path::<$block>(values, offsets, sums, count) }
        }
    )*};
}

entries! {
    merge_path_64 = 64;
    merge_path_128 = 128;
    merge_path_256 = 256;
    merge_path_512 = 512;
    merge_path_1024 = 1024;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_may_be_grouped_in_any_way_and_begin_anew_after_an_end() {
        let carries = [(false, 0), (false, 3), (true, 0), (true, 5)];
        let carries = carries.map(|(has_end, sum)| Carry { has_end, sum });
        let same = |one: Carry, other: Carry| (one.has_end, one.sum) == (other.has_end, other.sum);
        for a in carries {
            assert!(same(Carry::NONE.then(a), a) && same(a.then(Carry::NONE), a));
            for b in carries {
                for c in carries {
                    assert!(same(a.then(b).then(c), a.then(b.then(c))));
                }
            }
        }
        let [_, three, ended, five] = carries;
        assert!(same(three.then(five), five));
        assert!(same(
            ended.then(three).then(three),
            Carry {
                has_end: true,
                sum: 6
            }
        ));
    }
}
