//! What comes before a tile: how the tiles of one launch hand their states to each other, in an order that never varies.
//!
//! 32 tiles are a group, and 32 groups a batch. A tile publishes the state of its values; the last tile of a group publishes that of the
//! group, and the last of a batch that of all values up to its end. What comes before a tile is the state of all batches before, that of each
//! group before in the batch, and that of each tile before in the group: three warps wait for those at the same time. Tickets give the
//! blocks their tiles, so that whatever a tile waits for belongs to a block that runs or has run.
//!
//! *One word says everything.* A state is published in [`slots`](crate::slots), word by word, each in the lower half of 64 bits whose upper
//! half says that it is there. One load sees both or neither: no fence, and no cache has to be emptied.
//!
//! *One order.* So states are combined in an order that the number of tiles alone decides: the same bits in every run, on every
//! device. Merrill's and Garland's decoupled look-back (2016) combines whatever has been published.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::lanes::{WARP_SIZE, vote_all};
use crate::memory::{draw_ticket, store_relaxed_u64};
use crate::operator::Combine;
use crate::shuffle::Lanes;
use crate::slots::{IS_THERE, Slots, words_of};
use crate::thread::{block_dim_x, grid_dim_x, sync_threads, sync_threads_or, thread_idx_x};
use crate::warp;
use crate::words::Words;

/// Tiles of a group, and groups of a batch: as many as a warp has lanes.
pub const FAN: usize = WARP_SIZE as usize;

/// What a tile waits for: the tiles before it in its group, the groups before that in its batch, and the batches before that. A warp each.
pub const PARTS: usize = 3;

/// The mark of a slot among the values of whose state something has begun.
const HAS_HEAD: u64 = IS_THERE << 1;

/// How many tiles `n` values have: fewer than 2³².
pub const fn tiles(n: usize, tile: usize) -> usize {
    n.div_ceil(tile)
}

/// How many states are handed over: one for each tile, each group and each batch.
const fn published(tiles: usize) -> usize {
    tiles + tiles / FAN + tiles / (FAN * FAN)
}

/// How many words of 64 bits the tiles need to hand over states like this one: a word with two counters, and those of the states.
pub fn workspace_words<S: Words>(tiles: usize, state: S) -> usize {
    1 + published(tiles) * words_of(state)
}

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

/// What tiles hand to each other, in global memory: [`workspace_words`] words, which are 0 before and after.
#[derive(Debug)]
pub(crate) struct Workspace<S> {
    /// A word with two counters, then the slots of the states.
    words: *mut u64,
    tiles: u32,
    states: PhantomData<S>,
}

impl<S> Copy for Workspace<S> {}

impl<S> Clone for Workspace<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Words> Workspace<S> {
    /// The workspace of this many tiles, which begins with this word.
    ///
    /// # Safety
    /// `words` points to as many words in global memory as [`workspace_words`] says, which are 0 and which nothing else touches.
    #[inline(always)]
    pub(crate) unsafe fn new(words: *mut u64, tiles: u32) -> Self {
        Self {
            words,
            tiles,
            states: PhantomData,
        }
    }

    /// How many tiles blocks have taken, and, after it, how many blocks need nothing any more.
    #[inline(always)]
    fn counters(self) -> *mut u32 {
        self.words.cast()
    }

    /// Draws the next tile that no block has taken, in the block's first thread. What the others get is meaningless.
    ///
    /// After a draw a block must wait for no later tile before it publishes: all later tiles wait for this one.
    ///
    /// # Safety
    /// The workspace is one.
    #[inline(always)]
    pub(crate) unsafe fn draw(self) -> u32 {
        if thread_idx_x() != 0 {
            return 0;
        }
        // SAFETY: the caller's promise. The counter tells nothing but its own value, and so needs no order.
        unsafe { AtomicU32::from_ptr(self.counters()).fetch_add(1, Ordering::Relaxed) }
    }

    /// The tile that the first thread has drawn, in every thread of the block. Has a barrier.
    ///
    /// # Safety
    /// Every thread of the block makes the call; `shared` points to a word that the block uses for nothing else. Between two calls there is
    /// another barrier.
    #[inline(always)]
    pub(crate) unsafe fn drawn(self, drawn: u32, shared: *mut u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            if thread_idx_x() == 0 {
                *shared = drawn;
            }
            sync_threads();
            *shared
        }
    }

    /// The slots of the [`published`] states.
    #[inline(always)]
    fn slots(self) -> Slots<S> {
        // SAFETY: there are as many words after the first, as `new` asks for.
        unsafe { Slots::new(self.words.add(1), published(self.tiles as usize)) }
    }

    /// Leaves a state for others, at one of the [`published`] places.
    ///
    /// # Safety
    /// One thread makes the call for a place.
    #[inline(always)]
    unsafe fn publish(self, place: u32, state: SinceHead<S>) {
        let marks = if state.has_head { HAS_HEAD } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { self.slots().put(place as usize, state.state, marks) }
    }

    /// The state at a place, if all of it is there.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    unsafe fn published_at(self, place: u32, identity: SinceHead<S>) -> Option<SinceHead<S>> {
        // SAFETY: the caller's promise.
        let (state, marks) = unsafe { self.slots().get(place as usize, identity.state)? };
        let has_head = marks & HAS_HEAD != 0;
        Some(SinceHead { state, has_head })
    }

    /// The states at these places, for the lanes that want one, as soon as all are there; the identity for the others.
    ///
    /// # Safety
    /// The whole warp makes the call; the states that are wanted are being published.
    #[inline(always)]
    unsafe fn wait_for(self, identity: SinceHead<S>, place: u32, is_wanted: bool) -> SinceHead<S> {
        let mut state = identity;
        let mut is_waiting = is_wanted;
        // SAFETY: the caller's promise.
        unsafe {
            loop {
                if is_waiting && let Some(published) = self.published_at(place, identity) {
                    state = published;
                    is_waiting = false;
                }
                if vote_all(u32::MAX, !is_waiting) {
                    return state;
                }
            }
        }
    }

    /// What comes before a tile, from the state of its own values; in every thread. Has a barrier.
    ///
    /// # Safety
    /// Every thread of the block of the tile makes the call, once, with the same arguments, and there are [`PARTS`] whole warps. `parts`
    /// points to as many states in shared memory, which nothing else touches until another barrier.
    #[inline(always)]
    pub(crate) unsafe fn before(
        self,
        operator: impl Combine<SinceHead<S>>,
        tile: u32,
        mine: SinceHead<S>,
        parts: *mut SinceHead<S>,
    ) -> SinceHead<S> {
        const FAN: u32 = self::FAN as u32;
        let (warp, lane) = (thread_idx_x() / WARP_SIZE, thread_idx_x() % WARP_SIZE);
        let tiles = self.tiles;
        let groups = tiles / FAN;
        let (group, of_group) = (tile / FAN, tile % FAN);
        let (batch, of_batch) = (group / FAN, group % FAN);
        let (ends_group, ends_batch) = (of_group == FAN - 1, of_batch == FAN - 1);
        // SAFETY: the caller's promise: blocks that run, or have run, publish what is waited for, before they wait themselves or, of groups and
        // batches, after they have waited for tiles before them. Each part is written by one thread, before the barrier.
        unsafe {
            if thread_idx_x() == 0 && !ends_group {
                self.publish(tile, mine);
            }
            if warp < PARTS as u32 {
                let (first, count) = match warp {
                    0 => (tile - of_group, of_group),
                    1 => (tiles + group - of_batch, of_batch),
                    _ => (
                        (tiles + groups + batch).wrapping_sub(1),
                        u32::from(batch > 0),
                    ),
                };
                let place = first.wrapping_add(lane);
                let mut part = self.wait_for(operator.identity(), place, lane < count);
                if warp < PARTS as u32 - 1 {
                    part = warp::reduce(operator, Lanes::WARP, part);
                }
                if lane == 0 {
                    *parts.add(warp as usize) = part;
                    if warp == 0 && ends_group && !ends_batch {
                        self.publish(tiles + group, operator.combine(part, mine));
                    }
                }
            }
            sync_threads();
            let (in_group, in_batch, before_batch) = (*parts, *parts.add(1), *parts.add(2));
            if thread_idx_x() == 0 && ends_group && ends_batch {
                let whole_group = operator.combine(in_group, mine);
                let whole_batch = operator.combine(in_batch, whole_group);
                let all = operator.combine(before_batch, whole_batch);
                self.publish(tiles + groups + batch, all);
            }
            operator.combine(operator.combine(before_batch, in_batch), in_group)
        }
    }

    /// Says that the block needs nothing of the others any more. The last leaves 0 in all words.
    ///
    /// # Safety
    /// Every thread of each block of the grid makes the call, once, as the last, after a barrier; the state is like those that are published.
    #[inline(always)]
    pub(crate) unsafe fn leave(self, state: S) {
        // SAFETY: the caller's promise: when all blocks have left, nobody uses the words.
        unsafe {
            let is_last =
                thread_idx_x() == 0 && draw_ticket(self.counters().add(1)) == grid_dim_x() - 1;
            if sync_threads_or(is_last) {
                let mut word = thread_idx_x() as usize;
                while word < workspace_words(self.tiles as usize, state) {
                    store_relaxed_u64(self.words.add(word), 0);
                    word += block_dim_x() as usize;
                }
            }
        }
    }
}
