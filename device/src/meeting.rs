//! How the states of several devices become one: each hands its own in to a slot on the first device, which waits for them all.
//!
//! | device | does | needs |
//! |---|---|---|
//! | every other | stores the words of its state in its slot, each with a flag beside it | access to the slots: those of the first, or some of its own, whose words the host carries over |
//! | the first | takes the states out of the slots, in the order of the devices, and combines them | nothing else |
//!
//! No atomic read-modify-write: stores go over any link, and a device writes to nobody's slot but its own. No fence either: a word and its
//! flag are one store of 8 bytes, as in NCCL's protocol for short messages ("LL"), so that nothing has to come back over the link before the
//! state is there. The first device leaves the slots empty, so that every round has the same arguments, as in a graph that is launched again
//! and again.

use crate::block::Memory;
use crate::grid::{Part, Turn};
use crate::operator::{Combine, Operator};
use crate::slots::Slots;
use crate::vector::{self, Loaded, Share};
use crate::words::Words;

/// Vectors that a thread loads before it uses the first.
const LOADS: usize = 4;

/// Where devices meet.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<S> {
    /// A slot for the state of each device, in the memory of the first.
    slots: Slots<S, true>,
    /// The number of this device among them.
    rank: u32,
    /// How many they are, at least one.
    of: u32,
}

impl<S: Words> Meeting<S> {
    /// The meeting of `of` devices, as that with the number `rank` sees it.
    ///
    /// # Safety
    /// As for [`Slots::new`], of memory that this device reaches; `rank` is below `of`.
    #[inline(always)]
    pub unsafe fn new(slots: *mut u64, rank: u32, of: u32) -> Self {
        Self {
            // SAFETY: the caller's promise.
            slots: unsafe { Slots::new(slots, of as usize) },
            rank,
            of,
        }
    }

    /// Hands in a state, or, on the first device, waits for the others and returns all states combined.
    ///
    /// # Safety
    /// One thread of a device makes the call in a round, with a rank that no other device has. On the first device, whose rank is 0, a state
    /// comes into each other slot without waiting for it: from the other devices, in the same slots, or from the host. The next round with
    /// these slots begins when this one is over on the first device.
    #[inline(always)]
    pub unsafe fn hand_in(self, operator: impl Combine<S>, state: S) -> Option<S> {
        // SAFETY: the caller's promise.
        unsafe {
            if self.rank != 0 {
                self.slots.put(self.rank as usize, state, 0);
                return None;
            }
            let mut all = state;
            let mut rank = 1;
            while rank < self.of {
                all = operator.combine(all, self.slots.take(rank as usize, state));
                rank += 1;
            }
            Some(all)
        }
    }
}

/// Reduces the part of an array that is on this device, of which the first value has the index `first`, as [`array`](crate::reduce::array())
/// does, and hands its state in. The first device writes the result of all `total` values.
///
/// # Safety
/// - As for [`array`](crate::reduce::array()), on each device.
/// - The meeting is as [`Meeting::hand_in`] asks; on the first device `result` points to one result.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the kernel's")]
pub unsafe fn part<T: Loaded, O: Operator<T>>(
    operator: O,
    (input, n, first): (*const T, usize, u64),
    slots_of_blocks: *mut u64,
    counter: *mut u32,
    meeting: Meeting<O::State>,
    total: u64,
    result: *mut O::Output,
    scratch: impl Memory<O::State>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let block = Part::of_grid();
        let slots = Slots::new(slots_of_blocks, block.of as usize);
        let turn = Turn::draw(block, slots, 0, counter);
        let mine = vector::fold::<LOADS, T, O>(operator, input, n, first, Share::of_grid());
        if let Some(state) = turn.reduce(operator, mine, total, scratch)
            && let Some(all) = meeting.hand_in(operator, state)
        {
            *result = operator.finish(all, total);
        }
    }
}
