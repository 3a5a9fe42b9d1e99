//! Branches, calls and ends (PTX ISA §9.7.12).

use super::lowering::Lowering;
use super::refusal::{Result, error, unknown};
use super::scope::{Jump, Symbol};
use crate::cfg::Successors;
use crate::code::*;
use crate::observer::BranchFate;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

impl<'m> Lowering<'_, 'm> {
    pub(super) fn control(&mut self, instruction: &'m Instr) -> Result<()> {
        let line = instruction.line;
        let guard = self.guard(instruction)?;
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        match (instruction.opcode.as_str(), &modifiers[..]) {
            ("bra", [] | ["uni"]) => {
                let [Operand::Name(label)] = &instruction.operands[..] else {
                    return error(line, "`bra` takes one label");
                };
                let op = Op::Branch {
                    target: NOWHERE,
                    reconverge: NOWHERE,
                    fate: BranchFate::Kept,
                };
                let at = self.emit(line, guard, op, Successors::default());
                self.jump(Jump {
                    instruction: at,
                    slot: 0,
                    label,
                    line,
                });
            }
            ("brx", ["idx"] | ["idx", "uni"]) => {
                let [index, Operand::Name(table)] = &instruction.operands[..] else {
                    return error(
                        line,
                        "`brx.idx` takes an index and a list of branch targets",
                    );
                };
                let index = self.source(line, index, Scalar::U32)?;
                let labels = self.table(line, table)?;
                let targets = vec![NOWHERE; labels.len()].into();
                let op = Op::BranchTable(Box::new(BranchTable {
                    index,
                    targets,
                    reconverge: NOWHERE,
                }));
                let at = self.emit(line, guard, op, Successors::default());
                for (slot, label) in labels.iter().enumerate() {
                    self.jump(Jump {
                        instruction: at,
                        slot,
                        label,
                        line,
                    });
                }
            }
            ("call", [] | ["uni"]) => self.call(instruction, guard)?,
            ("ret", [] | ["uni"]) if instruction.operands.is_empty() => {
                self.emit(
                    line,
                    guard,
                    Op::Return,
                    Successors {
                        leaves: true,
                        ..Successors::default()
                    },
                );
            }
            ("exit", []) if instruction.operands.is_empty() => {
                self.emit(
                    line,
                    guard,
                    Op::Exit,
                    Successors {
                        leaves: true,
                        ..Successors::default()
                    },
                );
            }
            ("trap", []) if instruction.operands.is_empty() => {
                self.emit(line, guard, Op::Trap, Successors::default());
            }
            _ => return unknown(instruction),
        }
        Ok(())
    }

    /// `call (results), function, (arguments);` with either list left out, or through a pointer, followed by a prototype.
    fn call(&mut self, instruction: &'m Instr, guard: u32) -> Result<()> {
        let line = instruction.line;
        let mut operands = &instruction.operands[..];
        let mut lists = [Vec::new(), Vec::new()];
        if let [Operand::List(results), rest @ ..] = operands {
            lists[0] = self.slices(line, results)?;
            operands = rest;
        }
        let [Operand::Name(function), rest @ ..] = operands else {
            return error(line, "`call` needs a function");
        };
        operands = rest;
        if let [Operand::List(arguments), rest @ ..] = operands {
            lists[1] = self.slices(line, arguments)?;
            operands = rest;
        }
        let module = self.kernel.environment.module;
        if let Some((builtin, results, arguments)) = Builtin::of(function)
            && operands.is_empty()
            && module.function_with_body(function).is_none()
        {
            let bytes =
                |slices: &[Slice]| slices.iter().map(|slice| slice.bytes).collect::<Vec<_>>();
            if bytes(&lists[0]) != results || bytes(&lists[1]) != arguments {
                return error(line, format!("this call does not fit `{function}`"));
            }
            if builtin == Builtin::ParameterBuffer {
                self.kernel.take_entries_in_tables();
            }
            self.kernel.waits_for_grids |= builtin == Builtin::WaitForGrids;
            let [results, arguments] = lists;
            let call = BuiltinCall {
                function: builtin,
                arguments,
                results,
            };
            return self.emit_plain(instruction, Op::Builtin(Box::new(call)));
        }
        let callee = match operands {
            [] => {
                let number = self.function_number(line, function)?;
                self.check_call(line, number, &lists)?;
                Callee::Function(number)
            }
            [Operand::Name(prototype)]
                if self
                    .scopes
                    .iter()
                    .any(|scope| scope.prototypes.contains(&prototype.as_str())) =>
            {
                self.kernel.calls_pointers = true;
                Callee::Pointer(self.source(line, &Operand::Name(function.clone()), Scalar::U64)?)
            }
            _ => {
                return error(line, "the prototype of this call is not defined");
            }
        };
        let [results, arguments] = lists;
        let op = Op::Call(Box::new(Call {
            callee,
            arguments,
            results,
        }));
        self.emit(
            line,
            guard,
            op,
            Successors {
                next: true,
                ..Successors::default()
            },
        );
        Ok(())
    }

    fn slices(&mut self, line: u32, operands: &[Operand]) -> Result<Vec<Slice>> {
        operands
            .iter()
            .map(|operand| match operand {
                Operand::Name(name) => match self.lookup(line, name)? {
                    Symbol::FrameParameter(slice) => Ok(slice),
                    Symbol::OwnParameter(number) => Ok(self.code.parameters[number as usize]),
                    _ => error(
                        line,
                        format!("`{name}` is not a `.param` variable of this function"),
                    ),
                },
                _ => error(
                    line,
                    "arguments and results of a call are `.param` variables",
                ),
            })
            .collect()
    }

    fn check_call(&self, line: u32, number: u32, lists: &[Vec<Slice>; 2]) -> Result<()> {
        let callee = self.kernel.functions[number as usize];
        for (given, wanted, what) in [
            (&lists[0], &callee.returns, "results"),
            (&lists[1], &callee.parameters, "arguments"),
        ] {
            let matches = given.len() == wanted.len()
                && given
                    .iter()
                    .zip(wanted)
                    .all(|(given, wanted)| given.bytes as usize == wanted.bytes);
            if !matches {
                return error(
                    line,
                    format!(
                        "the {what} of this call do not fit the declaration of `{}`",
                        callee.name
                    ),
                );
            }
        }
        Ok(())
    }
}
