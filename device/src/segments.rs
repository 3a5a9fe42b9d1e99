//! Reductions of segments of an array, which offsets divide. The work for a value hardly depends on the lengths of the segments.
//!
//! *Equal work.* A segment may be empty or have all values, so warps get equal parts of a path instead of segments. The path goes along
//! the values, and each end of a segment adds four steps, since it is about as much work as four values. A binary search finds where a warp
//! begins: half a warp compares 16 places at once (the *merge path* of Merrill and Garland).
//!
//! *A tile at a time.* Tiles begin at vectors, so that a warp loads the next one before it reduces this one. A tile is copied to shared
//! memory, where a lane has a chunk of neighbouring values, and a byte marks each value after which a segment ends. A lane folds its
//! chunk value by value, or by vectors where few segments end, and begins anew after each mark. One scan over the lanes, which begins anew at each lane with a mark, brings the
//! state of what came before to the first end of a chunk. So a value is about as much work in short segments as in long ones. No barrier of the block.
//!
//! A tile in which nothing ends is combined straight from registers, and the lanes' states are joined at the next end.
//!
//! *What crosses warps.* The first segment that ends in a warp's part may have begun in an earlier one, and what comes after the last end
//! belongs to a later one. A thread combines these states of the warps of a block. Those of the blocks are left in memory, and the last
//! block to come combines them, in their order, by a scan that begins anew at each end.

use core::mem::transmute_copy;

use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator};
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::{
    block_dim_x, block_idx_x, global_index, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x,
};
use crate::tile::{Bytes, Section, Tile};
use crate::unroll::{array, each};
use crate::vector::{Loaded, Quad, Share};
use crate::words::Words;

/// The most threads of a block.
pub const THREADS: u32 = 128;
/// Blocks that are to fit on a multiprocessor with 228 KiB of shared memory; where there is less, fewer run at once.
pub const RESIDENT: u32 = 5;
/// The most warps of a block.
const WARPS: usize = (THREADS / WARP_SIZE) as usize;
/// Vectors of a tile for each lane.
const LOADS: usize = 8;
/// The most values that a lane folds one after another.
const CHUNK: usize = 32;
/// Rows of 32 ends of segments that a warp loads ahead, and how many it loads at once when those run out.
const ROWS: usize = 2;
const MORE_ROWS: usize = 4;
/// How many steps of the path an end counts as: about as many values take as long.
const STEPS_OF_END: usize = 4;

/// Where the two carries are among the states in shared memory.
const CARRIES: usize = 32;

/// Vectors of a tile in shared memory, with a gap after every eighth.
const VECTORS_OF_TILE: usize = LOADS * WARP_SIZE as usize * 9 / 8;

/// Up to so many ends, a lane takes vectors in which nothing ends as a whole; with more, some lane has an end in nearly every vector.
const FEW: u32 = 12;

/// Whether the states of segments have room where their last values are.
const fn is_in_place<T: Loaded, S>() -> bool {
    T::LANES > 1 && size_of::<S>() == size_of::<T>()
}

/// The ends that a warp knows at a time.
const fn window<T: Loaded, S>() -> usize {
    if is_in_place::<T, S>() {
        512
    } else if size_of::<S>() <= 16 {
        256
    } else {
        128
    }
}

/// Vectors of the chunk that a lane folds.
const fn vectors_of_chunk<T: Loaded>() -> usize {
    let most = CHUNK / T::LANES;
    if most < LOADS { most } else { LOADS }
}

/// Vectors of marks, a byte for each value of the longest chunks.
const MARKS_OF_WARP: usize = CHUNK * WARP_SIZE as usize / size_of::<Quad>();

/// Vectors in the shared memory of a block, marks, bounds of segments, and states of those.
#[doc(hidden)]
pub const VECTORS: usize = VECTORS_OF_TILE * WARPS;
#[doc(hidden)]
pub const MARKS: usize = MARKS_OF_WARP * WARPS;
#[doc(hidden)]
pub const FIRST_SLOTS: usize = THREADS as usize;
#[doc(hidden)]
pub const fn bounds<T: Loaded, S>() -> usize {
    bounds_of_warp::<T, S>() * WARPS
}
#[doc(hidden)]
pub const fn slots<T: Loaded, S>() -> usize {
    slots_of_warp::<T, S>() * WARPS
}

const fn bounds_of_warp<T: Loaded, S>() -> usize {
    window::<T, S>() + 1
}

/// One for each end, one for what comes before the first value and one for what comes after the last end; or none.
const fn slots_of_warp<T: Loaded, S>() -> usize {
    if is_in_place::<T, S>() {
        1
    } else {
        window::<T, S>() + 2
    }
}

/// Values of a tile, of one warp.
pub const fn tile<T: Loaded>() -> usize {
    LOADS * WARP_SIZE as usize * T::LANES
}

/// Where segments begin and end, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    /// One place more than there are segments, which are `u64` or `u32`.
    pub places: *const u64,
    /// Whether they are `u64`.
    pub are_wide: bool,
}

impl Offsets {
    /// One of them.
    ///
    /// # Safety
    /// There are more.
    #[inline(always)]
    pub(crate) unsafe fn get(self, index: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            if self.are_wide {
                *self.places.add(index) as usize
            } else {
                *self.places.cast::<u32>().add(index) as usize
            }
        }
    }
}

/// The shared memory of a block, which is uninitialised; [`segment_memory!`](crate::segment_memory!) makes it.
#[derive(Clone, Copy, Debug)]
pub struct Memory<S> {
    /// A tile for each warp.
    pub tiles: *mut Quad,
    /// A byte for each value of the chunks of the threads: whether a segment ends after it.
    pub marks: *mut Quad,
    /// The slot of the first segment that ends in the chunk of a thread.
    pub first_slots: *mut u32,
    /// The bounds of segments, for each warp.
    pub bounds: *mut u16,
    /// The states of segments, for each warp.
    pub slots: *mut S,
    /// Two states for each warp, and two more.
    pub states: *mut S,
    /// Two places for each warp.
    pub places: *mut usize,
    /// 64 words.
    pub words: *mut u32,
}

/// `segment_memory!(T, Operator)`: the [`Memory`](crate::segments::Memory) of a kernel over segments.
#[macro_export]
macro_rules! segment_memory {
    ($value:ty, $operator:ty) => {{
        type State = <$operator as $crate::operator::Operator<$value>>::State;
        $crate::segments::Memory {
            tiles: $crate::shared_array!(tiles: [$crate::vector::Quad; $crate::segments::VECTORS]),
            marks: $crate::shared_array!(marks: [$crate::vector::Quad; $crate::segments::MARKS]),
            first_slots: $crate::shared_array!(first_slots: [u32; $crate::segments::FIRST_SLOTS]),
            bounds: $crate::shared_array!(bounds: [u16; $crate::segments::bounds::<$value, State>()]),
            slots: $crate::shared_array!(slots: [State; $crate::segments::slots::<$value, State>()]),
            states: $crate::shared_array!(states: [State; 34]),
            places: $crate::shared_array!(places: [usize; 16]),
            words: $crate::shared_array!(words: [u32; 64]),
        }
    }};
}

/// What the blocks hand to each other, in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<S> {
    /// Two states per block: of the first segment that ends in it, and of what comes after the last end.
    pub states: *mut S,
    /// Per block, how many segments end in it and before.
    pub ends: *mut u64,
    /// A word that is 0 before and after.
    pub counter: *mut u32,
}

/// Reduces each segment, in one launch.
///
/// The operator must be commutative. Indices and counts are those within the segment. The values of a segment that spans warps are
/// grouped by warps, so that the rounding of floats depends on the grid, and is the same in every run.
///
/// # Safety
/// - Every thread of the grid makes the call, once, with the same arguments; the size of a block is a multiple of 32 up to [`THREADS`].
/// - `offsets` has `count + 1` places, which do not decrease, and `input` has values from the first to the last; nothing writes
///   either. `results` points to one result per segment, and nothing else touches it or the workspace.
/// - `memory` is that of [`segment_memory!`](crate::segment_memory!) for this operator.
#[inline(always)]
pub unsafe fn segments<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    offsets: Offsets,
    count: usize,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    if count == 0 {
        return;
    }
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    // SAFETY: the caller's promise; a last block comes after all others.
    unsafe {
        let list = List {
            offsets,
            count,
            from: offsets.get(0),
            to: offsets.get(count),
        };
        let part = list.part();
        let warp_in_block = warp as usize;
        let is_aligned = T::LANES == 1 || (input as usize).is_multiple_of(size_of::<T>());
        let crossing = Warp {
            operator,
            input,
            list,
            part,
            results,
            tile: Tile {
                vectors: memory.tiles.add(warp_in_block * VECTORS_OF_TILE),
            },
            marks: memory.marks.add(warp_in_block * MARKS_OF_WARP),
            first_slots: memory.first_slots.add(warp_in_block * WARP_SIZE as usize),
            bounds: memory
                .bounds
                .add(warp_in_block * bounds_of_warp::<T, O::State>()),
            slots: memory
                .slots
                .add(warp_in_block * slots_of_warp::<T, O::State>()),
            is_aligned,
            inside_to: if is_aligned { list.to } else { 0 },
        }
        .reduce();
        if lane == 0 {
            let warp = warp as usize;
            *memory.states.add(2 * warp) = crossing.first;
            *memory.states.add(2 * warp + 1) = crossing.rest;
            *memory.places.add(2 * warp) = part.start.segment;
            *memory.places.add(2 * warp + 1) = part.end.segment;
        }
        sync_threads();
        if thread_idx_x() == 0 {
            join_warps(operator, list, workspace, results, memory);
        }
        sync_threads();
        let is_last = thread_idx_x() == 0 && draw_ticket(workspace.counter) == grid_dim_x() - 1;
        if sync_threads_or(is_last) {
            finish_crossing(operator, list, workspace, results, memory);
            if thread_idx_x() == 0 {
                store_relaxed(workspace.counter, 0);
            }
        }
    }
}

/// The segments of an array.
#[derive(Clone, Copy)]
struct List {
    offsets: Offsets,
    count: usize,
    /// Where the first begins.
    from: usize,
    /// Where the last ends.
    to: usize,
}

/// A place on the path: the next segment to end and the next value.
#[derive(Clone, Copy)]
struct Place {
    segment: usize,
    value: usize,
}

/// A part of the path.
#[derive(Clone, Copy)]
struct Part {
    start: Place,
    end: Place,
}

impl List {
    /// Where a segment begins, and the one before it ends.
    ///
    /// # Safety
    /// There are as many segments, or one fewer.
    #[inline(always)]
    unsafe fn start_of(self, segment: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.offsets.get(segment) }
    }

    /// How many values a segment has.
    ///
    /// # Safety
    /// There is such a segment.
    #[inline(always)]
    unsafe fn length_of(self, segment: usize) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (self.start_of(segment + 1) - self.start_of(segment)) as u64 }
    }

    /// This warp's part of the path.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    unsafe fn part(self) -> Part {
        const HALF: u32 = WARP_SIZE / 2;
        let length = STEPS_OF_END * self.count + (self.to - self.from);
        let warps = Share::of_grid().of / WARP_SIZE as usize;
        let each = length.div_ceil(warps);
        let warp = global_index() / WARP_SIZE as usize;
        // One half of the lanes looks for the start, and the other for the end.
        let is_end = thread_idx_x() % WARP_SIZE >= HALF;
        let steps = (warp + usize::from(is_end)) * each;
        let steps = if steps < length { steps } else { length };
        // SAFETY: the caller's promise.
        unsafe {
            let segment = self.search::<HALF>(steps);
            let value = self.from + steps - STEPS_OF_END * segment;
            // Among the steps of an end its segment has not ended.
            let next = if segment < self.count {
                segment + 1
            } else {
                segment
            };
            let end = self.start_of(next);
            let value = (if value < end { value } else { end }) as u64;
            let segment = segment as u64;
            let place = |lane: u32| Place {
                segment: shuffle_index(segment, lane) as usize,
                value: shuffle_index(value, lane) as usize,
            };
            Part {
                start: place(0),
                end: place(HALF),
            }
        }
    }

    /// How many segments end in so many steps of the path, which are the same in all of so many neighbouring lanes.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call; there are as many steps.
    #[inline(always)]
    unsafe fn search<const LANES: u32>(self, steps: usize) -> usize {
        let lane = thread_idx_x() % WARP_SIZE;
        let (rank, first) = ((lane % LANES) as usize, lane / LANES * LANES);
        let values = self.to - self.from;
        let mut low = steps.saturating_sub(values) / STEPS_OF_END;
        let most = steps / STEPS_OF_END;
        let mut high = if most < self.count { most } else { self.count };
        // SAFETY: the caller's promise.
        while unsafe { ballot(u32::MAX, low < high) } != 0 {
            let stride = (high - low).div_ceil(LANES as usize);
            let segment = low + rank * stride;
            // SAFETY: the segment is one of the list.
            let is_before = segment < high
                && unsafe { self.start_of(segment + 1) } - self.from
                    <= steps - STEPS_OF_END * (segment + 1);
            // SAFETY: the caller's promise. A segment whose end is before the place is after others of which that holds, too.
            let votes = unsafe { ballot(u32::MAX, is_before) } >> first & ((1 << LANES) - 1);
            let before = u32::count_ones(votes) as usize;
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

/// What a part of the path has of segments that may go beyond it, in the warp's first lane.
#[derive(Clone, Copy)]
struct Crossing<S> {
    /// Of the first segment that ends in the part.
    first: S,
    /// Of what comes after the last.
    rest: S,
}

/// What a warp reduces a part of the path with.
#[derive(Clone, Copy)]
struct Warp<T: Loaded, O: Operator<T>> {
    operator: O,
    input: *const T,
    list: List,
    part: Part,
    results: *mut O::Output,
    tile: Tile<true>,
    marks: *mut Quad,
    first_slots: *mut u32,
    bounds: *mut u16,
    slots: *mut O::State,
    /// Whether vectors can be loaded.
    is_aligned: bool,
    /// Where the values end, if vectors can be loaded.
    inside_to: usize,
}

/// Vectors that a lane has under way, word by word, since what is copied as a whole would lie in memory on its way.
type Vectors = [(u32, u32, u32, u32); LOADS];

/// Where a step of a warp is: in a tile that begins at `base`, from the value `from` on.
#[derive(Clone, Copy)]
struct At {
    /// Where the tile begins among the input's values, which may be before the first of them.
    base: usize,
    from: u32,
    /// The first segment that has not ended, and where it begins.
    segment: usize,
    begin: usize,
}

/// The lanes before this one.
#[inline(always)]
fn lanes_below() -> u32 {
    (1 << (thread_idx_x() % WARP_SIZE)) - 1
}

impl<T: Loaded, O: Operator<T>> Warp<T, O> {
    const TILE: u32 = tile::<T>() as u32;
    const CHUNK: u32 = (vectors_of_chunk::<T>() * T::LANES) as u32;
    /// Vectors of the marks of a chunk.
    const MARKS: usize = (Self::CHUNK as usize).div_ceil(size_of::<Quad>());
    const PASS: u32 = Self::CHUNK * WARP_SIZE;
    const WINDOW: u32 = window::<T, O::State>() as u32;
    const IS_IN_PLACE: bool = is_in_place::<T, O::State>();

    /// Whether all vectors of a tile can be loaded that does not begin before the values.
    #[inline(always)]
    fn is_inside(self, base: usize) -> bool {
        base + tile::<T>() <= self.inside_to
    }

    /// The vectors of this lane, those of neighbours side by side; nothing where a vector is one value.
    ///
    /// # Safety
    /// The tile is inside.
    #[inline(always)]
    unsafe fn load_vectors(self, base: usize) -> Vectors {
        if T::LANES == 1 {
            return [(0, 0, 0, 0); LOADS];
        }
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // SAFETY: the caller's promise.
        let mine = unsafe { self.input.add(base + lane * T::LANES).cast::<Quad>() };
        array(
            #[inline(always)]
            |load| {
                // SAFETY: it is in the tile, and at a multiple of 16.
                let [a, b, c, d] = unsafe { (*mine.add(load * WARP_SIZE as usize)).0 };
                (a, b, c, d)
            },
        )
    }

    /// The state of the vectors of this lane, the first of which has this index.
    ///
    /// # Safety
    /// They are loaded, and the tile is inside.
    #[inline(always)]
    unsafe fn lift(self, base: usize, vectors: Vectors, index: u64) -> O::State {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // SAFETY: the caller's promise; 16 bytes are a vector if it has several values.
        let vector = |load: usize| unsafe {
            if T::LANES == 1 {
                let place = base + load * WARP_SIZE as usize + lane;
                return *self.input.add(place).cast::<T::Vector>();
            }
            let (a, b, c, d) = vectors[load];
            transmute_copy::<Quad, T::Vector>(&Quad([a, b, c, d]))
        };
        let step = WARP_SIZE as u64 * T::LANES as u64;
        let mut state = self.operator.identity();
        if T::LANES > LOADS {
            each(
                LOADS,
                #[inline(always)]
                |load| {
                    let lifted = T::lift(self.operator, vector(load), index + load as u64 * step);
                    state = self.operator.combine(state, lifted);
                },
            );
        } else {
            each(
                T::LANES,
                #[inline(always)]
                |place| {
                    let values: [T; LOADS] = array(
                        #[inline(always)]
                        |load| T::value(vector(load), place),
                    );
                    let lifted = self
                        .operator
                        .lift_spaced(values, index + place as u64, step);
                    state = self.operator.combine(state, lifted);
                },
            );
        }
        state
    }

    /// Copies a tile to shared memory.
    ///
    /// # Safety
    /// If it is inside, its vectors are loaded. All lanes of the warp make the call, and wait for one another before they read it.
    #[inline(always)]
    unsafe fn fill(self, base: usize, is_inside: bool, vectors: Vectors) {
        let lane = thread_idx_x() % WARP_SIZE;
        if T::LANES == 1 {
            return;
        }
        // SAFETY: the caller's promise; the tile has the room.
        unsafe {
            if is_inside {
                let mine = self.tile.vector(lane);
                each(
                    LOADS,
                    #[inline(always)]
                    |load| {
                        let (a, b, c, d) = vectors[load];
                        *mine.add(load * VECTORS_OF_TILE / LOADS) = Quad([a, b, c, d]);
                    },
                );
            } else {
                self.fill_carefully(base);
            }
        }
    }

    /// Copies a tile to shared memory, those of its values that there are.
    ///
    /// # Safety
    /// As for [`Self::fill`].
    #[inline(always)]
    unsafe fn fill_carefully(self, base: usize) {
        if T::LANES == 1 {
            return;
        }
        let whole = Bytes {
            start: self.input.wrapping_add(self.list.from) as usize,
            end: self.input.wrapping_add(self.list.to) as usize,
        };
        let start = self.input.wrapping_add(base) as usize;
        let count = LOADS as u32 * WARP_SIZE;
        let lane = thread_idx_x() % WARP_SIZE;
        // SAFETY: the caller's promise; the tile has the room.
        unsafe { self.tile.fill_carefully::<T>(start, count, whole, lane) };
    }

    /// Where the next segments end, from this one on: this lane's of each row. What comes after the list's last is the last once more.
    ///
    /// # Safety
    /// It is at most the number of segments.
    #[inline(always)]
    unsafe fn ends<const N: usize>(self, segment: usize) -> [usize; N] {
        let Offsets { places, are_wide } = self.list.offsets;
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let first = segment + 1 + lane;
        // SAFETY: these are places of the list.
        unsafe {
            if segment + N * (WARP_SIZE as usize) > self.list.count {
                return array(
                    #[inline(always)]
                    |row| self.end(segment, row as u32 * WARP_SIZE + lane as u32),
                );
            }
            if are_wide {
                let first = places.add(first);
                array(
                    #[inline(always)]
                    |row| *first.add(row * WARP_SIZE as usize) as usize,
                )
            } else {
                let first = places.cast::<u32>().add(first);
                array(
                    #[inline(always)]
                    |row| *first.add(row * WARP_SIZE as usize) as usize,
                )
            }
        }
    }

    /// Where the segment so many places after this one ends, or the last.
    ///
    /// # Safety
    /// As for [`Self::ends`].
    #[inline(always)]
    unsafe fn end(self, segment: usize, number: u32) -> usize {
        let place = segment + 1 + number as usize;
        let last = self.list.count;
        // SAFETY: it is a place of the list.
        unsafe { self.list.start_of(if place < last { place } else { last }) }
    }

    /// Reduces the part.
    ///
    /// # Safety
    /// As for [`segments`]; all 32 lanes of the warp make the call.
    #[inline(always)]
    unsafe fn reduce(self) -> Crossing<O::State> {
        let operator = self.operator;
        let Part { start, end } = self.part;
        let identity = operator.identity();
        let mut crossing = Crossing {
            first: identity,
            rest: identity,
        };
        if start.segment == end.segment && start.value == end.value {
            return crossing;
        }
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        // Tiles begin at vectors.
        let skipped = if T::LANES > 1 && self.is_aligned {
            self.input.wrapping_add(start.value) as usize % size_of::<Quad>() / size_of::<T>()
        } else {
            0
        };
        // SAFETY: the caller's promise; what is loaded is inside.
        unsafe {
            let mut at = At {
                base: start.value.wrapping_sub(skipped),
                from: skipped as u32,
                segment: start.segment,
                begin: self.list.start_of(start.segment),
            };
            // The subtraction of what comes before the first value may go round, to a great number.
            let is_before = start.value - self.list.from < skipped;
            let mut is_inside = !is_before && self.is_inside(at.base);
            let mut vectors = [(0, 0, 0, 0); LOADS];
            if is_inside {
                vectors = self.load_vectors(at.base);
            }
            let mut ends = self.ends(at.segment);
            self.clear_marks();
            sync_warp();
            // Of this lane, of values of the segment that has not ended.
            let (mut mine, mut is_any_mine) = (identity, false);
            loop {
                let room = end.value.wrapping_sub(at.base);
                let is_last = room <= tile::<T>();
                let next = at.base.wrapping_add(tile::<T>());
                let limit = if is_last { room as u32 } else { Self::TILE };
                let ends_here = ballot(u32::MAX, relative(ends[0], at.base) <= limit) != 0;
                if is_inside && at.from == 0 && limit == Self::TILE && !ends_here {
                    let index = (at.base - at.begin + lane * T::LANES) as u64;
                    mine = operator.combine(mine, self.lift(at.base, vectors, index));
                    is_any_mine = true;
                    is_inside = !is_last && self.is_inside(next);
                    if is_inside {
                        vectors = self.load_vectors(next);
                    }
                } else {
                    let mut step = self.mark_ends(&at, limit, &mut ends);
                    self.fill(at.base, is_inside, vectors);
                    is_inside = !is_last && self.is_inside(next);
                    if is_inside {
                        vectors = self.load_vectors(next);
                    }
                    if is_any_mine {
                        let all = Section::of(WARP_SIZE).reduce(operator, mine);
                        crossing.rest = operator.combine(crossing.rest, all);
                        (mine, is_any_mine) = (identity, false);
                    }
                    loop {
                        self.finish_step(&mut at, step, &mut crossing);
                        if at.from == limit && !step.is_cut {
                            break;
                        }
                        if step.is_cut && Self::IS_IN_PLACE {
                            self.fill_carefully(at.base);
                        }
                        step = self.mark_ends(&at, limit, &mut ends);
                    }
                }
                if is_last {
                    break;
                }
                at.base = next;
                at.from = 0;
            }
            if is_any_mine {
                let all = Section::of(WARP_SIZE).reduce(operator, mine);
                crossing.rest = operator.combine(crossing.rest, all);
            }
        }
        crossing
    }

    /// Marks where segments end among the next values of the tile, as many as chunks have, before `limit`.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call, with the next ends; the marks are 0.
    #[inline(always)]
    unsafe fn mark_ends(self, at: &At, limit: u32, ends: &mut [usize; ROWS]) -> Step {
        let lane = thread_idx_x() % WARP_SIZE;
        let At {
            base,
            from,
            segment,
            ..
        } = *at;
        let start = if Self::PASS == Self::TILE {
            0
        } else {
            from / Self::PASS * Self::PASS
        };
        let to = if start + Self::PASS < limit {
            start + Self::PASS
        } else {
            limit
        };
        // What comes before the first value is taken for a segment, and what comes after the last end, too, if it does not go on to the
        // last lane's last place.
        let has_before = from > start;
        let left = self.part.end.segment - segment;
        let known = if left < Self::WINDOW as usize {
            left as u32
        } else {
            Self::WINDOW
        };
        let (mut row, mut ended, mut slot, mut last) = (0, 0, u32::from(has_before), from);
        // SAFETY: the caller's promise.
        unsafe {
            if lane == 0 {
                *self.bounds = from as u16;
                if has_before {
                    self.mark(from - start, 0, 0);
                }
            }
            let mut mark_row = |end: usize| {
                let number = row + lane;
                let end = relative(end, base);
                *self.bounds.add(number as usize + 1) = end as u16;
                let is_here = number < known && end <= to;
                let previous = shuffle_up(end, 1);
                let begin = if lane == 0 { last } else { previous };
                let here = u32::count_ones(ballot(u32::MAX, is_here));
                let is_filled = is_here && begin < end;
                if Self::IS_IN_PLACE {
                    if is_filled {
                        self.mark(end - start, 0, 0);
                    }
                } else {
                    let filled = ballot(u32::MAX, is_filled);
                    if is_filled {
                        let before = u32::count_ones(filled & lanes_below());
                        self.mark(end - start, begin - start, slot + before);
                    }
                    slot += u32::count_ones(filled);
                }
                if here > 0 {
                    last = shuffle_index(end, here - 1);
                }
                ended += here;
                row += WARP_SIZE;
                here == WARP_SIZE && row < Self::WINDOW
            };
            let mut may_go_on = true;
            each(
                ROWS,
                #[inline(always)]
                |place| may_go_on = may_go_on && mark_row(ends[place]),
            );
            let mut next = ROWS * WARP_SIZE as usize;
            while may_go_on {
                let more = self.ends::<MORE_ROWS>(segment + next);
                each(
                    MORE_ROWS,
                    #[inline(always)]
                    |place| may_go_on = may_go_on && mark_row(more[place]),
                );
                next += MORE_ROWS * WARP_SIZE as usize;
            }
            let is_cut = ended == Self::WINDOW && left > ended as usize;
            let has_after = !is_cut && last < to && to < start + Self::PASS;
            if lane == 0 && has_after {
                self.mark(to - start, last - start, slot);
            }
            *ends = self.ends(segment + ended as usize);
            Step {
                start,
                to,
                ended,
                last,
                after: slot,
                has_after,
                is_cut,
            }
        }
    }

    /// Reduces the values of a step, and writes the results of the segments that end there.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call, with a filled tile and marked ends.
    #[inline(always)]
    unsafe fn finish_step(self, at: &mut At, step: Step, crossing: &mut Crossing<O::State>) {
        let lane = thread_idx_x() % WARP_SIZE;
        let At {
            base,
            from,
            segment,
            begin,
        } = *at;
        let Step {
            start,
            to,
            ended,
            last,
            ..
        } = step;
        let has_before = from > start;
        // SAFETY: the caller's promise: the lanes wait for one another between writes and reads.
        unsafe {
            sync_warp();
            let mut after = self.operator.identity();
            if from < to {
                // Segments without values may end before the first value.
                let has_ended = ended > 0 && u32::from(*self.bounds.add(1)) == from;
                let index = if has_ended {
                    u64::from(start).wrapping_sub(from.into())
                } else {
                    base.wrapping_add(start as usize).wrapping_sub(begin) as u64
                };
                let tail = self.fold(base, start, index, from, ended <= FEW);
                sync_warp();
                if last < to {
                    after = if !step.has_after {
                        tail
                    } else if Self::IS_IN_PLACE {
                        *self.place(to - 1)
                    } else {
                        *self.slots.add(step.after as usize)
                    };
                }
            } else {
                self.clear_marks();
            }

            let results = self.results.wrapping_add(segment);
            let mut slot = u32::from(has_before);
            let mut row = 0;
            while row < ended {
                let number = row + lane;
                let begin_here = u32::from(*self.bounds.add(number as usize));
                let end_here = u32::from(*self.bounds.add(number as usize + 1));
                let is_filled = number < ended && begin_here < end_here;
                let place = if Self::IS_IN_PLACE {
                    self.place(end_here.wrapping_sub(1) % Self::TILE)
                } else {
                    let filled = ballot(u32::MAX, is_filled);
                    let before = u32::count_ones(filled & lanes_below());
                    let place = self.slots.add((slot + before) as usize);
                    slot += u32::count_ones(filled);
                    place
                };
                if number < ended {
                    let mut state = if is_filled {
                        *place
                    } else {
                        self.operator.identity()
                    };
                    let mut length = u64::from(end_here - begin_here);
                    if number == 0 {
                        state = self.operator.combine(crossing.rest, state);
                        length = (base.wrapping_add(end_here as usize) - begin) as u64;
                    }
                    if number == 0 && segment == self.part.start.segment {
                        crossing.first = state;
                    } else {
                        *results.add(number as usize) = self.operator.finish(state, length);
                    }
                }
                row += WARP_SIZE;
            }
            crossing.rest = if step.is_cut {
                self.operator.identity()
            } else if ended == 0 {
                self.operator.combine(crossing.rest, after)
            } else {
                after
            };
            if ended > 0 {
                at.begin = base.wrapping_add(last as usize);
            }
            at.segment = segment + ended as usize;
            at.from = if step.is_cut { last } else { to };
            sync_warp();
        }
    }

    /// Where the state of the segment is that ends after this value of the tile, if it is in place.
    #[inline(always)]
    fn place(self, value: u32) -> *mut O::State {
        let lanes = T::LANES as u32;
        let vector = self.tile.vector(value / lanes).cast::<O::State>();
        // SAFETY: a vector has as many places as values.
        unsafe { vector.add((value % lanes) as usize) }
    }

    /// Marks where a piece ends in its lane's chunk, whose state goes to this slot; it begins in that chunk or before.
    ///
    /// # Safety
    /// It has a value, no other ends there, and the marks have been 0.
    #[inline(always)]
    unsafe fn mark(self, end: u32, begin: u32, slot: u32) {
        let last = end - 1;
        let chunk = last / Self::CHUNK;
        // SAFETY: the caller's promise; there is a mark for each value of a chunk.
        unsafe {
            let marks = self.marks.add(chunk as usize * Self::MARKS).cast::<u8>();
            *marks.add((last % Self::CHUNK) as usize) = 1;
            if !Self::IS_IN_PLACE && begin <= chunk * Self::CHUNK {
                *self.first_slots.add(chunk as usize) = slot;
            }
        }
    }

    /// Makes the marks of this lane's chunk 0.
    ///
    /// # Safety
    /// No other lane touches them meanwhile.
    #[inline(always)]
    unsafe fn clear_marks(self) {
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        each(
            Self::MARKS,
            #[inline(always)]
            // SAFETY: the marks are this lane's.
            |vector| unsafe { *self.marks.add(lane * Self::MARKS + vector) = Quad([0; 4]) },
        );
    }

    /// The marks of this lane's chunk, a bit for each value; they are 0 afterwards.
    ///
    /// # Safety
    /// No other lane touches them meanwhile.
    #[inline(always)]
    unsafe fn take_marks(self) -> u32 {
        // Four bytes of 0 or 1, times this number, have their bits side by side at the top.
        const GATHER: u32 = 1 << 28 | 1 << 21 | 1 << 14 | 1 << 7;
        let lane = (thread_idx_x() % WARP_SIZE) as usize;
        let mut bits = 0;
        each(
            Self::MARKS,
            #[inline(always)]
            |vector| {
                // SAFETY: the marks are this lane's.
                let Quad([a, b, c, d]) = unsafe { *self.marks.add(lane * Self::MARKS + vector) };
                let of = |word: u32| word.wrapping_mul(GATHER) >> 28;
                bits |= (of(a) | of(b) << 4 | of(c) << 8 | of(d) << 12) << (16 * vector);
            },
        );
        // SAFETY: the caller's promise.
        unsafe { self.clear_marks() };
        bits
    }

    /// Puts the states of marked pieces into their slots or in place, and returns the state of what comes after the last. The value at
    /// `start` has this index in the segment that has not ended before. With few marks, lanes take whole vectors where nothing ends.
    ///
    /// # Safety
    /// All 32 lanes of the warp make the call.
    #[inline(always)]
    unsafe fn fold(
        self,
        base: usize,
        start: u32,
        index: u64,
        from: u32,
        are_few: bool,
    ) -> O::State {
        let operator = self.operator;
        let lane = thread_idx_x() % WARP_SIZE;
        let lanes = T::LANES as u32;
        // The end of what comes before the first value is none of a segment.
        let without_before = |of_lane: u32, ends: u32| {
            if from > start && (from - 1 - start) / Self::CHUNK == of_lane {
                ends & ends.wrapping_sub(1)
            } else {
                ends
            }
        };
        // SAFETY: the caller's promise; the marks say which slots are this lane's.
        unsafe {
            let ends = self.take_marks();
            let ended = ballot(u32::MAX, ends != 0);
            let below = ended & lanes_below();
            let nearest = 31 - u32::leading_zeros(below | 1);
            let restarts_below = without_before(nearest, shuffle_index(ends, nearest));
            let first = lane * Self::CHUNK;
            let mut index = if below != 0 && restarts_below != 0 {
                let end = nearest * Self::CHUNK + WARP_SIZE - u32::leading_zeros(restarts_below);
                u64::from(first - end)
            } else {
                index.wrapping_add(u64::from(first))
            };

            let first_slot = if !Self::IS_IN_PLACE && ends != 0 {
                *self.first_slots.add(lane as usize)
            } else {
                0
            };
            let slots = self.slots.add(first_slot as usize);
            let mut slot = slots;
            let mut state = operator.identity();
            // Where a piece begins, and where a segment does.
            let (heads, starts) = (ends << 1 | 1, without_before(lane, ends) << 1);
            // No gap is in the vectors of a chunk.
            let vectors = vectors_of_chunk::<T>() as u32;
            let first_vector = start / lanes + lane * vectors;
            let in_tile = self.tile.vector(first_vector);
            let mut number = 0;
            while number < vectors {
                let vector = if T::LANES > 1 {
                    *in_tile.add(number as usize).cast::<T::Vector>()
                } else {
                    self.value(base, first_vector + number)
                };
                let places = number * lanes;
                let (ends, heads, starts) = (ends >> places, heads >> places, starts >> places);
                if starts & 1 != 0 {
                    index = u64::from(places).wrapping_neg();
                }
                if are_few && ends & ((1_u32 << (lanes - 1)) * 2).wrapping_sub(1) == 0 {
                    let lifted = T::lift(operator, vector, index.wrapping_add(places.into()));
                    state = if heads & 1 != 0 {
                        lifted
                    } else {
                        operator.combine(state, lifted)
                    };
                } else {
                    let mut words = [0; 4];
                    each(
                        T::LANES,
                        #[inline(always)]
                        |value| {
                            let place = u64::from(places) + value as u64;
                            if value > 0 && starts >> value & 1 != 0 {
                                index = place.wrapping_neg();
                            }
                            let (value_here, index) =
                                (T::value(vector, value), index.wrapping_add(place));
                            state = if heads >> value & 1 != 0 {
                                operator.lift(value_here, index)
                            } else if Self::IS_IN_PLACE {
                                operator.combine(state, operator.lift(value_here, index))
                            } else {
                                operator.accumulate(state, [[value_here]], index, 1)
                            };
                            if Self::IS_IN_PLACE && size_of::<O::State>() == 4 {
                                words[value % 4] = transmute_copy::<O::State, u32>(&state);
                            } else if Self::IS_IN_PLACE {
                                let [low, high] = transmute_copy::<O::State, [u32; 2]>(&state);
                                words[2 * value % 4] = low;
                                words[(2 * value + 1) % 4] = high;
                            } else if ends >> value & 1 != 0 {
                                *slot = state;
                                slot = slot.add(1);
                            }
                        },
                    );
                    if Self::IS_IN_PLACE {
                        *in_tile.add(number as usize) = Quad(words);
                    }
                }
                number += 1;
            }
            if ends & (1 << (Self::CHUNK - 1)) != 0 {
                state = operator.identity();
            }

            // What each lane leaves after its last end, combined from the last lane that has one on. `reached` are the lanes that have it all.
            let first_lane = 31 - u32::leading_zeros(ended & (u32::MAX >> (31 - lane)) | 1);
            let (mut delta, mut reached) = (1, ended | 1);
            while reached != u32::MAX {
                let before = shuffle_up(state, delta);
                if lane >= first_lane + delta {
                    state = operator.combine(before, state);
                }
                reached |= reached << delta;
                delta *= 2;
            }
            let carry = shuffle_up(state, 1);
            if ends != 0 && lane > 0 {
                let place = if Self::IS_IN_PLACE {
                    self.place(start + first + u32::trailing_zeros(ends))
                } else {
                    slots
                };
                *place = operator.combine(carry, *place);
            }
            shuffle_index(state, WARP_SIZE - 1)
        }
    }

    /// A value of the tile, or the nearest that there is.
    ///
    /// # Safety
    /// There is a value; a vector is one.
    #[inline(always)]
    unsafe fn value(self, base: usize, number: u32) -> T::Vector {
        let place = base + number as usize;
        let last = self.list.to - 1;
        // SAFETY: the caller's promise.
        unsafe {
            *self
                .input
                .add(if place < last { place } else { last })
                .cast::<T::Vector>()
        }
    }
}

/// The next values of a tile, from the value `start` on if all lanes fold some.
#[derive(Clone, Copy)]
struct Step {
    start: u32,
    to: u32,
    /// Segments that end, and where the last does.
    ended: u32,
    last: u32,
    /// The slot of what comes after, if that has one.
    after: u32,
    has_after: bool,
    /// Whether more segments may end before `to`.
    is_cut: bool,
}

/// A place as seen from the base of a tile; the greatest number where that is far away.
#[inline(always)]
fn relative(place: usize, base: usize) -> u32 {
    let distance = place.wrapping_sub(base);
    if distance < u32::MAX as usize {
        distance as u32
    } else {
        u32::MAX
    }
}

/// Combines what the warps of a block leave, and leaves that of the block.
///
/// # Safety
/// One thread makes the call, after all warps have left their states.
#[inline(always)]
unsafe fn join_warps<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let block = block_idx_x() as usize;
    let mut rest = operator.identity();
    let mut is_first = true;
    let mut warp = 0;
    // SAFETY: the caller's promise.
    unsafe {
        while warp < (block_dim_x() / WARP_SIZE) as usize {
            let (start, end) = (
                *memory.places.add(2 * warp),
                *memory.places.add(2 * warp + 1),
            );
            if start < end {
                let state = operator.combine(rest, *memory.states.add(2 * warp));
                if is_first {
                    *workspace.states.add(2 * block) = state;
                    is_first = false;
                } else {
                    *results.add(start) = operator.finish(state, list.length_of(start));
                }
                rest = operator.identity();
            }
            rest = operator.combine(rest, *memory.states.add(2 * warp + 1));
            *workspace.ends.add(block) = end as u64;
            warp += 1;
        }
        *workspace.states.add(2 * block + 1) = rest;
    }
}

/// What the threads before this one have left of their values since the last end among them, with what the carry of this `turn` brings if
/// there is none. A thread leaves `rest`, all of it or, if `is_ended`, what comes after an end. The other carry is then what all leave.
///
/// # Safety
/// All threads of the block make the call. There is a barrier before the memory is used again.
#[inline(always)]
unsafe fn carry_into<S: Words>(
    operator: impl Combine<S>,
    is_ended: bool,
    rest: S,
    turn: usize,
    memory: Memory<S>,
) -> S {
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    let ended_warps = 32;
    // SAFETY: all lanes of the warp are here; what is read after the barrier was written before it.
    unsafe {
        let ended = ballot(u32::MAX, is_ended);
        // A lane takes from the last that is ended up to itself, or from the first.
        let first = 31 - u32::leading_zeros(ended & (u32::MAX >> (31 - lane)) | 1);
        let mut sum = rest;
        let mut delta = 1;
        while delta < WARP_SIZE {
            let before = shuffle_up(sum, delta);
            if lane >= first + delta {
                sum = operator.combine(before, sum);
            }
            delta *= 2;
        }
        let before = shuffle_up(sum, 1);
        if lane == WARP_SIZE - 1 {
            *memory.states.add(warp as usize) = sum;
            *memory.words.add((ended_warps + warp) as usize) = (ended != 0).into();
        }
        sync_threads();

        let mut carry = *memory.states.add(CARRIES + turn);
        let mut other = 0;
        while other < warp {
            let of_warp = *memory.states.add(other as usize);
            carry = if *memory.words.add((ended_warps + other) as usize) != 0 {
                of_warp
            } else {
                operator.combine(carry, of_warp)
            };
            other += 1;
        }
        if thread_idx_x() == block_dim_x() - 1 {
            *memory.states.add(CARRIES + (turn ^ 1)) = if ended != 0 {
                sum
            } else {
                operator.combine(carry, sum)
            };
        }
        if lane == 0 {
            carry
        } else if ended & ((1 << lane) - 1) != 0 {
            before
        } else {
            operator.combine(carry, before)
        }
    }
}

/// The segments that are the first to end in a block, by the last block to come.
///
/// # Safety
/// All threads of the block make the call, after all blocks have left their states.
#[inline(always)]
unsafe fn finish_crossing<T: Loaded, O: Operator<T>>(
    operator: O,
    list: List,
    workspace: Workspace<O::State>,
    results: *mut O::Output,
    memory: Memory<O::State>,
) {
    let (tid, blocks) = (thread_idx_x() as usize, grid_dim_x() as usize);
    let mut turn = 0;
    let mut first = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if tid == 0 {
            *memory.states.add(CARRIES) = operator.identity();
        }
        while first < blocks {
            sync_threads();
            let block = first + tid;
            let (mut start, mut end, mut rest) = (0, 0, operator.identity());
            if block < blocks {
                if block > 0 {
                    start = *workspace.ends.add(block - 1) as usize;
                }
                end = *workspace.ends.add(block) as usize;
                rest = *workspace.states.add(2 * block + 1);
            }
            let carry = carry_into(operator, start < end, rest, turn, memory);
            if start < end {
                let state = operator.combine(carry, *workspace.states.add(2 * block));
                *results.add(start) = operator.finish(state, list.length_of(start));
            }
            turn ^= 1;
            first += block_dim_x() as usize;
        }
    }
}
