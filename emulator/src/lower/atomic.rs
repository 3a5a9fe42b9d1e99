//! `atom` and `red` (PTX ISA §9.7.13).

use super::data::{is_hint, scope};
use super::lowering::Lowering;
use super::refusal::{Result, error, spelling, unknown};
use crate::address::Where;
use crate::code::*;
use crate::observer::{AccessOrder, Scope};
use crate::row::Row;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

impl Lowering<'_, '_> {
    pub(super) fn atomic(&mut self, instruction: &Instr, has_result: bool) -> Result<()> {
        use AtomicOperation::*;
        let line = instruction.line;
        let mut place = Where::Generic;
        let mut operation = None;
        let mut order = AccessOrder::Relaxed(Scope::Gpu);
        let mut of_scope = Scope::Gpu;
        let mut vector = 1;
        let mut ty = None;
        for modifier in &instruction.modifiers {
            match modifier.as_str() {
                "relaxed" | "noftz" => {}
                "acquire" | "release" | "acq_rel" => {
                    order = AccessOrder::AcquireRelease(Scope::Gpu);
                }
                "v2" => vector = 2,
                "v4" => vector = 4,
                "v8" => vector = 8,
                word if is_hint(word) => {}
                word => {
                    let found = AtomicOperation::parse(word);
                    if found.is_some() {
                        operation = found;
                    } else if let Some(found) = scope(word) {
                        of_scope = found;
                    } else if let Some(found) = self.place(word) {
                        place = found;
                    } else if let Some(found) = Scalar::parse(word) {
                        ty = Some(found);
                    } else {
                        return unknown(instruction);
                    }
                }
            }
        }
        let (Some(operation), Some(ty)) = (operation, ty) else {
            return unknown(instruction);
        };
        if !atomic_form_exists(operation, ty, vector) {
            return unknown(instruction);
        }
        let mut operands = self.without_policy(instruction)?;
        let mut d = Vec::new();
        if has_result {
            let [first, rest @ ..] = operands else {
                return error(line, "`atom` needs a destination");
            };
            d = match first {
                Operand::Name(name) if name == "_" => Vec::new(),
                first => self.atomic_rows(instruction, first, ty, vector, true)?,
            };
            operands = rest;
        }
        let (address, b, c) = match operands {
            [address, b] if operation != CompareAndSwap => (address, b, None),
            [address, b, c] if operation == CompareAndSwap => (address, b, Some(c)),
            _ => {
                return error(
                    line,
                    format!(
                        "`{}` has the wrong number of operands",
                        spelling(instruction)
                    ),
                );
            }
        };
        let address = self.address(line, address, place)?;
        let b = self.atomic_rows(instruction, b, ty, vector, false)?;
        let c = match c {
            Some(c) => self.atomic_rows(instruction, c, ty, vector, false)?,
            None => Vec::new(),
        };
        self.emit_plain(
            instruction,
            Op::Atomic(Box::new(Atomic {
                address,
                operation,
                order: order.with_scope(of_scope),
                ty,
                d: d.into_iter().map(Some).collect(),
                b: b.into(),
                c: c.into(),
            })),
        )
    }

    /// The rows of an operand of an atomic operation: one for each element, or two for 128 bits.
    pub(super) fn atomic_rows(
        &mut self,
        instruction: &Instr,
        operand: &Operand,
        ty: Scalar,
        vector: usize,
        is_destination: bool,
    ) -> Result<Vec<Row>> {
        let line = instruction.line;
        if ty == Scalar::B128 {
            return self.row_pair(line, operand).map(Vec::from);
        }
        let parts = operand.elements();
        if parts.len() != vector {
            return error(
                line,
                format!(
                    "`{}` takes {vector} registers, not {}",
                    spelling(instruction),
                    parts.len()
                ),
            );
        }
        let mut rows = Vec::with_capacity(vector);
        for part in parts {
            let row = match part {
                Operand::Name(name) if is_destination => {
                    self.any_register(line, name, ty.bytes())?
                }
                _ if is_destination => return error(line, "the destination must be a register"),
                part => self.any_source(line, part, ty)?,
            };
            if matches!(row, Row::Wide(_)) != (ty.bytes() == 8) {
                return error(
                    line,
                    format!(
                        "`{}` needs {}-bit registers",
                        spelling(instruction),
                        ty.bytes() * 8
                    ),
                );
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

fn atomic_form_exists(operation: AtomicOperation, ty: Scalar, vector: usize) -> bool {
    use AtomicOperation::*;
    use Scalar::*;
    if vector > 1 {
        let halves = matches!(ty, F16 | F16x2 | Bf16 | Bf16x2);
        let exists = match operation {
            Add => ty == F32 || halves,
            Min | Max => halves,
            _ => false,
        };
        return exists && vector * ty.bytes() <= 16;
    }
    match operation {
        Add => matches!(
            ty,
            U32 | S32 | U64 | S64 | F32 | F64 | F16 | F16x2 | Bf16 | Bf16x2
        ),
        Min | Max => matches!(ty, U32 | S32 | U64 | S64),
        Inc | Dec => ty == U32,
        And | Or | Xor => matches!(ty, B32 | B64),
        Exchange => matches!(ty, B32 | B64 | B128),
        CompareAndSwap => matches!(ty, B16 | B32 | B64 | B128),
    }
}
