//! The compilation of one function: its statements in order, and the rows, variables and instructions that come of them.

use std::collections::HashMap;

use super::kernel::{KernelLowering, function_address};
use super::layout::{LOCAL_ALIGN, Layout, MAX_LOCAL_BYTES, MAX_PARAMETER_BYTES};
use super::refusal::{Result, error, unsupported};
use super::scope::{Scope, Symbol};
use crate::branch_fate::branch_fates;
use crate::cfg::{Successors, reconvergence};
use crate::code::*;
use crate::syntax::{Function, Instruction as Instr, Location, Statement, Variable};
use crate::types::{Scalar, Space};

/// The compilation of one function.
pub(super) struct Lowering<'k, 'm> {
    pub kernel: &'k mut KernelLowering<'m>,
    pub function: &'m Function,
    pub scopes: Vec<Scope<'m>>,
    pub local: Layout,
    pub parameter: Layout,
    pub values: HashMap<(bool, Value), u32>,
    pub true_predicate: Option<u32>,
    pub successors: Vec<Successors>,
    pub location: Option<Location>,
    pub code: FunctionCode,
}

impl<'k, 'm> Lowering<'k, 'm> {
    pub(super) fn new(kernel: &'k mut KernelLowering<'m>, function: &'m Function) -> Self {
        Self {
            kernel,
            function,
            scopes: vec![Scope::default()],
            local: Layout::default(),
            parameter: Layout::default(),
            values: HashMap::new(),
            true_predicate: None,
            successors: Vec::new(),
            location: None,
            code: FunctionCode {
                name: function.name.clone(),
                instructions: Vec::new(),
                lines: Vec::new(),
                locations: Vec::new(),
                narrow_rows: 0,
                wide_rows: 0,
                predicate_rows: 0,
                narrow_values: Vec::new(),
                wide_values: Vec::new(),
                true_predicates: Vec::new(),
                local_bytes: 0,
                local_align: LOCAL_ALIGN,
                copies: Vec::new(),
                parameter_bytes: 0,
                parameters: Vec::new(),
                returns: Vec::new(),
            },
        }
    }

    pub(super) fn run(mut self) -> Result<FunctionCode> {
        let function = self.function;
        if let Some((line, message)) = &function.unsupported {
            return unsupported(*line, message.clone());
        }
        let mut own = Layout::default();
        for (parameters, is_return) in [(&function.returns, true), (&function.parameters, false)] {
            for parameter in parameters {
                let layout = if function.is_entry {
                    &mut own
                } else {
                    &mut self.parameter
                };
                let offset = layout.place(parameter.bytes as u64, parameter.align as u64);
                let slice = Slice {
                    offset: offset as u32,
                    bytes: parameter.bytes as u32,
                };
                let symbol = if function.is_entry {
                    Symbol::EntryParameter(slice)
                } else if is_return {
                    Symbol::FrameParameter(slice)
                } else {
                    Symbol::OwnParameter(self.code.parameters.len() as u32)
                };
                self.declare(function.line, &parameter.name, symbol)?;
                if is_return {
                    &mut self.code.returns
                } else {
                    &mut self.code.parameters
                }
                .push(slice);
            }
        }
        if own.bytes.max(self.parameter.bytes) > MAX_PARAMETER_BYTES {
            return error(
                function.line,
                format!(
                    "the parameters of `{}` have more than {MAX_PARAMETER_BYTES} bytes",
                    function.name
                ),
            );
        }
        self.statements(function.body.as_deref().unwrap_or_default())?;
        // A body may end without `ret`.
        self.emit(
            function.last_line,
            0,
            Op::Return,
            Successors {
                leaves: true,
                ..Successors::default()
            },
        );
        let scope = self.scopes.pop().unwrap_or_default();
        self.resolve_labels(scope, None)?;
        let points = reconvergence(&self.successors);
        for (instruction, &point) in self.code.instructions.iter_mut().zip(&points) {
            match &mut instruction.op {
                Op::Branch { reconverge, .. } => *reconverge = point,
                Op::BranchTable(table) => table.reconverge = point,
                _ => {}
            }
        }
        let fates = branch_fates(&self.code.instructions);
        for (instruction, branch_fate) in self.code.instructions.iter_mut().zip(fates) {
            if let Op::Branch { fate, .. } = &mut instruction.op {
                *fate = branch_fate;
            }
        }
        for ((wide, value), row) in self.values {
            if wide {
                &mut self.code.wide_values
            } else {
                &mut self.code.narrow_values
            }
            .push((row, value));
        }
        self.code.local_bytes = self.local.bytes.next_multiple_of(LOCAL_ALIGN.into()) as u32;
        self.code.parameter_bytes = self.parameter.bytes.next_multiple_of(8) as u32;
        Ok(self.code)
    }

    pub(super) fn statements(&mut self, statements: &'m [Statement]) -> Result<()> {
        // Lists of labels and prototypes may come after the instructions that name them.
        for statement in statements {
            match statement {
                Statement::BranchTargets { name, labels } => {
                    self.scope().tables.insert(name, labels);
                }
                Statement::CallPrototype { name } => self.scope().prototypes.push(name),
                _ => {}
            }
        }
        for statement in statements {
            match statement {
                Statement::Registers { line, ty, names } => self.registers(*line, *ty, names)?,
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Label { line, name } => self.label(*line, name)?,
                Statement::BranchTargets { .. } | Statement::CallPrototype { .. } => {}
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Scope(inner) => {
                    self.scopes.push(Scope::default());
                    let parameters = self.parameter.next;
                    self.statements(inner)?;
                    // The parameters of a call live as long as the braces around it.
                    self.parameter.next = parameters;
                    let scope = self.scopes.pop().unwrap_or_default();
                    let outer = self.scopes.len() - 1;
                    self.resolve_labels(scope, Some(outer))?;
                }
                Statement::Unsupported { line, message } => {
                    return unsupported(*line, message.clone());
                }
                Statement::Location(location) => self.location = Some(*location),
            }
        }
        Ok(())
    }

    /// Appends an instruction; returns its number.
    pub(super) fn emit(
        &mut self,
        line: u32,
        guard: u32,
        op: Op,
        mut successors: Successors,
    ) -> u32 {
        // A guarded instruction may be passed over.
        successors.next |= guard != 0;
        self.code.instructions.push(Instruction { guard, op });
        self.code.lines.push(line);
        self.code.locations.push(self.location);
        self.successors.push(successors);
        self.code.instructions.len() as u32 - 1
    }

    /// Appends an instruction after which the next one follows.
    pub(super) fn emit_plain(&mut self, instruction: &Instr, op: Op) -> Result<()> {
        let guard = self.guard(instruction)?;
        self.emit(
            instruction.line,
            guard,
            op,
            Successors {
                next: true,
                ..Successors::default()
            },
        );
        Ok(())
    }

    pub(super) fn guard(&mut self, instruction: &Instr) -> Result<u32> {
        match &instruction.guard {
            None => Ok(0),
            Some(guard) => {
                let row = self.predicate_register(instruction.line, &guard.predicate)?;
                Ok((row + 1) << 1 | u32::from(guard.negated))
            }
        }
    }
}

impl<'m> Lowering<'_, 'm> {
    /// The address of a function, for calls through pointers.
    pub(super) fn function_address(&mut self, line: u32, name: &str) -> Result<u64> {
        self.function_number(line, name)?;
        match function_address(self.kernel.environment.module, name) {
            Some(address) => Ok(address),
            None => error(line, format!("there is no function `{name}`")),
        }
    }

    /// The number of a function of the module, which is thereby compiled into the kernel.
    pub(super) fn function_number(&mut self, line: u32, name: &str) -> Result<u32> {
        let module = self.kernel.environment.module;
        if let Some(function) = module.function_with_body(name) {
            return Ok(self.kernel.number_of(function));
        }
        if module.entry(name).is_some() {
            return error(
                line,
                format!("`{name}` is an entry, which cannot be called"),
            );
        }
        if function_address(module, name).is_some() {
            return unsupported(
                line,
                format!(
                    "`{name}` is defined outside this module, and the emulator does not provide it"
                ),
            );
        }
        error(line, format!("there is no function `{name}`"))
    }

    /// The offset of a shared variable at module scope: placed when first used.
    pub(super) fn module_shared(&mut self, variable: &'m Variable) -> Value {
        if variable.unsized_array {
            return Value::DynamicShared(0);
        }
        let shared = &mut self.kernel.shared;
        let offset = *self
            .kernel
            .shared_offsets
            .entry(&variable.name)
            .or_insert_with(|| shared.place(variable.bytes, variable.align));
        Value::Constant(offset)
    }

    /// The row that holds a value from the start.
    pub(super) fn value_row(&mut self, wide: bool, value: Value) -> u32 {
        let rows = if wide {
            &mut self.code.wide_rows
        } else {
            &mut self.code.narrow_rows
        };
        *self.values.entry((wide, value)).or_insert_with(|| {
            *rows += 1;
            *rows as u32 - 1
        })
    }

    pub(super) fn constant(&mut self, ty: Scalar, bits: u64) -> u32 {
        let wide = ty.bytes() == 8;
        let bits = if wide { bits } else { bits & 0xffff_ffff };
        self.value_row(wide, Value::Constant(bits))
    }

    pub(super) fn new_row(&mut self, wide: bool) -> u32 {
        let rows = if wide {
            &mut self.code.wide_rows
        } else {
            &mut self.code.narrow_rows
        };
        *rows += 1;
        *rows as u32 - 1
    }

    pub(super) fn new_predicate(&mut self) -> u32 {
        self.code.predicate_rows += 1;
        self.code.predicate_rows as u32 - 1
    }

    pub(super) fn variable(&mut self, variable: &'m Variable) -> Result<()> {
        let symbol = match variable.space {
            Space::Shared if variable.unsized_array => {
                Symbol::Address(Space::Shared, Value::DynamicShared(0))
            }
            Space::Shared => {
                let offset = self.kernel.shared.place(variable.bytes, variable.align);
                Symbol::Address(Space::Shared, Value::Constant(offset))
            }
            Space::Local => {
                let offset = self.local.place(variable.bytes, variable.align);
                self.code.local_align = self.code.local_align.max(variable.align as u32);
                Symbol::Address(Space::Local, Value::Local(offset as u32))
            }
            Space::Param => {
                let offset = self.parameter.place(variable.bytes, variable.align);
                Symbol::FrameParameter(Slice {
                    offset: offset as u32,
                    bytes: variable.bytes as u32,
                })
            }
            Space::Global | Space::Const if !variable.unsized_array && !variable.external => {
                // One for all threads, as if it were declared outside of the function.
                let key = (variable.line, variable.name.clone());
                self.kernel.is_placed = true;
                let addresses = self.kernel.environment.of_functions;
                let address = addresses.get(&key).copied().unwrap_or_default();
                Symbol::Address(variable.space, Value::Constant(address))
            }
            _ => {
                return unsupported(
                    variable.line,
                    format!(
                        "variables in {} memory inside a function are not supported",
                        variable.space.name()
                    ),
                );
            }
        };
        if self.local.bytes > MAX_LOCAL_BYTES || self.parameter.bytes > MAX_LOCAL_BYTES {
            return error(
                variable.line,
                format!(
                    "the variable `{}` does not fit: a thread has {MAX_LOCAL_BYTES} bytes",
                    variable.name
                ),
            );
        }
        self.declare(variable.line, &variable.name, symbol)
    }
}
