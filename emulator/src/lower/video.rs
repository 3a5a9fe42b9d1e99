//! Video instructions (PTX ISA §9.7.18), whose operands may select parts of their registers: `%r1.b0`.

use super::lowering::Lowering;
use super::refusal::{Result, error, spelling, unknown};
use super::scope::Symbol;
use crate::alu::{Form, Video};
use crate::code::Op;
use crate::registers::Rows;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

/// Opcodes, but for the number of elements at their end.
const FAMILIES: [&str; 9] = [
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vshl", "vshr", "vset",
];

/// Whether the opcode is one of these instructions.
pub(super) fn is_video(opcode: &str) -> bool {
    FAMILIES.contains(&opcode.strip_suffix(['2', '4']).unwrap_or(opcode))
}

impl Lowering<'_, '_> {
    fn is_register(&mut self, operand: &Operand) -> bool {
        matches!(operand, Operand::Name(name)
            if matches!(self.local_symbol(name), Some(Symbol::Register { .. })))
    }

    pub(super) fn video(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let form = Form::new(&instruction.opcode, &instruction.modifiers);
        let Some(mut video) = Video::select(&form) else {
            return unknown(instruction);
        };
        let mut rows = [0; 4];
        let given = &instruction.operands;
        for (number, operand) in given.iter().enumerate().take(rows.len()) {
            let mut operand = operand.clone();
            if let Operand::Name(name) = &operand
                && let Some((register, selector)) = selection(name)
            {
                if video.select_part(number, selector).is_none() {
                    return error(
                        line,
                        format!(
                            "`.{selector}` selects nothing in operand {} of `{}`",
                            number + 1,
                            spelling(instruction)
                        ),
                    );
                }
                operand = Operand::Name(register.to_owned());
            }
            rows[number] = match (number, &operand) {
                (0, _) => self.destination(line, &operand, Scalar::U32)?,
                (_, source) if !video.takes_numbers() && !self.is_register(source) => {
                    return error(
                        line,
                        format!("the sources of `{}` are registers", spelling(instruction)),
                    );
                }
                _ => self.source(line, &operand, Scalar::U32)?,
            };
        }
        let fits = given.len() == 4 || (given.len() == 3 && !video.needs_third_source());
        if !fits {
            return error(
                line,
                format!(
                    "`{}` takes 4 operands, not {}",
                    spelling(instruction),
                    given.len()
                ),
            );
        }
        let [d, a, b, mut c] = rows;
        if given.len() == 3 {
            // It plays no part.
            c = a;
        }
        let rows = Rows { d, a, b, c };
        self.emit_plain(
            instruction,
            Op::Video {
                rows,
                video: Box::new(video),
            },
        )
    }
}

/// A register and the selector that follows it.
fn selection(name: &str) -> Option<(&str, &str)> {
    let (register, selector) = name.rsplit_once('.')?;
    let digits = selector.strip_prefix(['b', 'h'])?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some((register, selector))
}
