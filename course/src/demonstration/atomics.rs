//! The input of the lesson `atomics` and the results that it must leave: tables of words, computed by loops.

use crate::random;
use std::collections::TryReserveError;
use warpfold_kernels::cooperation::c07_atomics::{LIMIT, NEW, TAKES, UPDATES, WORDS};

/// Bits that every value has, in both halves, so that `and` leaves some set.
const ALWAYS: u64 = 0x0000_0010_0000_0010;
/// Bits that no value has, so that `or` leaves some clear.
const NEVER: u64 = 0x0400_0000_0400_0000;

/// A table: a word for each operation, in the order in which the kernel has them.
pub(super) type Table = [u64; WORDS];

/// `n` values on which every operation has an effect.
pub(super) fn values(n: usize, seed: u64) -> Result<Vec<u64>, TryReserveError> {
    let halves = random::i32_values(2 * n, seed)?;
    let value = |pair: &[i32]| {
        let [high, low] = [pair[0], pair[1]].map(|half| u64::from(half.cast_unsigned()));
        (high << 32 | low | ALWAYS) & !NEVER
    };
    Ok(halves.chunks(2).map(value).collect())
}

/// The table before a launch.
pub(super) fn initial() -> Table {
    let mut table = [0; WORDS];
    for (word, update) in table.iter_mut().zip(updates()) {
        *word = update.store(update.initial);
    }
    table
}

/// The table that the operations with `values`, in any order, make of an initial one.
pub(super) fn expected(values: &[u64]) -> Table {
    let mut table = initial();
    if values.is_empty() {
        return table;
    }
    let (updated, taken) = table.split_at_mut(UPDATES.len());
    for (word, update) in updated.iter_mut().zip(updates()) {
        let left = values.iter().fold(update.initial, |old, &value| {
            let new = (update.apply)(old, update.load(value));
            update.load(update.store(new))
        });
        *word = update.store(left);
    }
    // The first thread finds 0, and leaves the value that all others find.
    for take in taken.chunks_mut(2) {
        take.copy_from_slice(&[u64::from(NEW), 1]);
    }
    table
}

/// The tables of the three scopes.
pub(super) struct Scopes {
    /// One table after the other.
    pub(super) blocks: Vec<u64>,
    pub(super) device: Vec<u64>,
    pub(super) system: Vec<u64>,
}

impl Scopes {
    /// What each operation left in each scope.
    pub(super) fn facts(&self, expected: &Self) -> Vec<(&'static str, String)> {
        let fact = |(word, name): (usize, &&'static str)| {
            let blocks = self.blocks.chunks(WORDS).zip(expected.blocks.chunks(WORDS));
            let right = blocks.filter(|(found, expected)| found[word] == expected[word]);
            let update = Update::named(name);
            let [device, system] = [&self.device, &self.system].map(|table| match &update {
                Some(update) => update.load(table[word]),
                None => table[word].into(),
            });
            let text = format!(
                "device {device} · system {system} · right in {} of {} blocks",
                right.count(),
                expected.blocks.len() / WORDS
            );
            (*name, text)
        };
        let takes = (UPDATES.len()..).step_by(2).zip(TAKES);
        UPDATES.iter().enumerate().chain(takes).map(fact).collect()
    }

    /// The first word that is wrong.
    pub(super) fn mistake(&self, expected: &Self) -> Option<String> {
        let mistake = |scope: &str, found: &[u64], expected: &[u64]| {
            let index = found.iter().zip(expected).position(|(a, b)| a != b)?;
            Some(format!(
                "leaves {} in {} of the {scope}'s scope, which should be {}",
                found[index],
                name(index % WORDS),
                expected[index]
            ))
        };
        mistake("block", &self.blocks, &expected.blocks)
            .or_else(|| mistake("device", &self.device, &expected.device))
            .or_else(|| mistake("system", &self.system, &expected.system))
    }
}

/// What a word of a table holds, in words.
fn name(word: usize) -> String {
    match word.checked_sub(UPDATES.len()) {
        None => format!("`{}`", UPDATES[word]),
        Some(take) if take % 2 == 0 => format!("`{}`", TAKES[take / 2]),
        Some(take) => format!(
            "the number of threads that got the 0 of `{}`",
            TAKES[take / 2]
        ),
    }
}

/// The operations of the first words of a table.
fn updates() -> impl Iterator<Item = Update> {
    UPDATES.iter().filter_map(|name| Update::named(name))
}

/// An operation on words of a type, computed with values so wide that no step overflows.
struct Update {
    element_type: &'static str,
    initial: i128,
    apply: fn(i128, i128) -> i128,
}

impl Update {
    /// The operation of a name such as `add i32`; `None` for one that takes.
    fn named(name: &'static str) -> Option<Self> {
        let (operation, element_type) = name.split_once(' ').expect("a name and a type");
        let (least, greatest) = match element_type {
            "i32" => (i32::MIN.into(), i32::MAX.into()),
            "u32" => (0, u32::MAX.into()),
            _ => (0, u64::MAX.into()),
        };
        let (initial, apply): (i128, fn(i128, i128) -> i128) = match operation {
            "add" => (0, |old, value| old + value),
            "sub" => (0, |old, value| old - value),
            "min" => (greatest, |old, value| old.min(value)),
            "max" => (least, |old, value| old.max(value)),
            "and" => (-1, |old, value| old & value),
            "or" => (0, |old, value| old | value),
            "xor" => (0, |old, value| old ^ value),
            "inc" => (0, |old, _| if old >= LIMIT.into() { 0 } else { old + 1 }),
            "dec" => (0, |old, _| {
                if old == 0 || old > LIMIT.into() {
                    LIMIT.into()
                } else {
                    old - 1
                }
            }),
            _ => return None,
        };
        Some(Self {
            element_type,
            initial,
            apply,
        })
    }

    /// The number that a word stands for.
    fn load(&self, word: u64) -> i128 {
        match self.element_type {
            "i32" => i128::from(word as i32),
            "u32" => i128::from(word as u32),
            _ => i128::from(word),
        }
    }

    /// The word that stands for a number, wrapped around. A narrow one has the lower half.
    fn store(&self, number: i128) -> u64 {
        match self.element_type {
            "i32" | "u32" => u64::from(number as u32),
            _ => number as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each operation leaves of three values, by hand.
    #[test]
    fn three_values() {
        let table = expected(&[5, 3, u64::MAX]);
        let left = |name| table[UPDATES.iter().position(|other| *other == name).unwrap()];
        assert_eq!(left("add i32"), 7);
        assert_eq!(left("sub i32"), u64::from(-7_i32 as u32));
        assert_eq!(left("min i32"), u64::from(u32::MAX));
        assert_eq!(left("max i32"), 5);
        assert_eq!(left("min u32"), 3);
        assert_eq!(left("max u64"), u64::MAX);
        assert_eq!(left("and u32"), 1);
        assert_eq!(left("or u64"), u64::MAX);
        assert_eq!(left("xor u64"), !6);
        assert_eq!(left("inc u32"), 3);
        assert_eq!(left("dec u32"), u64::from(LIMIT) - 2);
        assert_eq!(table[UPDATES.len()..][..2], [u64::from(NEW), 1]);
    }

    #[test]
    fn the_circles_close() {
        let table = expected(&vec![0; LIMIT as usize + 1]);
        let left = |name| table[UPDATES.iter().position(|other| *other == name).unwrap()];
        assert_eq!(left("inc u32"), 0);
        assert_eq!(left("dec u32"), 0);
    }

    #[test]
    fn a_wrong_word_is_named() {
        let right = || Scopes {
            blocks: expected(&[1]).repeat(2),
            device: expected(&[1]).to_vec(),
            system: expected(&[1]).to_vec(),
        };
        assert_eq!(right().mistake(&right()), None);
        let mut wrong = right();
        wrong.blocks[WORDS + 1] = 9;
        wrong.device[WORDS - 1] = 9;
        let sentence = wrong.mistake(&right()).unwrap();
        assert!(
            sentence.starts_with("leaves 9 in `sub i32` of the block's"),
            "{sentence}"
        );
        wrong.blocks = right().blocks;
        let sentence = wrong.mistake(&right()).unwrap();
        assert!(
            sentence.contains("got the 0 of `cas u64` of the device"),
            "{sentence}"
        );
    }
}
