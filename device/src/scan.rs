//! Scans: for each value what it and those before it combine to, in one pass over the values, whatever begins anew at which place.
//!
//! *A tile for each block.* Tickets give a block the next tile. It copies the values to shared memory, so that both the loads of neighbours
//! and the work of a thread on values that follow one another are fast, and combines them as [`block`] does.
//!
//! *What comes before a tile.* 32 tiles are a group, and 32 groups a batch. A tile publishes the state of its values; the last tile of a
//! group publishes that of the group, and the last of a batch that of all values up to its end. What comes before a tile is the state of all
//! batches before, that of each group before in the batch, and that of each tile before in the group: a warp waits for 32 words twice, and
//! for one word. The tiles that it waits for have drawn their tickets before it.
//!
//! *One order.* So states are combined in an order that the number of values alone decides: the same bits in every run, on every
//! device. Merrill's and Garland's decoupled look-back (2016) combines what happens to be there.
//!
//! *Heads.* Where a row or a segment begins, the scan begins anew: a state carries with it whether there was such a place.

use crate::block::{self, Scratch};
use crate::lanes::{WARP_SIZE, ballot, vote_all};
use crate::memory::{draw_ticket, load_acquire, store_relaxed, store_release};
use crate::operator::{Combine, Operator};
use crate::segments::Offsets;
use crate::shuffle::{Lanes, shuffle_index};
use crate::thread::{block_dim_x, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::unroll::each;
use crate::warp;
use crate::words::Words;

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// The most values of a thread.
const MOST_ITEMS: usize = 16;
/// Tiles of a group, and groups of a batch: as many as a warp has lanes.
pub const FAN: usize = WARP_SIZE as usize;

/// The values of a thread, where the larger of a value and a result has so many bytes.
const fn items(bytes: usize) -> usize {
    if bytes > 4 {
        MOST_ITEMS / 2
    } else {
        MOST_ITEMS
    }
}

/// The values of a tile of an operator's scan.
pub const fn tile<T, O: Operator<T>>() -> usize {
    items_of::<T, O>() * BLOCK as usize
}

/// Bytes of the larger of a value and a result.
const fn bytes<T, O: Operator<T>>() -> usize {
    let (value, result) = (size_of::<T>(), size_of::<O::Output>());
    if value > result { value } else { result }
}

/// Words of 16 bytes of the shared memory that a tile goes through, with one place in 32 left free so that banks differ.
#[doc(hidden)]
pub const fn exchange_length<T, O: Operator<T>>() -> usize {
    (tile::<T, O>() / 32 * 33 * bytes::<T, O>()).div_ceil(16)
}

/// The values of a thread of an operator's scan.
pub const fn items_of<T, O: Operator<T>>() -> usize {
    items(bytes::<T, O>())
}

/// The tiles of so many values.
pub const fn tiles(n: usize, tile: usize) -> usize {
    n.div_ceil(tile)
}

/// How many states tiles hand to each other, and how many words say that they are there: one for each tile, each group and each batch.
pub const fn published(tiles: usize) -> usize {
    tiles + tiles / FAN + tiles / (FAN * FAN)
}

/// Words that a scan counts its tiles with, before those of [`published`].
pub const COUNTERS: usize = 2;

/// A state, and whether a row or a segment has begun among its values.
#[derive(Clone, Copy, Debug)]
pub struct SinceHead<S> {
    /// Of all values, or from the last such place on.
    pub state: S,
    /// Whether there is such a place.
    pub has_head: bool,
}

crate::words! { SinceHead<S> { state, has_head } }

/// Combines such states by an operator.
#[derive(Clone, Copy, Debug)]
pub struct FromHeads<O>(pub O);

impl<S: Copy, O: Combine<S>> Combine<SinceHead<S>> for FromHeads<O> {
    #[inline(always)]
    fn identity(self) -> SinceHead<S> {
        SinceHead {
            state: self.0.identity(),
            has_head: false,
        }
    }
    #[inline(always)]
    fn combine(self, left: SinceHead<S>, right: SinceHead<S>) -> SinceHead<S> {
        SinceHead {
            state: if right.has_head {
                right.state
            } else {
                self.0.combine(left.state, right.state)
            },
            has_head: left.has_head | right.has_head,
        }
    }
}

/// What tiles hand to each other, in global memory.
#[derive(Debug)]
pub struct Workspace<S> {
    /// [`published`] states.
    pub states: *mut S,
    /// [`COUNTERS`] words and [`published`] ones, which are 0 before and after.
    pub words: *mut u32,
}

impl<S> Copy for Workspace<S> {}

impl<S> Clone for Workspace<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Words> Workspace<S> {
    /// The next tile, in every thread of the block. Ends with a barrier.
    ///
    /// # Safety
    /// Every thread of the block makes the call, once; `shared` points to a word that the block uses for nothing else.
    #[inline(always)]
    pub(crate) unsafe fn next_tile(self, shared: *mut u32) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            if thread_idx_x() == 0 {
                *shared = draw_ticket(self.words);
            }
            sync_threads();
            *shared as usize
        }
    }

    /// Leaves a state for others, at one of the [`published`] places.
    ///
    /// # Safety
    /// One thread makes the call for a place.
    #[inline(always)]
    unsafe fn publish(self, place: usize, state: S) {
        // SAFETY: the caller's promise.
        unsafe {
            *self.states.add(place) = state;
            store_release(self.words.add(COUNTERS + place), 1);
        }
    }

    /// The states at these places, for the lanes that want one, as soon as all are there; the identity for the others.
    ///
    /// # Safety
    /// The whole warp makes the call; the states that are wanted are being published.
    #[inline(always)]
    unsafe fn wait_for(self, operator: impl Combine<S>, place: usize, is_wanted: bool) -> S {
        // SAFETY: the caller's promise.
        unsafe {
            let word = self.words.add(COUNTERS + place);
            loop {
                let is_there = !is_wanted || load_acquire(word) != 0;
                if vote_all(u32::MAX, is_there) {
                    break;
                }
            }
            if is_wanted {
                *self.states.add(place)
            } else {
                operator.identity()
            }
        }
    }

    /// What comes before a tile, from the state of its own values; in every lane of the warp.
    ///
    /// # Safety
    /// One whole warp of the block of the tile makes the call, once.
    #[inline(always)]
    pub(crate) unsafe fn before(
        self,
        operator: impl Combine<S>,
        tile: usize,
        tiles: usize,
        mine: S,
    ) -> S {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let groups = tiles / FAN;
        let (group, of_group) = (tile / FAN, tile % FAN);
        let (batch, of_batch) = (group / FAN, group % FAN);
        // SAFETY: the caller's promise: blocks that run, or have run, publish what is waited for, before they wait themselves or, of groups and
        // batches, after they have waited for tiles before them.
        unsafe {
            if lane == 0 {
                self.publish(tile, mine);
            }
            let of_tiles = self.wait_for(operator, tile - of_group + lane, lane < of_group);
            let in_group = warp::reduce(operator, Lanes::WARP, of_tiles);
            let whole_group = operator.combine(in_group, mine);
            if lane == 0 && of_group == FAN - 1 {
                self.publish(tiles + group, whole_group);
            }
            let first_group = tiles + group - of_batch;
            let of_groups = self.wait_for(operator, first_group + lane, lane < of_batch);
            let in_batch = warp::reduce(operator, Lanes::WARP, of_groups);
            let is_after_batch = lane == 0 && batch > 0;
            let place = (tiles + groups + batch).wrapping_sub(1);
            let before_batch = self.wait_for(operator, place, is_after_batch);
            if lane == 0 && of_group == FAN - 1 && of_batch == FAN - 1 {
                let whole_batch = operator.combine(in_batch, whole_group);
                let all = operator.combine(before_batch, whole_batch);
                self.publish(tiles + groups + batch, all);
            }
            let before_group = operator.combine(before_batch, in_batch);
            let before = operator.combine(before_group, in_group);
            before.map_words(
                #[inline(always)]
                |word| shuffle_index(word, 0),
            )
        }
    }

    /// Says that the block needs nothing of the others any more. The last leaves 0 in all words.
    ///
    /// # Safety
    /// Every thread of each block of the grid makes the call, once, as the last.
    #[inline(always)]
    pub(crate) unsafe fn leave(self, tiles: usize) {
        // SAFETY: the caller's promise: when all blocks have left, nobody reads the words.
        unsafe {
            sync_threads();
            let is_last = thread_idx_x() == 0 && draw_ticket(self.words.add(1)) == grid_dim_x() - 1;
            if sync_threads_or(is_last) {
                let mut word = thread_idx_x() as usize;
                while word < COUNTERS + published(tiles) {
                    store_relaxed(self.words.add(word), 0);
                    word += block_dim_x() as usize;
                }
            }
        }
    }
}

/// Where values are, and where rows or segments begin among them. A place is the number of a value in their order.
pub trait Source<T> {
    /// The value at a place.
    ///
    /// # Safety
    /// There is such a value.
    unsafe fn value(&self, place: usize) -> T;

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
            if self.stride == self.columns || place < self.columns {
                *self.input.add(place)
            } else {
                *self
                    .input
                    .add(place / self.columns * self.stride + place % self.columns)
            }
        }
    }

    #[inline(always)]
    unsafe fn prepare(&self, _first: usize, _end: usize) {}

    #[inline(always)]
    unsafe fn heads(&self, place: usize, count: usize, _first: usize) -> u32 {
        let mut head = if place == 0 {
            0
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
            let stride = (high - low).div_ceil(FAN);
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
    /// What comes before the tile.
    pub before: *mut SinceHead<S>,
    /// The number of the tile.
    pub number: *mut u32,
}

/// `scan_memory!(T, Operator)`: the [`Memory`](crate::scan::Memory) of a kernel of a scan.
#[macro_export]
macro_rules! scan_memory {
    ($value:ty, $operator:ty) => {{
        type State = $crate::scan::SinceHead<<$operator as $crate::operator::Operator<$value>>::State>;
        $crate::scan::Memory {
            exchange: $crate::shared_array!(exchange: [
                $crate::vector::Quad;
                $crate::scan::exchange_length::<$value, $operator>()
            ])
            .cast(),
            scratch: $crate::scratch!(scratch: State, $crate::scan::BLOCK),
            before: $crate::shared_array!(before: [State; 1]),
            number: $crate::shared_array!(number: [u32; 1]),
        }
    }};
}

/// Where a value of a tile lies in shared memory, with one place in 32 left free.
#[inline(always)]
fn spread(place: usize) -> usize {
    place + place / 32
}

/// Scans values: result i is what the values from the last head up to value i combine to, in an exclusive scan without value i itself.
///
/// Two barriers of a block's scan, and five more; a tile's state and a word that says so, and for the last of a group or a batch two or three.
/// The operator need not be commutative. Indices are those among all values.
///
/// # Safety
/// - The grid has one dimension and a block for each of the [`tiles`] of `n` values or more, and a block [`BLOCK`] threads; every
///   thread makes the call, once, with the same arguments.
/// - The source has `n` values, which nothing writes, and `results` points to `n` results, which nothing else touches, nor the
///   workspace.
/// - `memory` is that of [`scan_memory!`](crate::scan_memory!) for this operator.
#[inline(always)]
pub unsafe fn scan<T: Copy, O: Operator<T>>(
    operator: O,
    source: impl Source<T>,
    n: usize,
    is_exclusive: bool,
    workspace: Workspace<SinceHead<O::State>>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let thread = thread_idx_x() as usize;
    let (size, items) = (tile::<T, O>(), items_of::<T, O>());
    let from_heads = FromHeads(operator);
    // SAFETY: the caller's promise; between the writes and the reads of shared memory by different threads there is a barrier.
    unsafe {
        let number = workspace.next_tile(memory.number);
        let first = number * size;
        if first >= n {
            workspace.leave(tiles(n, size));
            return;
        }
        let end = if n - first < size { n } else { first + size };
        source.prepare(first, end);
        let values = memory.exchange.cast::<T>();
        let mut place = thread;
        while first + place < end {
            *values.add(spread(place)) = source.value(first + place);
            place += BLOCK as usize;
        }
        sync_threads();

        // The values of this thread.
        let mine = first + thread * items;
        let count = if mine >= end {
            0
        } else if end - mine < items {
            end - mine
        } else {
            items
        };
        let heads = source.heads(mine, count, first);
        let mut states = [operator.identity(); MOST_ITEMS];
        let mut of_thread = from_heads.identity();
        each(
            items,
            #[inline(always)]
            |item| {
                if item < count {
                    let value = *values.add(spread(thread * items + item));
                    let state = operator.lift(value, (mine + item) as u64);
                    states[item] = state;
                    let has_head = heads >> item & 1 != 0;
                    of_thread = from_heads.combine(of_thread, SinceHead { state, has_head });
                }
            },
        );
        let scanned = block::exclusive_scan(from_heads, of_thread, memory.scratch);
        if thread < WARP_SIZE as usize {
            let tiles = tiles(n, size);
            let before = workspace.before(from_heads, number, tiles, scanned.total);
            if thread == 0 {
                *memory.before = before;
            }
        }
        sync_threads();

        let of_tile = memory.exchange.cast::<O::Output>();
        let mut state = from_heads.combine(*memory.before, scanned.prefix).state;
        each(
            items,
            #[inline(always)]
            |item| {
                if item < count {
                    if heads >> item & 1 != 0 {
                        state = operator.identity();
                    }
                    let without = state;
                    state = operator.combine(state, states[item]);
                    let scanned = if is_exclusive { without } else { state };
                    let result = operator.finish(scanned, (mine + item) as u64);
                    *of_tile.add(spread(thread * items + item)) = result;
                }
            },
        );
        sync_threads();
        let mut place = thread;
        while first + place < end {
            *results.add(first + place) = *of_tile.add(spread(place));
            place += BLOCK as usize;
        }
        workspace.leave(tiles(n, size));
    }
}
