//! Modules in a memory: variables have their addresses, and entries are compiled to kernels when they are asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::error::{LaunchError, PtxError};
use crate::kernel::{Kernel, Launchable};
use crate::lower::{self, Environment, compile};
use crate::memory::Memory;
use crate::module::{Module, parameters, with_text};
use crate::syntax::{Function, Initial, InitialValue, ModuleSyntax, Variable};
use crate::types::Space;

/// A module loaded into a memory, where its variables have their addresses.
#[derive(Debug)]
pub struct Program {
    module: Arc<Module>,
    addresses: HashMap<String, u64>,
    of_functions: HashMap<(u32, String), u64>,
    /// Address of the memory for the barrier of the grid in cooperative launches, if the module uses one.
    workspace: Option<u64>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// Length of that memory: its own length, and the barrier (`grid_workspace` in CUDA's `cooperative_groups/details/driver_abi.h`).
const WORKSPACE_BYTES: usize = 8;

impl Program {
    /// Gives the module's variables their place and first values in `memory`. A module that is loaded more than once need be parsed but
    /// once: several programs can share it in an [`Arc`].
    ///
    /// # Errors
    /// [`LaunchError::Memory`] when they do not fit, [`LaunchError::Ptx`] when an initialiser names an unknown symbol.
    pub fn load(module: impl Into<Arc<Module>>, memory: &mut Memory) -> Result<Self, LaunchError> {
        let module = module.into();
        let mut addresses = HashMap::new();
        let mut of_functions = HashMap::new();
        let mut stored: Vec<(&Variable, u64)> = Vec::new();
        let mut place = |variable: &Variable| {
            let constant = variable.space == Space::Const;
            memory.allocate_variable(variable.bytes, variable.align, constant)
        };
        let of_module = module.syntax.variables.iter().filter(|variable| {
            !variable.external && matches!(variable.space, Space::Global | Space::Const)
        });
        for variable in of_module {
            let address = place(variable)?;
            addresses.insert(variable.name.clone(), address);
            stored.push((variable, address));
        }
        for variable in module.variables_of_functions() {
            let address = place(variable)?;
            of_functions.insert((variable.line, variable.name.clone()), address);
            stored.push((variable, address));
        }
        for (variable, base) in stored {
            // PTX ISA §5.4.4: without an initialiser they begin as zeros.
            memory.mark_written(base, variable.bytes as usize);
            for initial in &variable.initial {
                let bits = initial_bits(&module.syntax, &addresses, initial)
                    .map_err(|error| with_text(error, &module.source))?;
                memory.write(base + initial.offset, &bits.to_le_bytes()[..initial.bytes])?;
            }
        }
        // Where its address is: `cooperative_groups/details/driver_abi.h`.
        let workspace = if module.reads_workspace() {
            let address = memory.allocate(WORKSPACE_BYTES)?;
            memory.mark_written(address, WORKSPACE_BYTES);
            Some(address)
        } else {
            None
        };
        Ok(Self {
            module,
            addresses,
            of_functions,
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
        let mut taken = kernel.code.taken_entries.clone();
        while let Some(name) = taken.pop() {
            let Some(address) = lower::function_address(&self.module.syntax, &name) else {
                continue;
            };
            if kernel.launchable.contains_key(&address) {
                continue;
            }
            if let Some(function) = self.module.syntax.entry(&name) {
                let launched = self.compile(function)?;
                taken.extend(launched.code.taken_entries.iter().cloned());
                kernel.launchable.insert(address, Arc::new(launched));
            }
        }
        let kernel = Arc::new(kernel);
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Compiles one entry, without those that it may launch.
    fn compile(&self, function: &Function) -> Result<Kernel, LaunchError> {
        let code = match self.module.checked(&function.name) {
            Some(code) => code,
            None => {
                let environment = Environment {
                    module: &self.module.syntax,
                    addresses: &self.addresses,
                    of_functions: &self.of_functions,
                };
                let code = compile(&environment, function, false)
                    .map_err(|error| with_text(error, &self.module.source))?;
                Arc::new(code)
            }
        };
        let mut texts = HashMap::new();
        for code in &code.functions {
            for &line in &code.lines {
                texts
                    .entry(line)
                    .or_insert_with(|| self.module.line(line).trim().to_owned());
            }
        }
        let mut sources = HashMap::new();
        for code in &code.functions {
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
            code,
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
