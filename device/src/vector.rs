//! Loads of 16 bytes: the fewest instructions for the most bytes.
//!
//! An array may begin anywhere. Its *head*, the elements before the first multiple of 16 bytes, and its *tail*, what is left of a last
//! vector, are loaded one by one; the rest are vectors.

use core::mem::transmute_copy;

use cuda_std::gpu_only;

use crate::opaque::{from_here_on, from_here_on_usize, opaque};
use crate::operator::{Combine, Operator, combine_all};
use crate::thread::{
    block_dim_x, block_idx_x, global_index, grid_dim_x, thread_idx_x, wait_for_earlier_launches,
};
use crate::unroll::{array, each};

/// Bytes of a vector.
const BYTES: usize = 16;

/// A type whose values a load of 16 bytes brings several of. [`vectors!`](crate::vectors!) implements it for types of your own.
pub trait Loaded: Copy {
    /// The values of 16 bytes: an array of them.
    type Values: Copy;
    /// 16 bytes as they are loaded; of values that 16 bytes are no multiple of, one value.
    type Vector: Copy;
    /// How many values a vector has.
    const LANES: usize;

    /// One of the values of a vector: that of lane 0 comes first in memory.
    fn value(vector: Self::Vector, lane: usize) -> Self;

    /// The state of the values of a vector, the first of which has this index.
    fn lift<O: Operator<Self>>(operator: O, vector: Self::Vector, index: u64) -> O::State;

    /// A state, and with it the values of some vectors: the first value of vector v has the index `index + v · step`.
    fn accumulate<O: Operator<Self>, const V: usize>(
        operator: O,
        state: O::State,
        vectors: [Self::Vector; V],
        index: u64,
        step: u64,
    ) -> O::State;

    /// The state of the pairs of values of two vectors.
    fn lift_pairs<O: Operator<(Self, Self)>>(
        operator: O,
        vectors: [Self::Vector; 2],
        index: u64,
    ) -> O::State;
}

/// 16 bytes that one instruction loads.
#[doc(hidden)]
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Quad(pub [u32; 4]);

/// Like [`Quad`], for values of 64 bits.
#[doc(hidden)]
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Double(pub [u64; 2]);

/// Implements [`Loaded`]: `vectors! { Celsius = 4 of u16, |bits| Celsius(bits); }` for a type of 16 bits, of which a vector would have 8.
///
/// What stands after `of` says how the value lies in memory: `u8`, `u16`, `u32` or `u64`; the closure makes it of those bits. A type of
/// another size is loaded one by one: `vectors! { Triple; }`.
#[macro_export]
macro_rules! vectors {
    ($($value:ty $(= $bits:ident, |$name:ident| $made:expr)?;)*) => {$(
        $crate::vectors!(@impl $value $(= $bits, |$name| $made)?);
    )*};
    (@impl $value:ty = u64, |$name:ident| $made:expr) => {
        $crate::vectors!(@vector $value, $crate::vector::Double, 2, |vector, lane| {
            let $name = vector.0[lane];
            $made
        });
    };
    (@impl $value:ty = $bits:ident, |$name:ident| $made:expr) => {
        $crate::vectors!(@vector $value, $crate::vector::Quad, 16 / size_of::<$bits>(), |vector, lane| {
            // Of each word the lowest value first.
            let bit = 8 * size_of::<$bits>() * lane;
            let $name = (vector.0[bit / 32] >> (bit % 32)) as $bits;
            $made
        });
    };
    (@impl $value:ty) => {
        $crate::vectors!(@vector $value, $value, 1, |vector, _lane| vector);
    };
    (@vector $value:ty, $vector:ty, $lanes:expr, |$loaded:ident, $lane:ident| $made:expr) => {
        impl $crate::vector::Loaded for $value {
            type Values = [Self; $lanes];
            type Vector = $vector;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn value($loaded: $vector, $lane: usize) -> Self {
                $made
            }

            #[inline(always)]
            fn lift<O: $crate::operator::Operator<Self>>(operator: O, $loaded: $vector, index: u64) -> O::State {
                let values: [Self; $lanes] = ::core::array::from_fn(
                    #[inline(always)]
                    |$lane| $made,
                );
                operator.lift_all(values, index)
            }

            #[inline(always)]
            fn accumulate<O: $crate::operator::Operator<Self>, const V: usize>(
                operator: O,
                state: O::State,
                vectors: [$vector; V],
                index: u64,
                step: u64,
            ) -> O::State {
                let values: [[Self; $lanes]; V] = ::core::array::from_fn(
                    #[inline(always)]
                    |vector| {
                        let $loaded = vectors[vector];
                        ::core::array::from_fn(
                            #[inline(always)]
                            |$lane| $made,
                        )
                    },
                );
                operator.accumulate(state, values, index, step)
            }

            #[inline(always)]
            fn lift_pairs<O: $crate::operator::Operator<(Self, Self)>>(
                operator: O,
                [left, right]: [$vector; 2],
                index: u64,
            ) -> O::State {
                let values = |$loaded: $vector| -> [Self; $lanes] { ::core::array::from_fn(|$lane| $made) };
                let (left, right) = (values(left), values(right));
                let pairs: [(Self, Self); $lanes] = ::core::array::from_fn(|lane| (left[lane], right[lane]));
                operator.lift_all(pairs, index)
            }
        }
    };
}

vectors! {
    i8 = u8, |bits| bits as i8;
    u8 = u8, |bits| bits;
    crate::half::Bool = u8, |bits| crate::half::Bool(bits);
    i16 = u16, |bits| bits as i16;
    u16 = u16, |bits| bits;
    crate::half::F16 = u16, |bits| crate::half::F16(bits);
    crate::half::Bf16 = u16, |bits| crate::half::Bf16(bits);
    i32 = u32, |bits| bits as i32;
    u32 = u32, |bits| bits;
    f32 = u32, |bits| f32::from_bits(bits);
    i64 = u64, |bits| bits as i64;
    u64 = u64, |bits| bits;
    f64 = u64, |bits| f64::from_bits(bits);
}

/// The vector that begins with this value, loaded as four words: a compiler may split a copy of the whole into loads of the parts that are
/// used.
///
/// # Safety
/// It is there, at a multiple of 16 if it has several values.
#[inline(always)]
pub(crate) unsafe fn load<T: Loaded>(first: *const T) -> T::Vector {
    // SAFETY: the caller's promise; a vector of several values has 16 bytes.
    unsafe {
        if T::LANES == 1 {
            return *first.cast();
        }
        let [a, b, c, d] = (*first.cast::<Quad>()).0;
        transmute_copy(&Quad([a, b, c, d]))
    }
}

/// The vector that begins with this value, at any multiple of the value's size: of two values as they are, of others word by word.
///
/// # Safety
/// The address is a multiple of the value's size. The 4 bytes from a multiple of 4 on may be read where one of them is of the vector.
#[inline(always)]
pub(crate) unsafe fn load_across<T: Loaded>(first: *const T) -> T::Vector {
    // SAFETY: the caller's promise; a vector of several values has 16 bytes.
    unsafe {
        if T::LANES == 2 {
            let first = first.cast::<u64>();
            return transmute_copy(&Double([*first, *first.wrapping_add(1)]));
        }
        let after = first as usize % size_of::<u32>();
        let begin = first.cast::<u32>().wrapping_byte_sub(after);
        let mut words = array::<_, 4>(|word| *begin.wrapping_add(word));
        if size_of::<T>() < size_of::<u32>() {
            // Where the vector begins with a word, it ends with one.
            let last = *begin.wrapping_add(if after > 0 { 4 } else { 3 });
            let [a, b, c, d] = words;
            let bits = 8 * after as u32;
            // As one instruction can: shifted by none, nothing is left of the next word.
            words = [(a, b), (b, c), (c, d), (d, last)]
                .map(|(word, next)| word >> bits | next << 1 << (bits ^ 31));
        }
        transmute_copy(&Quad(words))
    }
}

/// As [`load`], or `in_passing`: as what is the first to leave the L2 cache.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn load_or_pass<T: Loaded>(first: *const T, in_passing: bool) -> T::Vector {
    // SAFETY: the caller's promise; a vector of several values has 16 bytes.
    unsafe {
        if T::LANES > 1 && in_passing {
            transmute_copy(&load_in_passing(first.cast()))
        } else {
            *first.cast()
        }
    }
}

/// 16 bytes, which are then the first to leave the L2 cache.
///
/// # Safety
/// They are there, at a multiple of 16, and nothing writes them.
#[gpu_only]
#[inline(always)]
unsafe fn load_in_passing(quad: *const Quad) -> Quad {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: a load of what is there by the caller's promise.
    unsafe {
        core::arch::asm!(
            "ld.global.cs.v4.b32 {{{a}, {b}, {c}, {d}}}, [{quad}];",
            quad = in(reg64) quad,
            a = out(reg32) a,
            b = out(reg32) b,
            c = out(reg32) c,
            d = out(reg32) d,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    Quad([a, b, c, d])
}

/// How much of an array stays in the L2 cache for whoever reads it next: so many sixteenths of it, from 1 on.
///
/// When an array that is somewhat larger than the cache is read again from its beginning, nothing of it is left there: what was read last has
/// evicted what comes first. Vectors that are read in passing, as the first to leave, evict one another instead, and the rest stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept(pub u32);

impl Kept {
    /// The whole array is read as ever.
    pub const ALL: Self = Self(16);

    /// Whether the vectors of this turn stay, of those that each thread takes: turn 0 does, and as many of the others, evenly spread, as
    /// there are sixteenths.
    #[inline(always)]
    fn has(self, turn: u32) -> bool {
        turn * self.0 % Self::ALL.0 < self.0
    }
}

/// Which of several threads a thread is, where an array is divided among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the thread: 0 to `of` − 1.
    pub rank: usize,
    /// How many threads there are, at least one.
    pub of: usize,
}

impl Share {
    /// The thread that has it all.
    pub const ALONE: Self = Self { rank: 0, of: 1 };

    /// Among the threads of its block.
    #[inline(always)]
    pub fn of_block() -> Self {
        Self {
            rank: thread_idx_x() as usize,
            of: block_dim_x() as usize,
        }
    }

    /// Among the threads of the grid.
    #[inline(always)]
    pub fn of_grid() -> Self {
        Self {
            rank: global_index(),
            of: grid_dim_x() as usize * block_dim_x() as usize,
        }
    }

    /// Among the blocks of the grid: which rows a block takes.
    #[inline(always)]
    pub fn of_blocks() -> Self {
        Self {
            rank: block_idx_x() as usize,
            of: grid_dim_x() as usize,
        }
    }
}

/// The state of this thread's share of an array; the identity if it has none. The first value has the index `first`.
///
/// The threads take neighbouring vectors, and each goes on as many vectors further as there are threads, so that the loads of a warp
/// are of adjacent memory. A thread loads `LOADS` vectors before it uses the first, so that their times overlap. The operator must be
/// commutative.
///
/// # Safety
/// `input` points to `n` values, at an address that is right for their type, which nothing writes.
#[inline(always)]
pub unsafe fn fold<const LOADS: usize, T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    n: usize,
    first: u64,
    share: Share,
) -> O::State {
    // SAFETY: the caller's promise.
    unsafe {
        fold_by::<false, LOADS, T, O, _>(operator, (input, n, first), share, Kept::ALL, || ()).1
    }
}

/// As [`fold`], after the launches before, and so much of the array stays in the cache; and what `begin` gives, which is called when the first
/// loads are under way.
///
/// # Safety
/// As for [`fold`].
#[inline(always)]
pub(crate) unsafe fn fold_after<const LOADS: usize, T: Loaded, O: Operator<T>, B>(
    operator: O,
    (input, n, first): (*const T, usize, u64),
    share: Share,
    kept: Kept,
    begin: impl FnOnce() -> B,
) -> (B, O::State) {
    // SAFETY: the caller's promise.
    unsafe { fold_by::<true, LOADS, T, O, _>(operator, (input, n, first), share, kept, begin) }
}

/// [`fold_after`] or [`fold`].
///
/// # Safety
/// As for [`fold`].
#[inline(always)]
unsafe fn fold_by<const AFTER: bool, const LOADS: usize, T: Loaded, O: Operator<T>, B>(
    operator: O,
    (input, n, first): (*const T, usize, u64),
    share: Share,
    kept: Kept,
    begin: impl FnOnce() -> B,
) -> (B, O::State) {
    let head = head_length(input, n);
    // SAFETY: the caller's promise: `fold_parts` asks for elements below n and for vectors of those after the head.
    unsafe {
        fold_parts::<AFTER, LOADS, _, _, _>(
            operator,
            (n, head, T::LANES),
            share,
            kept,
            begin,
            |place| operator.lift(*input.add(place), first + place as u64),
            |place, in_passing| load_or_pass(input.add(place), in_passing),
            |vector, place| T::lift(operator, vector, first + place as u64),
            |state, vectors, place, step| {
                T::accumulate(operator, state, vectors, first + place as u64, step as u64)
            },
        )
    }
}

/// As [`fold`], of an array of whole vectors that begins at one: there is neither head nor tail.
///
/// # Safety
/// As for [`fold`]; `input` is a multiple of 16, and `n` a multiple of the number of values that a vector has.
#[inline(always)]
pub(crate) unsafe fn fold_aligned<const LOADS: usize, T: Loaded, O: Operator<T>>(
    operator: O,
    input: *const T,
    n: usize,
    share: Share,
) -> O::State {
    // SAFETY: the caller's promise: `fold_vectors` asks for vectors below n.
    unsafe {
        fold_vectors::<LOADS, _, _>(
            operator,
            operator.identity(),
            (share.rank * T::LANES, share.of * T::LANES, n),
            Kept::ALL,
            |place, _| *input.add(place).cast::<T::Vector>(),
            |vector, place| T::lift(operator, vector, place as u64),
            |state, vectors, place, step| {
                T::accumulate(operator, state, vectors, place as u64, step as u64)
            },
        )
    }
}

/// The state of this thread's share of the pairs of two arrays of the same length, as [`fold`]. If only one of the arrays begins at a
/// multiple of 16 bytes after its head, both are loaded one by one.
///
/// # Safety
/// As for [`fold`], of both.
#[inline(always)]
pub unsafe fn fold_pairs<const LOADS: usize, T: Loaded, O: Operator<(T, T)>>(
    operator: O,
    [left, right]: [*const T; 2],
    n: usize,
    first: u64,
    share: Share,
) -> O::State {
    // SAFETY: the caller's promise.
    unsafe {
        fold_pairs_by::<false, LOADS, T, O, _>(
            operator,
            ([left, right], n, first),
            share,
            Kept::ALL,
            || (),
        )
        .1
    }
}

/// As [`fold_pairs`], after the launches before; and what `begin` gives, as in [`fold_after`].
///
/// # Safety
/// As for [`fold`], of both.
#[inline(always)]
pub(crate) unsafe fn fold_pairs_after<const LOADS: usize, T: Loaded, O: Operator<(T, T)>, B>(
    operator: O,
    (inputs, n, first): ([*const T; 2], usize, u64),
    share: Share,
    kept: Kept,
    begin: impl FnOnce() -> B,
) -> (B, O::State) {
    // SAFETY: the caller's promise.
    unsafe {
        fold_pairs_by::<true, LOADS, T, O, _>(operator, (inputs, n, first), share, kept, begin)
    }
}

/// [`fold_pairs_after`] or [`fold_pairs`].
///
/// # Safety
/// As for [`fold`], of both.
#[inline(always)]
unsafe fn fold_pairs_by<
    const AFTER: bool,
    const LOADS: usize,
    T: Loaded,
    O: Operator<(T, T)>,
    B,
>(
    operator: O,
    ([left, right], n, first): ([*const T; 2], usize, u64),
    share: Share,
    kept: Kept,
    begin: impl FnOnce() -> B,
) -> (B, O::State) {
    let are_alike = left as usize % BYTES == right as usize % BYTES;
    let head = if are_alike { head_length(left, n) } else { n };
    // SAFETY: as in `fold`.
    unsafe {
        fold_parts::<AFTER, LOADS, _, _, _>(
            operator,
            (n, head, T::LANES),
            share,
            kept,
            begin,
            |place| {
                let pair = (*left.add(place), *right.add(place));
                operator.lift(pair, first + place as u64)
            },
            |place, in_passing| {
                [
                    load_or_pass(left.add(place), in_passing),
                    load_or_pass(right.add(place), in_passing),
                ]
            },
            |vectors, place| T::lift_pairs(operator, vectors, first + place as u64),
            |state, vectors, place, step| {
                let states = array::<_, LOADS>(
                    #[inline(always)]
                    |index| {
                        T::lift_pairs(
                            operator,
                            vectors[index],
                            first + (place + index * step) as u64,
                        )
                    },
                );
                operator.combine(state, combine_all(operator, states))
            },
        )
    }
}

/// How many values come before the first multiple of 16 bytes; all where none begins at one, and none where a vector is one value.
#[inline(always)]
fn head_length<T: Loaded>(input: *const T, n: usize) -> usize {
    if T::LANES == 1 {
        return 0;
    }
    let bytes = (BYTES - input as usize % BYTES) % BYTES;
    let head = bytes / size_of::<T>();
    if head < n && bytes.is_multiple_of(size_of::<T>()) {
        head
    } else {
        n
    }
}

/// The share of a thread: head, vectors and tail, where `AFTER` after the launches before; and what `begin` gives, which is called when the
/// first loads are under way. `lift` gives the state of the value at a place, `load` the vector that begins there, in passing or not,
/// `lift_vector` the state of a vector, and `accumulate` a state with vectors, which lie so far apart.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "each says what is different between values and pairs"
)]
fn fold_parts<const AFTER: bool, const LOADS: usize, S: Copy, V: Copy, B>(
    operator: impl Combine<S>,
    (n, head, lanes): (usize, usize, usize),
    share: Share,
    kept: Kept,
    begin: impl FnOnce() -> B,
    lift: impl Fn(usize) -> S,
    load: impl Fn(usize, bool) -> V,
    lift_vector: impl Fn(V, usize) -> S,
    accumulate: impl Fn(S, [V; LOADS], usize, usize) -> S,
) -> (B, S) {
    let end = from_here_on_usize(head + (n - head) / lanes * lanes);
    let step = from_here_on_usize(share.of * lanes);
    let mut place = from_here_on_usize(head + share.rank * lanes);
    let has_single_values = from_here_on(u32::from(head > 0 || end < n)) != 0;
    // What takes no memory is done before the launches before have ended.
    if AFTER {
        wait_for_earlier_launches();
    }
    // The vectors first: what comes before the first load is time in which memory has nothing to do.
    let mut state = operator.identity();
    let begun = if AFTER && place + (LOADS - 1) * step < end {
        let vectors = all_from(place, step, |place| load(place, false));
        let begun = begin();
        state = accumulate(state, vectors, place, step);
        place += LOADS * step;
        begun
    } else {
        begin()
    };
    state = fold_vectors(
        operator,
        state,
        (place, step, end),
        kept,
        load,
        lift_vector,
        accumulate,
    );
    if has_single_values {
        let singles = head + (n - end);
        let mut single = share.rank;
        while single < singles {
            let place = if single < head {
                single
            } else {
                end - head + single
            };
            state = operator.combine(state, lift(place));
            single += share.of;
        }
    }
    (begun, state)
}

/// The vectors at a place and in steps from there.
#[inline(always)]
fn all_from<const LOADS: usize, V: Copy>(
    place: usize,
    step: usize,
    load: impl Fn(usize) -> V,
) -> [V; LOADS] {
    let here = opaque(place);
    array(
        #[inline(always)]
        |index| load(here + index * step),
    )
}

/// A state, and with it the vectors from a place on, in steps, before `end`; the functions are those of [`fold_parts`].
#[inline(always)]
fn fold_vectors<const LOADS: usize, S: Copy, V: Copy>(
    operator: impl Combine<S>,
    mut state: S,
    (mut place, step, end): (usize, usize, usize),
    kept: Kept,
    load: impl Fn(usize, bool) -> V,
    lift_vector: impl Fn(V, usize) -> S,
    accumulate: impl Fn(S, [V; LOADS], usize, usize) -> S,
) -> S {
    // The first turn is over, or there is none.
    let mut turn = 1;
    while place + (LOADS - 1) * step < end {
        let vectors = if kept.has(turn) {
            all_from(place, step, |place| load(place, false))
        } else {
            all_from(place, step, |place| load(place, true))
        };
        turn += 1;
        state = accumulate(state, vectors, place, step);
        place += LOADS * step;
    }
    // Of the last vectors the first is loaded in the place of each that is not there, so that all loads are under way together. With one
    // load at a time nothing is left.
    if LOADS > 1 && place < end {
        let is_there = |index| place + index * step < end;
        let vectors: [V; LOADS] = array(
            #[inline(always)]
            |index| {
                // The compilers would otherwise make a branch of it, and load one after the other.
                let place = opaque(if is_there(index) {
                    place + index * step
                } else {
                    place
                });
                load(place, false)
            },
        );
        let mut of_last = lift_vector(vectors[0], place);
        each(
            LOADS - 1,
            #[inline(always)]
            |before| {
                let index = before + 1;
                if is_there(index) {
                    let lifted = lift_vector(vectors[index], place + index * step);
                    of_last = operator.combine(of_last, lifted);
                }
            },
        );
        state = operator.combine(state, of_last);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn as_many_turns_stay_as_there_are_sixteenths() {
        for sixteenths in 1..=16 {
            let kept = Kept(sixteenths);
            assert!(kept.has(0));
            let stay: Vec<u32> = (0..64).filter(|&turn| kept.has(turn)).collect();
            assert_eq!(stay.len() as u32, 4 * sixteenths);
            // Evenly spread.
            let most = 16_u32.div_ceil(sixteenths);
            for pair in stay.windows(2) {
                let distance = pair[1] - pair[0];
                assert!(
                    distance == most || distance + 1 == most,
                    "{sixteenths}: {stay:?}"
                );
            }
        }
    }
}
