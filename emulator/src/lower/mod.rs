//! The syntax tree to a compiled program: names become row numbers, addresses and instruction numbers, and every form is checked.

mod arithmetic;
mod async_copy;
mod async_store;
mod atomic;
mod cache_policy;
mod control;
mod data;
mod kernel;
mod layout;
mod lowering;
mod mbarrier;
mod operands;
mod refusal;
mod scope;
mod sync;
mod video;

use std::collections::HashMap;

use crate::code::{KernelCode, Op};
use crate::limits::SHARED_BYTES_WITHOUT_ASKING;
use crate::syntax::{Function, Instruction as Instr};
use kernel::KernelLowering;
pub(crate) use kernel::{Environment, function_address};
use layout::Layout;
pub(crate) use layout::MAX_LOCAL_BYTES;
use lowering::Lowering;
use refusal::Result;
pub(crate) use refusal::{error, unsupported};

/// Compiles an entry (or, to check it, any function) and all functions that it calls.
///
/// With `check_only` the functions called are left alone.
pub(crate) fn compile(
    environment: &Environment<'_>,
    entry: &Function,
    check_only: bool,
) -> Result<KernelCode> {
    let mut kernel = KernelLowering {
        environment,
        functions: vec![entry],
        shared: Layout::default(),
        shared_offsets: HashMap::new(),
        calls_pointers: false,
        taken_entries: Vec::new(),
        waits_for_grids: false,
        reserves_shared: false,
        is_placed: false,
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
    if shared > u64::from(SHARED_BYTES_WITHOUT_ASKING) {
        return error(
            entry.line,
            format!(
                "the shared variables of `{}` have {shared} bytes, where at most {SHARED_BYTES_WITHOUT_ASKING} are allowed",
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
    Ok(KernelCode {
        is_final: !kernel.is_placed
            && !kernel.calls_pointers
            && kernel.functions.len() == functions.len(),
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

impl<'m> Lowering<'_, 'm> {
    pub(super) fn instruction(&mut self, instruction: &'m Instr) -> Result<()> {
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
