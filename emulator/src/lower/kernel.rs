//! What all functions of a kernel have in common while they are compiled.

use std::collections::HashMap;

use super::layout::Layout;
use crate::syntax::{Function, InitialValue, ModuleSyntax};
use crate::window;

/// What a module's functions are compiled against.
pub(crate) struct Environment<'m> {
    pub module: &'m ModuleSyntax,
    /// Addresses of the variables at module scope, by name.
    pub addresses: &'m HashMap<String, u64>,
    /// Addresses of the variables in global or constant memory that functions declare, by line and name; none while a module is only
    /// checked.
    pub of_functions: &'m HashMap<(u32, String), u64>,
}

/// State common to all functions of a kernel.
pub(super) struct KernelLowering<'m> {
    pub environment: &'m Environment<'m>,
    /// Functions in the order of their numbers; compiled up to some point.
    pub functions: Vec<&'m Function>,
    pub shared: Layout,
    /// Offsets of shared variables at module scope.
    pub shared_offsets: HashMap<&'m str, u64>,
    /// Whether a function is called through a pointer.
    pub calls_pointers: bool,
    /// The entries whose addresses are taken.
    pub taken_entries: Vec<&'m str>,
    pub waits_for_grids: bool,
    pub reserves_shared: bool,
    /// Whether it contains the address of a variable, which is another in each memory that the module is loaded into.
    pub is_placed: bool,
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

impl<'m> KernelLowering<'m> {
    /// The number of a function that has a body, which is thereby compiled into the kernel.
    pub fn number_of(&mut self, function: &'m Function) -> u32 {
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
    pub fn add_functions_in_tables(&mut self) {
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
    pub fn take_entry(&mut self, name: &'m str) {
        if !self.taken_entries.contains(&name) {
            self.taken_entries.push(name);
        }
    }

    /// Takes the addresses of the entries that stand in the module's variables: what launches grids may load them from there.
    pub fn take_entries_in_tables(&mut self) {
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
