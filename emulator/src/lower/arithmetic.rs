//! Everything in `alu/`: an opcode's form, and the operands that it takes.

use super::lowering::Lowering;
use super::refusal::{Result, error, spelling, unknown, unsupported};
use super::scope::Fit;
use crate::alu::{self, Arg, COMBINED_SHIFT, Form, PREDICATE_BITS, PREDICATE_SHIFT};
use crate::code::Op;
use crate::registers::Rows;
use crate::syntax::{Instruction as Instr, Operand};

impl Lowering<'_, '_> {
    pub(super) fn arithmetic(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let mut form = Form::new(&instruction.opcode, &instruction.modifiers);
        form.wide_source = self.is_wide_register(instruction.operands.get(1));
        let Some(alu) = alu::select(&form) else {
            return unknown(instruction);
        };
        if alu.args.len() != instruction.operands.len() {
            return error(
                line,
                format!(
                    "`{}` takes {} operands, not {}",
                    spelling(instruction),
                    alu.args.len(),
                    instruction.operands.len()
                ),
            );
        }
        let fit = match instruction.opcode.as_str() {
            "cvt" => Fit::AtLeast,
            _ => Fit::Exact,
        };
        let mut rows = Rows::default();
        let mut extra = alu.flags;
        let mut sources = 0;
        for (arg, operand) in alu.args.iter().zip(&instruction.operands) {
            let source = match *arg {
                Arg::D(ty) => {
                    rows.d = self.fitting_destination(line, operand, ty, fit)?;
                    continue;
                }
                Arg::PD => {
                    let first = match operand {
                        Operand::Pair(first, second) => {
                            if let Some(q) = self.predicate_destination(line, second)? {
                                if q >= 0xffff {
                                    return unsupported(
                                        line,
                                        "more than 65534 predicates in one function",
                                    );
                                }
                                extra |= q + 1;
                            }
                            first
                        }
                        other => other,
                    };
                    rows.d = match self.predicate_destination(line, first)? {
                        Some(row) => row,
                        None => self.new_predicate(),
                    };
                    continue;
                }
                Arg::DP(ty) => {
                    let Operand::Pair(first, second) = operand else {
                        return error(
                            line,
                            format!(
                                "`{}` needs a register and a predicate here",
                                spelling(instruction)
                            ),
                        );
                    };
                    rows.d = self.fitting_destination(line, first, ty, fit)?;
                    let row = match self.predicate_destination(line, second)? {
                        Some(row) => row,
                        None => self.new_predicate(),
                    };
                    extra |= small_predicate(line, row)? << PREDICATE_SHIFT;
                    continue;
                }
                Arg::PI => {
                    let code = self.predicate_source(line, operand)?;
                    extra |= small_predicate(line, code)? << COMBINED_SHIFT;
                    continue;
                }
                Arg::I => {
                    let Operand::Integer(value) = operand else {
                        return error(
                            line,
                            format!("`{}` needs a number here", spelling(instruction)),
                        );
                    };
                    let Ok(value) = u8::try_from(*value) else {
                        return error(
                            line,
                            format!("`{}` needs a number up to 255 here", spelling(instruction)),
                        );
                    };
                    extra |= u32::from(value);
                    continue;
                }
                Arg::S(ty) => self.fitting_source(line, operand, ty, fit)?,
                Arg::PS => self.predicate_source(line, operand)?,
            };
            match sources {
                0 => rows.a = source,
                1 => rows.b = source,
                2 => rows.c = source,
                _ => extra = source,
            }
            sources += 1;
        }
        self.emit_plain(
            instruction,
            Op::Alu {
                execute: alu.execute,
                rows,
                extra,
            },
        )
    }
}

/// The number of a predicate that shares `extra` with others.
fn small_predicate(line: u32, number: u32) -> Result<u32> {
    if number >> PREDICATE_BITS != 0 {
        return unsupported(line, "more than 2047 predicates beside this operation");
    }
    Ok(number)
}
