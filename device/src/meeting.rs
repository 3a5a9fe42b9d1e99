//! How the states of several devices become one: each hands its own in to a slot on the first device, which waits for them all.
//!
//! | device | does | needs |
//! |---|---|---|
//! | every other | stores its state in its slot, then raises its flag by a release of system scope | access to the memory of the first |
//! | the first | waits for each flag by an acquire of system scope, lowers it, and combines, in the order of the devices | nothing else |
//!
//! No atomic read-modify-write: stores go over any link, and a device writes to nobody's slot but its own. The first device leaves the flags
//! as they were, so that every round has the same arguments, as in a graph that is launched again and again.

use cuda_std::gpu_only;

use crate::block::Scratch;
use crate::grid::{Part, Turn};
use crate::operator::{Combine, Operator};
use crate::slots::Slots;
use crate::vector::{self, Loaded, Share};

/// Vectors that a thread loads before it uses the first.
const LOADS: usize = 4;

/// A flag that is raised: by a device that has handed its state in, or by the host in place of one that has failed, so that the first
/// device goes on, and its result means nothing.
pub const RAISED: u32 = 1;

/// Where devices meet.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<S> {
    /// A state for each device, in the memory of the first.
    pub slots: *mut S,
    /// A word for each, there too, which is 0 before and after.
    pub flags: *mut u32,
    /// The number of this device among them.
    pub rank: u32,
    /// How many they are, at least one.
    pub of: u32,
}

/// Writes a word that threads of other devices wait for: who reads it by [`load_acquire_system`] sees everything that this thread has seen
/// and done before.
///
/// Here for the same reason as [`store_relaxed`](crate::memory::store_relaxed).
///
/// # Safety
/// `word` points to global memory of a device that this one reaches, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_release_system(word: *mut u32, value: u32) {
    // SAFETY: one store to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "st.release.sys.global.b32 [{word}], {value};",
            word = in(reg64) word,
            value = in(reg32) value,
            options(nostack, preserves_flags),
        );
    }
}

/// The value of a word that threads of other devices write by [`store_release_system`].
///
/// # Safety
/// As for the store.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_acquire_system(word: *const u32) -> u32 {
    let value: u32;
    // SAFETY: one load of a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "ld.acquire.sys.global.b32 {value}, [{word}];",
            word = in(reg64) word,
            value = out(reg32) value,
            options(nostack, preserves_flags),
        );
    }
    value
}

impl<S: Copy> Meeting<S> {
    /// Hands in a state, or, on the first device, waits for the others and returns all states combined.
    ///
    /// # Safety
    /// - One thread of each device makes the call in a round, with the same slots, flags and number of devices and its own rank.
    /// - `slots` and `flags` point to `of` states and words in the memory of the first device, which the others reach, and which nothing else
    ///   touches meanwhile. The flags are 0. The next round begins when this one is over on the first device.
    #[inline(always)]
    pub unsafe fn hand_in(self, operator: impl Combine<S>, state: S) -> Option<S> {
        // SAFETY: the caller's promise. A flag orders the store of a state before it, and the load of the first device after it.
        unsafe {
            if self.rank != 0 {
                *self.slots.add(self.rank as usize) = state;
                store_release_system(self.flags.add(self.rank as usize), RAISED);
                return None;
            }
            let mut all = state;
            let mut rank = 1;
            while rank < self.of {
                let flag = self.flags.add(rank as usize);
                while load_acquire_system(flag) != RAISED {}
                *flag = 0;
                all = operator.combine(all, *self.slots.add(rank as usize));
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
/// - The slots and the flags are as [`Meeting::hand_in`] asks; on the first device `result` points to one result.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "they are the kernel's")]
pub unsafe fn part<T: Loaded, O: Operator<T>, const BLOCK: u32>(
    operator: O,
    (input, n, first): (*const T, usize, u64),
    slots_of_blocks: *mut u64,
    counter: *mut u32,
    meeting: Meeting<O::State>,
    total: u64,
    result: *mut O::Output,
    scratch: Scratch<O::State, BLOCK>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let block = Part::of_grid();
        let slots = Slots::new(slots_of_blocks, block.of as usize);
        let turn = Turn::draw(block, slots, 0, counter);
        let mine = vector::fold::<LOADS, T, O>(operator, input, n, first, Share::of_grid());
        if let Some(state) = turn.reduce(operator, mine, scratch)
            && let Some(all) = meeting.hand_in(operator, state)
        {
            *result = operator.finish(all, total);
        }
    }
}
