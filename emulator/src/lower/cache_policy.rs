//! Cache policies, which advise the hardware what to keep in its L2 cache (PTX ISA §9.7.9.18 `createpolicy`).

use super::lowering::Lowering;
use super::refusal::{Result, error, spelling, unknown, wrong_operands};
use crate::address::Where;
use crate::registers::Rows;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

/// Every policy. They are opaque, and nothing here depends on them.
const POLICY: u64 = 0;

impl<'m> Lowering<'_, 'm> {
    /// The operands but for the cache policy that `.L2::cache_hint` has after them: advice to the hardware, which must only be
    /// of the right kind.
    pub(super) fn without_policy<'i>(&mut self, instruction: &'i Instr) -> Result<&'i [Operand]> {
        let operands = &instruction.operands[..];
        let has_policy = instruction
            .modifiers
            .iter()
            .any(|modifier| modifier == "L2::cache_hint");
        match operands {
            [rest @ .., policy] if has_policy => {
                self.source(instruction.line, policy, Scalar::B64)?;
                Ok(rest)
            }
            operands => Ok(operands),
        }
    }

    /// `createpolicy.fractional… d{, fraction}`, `createpolicy.range… d, [a], primary-size, total-size` and
    /// `createpolicy.cvt.L2.b64 d, access-property`.
    pub(super) fn create_policy(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let operands = &instruction.operands[..];
        let d = match (&modifiers[..], operands) {
            (["fractional", priorities @ .., "b64"], [d, fraction @ ..]) if fraction.len() <= 1 => {
                if !are_priorities(priorities) {
                    return unknown(instruction);
                }
                if let [fraction] = fraction {
                    self.fraction(instruction, fraction)?;
                }
                d
            }
            (["range", rest @ .., "b64"], [d, address, primary, total]) => {
                let (place, priorities) = match rest {
                    ["global", priorities @ ..] => (Where::Global, priorities),
                    priorities => (Where::Generic, priorities),
                };
                if !are_priorities(priorities) {
                    return unknown(instruction);
                }
                self.address(line, address, place)?;
                for size in [primary, total] {
                    self.source(line, size, Scalar::U32)?;
                }
                if let (Operand::Integer(primary), Operand::Integer(total)) = (primary, total)
                    && primary > total
                {
                    return error(
                        line,
                        format!(
                            "`{}` has a primary size of {primary} bytes, which is more than its total size of {total}",
                            spelling(instruction)
                        ),
                    );
                }
                d
            }
            (["cvt", "L2", "b64"], [d, property]) => {
                self.source(line, property, Scalar::B64)?;
                d
            }
            (["fractional" | "range", .., "b64"] | ["cvt", "L2", "b64"], _) => {
                return wrong_operands(instruction);
            }
            _ => return unknown(instruction),
        };
        let rows = Rows {
            d: self.destination(line, d, Scalar::B64)?,
            a: self.constant(Scalar::B64, POLICY),
            ..Rows::default()
        };
        self.emit_wide(instruction, "mov", rows)
    }

    /// Of the accesses, how many get the primary priority: more than none, and at most all.
    fn fraction(&mut self, instruction: &Instr, fraction: &Operand) -> Result<()> {
        let value = match *fraction {
            Operand::F32(bits) => Some(f64::from(f32::from_bits(bits))),
            Operand::F64(bits) => Some(f64::from_bits(bits)),
            _ => None,
        };
        if let Some(value) = value
            && !(value > 0.0 && value <= 1.0)
        {
            return error(
                instruction.line,
                format!(
                    "`{}` has the fraction {value}, where more than 0 and at most 1 are allowed",
                    spelling(instruction)
                ),
            );
        }
        self.source(instruction.line, fraction, Scalar::F32)?;
        Ok(())
    }
}

/// The primary priority, and the secondary one where there is one.
fn are_priorities(words: &[&str]) -> bool {
    let (primary, secondary) = match words {
        [primary] => (primary, None),
        [primary, secondary] => (primary, Some(secondary)),
        _ => return false,
    };
    matches!(
        *primary,
        "L2::evict_last" | "L2::evict_normal" | "L2::evict_first" | "L2::evict_unchanged"
    ) && secondary
        .is_none_or(|secondary| matches!(*secondary, "L2::evict_first" | "L2::evict_unchanged"))
}
