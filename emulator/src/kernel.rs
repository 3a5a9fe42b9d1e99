//! Entries, compiled.

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::{KernelCode, Op};
use crate::module::Parameter;
use crate::observer::BranchFate;
use crate::occupancy::BlockNeeds;
use crate::source::{Origin, SourcePlace};

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
    pub(crate) code: Arc<KernelCode>,
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

    /// What a block of this shape takes of a multiprocessor, where each thread has this many registers, if that is known.
    pub fn block_needs(
        &self,
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        registers: Option<u32>,
    ) -> BlockNeeds {
        BlockNeeds {
            threads: block.iter().map(|&extent| u64::from(extent)).product(),
            registers,
            shared_bytes: self.code.shared_bytes(dynamic_shared_bytes),
        }
    }

    /// What a line of PTX was compiled from, where the PTX says.
    pub fn origin(&self, line: u32) -> Option<Origin> {
        self.with_line(line).own_origin(line)
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

    fn own_origin(&self, line: u32) -> Option<Origin> {
        let place = self.sources.get(&line)?;
        let entry = self.code.functions.first()?;
        let own_file = entry.lines.iter().find_map(|line| self.sources.get(line));
        // Line 0 stands for what the compiler has added.
        let is_own = |place: &&SourcePlace| {
            place.line != 0 && own_file.is_some_and(|own| own.file == place.file)
        };
        if is_own(&place) {
            return Some(Origin {
                own: place.clone(),
                inlined: None,
            });
        }
        let before = entry.lines.iter().take_while(|&&other| other <= line);
        let calls = before.filter_map(|other| self.sources.get(other));
        let call = calls.filter(is_own).last();
        let inlined = (place.line != 0).then_some(place);
        Some(Origin {
            own: call.or(inlined)?.clone(),
            inlined: call.and(inlined).cloned(),
        })
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
