//! The syntax tree to a compiled program: names become row numbers, addresses and instruction numbers, and every form is checked.

mod arithmetic;
mod async_copy;
mod async_store;
mod atomic;
mod cache_policy;
mod control;
mod data;
mod layout;
mod mbarrier;
mod scope;
mod sync;
mod video;

use std::collections::HashMap;

use crate::branch_fate::branch_fates;
use crate::cfg::{Successors, reconvergence};
use crate::error::PtxError;
use crate::program::*;
use crate::syntax::{
    Function, InitialValue, Instruction as Instr, Location, ModuleSyntax, Statement, Variable,
};
use crate::types::{Scalar, Space};
use crate::window;
pub(crate) use layout::MAX_LOCAL_BYTES;
use layout::{LOCAL_ALIGN, Layout, MAX_PARAMETER_BYTES, MAX_STATIC_SHARED_BYTES};
use scope::{Scope, Symbol};

type Result<T> = std::result::Result<T, PtxError>;

/// What a module's functions are compiled against.
pub(crate) struct Environment<'m> {
    pub module: &'m ModuleSyntax,
    /// Addresses of the variables at module scope, by name.
    pub addresses: &'m HashMap<String, u64>,
}

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

/// State common to all functions of a kernel.
struct Kernel<'m> {
    environment: &'m Environment<'m>,
    /// Functions in the order of their numbers; compiled up to some point.
    functions: Vec<&'m Function>,
    shared: Layout,
    /// Offsets of shared variables at module scope.
    shared_offsets: HashMap<&'m str, u64>,
    /// Whether a function is called through a pointer.
    calls_pointers: bool,
    /// The entries whose addresses are taken.
    taken_entries: Vec<&'m str>,
    waits_for_grids: bool,
    reserves_shared: bool,
}

/// Compiles an entry (or, to check it, any function) and all functions that it calls.
///
/// With `check_only` the functions called are left alone.
pub(crate) fn compile(
    environment: &Environment<'_>,
    entry: &Function,
    check_only: bool,
) -> Result<Program> {
    let mut kernel = Kernel {
        environment,
        functions: vec![entry],
        shared: Layout::default(),
        shared_offsets: HashMap::new(),
        calls_pointers: false,
        taken_entries: Vec::new(),
        waits_for_grids: false,
        reserves_shared: false,
    };
    let mut functions = Vec::new();
    while let Some(&function) = kernel.functions.get(functions.len()) {
        functions.push(Lowering::new(&mut kernel, function).run()?);
        if check_only {
            break;
        }
        if kernel.calls_pointers {
            kernel.add_functions_in_tables();
        }
    }
    let shared = kernel.shared.bytes;
    if shared > MAX_STATIC_SHARED_BYTES {
        return error(
            entry.line,
            format!(
                "the shared variables of `{}` have {shared} bytes, where at most {MAX_STATIC_SHARED_BYTES} are allowed",
                entry.name
            ),
        );
    }
    let by_address = kernel
        .functions
        .iter()
        .enumerate()
        .filter(|(_, function)| !function.is_entry)
        .filter_map(|(number, function)| {
            Some((
                function_address(environment.module, &function.name)?,
                number as u32,
            ))
        })
        .collect();
    Ok(Program {
        copies_parameters: functions.iter().any(|code| !code.copies.is_empty()),
        functions,
        by_address,
        taken_entries: kernel
            .taken_entries
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
        waits_for_grids: kernel.waits_for_grids,
        reserves_shared: kernel.reserves_shared,
        static_shared_bytes: shared as u32,
        dynamic_shared_offset: shared.next_multiple_of(16) as u32,
    })
}

/// The address of a function, for calls through pointers, or of an entry, for launches: the same in every kernel of the module.
pub(crate) fn function_address(module: &ModuleSyntax, name: &str) -> Option<u64> {
    let name = module.resolve_alias(name);
    let index = module
        .functions
        .iter()
        .position(|function| function.name == name)?;
    Some(window::FUNCTIONS + 16 * index as u64)
}

impl<'m> Kernel<'m> {
    /// The number of a function that has a body, which is thereby compiled into the kernel.
    fn number_of(&mut self, function: &'m Function) -> u32 {
        let known = self
            .functions
            .iter()
            .position(|other| std::ptr::eq(*other, function));
        known.unwrap_or_else(|| {
            self.functions.push(function);
            self.functions.len() - 1
        }) as u32
    }

    /// Compiles the functions whose addresses stand in the module's variables: pointers to them may be loaded from there.
    fn add_functions_in_tables(&mut self) {
        let module = self.environment.module;
        for initial in module
            .variables
            .iter()
            .flat_map(|variable| &variable.initial)
        {
            if let InitialValue::Symbol { name, .. } = &initial.value
                && let Some(function) = module.function_with_body(name)
            {
                self.number_of(function);
            }
        }
    }

    /// Notes that the address of an entry is taken.
    fn take_entry(&mut self, name: &'m str) {
        if !self.taken_entries.contains(&name) {
            self.taken_entries.push(name);
        }
    }

    /// Takes the addresses of the entries that stand in the module's variables: what launches grids may load them from there.
    fn take_entries_in_tables(&mut self) {
        let module = self.environment.module;
        for initial in module
            .variables
            .iter()
            .flat_map(|variable| &variable.initial)
        {
            if let InitialValue::Symbol { name, .. } = &initial.value
                && let Some(entry) = module.entry(name)
            {
                self.take_entry(&entry.name);
            }
        }
    }
}

/// The compilation of one function.
struct Lowering<'k, 'm> {
    kernel: &'k mut Kernel<'m>,
    function: &'m Function,
    scopes: Vec<Scope<'m>>,
    local: Layout,
    parameter: Layout,
    values: HashMap<(bool, Value), u32>,
    true_predicate: Option<u32>,
    successors: Vec<Successors>,
    location: Option<Location>,
    code: Code,
}

impl<'k, 'm> Lowering<'k, 'm> {
    fn new(kernel: &'k mut Kernel<'m>, function: &'m Function) -> Self {
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
            code: Code {
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

    fn run(mut self) -> Result<Code> {
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
        let meetings = reconvergence(&self.successors);
        for (instruction, &meeting) in self.code.instructions.iter_mut().zip(&meetings) {
            match &mut instruction.op {
                Op::Branch { reconverge, .. } => *reconverge = meeting,
                Op::BranchTable(table) => table.reconverge = meeting,
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

    fn statements(&mut self, statements: &'m [Statement]) -> Result<()> {
        // Lists of labels and prototypes may stand behind the instructions that name them.
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
    fn emit(&mut self, line: u32, guard: u32, op: Op, mut successors: Successors) -> u32 {
        // A guarded instruction may be passed over.
        successors.next |= guard != 0;
        self.code.instructions.push(Instruction { guard, op });
        self.code.lines.push(line);
        self.code.locations.push(self.location);
        self.successors.push(successors);
        self.code.instructions.len() as u32 - 1
    }

    /// Appends an instruction after which the next one follows.
    fn emit_plain(&mut self, instruction: &Instr, op: Op) -> Result<()> {
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

    fn guard(&mut self, instruction: &Instr) -> Result<u32> {
        match &instruction.guard {
            None => Ok(0),
            Some(guard) => {
                let row = self.predicate_register(instruction.line, &guard.predicate)?;
                Ok((row + 1) << 1 | u32::from(guard.negated))
            }
        }
    }

    fn instruction(&mut self, instruction: &'m Instr) -> Result<()> {
        match instruction.opcode.as_str() {
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" => self.control(instruction),
            "st" | "red"
                if instruction
                    .modifiers
                    .first()
                    .is_some_and(|word| word == "async") =>
            {
                self.async_store(instruction)
            }
            "ld" | "ldu" | "st" | "atom" | "red" | "cvta" | "isspacep" => self.data(instruction),
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect"
            | "membar" | "fence" => self.synchronisation(instruction),
            "nanosleep" => self.emit_plain(instruction, Op::Pause),
            "prefetch" | "prefetchu" | "pmevent" | "brkpt" | "griddepcontrol" | "discard"
            | "applypriority" => self.emit_plain(instruction, Op::Nothing),
            "mbarrier" => self.memory_barrier(instruction),
            "cp" => self.async_copy(instruction),
            "createpolicy" => self.create_policy(instruction),
            "mapa" | "getctarank" => self.cluster_address(instruction),
            "mov" if self.special_move(instruction)? => Ok(()),
            opcode if video::is_video(opcode) => self.video(instruction),
            _ => self.arithmetic(instruction),
        }
    }
}

/// The whole opcode.
fn spelling(instruction: &Instr) -> String {
    let mut text = instruction.opcode.clone();
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(modifier);
    }
    text
}

/// An instruction or form that is not known.
fn unknown<T>(instruction: &Instr) -> Result<T> {
    unsupported(
        instruction.line,
        format!(
            "the instruction `{}` is not supported by the emulator",
            spelling(instruction)
        ),
    )
}

fn wrong_operands<T>(instruction: &Instr) -> Result<T> {
    error(
        instruction.line,
        format!("the operands of `{}` do not fit", spelling(instruction)),
    )
}

impl<'m> Lowering<'_, 'm> {
    /// The address of a function, for calls through pointers.
    fn function_address(&mut self, line: u32, name: &str) -> Result<u64> {
        self.function_number(line, name)?;
        match function_address(self.kernel.environment.module, name) {
            Some(address) => Ok(address),
            None => error(line, format!("there is no function `{name}`")),
        }
    }

    /// The number of a function of the module, which is thereby compiled into the kernel.
    fn function_number(&mut self, line: u32, name: &str) -> Result<u32> {
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
    fn module_shared(&mut self, variable: &'m Variable) -> Value {
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
    fn value_row(&mut self, wide: bool, value: Value) -> u32 {
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

    fn constant(&mut self, ty: Scalar, bits: u64) -> u32 {
        let wide = ty.bytes() == 8;
        let bits = if wide { bits } else { bits & 0xffff_ffff };
        self.value_row(wide, Value::Constant(bits))
    }

    fn new_row(&mut self, wide: bool) -> u32 {
        let rows = if wide {
            &mut self.code.wide_rows
        } else {
            &mut self.code.narrow_rows
        };
        *rows += 1;
        *rows as u32 - 1
    }

    fn new_predicate(&mut self) -> u32 {
        self.code.predicate_rows += 1;
        self.code.predicate_rows as u32 - 1
    }

    fn variable(&mut self, variable: &'m Variable) -> Result<()> {
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
