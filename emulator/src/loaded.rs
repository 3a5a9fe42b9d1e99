//! Modules in a memory: variables with their addresses, entries compiled to kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::error::{LaunchError, PtxError};
use crate::lower::{self, Environment, compile};
use crate::memory::Memory;
use crate::module::{Module, Parameter, SourcePlace, parameters, with_text};
use crate::observer::BranchFate;
use crate::program::{self, Op};
use crate::syntax::{Function, Initial, InitialValue, ModuleSyntax, Variable};
use crate::types::Space;

/// A module loaded into a memory, where its variables have their addresses.
#[derive(Debug)]
pub struct Program {
    module: Module,
    addresses: HashMap<String, u64>,
    /// Address of the memory that a cooperative launch hands its blocks for the barrier of the grid, where the module asks for one.
    workspace: Option<u64>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// Length of that memory: its own length, and the barrier (`grid_workspace` in CUDA's `cooperative_groups/details/driver_abi.h`).
const WORKSPACE_BYTES: usize = 8;

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
        // Where its address is: `cooperative_groups/details/driver_abi.h`.
        let workspace = if module.source.contains("%envreg") {
            let address = memory.allocate(WORKSPACE_BYTES)?;
            memory.mark_written(address, WORKSPACE_BYTES);
            Some(address)
        } else {
            None
        };
        Ok(Self {
            module,
            addresses,
            workspace,
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
        let mut kernel = self.compile(function)?;
        // Entries that it may launch, and those that these may launch, and so on.
        let mut taken = kernel.program.taken_entries.clone();
        while let Some(name) = taken.pop() {
            let Some(address) = lower::function_address(&self.module.syntax, &name) else {
                continue;
            };
            if kernel.launchable.contains_key(&address) {
                continue;
            }
            if let Some(function) = self.module.syntax.entry(&name) {
                let launched = self.compile(function)?;
                taken.extend(launched.program.taken_entries.iter().cloned());
                kernel.launchable.insert(address, Arc::new(launched));
            }
        }
        let kernel = Arc::new(kernel);
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Compiles one entry, without those that it may launch.
    fn compile(&self, function: &Function) -> Result<Kernel, LaunchError> {
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
        Ok(Kernel {
            sources,
            name: function.name.clone(),
            parameters: parameters(function),
            required_block: function.required_block,
            max_threads: function.max_threads,
            cluster: function.cluster,
            workspace: self.workspace,
            program,
            texts,
            launchable: Launchable::new(),
        })
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

/// Entries by their addresses, which kernels launch them by.
pub(crate) type Launchable = HashMap<u64, Arc<Kernel>>;

/// An entry, compiled, and with it the entries that it may launch.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) max_threads: Option<u64>,
    /// Blocks of a cluster along x, y and z.
    pub(crate) cluster: [u32; 3],
    /// Address of a cooperative launch's workspace, where the module asks for it.
    pub(crate) workspace: Option<u64>,
    pub(crate) program: program::Program,
    texts: HashMap<u32, String>,
    sources: HashMap<u32, SourcePlace>,
    /// Those that it or one of them may launch, itself included where it does; they have none of their own.
    pub(crate) launchable: Launchable,
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
        self.with_line(line).sources.get(&line)
    }

    /// Of this entry and those that it may launch, the one that a line of PTX belongs to.
    fn with_line(&self, line: u32) -> &Self {
        if self.texts.contains_key(&line) {
            return self;
        }
        let mut launched = self.launchable.values().map(|kernel| &**kernel);
        launched
            .find(|kernel| kernel.texts.contains_key(&line))
            .unwrap_or(self)
    }

    /// For a line of PTX that was compiled from another file than the rest of the entry, something inlined: the line of the entry's
    /// own file that is nearest before it, which is the call or little before the call.
    pub fn calling_place(&self, line: u32) -> Option<&SourcePlace> {
        self.with_line(line).own_calling_place(line)
    }

    fn own_calling_place(&self, line: u32) -> Option<&SourcePlace> {
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

    /// The conditional branches of the entry and of the functions that it calls: the PTX line of each, and what a GPU's machine
    /// code is expected to have in its place.
    pub fn branches(&self) -> impl Iterator<Item = (u32, BranchFate)> {
        let functions = self.program.functions.iter();
        functions.flat_map(|code| {
            let instructions = code.lines.iter().zip(&code.instructions);
            instructions.filter_map(|(&line, instruction)| match instruction.op {
                Op::Branch { fate, .. } if instruction.guard != 0 => Some((line, fate)),
                _ => None,
            })
        })
    }

    /// The PTX text of a line of this kernel, or of one that it may launch.
    pub fn line_text(&self, line: u32) -> Option<&str> {
        self.with_line(line).texts.get(&line).map(String::as_str)
    }
}
