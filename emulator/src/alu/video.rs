//! Video instructions (PTX ISA §9.7.18): arithmetic on a byte, a half or the whole of each source, and on two halves or four bytes
//! at once, with a second operation or a merge with the third source behind it.

use super::Form;
use crate::registers::{Registers, Rows, map3};
use crate::types::Scalar as Type;

/// A selected form; its operands' selectors are set by [`Video::select_part`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Video {
    Scalar(Scalar),
    Packed(Packed),
    MultiplyAdd(MultiplyAdd),
}

/// `vadd` and its like, on one part of each source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    primary: Primary,
    second: Option<Second>,
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

/// `vmad`
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultiplyAdd {
    parts: [Part; 2],
    signed: [bool; 2],
    /// Whether a, b and c are negated.
    negated: [bool; 3],
    plus_one: bool,
    shift: u32,
    saturates: bool,
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

#[derive(Clone, Copy, Debug)]
enum Second {
    Add,
    Minimum,
    Maximum,
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

    /// `.b0` to `.b3`, `.h0`, `.h1`
    fn parse(selector: &str) -> Option<Self> {
        let (kind, number) = selector.split_at_checked(1)?;
        let number = number.parse::<u32>().ok().filter(|_| number.len() == 1)?;
        let width = match (kind, number) {
            ("b", 0..4) => 8,
            ("h", 0..2) => 16,
            _ => return None,
        };
        Some(Self {
            shift: number * width,
            width,
        })
    }

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

/// The nearest value of so many bits.
fn clamp(value: i128, width: u32, signed: bool) -> i64 {
    let (least, greatest) = if signed {
        (-1 << (width - 1), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    };
    value.clamp(least, greatest) as i64
}

impl Primary {
    /// The result for a destination of so many bits: clamped to that, or more exact than it can hold.
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
            Operation::ShiftLeft { wraps } => {
                // Up to 65 bits.
                let value = i128::from(a) << amount(wraps);
                return match self.saturates {
                    true => clamp(value, width, self.signed[0]),
                    false => value as i64,
                };
            }
            Operation::ShiftRight { wraps } => a >> amount(wraps),
            Operation::Compare(holds) => i64::from(holds(&a, &b)),
        };
        match self.saturates {
            true => clamp(value.into(), width, self.signed[0]),
            false => value,
        }
    }
}

impl Scalar {
    fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let [to, of_a, of_b] = self.parts;
        let [signed, a_signed, b_signed] = self.primary.signed;
        let (a, b) = (of_a.of(a, a_signed), of_b.of(b, b_signed));
        let value = self.primary.apply(a, b, to.width);
        let Some(second) = self.second else {
            return to.merge(value, c);
        };
        let value = extended(value as u32, 32, signed);
        let c = extended(c, 32, signed);
        let value = match second {
            Second::Add => value + c,
            Second::Minimum => value.min(c),
            Second::Maximum => value.max(c),
        };
        value as u32
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

impl MultiplyAdd {
    fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let [a_negated, b_negated, c_negated] = self.negated;
        let [a_signed, b_signed] = self.signed;
        let product_negated = a_negated != b_negated;
        let signed = a_signed || b_signed || product_negated || c_negated;
        let a = i128::from(self.parts[0].of(a, a_signed));
        let b = i128::from(self.parts[1].of(b, b_signed));
        let (mut product, mut c, mut one) = (a * b, c, self.plus_one);
        if product_negated {
            (product, one) = (!product, true);
        } else if c_negated {
            (c, one) = (!c, true);
        }
        let sum = product + i128::from(extended(c, 32, signed)) + i128::from(one);
        let value = sum >> self.shift;
        match self.saturates {
            true => clamp(value, 32, signed) as u32,
            false => value as u32,
        }
    }
}

impl Video {
    /// Finds the form, or `None` where there is no such.
    pub fn select(form: &Form<'_>) -> Option<Self> {
        let (name, elements) = match form.opcode.strip_suffix(['2', '4']) {
            Some(name) if form.opcode.ends_with('2') => (name, 2),
            Some(name) => (name, 4),
            None => (form.opcode, 1),
        };
        if name == "vmad" && elements == 1 {
            return MultiplyAdd::select(form).map(Self::MultiplyAdd);
        }
        let mut flags = form.flags.clone();
        let mut take = |names: &[&str]| {
            let at = flags.iter().position(|flag| names.contains(flag))?;
            Some(flags.remove(at))
        };
        let operation = match name {
            "vadd" => Operation::Add,
            "vsub" => Operation::Subtract,
            "vabsdiff" => Operation::Difference,
            "vmin" => Operation::Minimum,
            "vmax" => Operation::Maximum,
            "vavrg" if elements > 1 => Operation::Average,
            "vshl" if elements == 1 => Operation::ShiftLeft {
                wraps: take(&["clamp", "wrap"])? == "wrap",
            },
            "vshr" if elements == 1 => Operation::ShiftRight {
                wraps: take(&["clamp", "wrap"])? == "wrap",
            },
            "vset" => Operation::Compare(match take(&["eq", "ne", "lt", "le", "gt", "ge"])? {
                "eq" => i64::eq,
                "ne" => i64::ne,
                "lt" => i64::lt,
                "le" => i64::le,
                "gt" => i64::gt,
                _ => i64::ge,
            }),
            _ => return None,
        };
        let saturates = take(&["sat"]).is_some();
        let second = match take(&["add", "min", "max"]) {
            None => None,
            Some("add") => Some(Second::Add),
            Some("min") => Some(Second::Minimum),
            Some(_) => Some(Second::Maximum),
        };
        if !flags.is_empty() {
            return None;
        }
        let signed = match operation {
            // The result of a comparison has no sign, and fits.
            Operation::Compare(_) if saturates => return None,
            Operation::Compare(_) => {
                let [a, b] = signs(&form.types)?;
                [false, a, b]
            }
            Operation::ShiftLeft { .. } | Operation::ShiftRight { .. } => {
                signs(&form.types).filter(|[_, _, amount]| !amount)?
            }
            _ => signs(&form.types)?,
        };
        let primary = Primary {
            operation,
            signed,
            saturates,
        };
        if elements == 1 {
            return Some(Self::Scalar(Scalar {
                primary,
                second,
                parts: [Part::WHOLE; 3],
            }));
        }
        let accumulates = match second {
            None => false,
            Some(Second::Add) if !saturates => true,
            Some(_) => return None,
        };
        let width = 32 / elements;
        let from = |first: u32| core::array::from_fn(|i| first + i as u32 * width);
        Some(Self::Packed(Packed {
            primary,
            width,
            shifts: [from(0), from(32)],
            mask: [true; 4],
            accumulates,
        }))
    }

    /// Sets the selector of an operand, 0 for the destination and on; `None` where that cannot have it.
    pub fn select_part(&mut self, operand: usize, selector: &str) -> Option<()> {
        match self {
            Self::Scalar(Scalar {
                second: None,
                parts,
                ..
            }) if operand == 0 => {
                parts[0] = Part::parse(selector)?;
            }
            Self::Scalar(scalar) if (1..3).contains(&operand) => {
                scalar.parts[operand] = Part::parse(selector)?;
            }
            Self::MultiplyAdd(form) if (1..3).contains(&operand) => {
                form.parts[operand - 1] = Part::parse(selector)?;
            }
            Self::Packed(packed) => packed.select_elements(operand, selector)?,
            _ => return None,
        }
        Some(())
    }

    /// Negates a source; `None` where it cannot be.
    pub fn negate(&mut self, operand: usize) -> Option<()> {
        let Self::MultiplyAdd(form) = self else {
            return None;
        };
        form.negated[operand.checked_sub(1)?] = true;
        let [a, b, c] = form.negated;
        let conflicts = form.plus_one || (a != b && c);
        (!conflicts).then_some(())
    }

    /// Whether the form has a third source: it must, it must not, or as it likes.
    pub fn has_third_source(&self) -> Option<bool> {
        match self {
            Self::Scalar(scalar) if scalar.second.is_none() && scalar.parts[0].width == 32 => None,
            _ => Some(true),
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
            Self::MultiplyAdd(form) => map3(registers, rows, mask, |a, b, c| form.apply(a, b, c)),
        }
    }
}

impl Packed {
    /// `.h10` and `.b3210` and their like: the element for each place, the highest place first. Of the destination, the places
    /// that are written, each once and in order.
    fn select_elements(&mut self, operand: usize, selector: &str) -> Option<()> {
        let elements = 32 / self.width;
        let digits = selector.strip_prefix(if elements == 2 { 'h' } else { 'b' })?;
        let digits: Vec<u32> = digits
            .chars()
            .map(|c| c.to_digit(10))
            .collect::<Option<_>>()?;
        match operand {
            0 => {
                let descends = digits.windows(2).all(|pair| pair[0] > pair[1]);
                if digits.is_empty() || !descends || digits[0] >= elements {
                    return None;
                }
                self.mask = core::array::from_fn(|place| digits.contains(&(place as u32)));
            }
            1 | 2 => {
                if digits.len() != elements as usize || digits.iter().any(|&i| i >= 2 * elements) {
                    return None;
                }
                for (shift, &element) in
                    self.shifts[operand - 1].iter_mut().zip(digits.iter().rev())
                {
                    *shift = element * self.width;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

impl MultiplyAdd {
    fn select(form: &Form<'_>) -> Option<Self> {
        form.only(3, &["po", "sat", "shr7", "shr15"])?;
        let [_, a, b] = signs(&form.types)?;
        let shift = match (form.has("shr7"), form.has("shr15")) {
            (false, false) => 0,
            (true, false) => 7,
            (false, true) => 15,
            (true, true) => return None,
        };
        Some(Self {
            parts: [Part::WHOLE; 2],
            signed: [a, b],
            negated: [false; 3],
            plus_one: form.has("po"),
            shift,
            saturates: form.has("sat"),
        })
    }
}

/// Whether each of the types, `.u32` or `.s32`, has a sign.
fn signs<const N: usize>(types: &[Type]) -> Option<[bool; N]> {
    let types: [Type; N] = types.try_into().ok()?;
    let fits = types.iter().all(|ty| matches!(ty, Type::U32 | Type::S32));
    fits.then(|| types.map(Type::is_signed))
}
