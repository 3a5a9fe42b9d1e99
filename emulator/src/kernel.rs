//! Entries, compiled.

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::{KernelCode, Op};
use crate::module::{Parameter, SourcePlace};
use crate::observer::BranchFate;

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
    pub(crate) code: KernelCode,
    pub(crate) texts: HashMap<u32, String>,
    pub(crate) sources: HashMap<u32, SourcePlace>,
    /// The entries that it may launch, and those that these may launch. Their own maps are empty.
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

    /// Shared memory that every block needs, whatever the launch asks for, in bytes.
    pub fn static_shared_bytes(&self) -> u32 {
        self.code.static_shared_bytes
    }

    /// The source line that a line of PTX was compiled from, where the PTX says.
    pub fn source_place(&self, line: u32) -> Option<&SourcePlace> {
        self.with_line(line).sources.get(&line)
    }

    /// The entry that a line of PTX belongs to: this one, or one that it may launch.
    fn with_line(&self, line: u32) -> &Self {
        if self.texts.contains_key(&line) {
            return self;
        }
        let mut launched = self.launchable.values().map(|kernel| &**kernel);
        launched
            .find(|kernel| kernel.texts.contains_key(&line))
            .unwrap_or(self)
    }

    /// For a line of PTX that comes from a function inlined from another source file: the nearest line before it that comes from the
    /// entry's own file. It is the call, or a line shortly before the call.
    pub fn calling_place(&self, line: u32) -> Option<&SourcePlace> {
        self.with_line(line).own_calling_place(line)
    }

    fn own_calling_place(&self, line: u32) -> Option<&SourcePlace> {
        let entry = self.code.functions.first()?;
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
        let functions = self.code.functions.iter();
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
