//! Scans: what each value and those before it combine to, in one pass over the values. Rows and segments may begin anew at any place.
//!
//! *Tiles.* Tickets give a block one tile after the other. Each warp loads its part of the tile with neighbouring lanes at neighbouring
//! values, all loads at once, and turns it over in shared memory, so that each thread has values that follow one another. The
//! threads' states are combined as [`block`] does, and the results go back the same way.
//!
//! *What comes before a tile* is found by [`look_back`](crate::look_back), in an order that the number of values alone decides:
//! the same bits in every run, on every device.
//!
//! *Heads.* Where a row or a segment begins, the scan begins anew: a state carries with it whether there was such a place.

use core::hint::assert_unchecked;
use core::mem::MaybeUninit;

use crate::block::{self, Scratch};
use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::look_back::{FromHeads, SinceHead, Workspace, tiles};
use crate::operator::{Combine, Operator};
use crate::segments::Offsets;
use crate::thread::{block_dim_x, sync_threads, thread_idx_x};
use crate::unroll::each;

/// Lanes of a warp.
const LANES: usize = WARP_SIZE as usize;
/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Values that a thread loads before it uses the first, and does other work with without a loop.
pub(crate) const AT_ONCE: usize = 16;

/// Places in shared memory for the values that the lanes of a warp load at once: one is left free, so that banks differ.
const TURNED: usize = LANES + 1;

/// The values of a thread: as many as there is room for in the shared memory of a block, which a tile goes through. The larger a tile, the fewer
/// wait for one another.
const fn items<T, O: Operator<T>>() -> usize {
    // Of 48 KiB, some of which other things take.
    const ROOM: usize = 47 << 10;
    let (value, result) = (size_of::<T>(), size_of::<O::Output>());
    let bytes = if value == result {
        value
    } else {
        value + result
    };
    // A byte for the mark of a value, where segments are scanned.
    let most = ROOM * LANES / (TURNED * bytes + LANES) / BLOCK as usize;
    if most >= 2 * AT_ONCE {
        2 * AT_ONCE
    } else if most >= AT_ONCE {
        AT_ONCE
    } else {
        AT_ONCE / 2
    }
}

/// The values of a tile of an operator's scan.
pub const fn tile<T, O: Operator<T>>() -> usize {
    items_of::<T, O>() * BLOCK as usize
}

/// Words of 16 bytes of the shared memory that a tile goes through: values, and results in their places if they are as large, or else
/// after them.
#[doc(hidden)]
pub const fn exchange_length<T, O: Operator<T>>() -> usize {
    let results = TURNED * tile::<T, O>() / LANES * size_of::<O::Output>();
    (results_from::<T, O>() + results).div_ceil(16)
}

/// The byte of that memory with the first result.
const fn results_from<T, O: Operator<T>>() -> usize {
    if size_of::<T>() == size_of::<O::Output>() {
        0
    } else {
        TURNED * tile::<T, O>() / LANES * size_of::<T>()
    }
}

/// The values of a thread of an operator's scan.
pub const fn items_of<T, O: Operator<T>>() -> usize {
    items::<T, O>()
}

/// Calls a function with 0 to `items` − 1, up to [`AT_ONCE`] without a loop.
#[inline(always)]
pub(crate) fn each_item(items: usize, mut function: impl FnMut(usize)) {
    let at_once = if items < AT_ONCE { items } else { AT_ONCE };
    let mut from = 0;
    while from < items {
        each(
            at_once,
            #[inline(always)]
            |item| function(from + item),
        );
        from += at_once;
    }
}

/// Where values are, and where rows or segments begin among them. A place is the number of a value in their order.
pub trait Source<T> {
    /// The value at a place.
    ///
    /// # Safety
    /// There is such a value.
    unsafe fn value(&self, place: usize) -> T;

    /// Where the first of these values is, if all of them lie side by side.
    fn side_by_side(&self, first: usize, end: usize) -> Option<*const T>;

    /// Makes the heads of a tile known. Ends with a barrier if it needs one.
    ///
    /// # Safety
    /// Every thread of the block makes the call.
    unsafe fn prepare(&self, first: usize, end: usize);

    /// Of up to 32 values from this place on, a bit for each that begins something.
    ///
    /// # Safety
    /// They are values of a tile that has been prepared, the first of which is `first`.
    unsafe fn heads(&self, place: usize, count: usize, first: usize) -> u32;
}

/// The rows of a matrix. An array is one row.
impl<T: Copy> Source<T> for crate::rows::Rows<T> {
    #[inline(always)]
    unsafe fn value(&self, place: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe {
            *self
                .input
                .add(place / self.columns * self.stride + place % self.columns)
        }
    }

    #[inline(always)]
    fn side_by_side(&self, first: usize, end: usize) -> Option<*const T> {
        if self.stride == self.columns || end <= self.columns {
            // SAFETY: the place is that of a value.
            return Some(unsafe { self.input.add(first) });
        }
        None
    }

    #[inline(always)]
    unsafe fn prepare(&self, _first: usize, _end: usize) {}

    #[inline(always)]
    unsafe fn heads(&self, place: usize, count: usize, _first: usize) -> u32 {
        let mut head = if place == 0 {
            0
        } else if place + count <= self.columns {
            count
        } else {
            place.div_ceil(self.columns) * self.columns - place
        };
        let mut heads = 0;
        while head < count {
            heads |= 1 << head;
            head += self.columns;
        }
        heads
    }
}

/// The segments of an array. The first of the places is the first offset.
#[derive(Clone, Copy, Debug)]
pub struct Segments<T> {
    /// The array.
    pub input: *const T,
    /// Where they begin and end.
    pub offsets: Offsets,
    /// How many they are.
    pub count: usize,
    /// A byte for each value of a tile, in shared memory, which the block uses for nothing else.
    pub marks: *mut u8,
}

impl<T> Segments<T> {
    /// How many values they have together.
    ///
    /// # Safety
    /// The offsets are there.
    #[inline(always)]
    pub unsafe fn values(&self) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.offsets.get(self.count) - self.offsets.get(0) }
    }

    /// How many segments begin before this place, which is the same in the whole warp.
    ///
    /// # Safety
    /// The whole warp makes the call.
    #[inline(always)]
    unsafe fn beginning_before(&self, place: usize) -> usize {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let stride = (high - low).div_ceil(LANES);
            let segment = low + lane * stride;
            // SAFETY: the segment is one of them; the whole warp votes.
            let before = unsafe {
                let is_before = segment < high && self.offsets.get(segment) < place;
                u32::count_ones(ballot(u32::MAX, is_before)) as usize
            };
            if before == 0 {
                high = low;
            } else {
                let next = low + before * stride;
                low = next - stride + 1;
                high = if next < high { next } else { high };
            }
        }
        low
    }
}

impl<T: Copy> Source<T> for Segments<T> {
    #[inline(always)]
    unsafe fn value(&self, place: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { *self.input.add(self.offsets.get(0) + place) }
    }

    #[inline(always)]
    fn side_by_side(&self, first: usize, _end: usize) -> Option<*const T> {
        // SAFETY: there is one offset at least, and the place is that of a value.
        Some(unsafe { self.input.add(self.offsets.get(0) + first) })
    }

    #[inline(always)]
    unsafe fn prepare(&self, first: usize, end: usize) {
        // SAFETY: the caller's promise. A barrier comes before the marks that are set, and one after. Of the segments that begin at the same
        // place all but the last are empty, so that one thread alone writes a mark.
        unsafe {
            let mut place = thread_idx_x() as usize;
            while place < end - first {
                *self.marks.add(place) = 0;
                place += block_dim_x() as usize;
            }
            sync_threads();
            let from = self.offsets.get(0);
            let after = self.beginning_before(from + end);
            let mut segment = self.beginning_before(from + first) + thread_idx_x() as usize;
            while segment < after {
                let start = self.offsets.get(segment);
                if self.offsets.get(segment + 1) > start {
                    *self.marks.add(start - from - first) = 1;
                }
                segment += block_dim_x() as usize;
            }
            sync_threads();
        }
    }

    #[inline(always)]
    unsafe fn heads(&self, place: usize, count: usize, first: usize) -> u32 {
        let mut heads = 0;
        let mut value = 0;
        while value < count {
            // SAFETY: the caller's promise.
            let mark = unsafe { *self.marks.add(place - first + value) };
            heads |= u32::from(mark) << value;
            value += 1;
        }
        heads
    }
}

/// The shared memory of a block, which is uninitialised; [`scan_memory!`](crate::scan_memory!) makes it.
#[derive(Debug)]
pub struct Memory<S> {
    /// What a tile goes through.
    pub exchange: *mut u8,
    /// The states of the warps.
    pub scratch: Scratch<SinceHead<S>, BLOCK>,
    /// What comes before the tile, in parts.
    pub before: *mut SinceHead<S>,
    /// The number of the tile.
    pub number: *mut u32,
}

/// `scan_memory!(T, Operator)`: the [`Memory`](crate::scan::Memory) of a kernel of a scan.
#[macro_export]
macro_rules! scan_memory {
    ($value:ty, $operator:ty) => {{
        type State = $crate::look_back::SinceHead<<$operator as $crate::operator::Operator<$value>>::State>;
        $crate::scan::Memory {
            exchange: $crate::shared_array!(exchange: [
                $crate::vector::Quad;
                $crate::scan::exchange_length::<$value, $operator>()
            ])
            .cast(),
            scratch: $crate::scratch!(scratch: State, $crate::scan::BLOCK),
            before: $crate::shared_array!(before: [State; $crate::look_back::PARTS]),
            number: $crate::shared_array!(number: [u32; 1]),
        }
    }};
}

/// Scans values: result i is what the values from the last head up to value i combine to, in an exclusive scan without value i itself.
///
/// For each tile: the two barriers of a block's scan, that of the look-back, and one for the ticket. The operator need not be
/// commutative. Indices are those among all values.
///
/// # Safety
/// - The grid has one dimension, and a block [`BLOCK`] threads; every thread makes the call, once, with the same arguments.
/// - The source has `n` values, which nothing writes, and `results` points to `n` results, which nothing else touches.
/// - `workspace` points to as many words as [`workspace_words`](crate::look_back::workspace_words) says for the tiles of `n` values, which
///   are 0 and which nothing else touches; they are 0 again afterwards.
/// - `memory` is that of [`scan_memory!`](crate::scan_memory!) for this operator.
#[inline(always)]
pub unsafe fn scan<T: Copy, O: Operator<T>>(
    operator: O,
    source: impl Source<T>,
    n: usize,
    is_exclusive: bool,
    workspace: *mut u64,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let lane = (thread_idx_x() % WARP_SIZE) as usize;
    let warp = (thread_idx_x() / WARP_SIZE) as usize;
    let (size, items) = (tile::<T, O>(), items_of::<T, O>());
    let at_once = if items < AT_ONCE { items } else { AT_ONCE };
    let tiles = tiles(n, size) as u32;
    let from_heads = FromHeads(operator);
    // SAFETY: the caller's promise.
    let workspace = unsafe { Workspace::new(workspace, tiles) };
    // Where this warp's part of a tile begins; where that lies in shared memory; and in it the values of this thread, which go on from there,
    // while those that it loads and stores are `TURNED` apart.
    let of_warp = warp * LANES * items;
    let exchange = warp * TURNED * items;
    let of_thread = lane * items + lane * items / LANES;
    // SAFETY: the caller's promise; between the writes and the reads of shared memory by different threads there is a barrier, and
    // what a tile goes through is each warp's own.
    unsafe {
        assert_unchecked(block_dim_x() == BLOCK && thread_idx_x() < BLOCK);
        let values = memory.exchange.cast::<T>().add(exchange);
        let of_tile = memory
            .exchange
            .add(results_from::<T, O>())
            .cast::<O::Output>()
            .add(exchange);
        let mut drawn = workspace.draw();
        loop {
            let number = workspace.drawn(drawn, memory.number);
            if number >= tiles {
                break;
            }
            let first = number as usize * size;
            let end = if n - first < size { n } else { first + size };
            let is_whole = end - first == size;
            // The place of the first value that this lane loads.
            let mine = first + of_warp + lane;
            // All loads are under way together.
            let side_by_side = if is_whole {
                source.side_by_side(first, end)
            } else {
                None
            };
            let mut loaded = [MaybeUninit::uninit(); AT_ONCE];
            let mut load = |from: usize| {
                if let Some(input) = side_by_side {
                    let input = input.add(of_warp + lane + from * LANES);
                    each(
                        at_once,
                        #[inline(always)]
                        |item| loaded[item] = MaybeUninit::new(*input.add(item * LANES)),
                    );
                }
                loaded
            };
            let mut here = load(0);
            source.prepare(first, end);
            let to = values.add(lane);
            if side_by_side.is_some() {
                let mut from = 0;
                loop {
                    each(
                        at_once,
                        #[inline(always)]
                        |item| *to.add((from + item) * TURNED) = here[item].assume_init(),
                    );
                    from += at_once;
                    if from >= items {
                        break;
                    }
                    here = load(from);
                }
            } else {
                let mut item = 0;
                while item < items && mine + item * LANES < end {
                    *to.add(item * TURNED) = source.value(mine + item * LANES);
                    item += 1;
                }
            }
            sync_warp();

            // The values of this thread.
            let mine = first + of_warp + lane * items;
            let count = if is_whole {
                items
            } else if mine >= end {
                0
            } else if end - mine < items {
                end - mine
            } else {
                items
            };
            let heads = source.heads(mine, count, first);
            let mut combined = from_heads.identity();
            let own = values.add(of_thread);
            let lifted = |item: usize| operator.lift(*own.add(item), (mine + item) as u64);
            each_item(
                items,
                #[inline(always)]
                |item| {
                    if item < count {
                        let state = lifted(item);
                        let has_head = heads >> item & 1 != 0;
                        combined = from_heads.combine(combined, SinceHead { state, has_head });
                    }
                },
            );
            let scanned = block::exclusive_scan(from_heads, combined, memory.scratch);
            let before = workspace.before(from_heads, number, scanned.total, memory.before);
            // The next ticket arrives while the results are written.
            drawn = workspace.draw();

            let mut state = from_heads.combine(before, scanned.prefix).state;
            let turned = of_tile.add(of_thread);
            each_item(
                items,
                #[inline(always)]
                |item| {
                    if item < count {
                        if heads >> item & 1 != 0 {
                            state = operator.identity();
                        }
                        let without = state;
                        state = operator.combine(state, lifted(item));
                        let scanned = if is_exclusive { without } else { state };
                        *turned.add(item) = operator.finish(scanned, (mine + item) as u64);
                    }
                },
            );
            sync_warp();
            let from = of_tile.add(lane);
            let mine = first + of_warp + lane;
            let to = results.add(mine);
            if is_whole {
                each_item(
                    items,
                    #[inline(always)]
                    |item| *to.add(item * LANES) = *from.add(item * TURNED),
                );
            } else {
                let mut item = 0;
                while item < items && mine + item * LANES < end {
                    *to.add(item * LANES) = *from.add(item * TURNED);
                    item += 1;
                }
            }
        }
        workspace.leave(operator.identity());
    }
}
