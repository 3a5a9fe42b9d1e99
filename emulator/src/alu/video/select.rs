//! From the spelling of a video instruction and of its operands to what it does.

use super::{Operation, Packed, Part, Primary, Scalar, Video};
use crate::alu::form::Form;
use crate::types::Scalar as Type;

impl Video {
    /// Finds the form, or `None` where there is no such.
    pub fn select(form: &Form<'_>) -> Option<Self> {
        let (name, elements) = match form.opcode.strip_suffix(['2', '4']) {
            Some(name) if form.opcode.ends_with('2') => (name, 2),
            Some(name) => (name, 4),
            None => (form.opcode, 1),
        };
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
        let accumulates = take(&["add"]).is_some();
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
        if saturates && (elements == 1 || accumulates) {
            return None;
        }
        if elements == 1 {
            return Some(Self::Scalar(Scalar {
                primary,
                accumulates,
                parts: [Part::WHOLE; 3],
            }));
        }
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
                accumulates: false,
                parts,
                ..
            }) if operand == 0 && selector != "h1" => {
                parts[0] = Part::parse(selector)?;
            }
            Self::Scalar(scalar) if (1..3).contains(&operand) => {
                scalar.parts[operand] = Part::parse(selector)?;
            }
            Self::Packed(packed) => packed.select_elements(operand, selector)?,
            _ => return None,
        }
        Some(())
    }
}

impl Part {
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

/// Whether each of the types, `.u32` or `.s32`, has a sign.
fn signs<const N: usize>(types: &[Type]) -> Option<[bool; N]> {
    let types: [Type; N] = types.try_into().ok()?;
    let fits = types.iter().all(|ty| matches!(ty, Type::U32 | Type::S32));
    fits.then(|| types.map(Type::is_signed))
}
