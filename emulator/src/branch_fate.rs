//! What ptxas, the driver's assembler, is expected to make of each conditional branch.
//!
//! The rules are read off its machine code: `nvdisasm --print-line-info-ptx` tells from which PTX line each machine instruction
//! comes. `docs/counters.md` says for how many branches they are right.

use crate::address::Where;
use crate::code::{Instruction, NOWHERE, Op};
use crate::observer::BranchFate;

/// The longest body whose instructions get a guard, in PTX instructions of both sides together.
const LONGEST_BODY: usize = 10;

/// The most jumps that are followed from a label to an instruction that is none.
const MOST_JUMPS: usize = 16;

/// What stands between a branch and its reconvergence point.
#[derive(Default)]
struct Body {
    instructions: usize,
    reads_global: bool,
    writes_global: bool,
}

/// The fates of a function's instructions, whose jumps are resolved; [`BranchFate::Kept`] for what is no conditional branch to
/// one label.
pub(crate) fn branch_fates(instructions: &[Instruction]) -> Vec<BranchFate> {
    (0..instructions.len())
        .map(|at| fate(instructions, at))
        .collect()
}

fn fate(instructions: &[Instruction], at: usize) -> BranchFate {
    let Instruction {
        guard,
        op: Op::Branch {
            target, reconverge, ..
        },
    } = instructions[at]
    else {
        return BranchFate::Kept;
    };
    let is_backward = target as usize <= at;
    if guard == 0 || is_backward {
        return BranchFate::Kept;
    }
    let ways = [at + 1, target as usize].map(|way| landing(instructions, way));
    if ways.iter().any(|&way| leaves(&instructions[way])) {
        return BranchFate::Exit;
    }
    if reconverge == NOWHERE {
        return BranchFate::Kept;
    }
    let reconvergence = landing(instructions, reconverge as usize);
    let mut body = Body::default();
    let is_straight = ways
        .iter()
        .all(|&way| body.takes_all(instructions, way, reconvergence));
    if is_straight && !(body.reads_global && body.writes_global) {
        BranchFate::Predicated
    } else {
        BranchFate::Kept
    }
}

/// Where unconditional jumps from an instruction lead.
fn landing(instructions: &[Instruction], mut at: usize) -> usize {
    for _ in 0..MOST_JUMPS {
        match instructions[at] {
            Instruction {
                guard: 0,
                op: Op::Branch { target, .. },
            } => at = target as usize,
            _ => break,
        }
    }
    at
}

fn leaves(instruction: &Instruction) -> bool {
    instruction.guard == 0 && matches!(instruction.op, Op::Return | Op::Exit)
}

impl Body {
    /// Takes the instructions of one way; false if there are too many, or one that no guard is put on.
    fn takes_all(
        &mut self,
        instructions: &[Instruction],
        way: usize,
        reconvergence: usize,
    ) -> bool {
        let mut at = way;
        while at != reconvergence {
            if self.instructions == LONGEST_BODY || !self.takes(&instructions[at].op) {
                return false;
            }
            self.instructions += 1;
            at = landing(instructions, at + 1);
        }
        true
    }

    fn takes(&mut self, op: &Op) -> bool {
        let is_global = |place| matches!(place, Where::Global | Where::Generic);
        match op {
            Op::Load(access) => self.reads_global |= is_global(access.address.place),
            Op::Store(access) => self.writes_global |= is_global(access.address.place),
            Op::Alu { .. }
            | Op::Video { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::MovePair { .. }
            | Op::MapAddress { .. }
            | Op::RankOfAddress { .. }
            | Op::IsSpace { .. }
            | Op::ActiveMask { .. }
            | Op::Clock { .. }
            | Op::Nothing => {}
            _ => return false,
        }
        true
    }
}
