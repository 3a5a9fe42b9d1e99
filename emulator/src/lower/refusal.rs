//! What is wrong with a text, or not supported, as an error with its line.

use crate::error::PtxError;
use crate::syntax::Instruction;

pub(super) type Result<T> = std::result::Result<T, PtxError>;

/// An error without its line's text, which the module adds.
pub(crate) fn error<T>(line: u32, message: impl Into<String>) -> Result<T> {
    Err(PtxError {
        line: line as usize,
        text: String::new(),
        message: message.into(),
        unsupported: false,
    })
}

/// As [`error`], for what may be right but is not implemented.
pub(crate) fn unsupported<T>(line: u32, message: impl Into<String>) -> Result<T> {
    Err(PtxError {
        line: line as usize,
        text: String::new(),
        message: message.into(),
        unsupported: true,
    })
}

/// The whole opcode.
pub(super) fn spelling(instruction: &Instruction) -> String {
    let mut text = instruction.opcode.clone();
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(modifier);
    }
    text
}

/// An instruction or form that is not known.
pub(super) fn unknown<T>(instruction: &Instruction) -> Result<T> {
    unsupported(
        instruction.line,
        format!(
            "the instruction `{}` is not supported by the emulator",
            spelling(instruction)
        ),
    )
}

pub(super) fn wrong_operands<T>(instruction: &Instruction) -> Result<T> {
    error(
        instruction.line,
        format!("the operands of `{}` do not fit", spelling(instruction)),
    )
}
