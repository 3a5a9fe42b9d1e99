//! What the names of a function stand for: registers, variables, labels.

use std::collections::HashMap;

use crate::code::{Slice, Value};
use crate::types::{Scalar, Space};

/// The names of one pair of braces.
#[derive(Default)]
pub(super) struct Scope<'m> {
    pub symbols: HashMap<String, Symbol>,
    /// Declarations such as `%r<7>`, by their prefix. A register becomes a symbol, and gets its row, when it is first named.
    pub ranges: HashMap<&'m str, Range>,
    pub labels: HashMap<&'m str, u32>,
    pub tables: HashMap<&'m str, &'m [String]>,
    pub prototypes: Vec<&'m str>,
    /// Jumps to labels not yet seen.
    pub jumps: Vec<Jump<'m>>,
}

#[derive(Clone, Copy)]
pub(super) struct Range {
    pub ty: Scalar,
    pub count: u64,
}

impl Scope<'_> {
    /// The declaration that a numbered register such as `%r12` falls under.
    pub fn range_of(&self, name: &str) -> Option<Range> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            let range = *self.ranges.get(prefix)?;
            range.counts(number).then_some(range)
        })
    }
}

impl Range {
    /// Whether these digits are a number of the range.
    pub fn counts(&self, digits: &str) -> bool {
        let plain = digits == "0" || !digits.starts_with('0');
        plain && digits.parse().is_ok_and(|number: u64| number < self.count)
    }
}

pub(super) struct Jump<'m> {
    pub instruction: u32,
    /// Which of a table's targets.
    pub slot: usize,
    pub label: &'m str,
    pub line: u32,
}

/// How wide a register must be for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Exact,
    /// `cvt`, `ld` and `st` take wider ones too (PTX ISA §9.4.1 "Operand Size Exceeding Instruction-Type Size").
    AtLeast,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Register {
        ty: Scalar,
        row: u32,
    },
    Address(Space, Value),
    EntryParameter(Slice),
    /// A parameter of the function itself, by its number.
    OwnParameter(u32),
    /// A result of the function, or an argument or a result of a call.
    FrameParameter(Slice),
}
