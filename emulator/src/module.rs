//! Modules: PTX texts, parsed and checked.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::code::KernelCode;
use crate::error::PtxError;
use crate::lower::{self, Environment, compile};
use crate::parser;
use crate::source::SourcePlace;
use crate::syntax::{Function, InitialValue, Location, ModuleSyntax, Statement, Variable};
use crate::types::Space;

/// A PTX module, parsed; every register, label and symbol is resolved.
#[derive(Debug)]
pub struct Module {
    pub(crate) source: String,
    pub(crate) syntax: ModuleSyntax,
    /// What every [`Program`](crate::Program) of the module asks for, found by the first.
    line_starts: OnceLock<Vec<usize>>,
    reads_workspace: OnceLock<bool>,
    of_functions: OnceLock<Vec<Variable>>,
    /// The entries that came out of the check as they are executed, by their names.
    checked: HashMap<String, Arc<KernelCode>>,
}

impl Module {
    /// Parses a PTX text and checks it. An instruction that is not supported is no error here:
    /// [`Program::kernel`](crate::Program::kernel) refuses the kernels that contain it.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(source: &str) -> Result<Self, PtxError> {
        let syntax = parser::parse(source).map_err(|error| with_text(error, source))?;
        let mut module = Self {
            source: source.to_owned(),
            syntax,
            line_starts: OnceLock::new(),
            reads_workspace: OnceLock::new(),
            of_functions: OnceLock::new(),
            checked: HashMap::new(),
        };
        module.checked = module.check().map_err(|error| with_text(error, source))?;
        Ok(module)
    }

    /// Returns the entries that need not be compiled again.
    fn check(&self) -> Result<HashMap<String, Arc<KernelCode>>, PtxError> {
        let addresses = self.check_names()?;
        let environment = Environment {
            module: &self.syntax,
            addresses: &addresses,
            of_functions: &HashMap::new(),
        };
        // Every function is compiled by itself, to see whether it can be.
        let mut checked = HashMap::new();
        for function in self.definitions() {
            match compile(&environment, function, true) {
                Ok(code) if code.is_final && function.is_entry => {
                    checked.insert(function.name.clone(), Arc::new(code));
                }
                Err(error) if !error.unsupported => return Err(error),
                _ => {}
            }
        }
        Ok(checked)
    }

    /// Checks the names at module scope. Returns those of the variables, each with 0 in place of its later address.
    fn check_names(&self) -> Result<HashMap<String, u64>, PtxError> {
        let ModuleSyntax {
            variables,
            functions,
            ..
        } = &self.syntax;
        let mut seen = HashSet::new();
        for function in self.definitions() {
            if !seen.insert(&function.name) {
                return lower::error(
                    function.line,
                    format!("the function `{}` is defined twice", function.name),
                );
            }
        }
        let mut addresses = HashMap::new();
        for variable in variables.iter().filter(|variable| !variable.external) {
            if addresses.insert(variable.name.clone(), 0).is_some() {
                return lower::error(
                    variable.line,
                    format!("the variable `{}` is defined twice", variable.name),
                );
            }
        }
        let declared: HashSet<&str> = variables
            .iter()
            .map(|variable| variable.name.as_str())
            .chain(functions.iter().map(|function| function.name.as_str()))
            .chain(self.syntax.aliases.iter().map(|(name, _)| name.as_str()))
            .collect();
        for initial in variables.iter().flat_map(|variable| &variable.initial) {
            if let InitialValue::Symbol { name, .. } = &initial.value
                && !declared.contains(name.as_str())
            {
                return lower::error(initial.line, format!("the name `{name}` is not declared"));
            }
        }
        Ok(addresses)
    }

    /// The compute capability of `.target`: 80 for `sm_80`.
    pub fn target_sm(&self) -> u32 {
        self.syntax.target_sm
    }

    /// Names of the `.entry` functions, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.definitions()
            .filter(|function| function.is_entry)
            .map(|function| function.name.as_str())
    }

    /// The text of an entry or function from its directive to its closing brace, or `None` where there is none of this name.
    pub fn function_source(&self, name: &str) -> Option<&str> {
        let function = self.definitions().find(|function| function.name == name)?;
        let start = line_start(&self.source, function.line)?;
        let end = line_start(&self.source, function.last_line + 1).unwrap_or(self.source.len());
        Some(self.source[start..end].trim_end())
    }

    /// The lines of an entry or function with their numbers in the module, counted from 1, or `None` where there is none of this name.
    /// Lines that only say where others come from in the source are left out.
    pub fn function_lines(&self, name: &str) -> Option<Vec<(u32, &str)>> {
        let function = self.definitions().find(|function| function.name == name)?;
        let lines = (1..).zip(self.source.lines());
        let own = function.line..=function.last_line;
        let lines = lines.filter(|(number, line)| own.contains(number) && !is_for_debuggers(line));
        Some(lines.collect())
    }

    /// The parameters of an entry, in order, or `None` where there is none of this name.
    pub fn parameters(&self, entry: &str) -> Option<Vec<Parameter>> {
        let function = self
            .definitions()
            .find(|function| function.is_entry && function.name == entry)?;
        Some(parameters(function))
    }

    /// The instructions of an entry or function in the order of the text, or `None` where there is none of this name: the line of
    /// each, counted from 1, and what it is without its operands (`ld.global.v4.u32`, `@!%p1 bra.uni`).
    pub fn instructions(&self, name: &str) -> Option<Vec<(u32, String)>> {
        let function = self.definitions().find(|function| function.name == name)?;
        let mut instructions = Vec::new();
        collect_instructions(function.body.as_deref()?, &mut instructions);
        Some(instructions)
    }

    /// A line of the text, counted from 1.
    pub(crate) fn line(&self, line: u32) -> &str {
        let starts = self.line_starts.get_or_init(|| {
            let after = self.source.match_indices('\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(after).collect()
        });
        let start = |line: u32| starts.get(line as usize).copied();
        let length = self.source.len();
        let first = line.checked_sub(1).and_then(start).unwrap_or(length);
        &self.source[first..start(line).unwrap_or(length)]
    }

    /// Whether it reads where the memory for the barrier of the grid is.
    pub(crate) fn reads_workspace(&self) -> bool {
        *self
            .reads_workspace
            .get_or_init(|| self.source.contains("%envreg"))
    }

    /// The variables in global or constant memory that functions declare.
    pub(crate) fn variables_of_functions(&self) -> &[Variable] {
        self.of_functions
            .get_or_init(|| variables_of_functions(&self.syntax))
    }

    pub(crate) fn source_place(&self, location: Location) -> SourcePlace {
        let file = self
            .syntax
            .files
            .iter()
            .find(|(number, _)| *number == location.file);
        let name = file.map(|(_, name)| name.trim_start_matches("./"));
        SourcePlace {
            file: name.unwrap_or_default().to_owned(),
            line: location.line,
        }
    }

    /// What the check has compiled an entry to, where that is what is executed.
    pub(crate) fn checked(&self, entry: &str) -> Option<Arc<KernelCode>> {
        self.checked.get(entry).cloned()
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Function> {
        self.syntax
            .functions
            .iter()
            .filter(|function| function.body.is_some())
    }
}

/// Whether a line is nothing but the place of others in the source.
fn is_for_debuggers(line: &str) -> bool {
    let line = line.trim();
    let label = |name| line.starts_with(name) && line.ends_with(':');
    line.is_empty() || line.starts_with(".loc") || label("$L__tmp") || label("$L__func_")
}

pub(crate) fn parameters(function: &Function) -> Vec<Parameter> {
    function
        .parameters
        .iter()
        .map(|parameter| Parameter {
            name: parameter.name.clone(),
            bytes: parameter.bytes,
            align: parameter.align,
        })
        .collect()
}

fn variables_of_functions(module: &ModuleSyntax) -> Vec<Variable> {
    fn collect(statements: &[Statement], variables: &mut Vec<Variable>) {
        for statement in statements {
            match statement {
                Statement::Variable(variable)
                    if !variable.external
                        && matches!(variable.space, Space::Global | Space::Const) =>
                {
                    variables.push(variable.clone());
                }
                Statement::Scope(inner) => collect(inner, variables),
                _ => {}
            }
        }
    }
    let mut variables = Vec::new();
    for body in module
        .functions
        .iter()
        .filter_map(|function| function.body.as_deref())
    {
        collect(body, &mut variables);
    }
    variables
}

fn collect_instructions(statements: &[Statement], instructions: &mut Vec<(u32, String)>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => {
                instructions.push((instruction.line, instruction.without_operands()));
            }
            Statement::Scope(inner) => collect_instructions(inner, instructions),
            _ => {}
        }
    }
}

/// Where a line (counted from 1) begins.
fn line_start(source: &str, line: u32) -> Option<usize> {
    match line {
        0 | 1 => Some(0),
        _ => source
            .match_indices('\n')
            .nth(line as usize - 2)
            .map(|(at, _)| at + 1),
    }
}

fn line_text(source: &str, line: usize) -> &str {
    source
        .lines()
        .nth(line.saturating_sub(1))
        .unwrap_or_default()
        .trim()
}

pub(crate) fn with_text(mut error: PtxError, source: &str) -> PtxError {
    let text: String = line_text(source, error.line).chars().take(160).collect();
    error.text = text;
    error
}

/// A kernel parameter: `.param .u64 name` or `.param .align 8 .b8 name[16]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the PTX.
    pub name: String,
    /// Its size.
    pub bytes: usize,
    /// Its alignment in bytes.
    pub align: usize,
}
