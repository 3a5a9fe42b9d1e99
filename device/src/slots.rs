//! States that blocks or devices hand to each other in global memory, each as soon as it is there.

use core::cell::Cell;
use core::marker::PhantomData;

use crate::memory::{
    load_relaxed_system_u64, load_relaxed_u64, store_relaxed_system_u64, store_relaxed_u64,
};
use crate::words::Words;

/// In the upper half of a word: that the lower half is there.
pub(crate) const IS_THERE: u64 = 1 << 32;

/// How many words a state is made of.
#[inline(always)]
pub(crate) fn words_of<S: Words>(state: S) -> usize {
    let words = Cell::new(0);
    state.map_words(
        #[inline(always)]
        |word| {
            words.set(words.get() + 1);
            word
        },
    );
    words.get()
}

/// How many words of 64 bits the slots of this many states of type `S` take at most.
pub const fn most_words<S>(slots: usize) -> usize {
    // No word of a state has less than a byte.
    slots * size_of::<S>()
}

/// A slot for each of some states, in words of 64 bits that are 0 as long as nothing is there. The lower half of a word is one of the words
/// of a state, and the upper half says that it is there: who finds all words of a slot has the state, and no fence is needed.
///
/// The first words of all slots come first, then the second ones, and so on, so that a warp that takes adjacent slots loads adjacent memory.
///
/// `SYSTEM` is for the blocks of several devices.
#[derive(Debug)]
pub struct Slots<S, const SYSTEM: bool = false> {
    words: *mut u64,
    count: usize,
    states: PhantomData<S>,
}

impl<S, const SYSTEM: bool> Copy for Slots<S, SYSTEM> {}

impl<S, const SYSTEM: bool> Clone for Slots<S, SYSTEM> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Words, const SYSTEM: bool> Slots<S, SYSTEM> {
    /// This many slots, which begin with this word.
    ///
    /// # Safety
    /// `words` points to as many words in global memory as the states have, for which [`most_words`] is enough. They are 0, and nothing else
    /// touches them.
    #[inline(always)]
    pub unsafe fn new(words: *mut u64, count: usize) -> Self {
        Self {
            words,
            count,
            states: PhantomData,
        }
    }

    /// A word of the state in a slot.
    #[inline(always)]
    fn word(self, slot: usize, index: usize) -> *mut u64 {
        // SAFETY: callers ask for those that there are.
        unsafe { self.words.add(slot + index * self.count) }
    }

    /// Loads one.
    ///
    /// # Safety
    /// There is such a word.
    #[inline(always)]
    unsafe fn get_word(self, slot: usize, index: usize) -> u64 {
        let word = self.word(slot, index);
        // SAFETY: the caller's promise; nothing else is done to a word.
        unsafe {
            match SYSTEM {
                false => load_relaxed_u64(word),
                true => load_relaxed_system_u64(word),
            }
        }
    }

    /// Writes one.
    ///
    /// # Safety
    /// There is such a word.
    #[inline(always)]
    unsafe fn set_word(self, slot: usize, index: usize, bits: u64) {
        let word = self.word(slot, index);
        // SAFETY: the caller's promise; nothing else is done to a word.
        unsafe {
            match SYSTEM {
                false => store_relaxed_u64(word, bits),
                true => store_relaxed_system_u64(word, bits),
            }
        }
    }

    /// Leaves a state in a slot, with `marks` beside [`IS_THERE`].
    ///
    /// # Safety
    /// There is such a slot, and one thread makes the call for it.
    #[inline(always)]
    pub(crate) unsafe fn put(self, slot: usize, state: S, marks: u64) {
        let index = Cell::new(0);
        state.map_words(
            #[inline(always)]
            |word| {
                let bits = IS_THERE | marks | u64::from(word);
                // SAFETY: a word of that slot; the caller's promise.
                unsafe { self.set_word(slot, index.get(), bits) };
                index.set(index.get() + 1);
                word
            },
        );
    }

    /// What is in a slot, and the bits that all of its words have: if [`IS_THERE`] is one of them, it is the state, and the others above it
    /// are its marks. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    pub(crate) unsafe fn look(self, slot: usize, like: S) -> (S, u64) {
        let (index, all) = (Cell::new(0), Cell::new(u64::MAX));
        let state = like.map_words(
            #[inline(always)]
            |_| {
                // SAFETY: a word of that slot.
                let word = unsafe { self.get_word(slot, index.get()) };
                index.set(index.get() + 1);
                all.set(all.get() & word);
                word as u32
            },
        );
        (state, all.get())
    }

    /// The state in a slot and its marks, if all of it is there. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot.
    #[inline(always)]
    pub(crate) unsafe fn get(self, slot: usize, like: S) -> Option<(S, u64)> {
        // SAFETY: the caller's promise.
        let (state, bits) = unsafe { self.look(slot, like) };
        (bits & IS_THERE != 0).then_some((state, bits))
    }

    /// Empties a slot. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot, and nobody else touches it.
    #[inline(always)]
    pub(crate) unsafe fn empty(self, slot: usize, like: S) {
        let mut index = 0;
        while index < words_of(like) {
            // SAFETY: a word of that slot; the caller's promise.
            unsafe { self.set_word(slot, index, 0) };
            index += 1;
        }
    }

    /// The state in a slot, as soon as it is there; the slot is empty afterwards. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot, a state is or will be put there without waiting for this thread, and nobody else takes it.
    #[inline(always)]
    pub(crate) unsafe fn take(self, slot: usize, like: S) -> S {
        // SAFETY: the caller's promise.
        unsafe {
            let state = loop {
                if let Some((state, _)) = self.get(slot, like) {
                    break state;
                }
            };
            self.empty(slot, like);
            state
        }
    }
}

/// What the blocks of a device hand to one another: states word by word, or keys.
pub(crate) trait Hand<S>: Copy {
    /// How many of them a lane of the last block takes at once. More states of several words would take longer to combine than a tree of
    /// the block.
    fn at_once(self, like: S) -> usize;

    /// Hands one in.
    ///
    /// # Safety
    /// There is such a slot, it is empty, and one thread makes the call for it.
    unsafe fn hand_in(self, slot: usize, state: S);

    /// What is in a slot, and whether it is there. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot.
    unsafe fn find(self, slot: usize, like: S) -> (S, bool);

    /// Empties a slot. `like` is any state.
    ///
    /// # Safety
    /// There is such a slot, and nobody else touches it.
    unsafe fn clear(self, slot: usize, like: S);
}

/// States of one word, or keys, that a lane takes at once. So one block for each multiprocessor, up to 160, meets in one warp, without another
/// tree of the block. With more of them in a lane the warp is slower than that tree.
pub(crate) const AT_ONCE: usize = 5;

impl<S: Words> Hand<S> for Slots<S> {
    #[inline(always)]
    fn at_once(self, like: S) -> usize {
        if words_of(like) == 1 { AT_ONCE } else { 1 }
    }
    #[inline(always)]
    unsafe fn hand_in(self, slot: usize, state: S) {
        // SAFETY: the caller's promise, as for the next two.
        unsafe { self.put(slot, state, 0) }
    }
    #[inline(always)]
    unsafe fn find(self, slot: usize, like: S) -> (S, bool) {
        // SAFETY: see above.
        let (state, bits) = unsafe { self.look(slot, like) };
        (state, bits & IS_THERE != 0)
    }
    #[inline(always)]
    unsafe fn clear(self, slot: usize, like: S) {
        // SAFETY: see above.
        unsafe { self.empty(slot, like) }
    }
}

/// [Keys](crate::operator::Combine::key) in the first words of slots, where 0 says that nothing is there.
#[derive(Clone, Copy)]
pub(crate) struct Keys(Slots<u64>);

impl Keys {
    /// In the same memory as these slots.
    #[inline(always)]
    pub(crate) fn of<S>(slots: Slots<S>) -> Self {
        let Slots { words, count, .. } = slots;
        Self(Slots {
            words,
            count,
            states: PhantomData,
        })
    }
}

impl Hand<u64> for Keys {
    #[inline(always)]
    fn at_once(self, _like: u64) -> usize {
        AT_ONCE
    }
    #[inline(always)]
    unsafe fn hand_in(self, slot: usize, key: u64) {
        // SAFETY: the caller's promise, as for the next two.
        unsafe { self.0.set_word(slot, 0, key) }
    }
    #[inline(always)]
    unsafe fn find(self, slot: usize, _like: u64) -> (u64, bool) {
        // SAFETY: see above.
        let key = unsafe { self.0.get_word(slot, 0) };
        (key, key != 0)
    }
    #[inline(always)]
    unsafe fn clear(self, slot: usize, _like: u64) {
        // SAFETY: see above.
        unsafe { self.0.set_word(slot, 0, 0) }
    }
}
