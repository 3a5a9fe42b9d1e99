//! Video instructions (PTX ISA §9.7.18): arithmetic on a byte, a half or the whole of each source, and on two halves or four bytes
//! at once, followed by a second operation or a merge with the third source.
//!
//! The emulator knows the forms for which a GPU does what the manual's pseudocode says. For an H200, ptxas 13.0 turns scalar forms into
//! other instructions, and does something else for `.sat`, for `.min` and `.max` after an operation, for a result in `.h1` and for `vmad`.

mod select;

use crate::registers::{Registers, Rows, map3};

/// A selected form; its operands' selectors are set by [`Video::select_part`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Video {
    Scalar(Scalar),
    Packed(Packed),
}

/// `vadd` and its like, on one part of each source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    primary: Primary,
    /// Whether the result is added to the third source; else it replaces a part of it.
    accumulates: bool,
    /// The parts of the destination, of a and of b.
    parts: [Part; 3],
}

/// `vadd2`, `vadd4` and their like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    primary: Primary,
    /// Bits of an element: 16 or 8.
    width: u32,
    /// Where each element of a and of b is, in bits from the lowest of a; b is above a.
    shifts: [[u32; 4]; 2],
    /// Whether each element of the result goes into the destination.
    mask: [bool; 4],
    /// Whether these are added to the third source; else they replace its elements.
    accumulates: bool,
}

/// What is done to two values, and how the result is cut to the type of the destination.
#[derive(Clone, Copy, Debug)]
struct Primary {
    operation: Operation,
    /// Whether the destination, a and b have a sign.
    signed: [bool; 3],
    saturates: bool,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Add,
    Subtract,
    Difference,
    Minimum,
    Maximum,
    Average,
    ShiftLeft { wraps: bool },
    ShiftRight { wraps: bool },
    Compare(fn(&i64, &i64) -> bool),
}

/// Bits of a register.
#[derive(Clone, Copy, Debug)]
struct Part {
    shift: u32,
    width: u32,
}

impl Part {
    const WHOLE: Self = Self {
        shift: 0,
        width: 32,
    };

    fn of(self, register: u32, signed: bool) -> i64 {
        extended(register >> self.shift, self.width, signed)
    }

    /// The register with these bits replaced by the lowest of a value.
    fn merge(self, value: i64, register: u32) -> u32 {
        let mask = (u32::MAX >> (32 - self.width)) << self.shift;
        (value as u32) << self.shift & mask | register & !mask
    }
}

/// The lowest bits, as a number with or without sign.
fn extended(bits: u32, width: u32, signed: bool) -> i64 {
    let unused = 32 - width;
    let top = bits << unused;
    if signed {
        i64::from(top as i32 >> unused)
    } else {
        i64::from(top >> unused)
    }
}

/// The nearest value of `width` bits.
fn clamp(value: i64, width: u32, signed: bool) -> i64 {
    let (least, greatest) = if signed {
        (-1 << (width - 1), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    };
    value.clamp(least, greatest)
}

impl Primary {
    /// The result for a destination of `width` bits: clamped to that, or more exact than it can hold.
    fn apply(&self, a: i64, b: i64, width: u32) -> i64 {
        let amount = |wraps: bool| if wraps { b & 31 } else { b.min(32) };
        let value = match self.operation {
            Operation::Add => a + b,
            Operation::Subtract => a - b,
            Operation::Difference => (a - b).abs(),
            Operation::Minimum => a.min(b),
            Operation::Maximum => a.max(b),
            Operation::Average if a + b >= 0 => (a + b + 1) >> 1,
            Operation::Average => (a + b) >> 1,
            Operation::ShiftLeft { wraps } => a << amount(wraps),
            Operation::ShiftRight { wraps } => a >> amount(wraps),
            Operation::Compare(holds) => i64::from(holds(&a, &b)),
        };
        match self.saturates {
            true => clamp(value, width, self.signed[0]),
            false => value,
        }
    }
}

impl Scalar {
    fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let [to, of_a, of_b] = self.parts;
        let [_, a_signed, b_signed] = self.primary.signed;
        let (a, b) = (of_a.of(a, a_signed), of_b.of(b, b_signed));
        let value = self.primary.apply(a, b, to.width);
        if self.accumulates {
            c.wrapping_add(value as u32)
        } else {
            to.merge(value, c)
        }
    }
}

impl Packed {
    fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let both = u64::from(b) << 32 | u64::from(a);
        let [_, a_signed, b_signed] = self.primary.signed;
        let mut result = c;
        for element in 0..(32 / self.width) as usize {
            if !self.mask[element] {
                continue;
            }
            let value = |operand: usize, signed: bool| {
                let bits = both >> self.shifts[operand][element];
                extended(bits as u32, self.width, signed)
            };
            let (a, b) = (value(0, a_signed), value(1, b_signed));
            let value = self.primary.apply(a, b, self.width);
            result = if self.accumulates {
                result.wrapping_add(value as u32)
            } else {
                let part = Part {
                    shift: element as u32 * self.width,
                    width: self.width,
                };
                part.merge(value, result)
            };
        }
        result
    }
}

impl Video {
    /// Whether the third source must be given; else it may, and plays no part.
    pub fn needs_third_source(&self) -> bool {
        match self {
            Self::Scalar(scalar) => scalar.accumulates || scalar.parts[0].width < 32,
            Self::Packed(_) => true,
        }
    }

    /// Whether sources may be numbers.
    pub fn takes_numbers(&self) -> bool {
        !matches!(self, Self::Packed(_))
    }

    /// Executes it for the lanes of the mask.
    pub fn execute(&self, registers: &mut Registers, rows: &Rows, mask: u32) {
        match self {
            Self::Scalar(form) => map3(registers, rows, mask, |a, b, c| form.apply(a, b, c)),
            Self::Packed(form) => map3(registers, rows, mask, |a, b, c| form.apply(a, b, c)),
        }
    }
}
