//! Reductions of segments of an array, which offsets divide: at the same speed whatever their lengths.
//!
//! *Equal work.* A segment may be empty or have all values, so warps get equal parts of a path instead of segments. The path goes along
//! the values, and after the last value of a segment one step along the segments. A binary search, of which half a warp does four steps
//! at once, finds where a warp begins (Merrill's and Garland's *merge path*).
//!
//! *A tile at a time.* A warp copies the next values to shared memory, in vectors, and the ends of the segments that may end among them.
//! Then each segment is reduced by one lane, or by more where the segments are longer. What is left after the last end goes on in the next
//! tile. No barrier of the block: while one warp waits for its values another one works.
//!
//! Where no segment ends for a long way, the lanes share the values as those of an array.
//!
//! *What crosses warps.* The first segment that ends in a warp's part may have begun in an earlier one, and what comes after the last end
//! belongs to a later one. A thread combines these states of the warps of a block. Those of the blocks are left in memory, and the last
//! block to come combines them, in their order, by a scan that begins anew at each end.

use crate::lanes::{WARP_SIZE, ballot, sync_warp};
use crate::memory::{draw_ticket, store_relaxed};
use crate::operator::{Combine, Operator};
use crate::shuffle::{shuffle_index, shuffle_up};
use crate::thread::{
    block_dim_x, block_idx_x, global_index, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x,
};
use crate::tile::{self, Bytes, Section, Tile};
use crate::unroll::array;
use crate::vector::{self, Loaded, Quad, Share};
use crate::words::Words;

/// The most threads of a block.
pub const THREADS: u32 = 256;
/// Blocks that are to fit on a multiprocessor.
pub const RESIDENT: u32 = 4;
/// The most warps of a block.
const WARPS: usize = (THREADS / WARP_SIZE) as usize;
/// The ends of segments that a lane loads at once.
const ENDS: usize = 4;
/// The ends that a warp knows at a time.
const WINDOW: usize = ENDS * WARP_SIZE as usize;
/// Tiles without an end from which on a warp goes through them at once.
const LONG_TILES: usize = 4;
/// Vectors that a lane loads there before it uses the first.
const LOADS: usize = 4;
/// Values for each lane from which on a segment gets more lanes.
const VALUES_OF_LANE: u32 = 8;

/// Where the two carries are among the states in shared memory.
const CARRIES: usize = 32;

/// Vectors of the shared memory of a block, and words.
#[doc(hidden)]
pub const VECTORS: usize = tile::VECTORS * WARPS;
#[doc(hidden)]
pub const BOUNDS: usize = (WINDOW + 1) * WARPS;

/// Values of a tile, of one warp: a grid with more warps than there are tiles of values and segments together is of no use.
pub const fn tile<T: Loaded>() -> usize {
    tile::VECTORS * size_of::<Quad>() / size_of::<T>()
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
    /// The bounds of segments, for each warp.
    pub bounds: *mut u32,
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
            bounds: $crate::shared_array!(bounds: [u32; $crate::segments::BOUNDS]),
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
        let crossing = reduce_part(operator, input, list, part, results, memory);
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
        let length = self.count + (self.to - self.from);
        let warps = Share::of_grid().of / WARP_SIZE as usize;
        let each = length.div_ceil(warps);
        let warp = global_index() / WARP_SIZE as usize;
        // One half of the lanes looks for the start, and the other for the end.
        let is_end = thread_idx_x() % WARP_SIZE >= HALF;
        let steps = (warp + usize::from(is_end)) * each;
        let steps = if steps < length { steps } else { length };
        // SAFETY: the caller's promise.
        unsafe {
            let segment = self.search::<HALF>(steps) as u64;
            let value = (self.from + steps) as u64 - segment;
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
        let mut low = steps.saturating_sub(values);
        let mut high = if steps < self.count {
            steps
        } else {
            self.count
        };
        // SAFETY: the caller's promise.
        while unsafe { ballot(u32::MAX, low < high) } != 0 {
            let stride = (high - low).div_ceil(LANES as usize);
            let segment = low + rank * stride;
            // SAFETY: the segment is one of the list.
            let is_before = segment < high
                && unsafe { self.start_of(segment + 1) } - self.from < steps - segment;
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

/// Reduces the segments that end in a part of the path, but for the first.
///
/// # Safety
/// As for [`segments`]; all 32 lanes of the warp make the call.
#[inline(always)]
unsafe fn reduce_part<T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    list: List,
    part: Part,
    results: *mut O::Output,
    memory: Memory<O::State>,
) -> Crossing<O::State> {
    let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
    let most = tile::<T>();
    let value_bytes = size_of::<T>() as u32;
    // Values that go over the bounds of vectors are read where they are.
    let is_tiled = T::LANES > 1 && (input as usize).is_multiple_of(size_of::<T>());
    let Place {
        mut segment,
        mut value,
    } = part.start;
    let mut crossing = Crossing {
        first: operator.identity(),
        rest: operator.identity(),
    };
    // SAFETY: the caller's promise: each warp of the block has a tile and bounds of its own, and waits for itself between the writes and the
    // reads, both ways. `begin` is where the next segment begins, and up to `clear` values come before it ends.
    unsafe {
        let whole = Bytes {
            start: input.wrapping_add(list.from) as usize,
            end: input.wrapping_add(list.to) as usize,
        };
        let tile = Tile::<false> {
            vectors: memory.tiles.add(warp as usize * tile::VECTORS),
        };
        let bounds = memory.bounds.add(warp as usize * (WINDOW + 1));
        let mut begin = list.start_of(segment);
        let mut clear = u32::MAX;

        while segment < part.end.segment || value < part.end.value {
            if clear as usize >= LONG_TILES * most {
                let end = if segment < part.end.segment {
                    list.start_of(segment + 1)
                } else {
                    part.end.value
                };
                let count = end - value;
                if count >= LONG_TILES * most {
                    let share = Share {
                        rank: lane as usize,
                        of: WARP_SIZE as usize,
                    };
                    let (input, first) = (input.add(value), (value - begin) as u64);
                    let mine = vector::fold::<LOADS, T, O>(operator, input, count, first, share);
                    let all = Section::of(WARP_SIZE).reduce(operator, mine);
                    crossing.rest = operator.combine(crossing.rest, all);
                    value = end;
                    clear = 0;
                    continue;
                }
            }

            // Where the next segments end, from `value` on.
            let left = part.end.segment - segment;
            let known = (if left < WINDOW { left } else { WINDOW }) as u32;
            let ends: [u32; ENDS] = array(
                #[inline(always)]
                |index| {
                    let number = index as u32 * WARP_SIZE + lane;
                    if number < known {
                        let end = list.start_of(segment + number as usize + 1) - value;
                        if end < u32::MAX as usize {
                            end as u32
                        } else {
                            u32::MAX
                        }
                    } else {
                        u32::MAX
                    }
                },
            );
            let address = input.wrapping_add(value) as usize;
            let skipped = if is_tiled {
                address % size_of::<Quad>() / size_of::<T>()
            } else {
                0
            };
            let (room, left_values) = (most - skipped, part.end.value - value);
            let limit = (if room < left_values {
                room
            } else {
                left_values
            }) as u32;
            let shift = if is_tiled && limit > 0 {
                tile.fill::<T>(address, limit * value_bytes, whole, lane)
            } else {
                0
            };
            let mut ended = 0;
            for (index, &end) in ends.iter().enumerate() {
                *bounds.add(index * WARP_SIZE as usize + lane as usize + 1) = end;
                ended += u32::count_ones(ballot(u32::MAX, end <= limit));
            }
            if lane == 0 {
                *bounds = 0;
            }
            sync_warp();

            // After as many ends as the warp knows there may be more.
            let is_cut = ended == known && (known as usize) < left;
            let last = *bounds.add(ended as usize);
            let covered = if is_cut { last } else { limit };
            let pieces = ended + u32::from(!is_cut);
            let mut lanes = 1;
            while lanes < WARP_SIZE
                && (lanes * pieces < WARP_SIZE || lanes * pieces * VALUES_OF_LANE < covered)
            {
                lanes *= 2;
            }
            let group = Section::of(lanes);
            let mut state = operator.identity();
            let mut first_piece = 0;
            while first_piece < pieces {
                let piece = first_piece + group.index;
                state = operator.identity();
                let mut length = 0;
                if piece < pieces {
                    let start = *bounds.add(piece as usize);
                    let end = if piece < ended {
                        *bounds.add(piece as usize + 1)
                    } else {
                        covered
                    };
                    length = u64::from(end - start);
                    let before = if piece == 0 {
                        (value - begin) as u64
                    } else {
                        0
                    };
                    state = if is_tiled {
                        let offset = shift + start * value_bytes;
                        tile.fold_values::<T, O>(operator, offset, end - start, before, group)
                    } else {
                        let share = Share {
                            rank: group.rank as usize,
                            of: lanes as usize,
                        };
                        let input = input.add(value + start as usize);
                        vector::fold::<1, T, O>(operator, input, length as usize, before, share)
                    };
                    length += before;
                }
                state = group.reduce(operator, state);
                if piece == 0 {
                    state = operator.combine(crossing.rest, state);
                }
                if group.rank == 0 && piece < ended {
                    let of = segment + piece as usize;
                    if of == part.start.segment {
                        crossing.first = state;
                    } else {
                        *results.add(of) = operator.finish(state, length);
                    }
                }
                first_piece += WARP_SIZE / lanes;
            }
            // The last piece has no end.
            crossing.rest = if is_cut {
                operator.identity()
            } else {
                shuffle_index(state, ended * lanes % WARP_SIZE)
            };
            if ended > 0 {
                begin = value + last as usize;
            }
            clear = if is_cut {
                0
            } else if ended < known {
                *bounds.add(ended as usize + 1) - covered
            } else {
                u32::MAX
            };
            segment += ended as usize;
            value += covered as usize;
            sync_warp();
        }
    }
    crossing
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
