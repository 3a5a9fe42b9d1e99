//! Modules, loaded programs, kernels: from text to something that can be launched.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::{LaunchError, PtxError};
use crate::lower::{self, Environment, compile};
use crate::memory::{Memory, Region};
use crate::observer::Observer;
use crate::parser;
use crate::program;
use crate::simt;
use crate::syntax::{Function, Initial, InitialValue, Location, ModuleSyntax, Statement, Variable};
use crate::types::Space;

/// The most threads of a block, on every GPU so far.
const MAX_BLOCK_THREADS: u64 = 1024;
/// The most blocks along x, and along y and z.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// The most threads of a block along each axis.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// The most shared memory of a block: that of sm_90.
const MAX_SHARED_BYTES: u64 = 227 * 1024;

/// A PTX module, parsed; every register, label and symbol is resolved.
#[derive(Debug)]
pub struct Module {
    source: String,
    syntax: ModuleSyntax,
}

impl Module {
    /// Parses a PTX text and checks it. An instruction that is not supported is no error yet, but one of [`Program::kernel`] for
    /// the kernels that contain it.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(source: &str) -> Result<Self, PtxError> {
        let syntax = parser::parse(source).map_err(|error| with_text(error, source))?;
        let module = Self {
            source: source.to_owned(),
            syntax,
        };
        module.check().map_err(|error| with_text(error, source))?;
        Ok(module)
    }

    fn check(&self) -> Result<(), PtxError> {
        let addresses = self.check_names()?;
        let environment = Environment {
            module: &self.syntax,
            addresses: &addresses,
        };
        // Every function is compiled by itself, only to see whether it can be.
        for function in self.definitions() {
            match compile(&environment, function, true) {
                Err(error) if !error.unsupported => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks the names at module scope. Returns those of the variables, with an address that stands for the one they will have.
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

    fn source_place(&self, location: Location) -> SourcePlace {
        let file = self
            .syntax
            .files
            .iter()
            .find(|(number, _)| *number == location.file);
        SourcePlace {
            file: file.map(|(_, name)| name.clone()).unwrap_or_default(),
            line: location.line,
        }
    }

    fn definitions(&self) -> impl Iterator<Item = &Function> {
        self.syntax
            .functions
            .iter()
            .filter(|function| function.body.is_some())
    }
}

fn parameters(function: &Function) -> Vec<Parameter> {
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

fn with_text(mut error: PtxError, source: &str) -> PtxError {
    let text: String = line_text(source, error.line).chars().take(160).collect();
    error.text = text;
    error
}

/// A module loaded into a memory, where its variables have their addresses.
#[derive(Debug)]
pub struct Program {
    module: Module,
    addresses: HashMap<String, u64>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

impl Program {
    /// Gives the module's variables their place and first values in `memory`.
    ///
    /// # Errors
    /// [`LaunchError::Memory`] when they do not fit, [`LaunchError::Ptx`] when an initialiser names an unknown symbol.
    pub fn load(module: Module, memory: &mut Memory) -> Result<Self, LaunchError> {
        let mut addresses = HashMap::new();
        let stored: Vec<&Variable> = module
            .syntax
            .variables
            .iter()
            .filter(|variable| {
                !variable.external && matches!(variable.space, Space::Global | Space::Const)
            })
            .collect();
        for variable in &stored {
            let constant = variable.space == Space::Const;
            let address = memory.allocate_variable(variable.bytes, variable.align, constant)?;
            addresses.insert(variable.name.clone(), address);
        }
        for variable in stored {
            let base = addresses[&variable.name];
            // PTX ISA §5.4.4: without an initialiser they begin as zeros.
            memory.mark_written(base, variable.bytes as usize);
            for initial in &variable.initial {
                let bits = initial_bits(&module.syntax, &addresses, initial)
                    .map_err(|error| with_text(error, &module.source))?;
                memory.write(base + initial.offset, &bits.to_le_bytes()[..initial.bytes])?;
            }
        }
        Ok(Self {
            module,
            addresses,
            kernels: Mutex::new(HashMap::new()),
        })
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The address of a variable at module scope.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).copied()
    }

    /// Compiles an entry, or returns it compiled before.
    ///
    /// # Errors
    /// [`LaunchError::Invalid`] when there is no such entry, [`LaunchError::Ptx`] when it contains what the emulator does not support.
    pub fn kernel(&self, name: &str) -> Result<Arc<Kernel>, LaunchError> {
        let mut kernels = self
            .kernels
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let Some(function) = self
            .module
            .definitions()
            .find(|function| function.is_entry && function.name == name)
        else {
            let known: Vec<&str> = self.module.entries().take(20).collect();
            return Err(LaunchError::Invalid(format!(
                "the module has no entry `{name}`; it has {}",
                if known.is_empty() {
                    "none at all".to_owned()
                } else {
                    known.join(", ")
                }
            )));
        };
        let environment = Environment {
            module: &self.module.syntax,
            addresses: &self.addresses,
        };
        let program = compile(&environment, function, false)
            .map_err(|error| with_text(error, &self.module.source))?;
        let mut texts = HashMap::new();
        let lines: Vec<&str> = self.module.source.lines().collect();
        for code in &program.functions {
            for &line in &code.lines {
                texts.entry(line).or_insert_with(|| {
                    lines
                        .get(line as usize - 1)
                        .copied()
                        .unwrap_or_default()
                        .trim()
                        .to_owned()
                });
            }
        }
        let mut sources = HashMap::new();
        for code in &program.functions {
            for (&line, location) in code.lines.iter().zip(&code.locations) {
                if let Some(location) = location {
                    sources.insert(line, self.module.source_place(*location));
                }
            }
        }
        let kernel = Arc::new(Kernel {
            sources,
            name: name.to_owned(),
            parameters: parameters(function),
            required_block: function.required_block,
            max_threads: function.max_threads,
            program,
            texts,
        });
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }
}

/// The value of one piece of an initialiser.
fn initial_bits(
    module: &ModuleSyntax,
    addresses: &HashMap<String, u64>,
    initial: &Initial,
) -> Result<u64, PtxError> {
    let (name, offset, mask) = match &initial.value {
        InitialValue::Bits(bits) => return Ok(*bits),
        InitialValue::Symbol { name, offset, mask } => (name, *offset, *mask),
    };
    let address = addresses
        .get(name)
        .copied()
        .or_else(|| lower::function_address(module, name));
    match address {
        Some(address) => {
            let shift = mask.trailing_zeros().min(63);
            Ok((address.wrapping_add_signed(offset) & mask) >> shift)
        }
        None => lower::unsupported(
            initial.line,
            format!(
                "the initialiser needs the address of `{name}`, which this module does not define"
            ),
        ),
    }
}

/// An entry, compiled.
#[derive(Debug)]
pub struct Kernel {
    name: String,
    parameters: Vec<Parameter>,
    required_block: Option<[u32; 3]>,
    max_threads: Option<u64>,
    program: program::Program,
    texts: HashMap<u32, String>,
    sources: HashMap<u32, SourcePlace>,
}

/// A line of the source that PTX was compiled from, as its `.loc` directives say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file's name as the compiler wrote it; empty where `.file` does not name it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
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

impl Kernel {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Shared memory that every block needs whatever the launch, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        self.program.static_shared_bytes
    }

    /// The source line that a line of PTX was compiled from, where the PTX says.
    pub fn source_place(&self, line: u32) -> Option<&SourcePlace> {
        self.sources.get(&line)
    }

    /// For a line of PTX that was compiled from another file than the rest of the entry, something inlined: the line of the entry's
    /// own file that is nearest before it, which is the call or little before the call.
    pub fn calling_place(&self, line: u32) -> Option<&SourcePlace> {
        let entry = self.program.functions.first()?;
        let own_file = |place: &&SourcePlace| {
            let first = entry.lines.iter().find_map(|line| self.sources.get(line));
            first.is_some_and(|first| first.file == place.file)
        };
        let place = self.sources.get(&line)?;
        if own_file(&place) && place.line != 0 {
            return None;
        }
        let before = entry.lines.iter().take_while(|&&other| other <= line);
        before
            .filter_map(|other| self.sources.get(other))
            .filter(|place| own_file(place) && place.line != 0)
            .last()
    }

    /// The PTX text of a line of this kernel.
    pub fn line_text(&self, line: u32) -> Option<&str> {
        self.texts.get(&line).map(String::as_str)
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Size of `extern .shared` arrays, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Host threads that run blocks; 0 takes all cores.
    pub threads: usize,
    /// The launch traps after so many warp instructions; 0 sets no limit.
    pub max_steps: u64,
}

/// One block of one thread, on all cores, without a limit.
impl Default for Launch {
    fn default() -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            threads: 0,
            max_steps: 0,
        }
    }
}

/// Runs a kernel to its end. `arguments` holds one little-endian byte string per parameter, of exactly its size.
///
/// # Errors
/// [`LaunchError::Invalid`] for a shape or arguments that no device would take, before anything has run;
/// [`LaunchError::Trap`] when the kernel does what it must not.
pub fn launch<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    observer: &mut O,
) -> Result<(), LaunchError> {
    start(kernel, memory, launch, arguments, None, observer)
}

/// As [`launch`], by a random schedule: blocks, warps and the lanes of a warp, converged or not, advance in an order that the seed
/// decides, as a GPU may let them. A seed gives the same schedule every time; it all runs on one host thread.
///
/// # Errors
/// As [`launch`].
pub fn launch_scheduled<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    seed: u64,
    observer: &mut O,
) -> Result<(), LaunchError> {
    start(kernel, memory, launch, arguments, Some(seed), observer)
}

fn start<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    schedule: Option<u64>,
    observer: &mut O,
) -> Result<(), LaunchError> {
    check_shape(kernel, launch)?;
    let words = parameter_words(kernel, arguments)?;
    let shape = simt::Shape {
        kernel: kernel.name.clone(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        started: Instant::now(),
    };
    let threads = match launch.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let bytes = 8 * words.len() as u64;
    let run = simt::Run {
        program: &kernel.program,
        shape: &shape,
        memory,
        parameters: Region::new(0, bytes, true, &words),
        threads,
        max_steps: launch.max_steps,
        schedule,
    };
    simt::run(&run, observer).map_err(|mut trap| {
        trap.text = kernel
            .line_text(trap.line as u32)
            .unwrap_or_default()
            .to_owned();
        LaunchError::Trap(trap)
    })
}

fn check_shape(kernel: &Kernel, launch: &Launch) -> Result<(), LaunchError> {
    let invalid = |message: String| Err(LaunchError::Invalid(message));
    let name = &kernel.name;
    for (axis, label) in ["x", "y", "z"].iter().enumerate() {
        let (grid, block) = (launch.grid[axis], launch.block[axis]);
        if grid == 0 || grid > MAX_GRID[axis] {
            return invalid(format!(
                "kernel `{name}`: {grid} blocks along {label}, where 1 to {} are allowed",
                MAX_GRID[axis]
            ));
        }
        if block == 0 || block > MAX_BLOCK[axis] {
            return invalid(format!(
                "kernel `{name}`: {block} threads along {label}, where 1 to {} are allowed",
                MAX_BLOCK[axis]
            ));
        }
    }
    let threads = launch
        .block
        .iter()
        .map(|&extent| u64::from(extent))
        .product::<u64>();
    let most = kernel
        .max_threads
        .unwrap_or(MAX_BLOCK_THREADS)
        .min(MAX_BLOCK_THREADS);
    if threads > most {
        return invalid(format!(
            "kernel `{name}`: {threads} threads in a block, where at most {most} are allowed"
        ));
    }
    if let Some(required) = kernel
        .required_block
        .filter(|required| *required != launch.block)
    {
        return invalid(format!(
            "kernel `{name}`: a block of {:?} threads, where `.reqntid` asks for {required:?}",
            launch.block
        ));
    }
    let shared =
        u64::from(kernel.program.dynamic_shared_offset) + u64::from(launch.dynamic_shared_bytes);
    if shared > MAX_SHARED_BYTES {
        return invalid(format!(
            "kernel `{name}`: {shared} bytes of shared memory, where at most {MAX_SHARED_BYTES} are allowed"
        ));
    }
    Ok(())
}

/// The parameter memory of the launch: every argument at its parameter's offset.
fn parameter_words(
    kernel: &Kernel,
    arguments: &[Vec<u8>],
) -> Result<Vec<std::sync::atomic::AtomicU64>, LaunchError> {
    let name = &kernel.name;
    if arguments.len() != kernel.parameters.len() {
        return Err(LaunchError::Invalid(format!(
            "kernel `{name}` takes {} arguments, not {}",
            kernel.parameters.len(),
            arguments.len()
        )));
    }
    let mut bytes = Vec::new();
    for (index, (argument, slice)) in arguments
        .iter()
        .zip(&kernel.program.functions[0].parameters)
        .enumerate()
    {
        if argument.len() != slice.bytes as usize {
            return Err(LaunchError::Invalid(format!(
                "argument {index} of kernel `{name}` has {} bytes, but its parameter `{}` has {}",
                argument.len(),
                kernel.parameters[index].name,
                slice.bytes
            )));
        }
        bytes.resize(slice.offset as usize, 0);
        bytes.extend_from_slice(argument);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let words = bytes.chunks_exact(8).map(|word| {
        let word = word.try_into().map(u64::from_le_bytes).unwrap_or_default();
        std::sync::atomic::AtomicU64::new(word)
    });
    Ok(words.collect())
}
