//! The deterministic order.

use warpfold_device::operator::{Combine, Operator};

/// How many values one tree combines.
pub(super) const CHUNK: usize = 4096;
/// How many of them begin the tree; each takes in every value of the chunk that comes this much later.
const SLOTS: usize = 1024;

/// Combines rows of states, each row with its own number of columns, `width`: in each column the states of row r go to slot
/// r mod 1024, and then the slots are combined in a tree. `pieces` are the rows, one after the other or several at once, but never
/// beyond a multiple of 1024. The result of each column is in the first `width` of the slots; there is none of no rows.
#[inline(always)]
pub(super) fn in_slots<'a, V: Copy + 'a, S: Copy>(
    operator: impl Combine<S>,
    slots: &mut Vec<S>,
    width: usize,
    pieces: impl Iterator<Item = &'a [V]>,
    lift: impl Fn(V, u64) -> S,
) {
    slots.clear();
    let capacity = SLOTS * width;
    let (mut place, mut index) = (0, 0);
    for piece in pieces {
        if slots.len() < capacity {
            let lifted = piece.iter().zip(index..);
            slots.extend(lifted.map(|(&value, index)| lift(value, index)));
        } else {
            let slots = &mut slots[place..place + piece.len()];
            for ((slot, &value), index) in slots.iter_mut().zip(piece).zip(index..) {
                *slot = operator.combine(*slot, lift(value, index));
            }
        }
        place = (place + piece.len()) % capacity;
        index += piece.len() as u64;
    }
    let mut distance = capacity / 2;
    while distance >= width {
        if slots.len() > distance {
            let (low, high) = slots.split_at_mut(distance);
            for (left, &right) in low.iter_mut().zip(&*high) {
                *left = operator.combine(*left, right);
            }
            slots.truncate(distance);
        }
        if distance == width {
            break;
        }
        distance /= 2;
    }
}

/// The state of one chunk, of which the first value has this index.
#[inline(always)]
fn of_chunk<T: Copy, O: Operator<T>>(
    operator: O,
    slots: &mut Vec<O::State>,
    values: &[T],
    index: u64,
) -> O::State {
    in_slots(operator, slots, 1, values.chunks(SLOTS), |value, place| {
        operator.lift(value, index + place)
    });
    first(operator, slots)
}

/// The state of chunks from theirs.
#[inline(always)]
pub(super) fn of_chunks<S: Copy>(operator: impl Combine<S>, slots: &mut Vec<S>, states: &[S]) -> S {
    in_slots(operator, slots, 1, states.chunks(SLOTS), |state, _| state);
    first(operator, slots)
}

fn first<S: Copy>(operator: impl Combine<S>, slots: &[S]) -> S {
    slots
        .first()
        .copied()
        .unwrap_or_else(|| operator.identity())
}

/// The state of any number of values.
#[inline(always)]
pub(super) fn state<T: Copy, O: Operator<T>>(
    operator: O,
    slots: &mut Vec<O::State>,
    values: &[T],
    index: u64,
) -> O::State {
    if values.len() <= CHUNK {
        return of_chunk(operator, slots, values, index);
    }
    let states: Vec<O::State> = values
        .chunks(CHUNK)
        .zip((index..).step_by(CHUNK))
        .map(|(chunk, index)| of_chunk(operator, slots, chunk, index))
        .collect();
    of_chunks(operator, slots, &states)
}
