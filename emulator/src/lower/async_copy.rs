//! Asynchronous copies (PTX ISA §9.7.9.25).

use super::lowering::Lowering;
use super::refusal::{Result, error, spelling, unknown, wrong_operands};
use crate::address::Where;
use crate::code::*;
use crate::observer::{AccessOrder, Scope};
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

impl<'m> Lowering<'_, 'm> {
    /// `cp.async`, `cp.async.bulk` and what goes with them.
    pub(super) fn async_copy(&mut self, instruction: &'m Instr) -> Result<()> {
        let modifiers: Vec<&str> = instruction
            .modifiers
            .iter()
            .map(String::as_str)
            .filter(|modifier| !modifier.starts_with("L2::"))
            .collect();
        match modifiers[..] {
            ["async", "commit_group"] => {
                self.emit_plain(instruction, Op::CommitCopies { bulk: false })
            }
            ["async", "bulk", "commit_group"] => {
                self.emit_plain(instruction, Op::CommitCopies { bulk: true })
            }
            ["async", "wait_all"] => self.wait_for_copies(instruction, false, None),
            ["async", "wait_group"] => {
                let but = group_count(instruction)?;
                self.wait_for_copies(instruction, false, Some(but))
            }
            // What has been read has been written as well, which is one of the moments that the manual allows.
            ["async", "bulk", "wait_group", ref rest @ ..] if matches!(rest, [] | ["read"]) => {
                let but = group_count(instruction)?;
                self.wait_for_copies(instruction, true, Some(but))
            }
            ["async", "bulk", "prefetch", "L2", "global"]
            | ["async", "bulk", "prefetch", "global"] => self.emit_plain(instruction, Op::Nothing),
            ["async", "ca" | "cg", "shared" | "shared::cta", "global"] => {
                self.small_copy(instruction)
            }
            ["async", "bulk", ref rest @ ..] => {
                let Some((ends, rest)) = Ends::of(rest) else {
                    return unknown(instruction);
                };
                let is_multicast = match rest {
                    [] => false,
                    ["multicast::cluster"] if ends.may_multicast => true,
                    _ => return unknown(instruction),
                };
                self.bulk_copy(instruction, ends, is_multicast, None)
            }
            ["reduce", "async", "bulk", ref rest @ ..] => {
                let reduction = Ends::of(rest)
                    .and_then(|(ends, words)| Some((ends, bulk_reduction(&ends, words)?)));
                let Some((ends, reduction)) = reduction else {
                    return unknown(instruction);
                };
                self.bulk_copy(instruction, ends, false, Some(reduction))
            }
            ["async", "mbarrier", "arrive", "noinc", ref rest @ ..]
                if let Some(place) = mbarrier_place(rest) =>
            {
                let [address] = &instruction.operands[..] else {
                    return wrong_operands(instruction);
                };
                // The copies that the arrival waits for are complete with it, which is one of the moments that the manual allows.
                let mbarrier = Mbarrier {
                    address: self.address(instruction.line, address, place)?,
                    kind: MbarrierKind::Arrive { dropped: false },
                    operand: None,
                    state: None,
                    predicate: None,
                    after_copies: true,
                };
                self.emit_plain(instruction, Op::Mbarrier(Box::new(mbarrier)))
            }
            // It adds the arrival that it then makes.
            ["async", "mbarrier", "arrive", ref rest @ ..] if mbarrier_place(rest).is_some() => {
                self.wait_for_copies(instruction, false, None)
            }
            _ => unknown(instruction),
        }
    }

    fn wait_for_copies(&mut self, instruction: &Instr, bulk: bool, but: Option<u32>) -> Result<()> {
        self.emit_plain(instruction, Op::WaitForCopies { bulk, but })
    }

    /// `cp.async.ca.shared.global [to], [from], bytes{, source-bytes or ignored}`: what the source lacks is zeros, and all of it
    /// where the predicate says that it is ignored.
    fn small_copy(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let (to, from, bytes, last) = match self.without_policy(instruction)? {
            [to, from, bytes] => (to, from, bytes, None),
            [to, from, bytes, last] => (to, from, bytes, Some(last)),
            _ => return wrong_operands(instruction),
        };
        let (source_bytes, ignored) = match last {
            Some(last) if self.is_predicate(last) => {
                (None, Some(self.predicate_source(line, last)?))
            }
            last => (last, None),
        };
        if !matches!(bytes, Operand::Integer(4 | 8 | 16)) {
            return error(
                line,
                format!("`{}` copies 4, 8 or 16 bytes", spelling(instruction)),
            );
        }
        let bytes_row = self.source(line, bytes, Scalar::U32)?;
        let copy = AsyncCopy {
            from: CopySource::Memory {
                from: self.address(line, from, Where::Global)?,
                bytes: bytes_row,
                source_bytes: match source_bytes {
                    Some(source_bytes) => self.source(line, source_bytes, Scalar::U32)?,
                    None => bytes_row,
                },
                ignored,
            },
            to: self.address(line, to, Where::Shared)?,
            reduction: None,
            is_bulk: false,
            completes: None,
            multicast: None,
        };
        self.emit_plain(instruction, Op::AsyncCopy(Box::new(copy)))
    }

    /// `cp.async.bulk… [to], [from], bytes{, [mbarrier]}{, block-mask}{, cache-policy}`, and the same for `cp.reduce.async.bulk…`
    fn bulk_copy(
        &mut self,
        instruction: &Instr,
        ends: Ends,
        is_multicast: bool,
        reduction: Option<Reduction>,
    ) -> Result<()> {
        let line = instruction.line;
        let (copied, mbarrier, mask) = match (
            self.without_policy(instruction)?,
            ends.completes,
            is_multicast,
        ) {
            ([copied @ .., mbarrier, mask], true, true) => (copied, Some(mbarrier), Some(mask)),
            ([copied @ .., mbarrier], true, false) => (copied, Some(mbarrier), None),
            (copied, ..) => (copied, None, None),
        };
        let [to, from, bytes] = copied else {
            return wrong_operands(instruction);
        };
        let bytes = self.source(line, bytes, Scalar::U32)?;
        let copy = AsyncCopy {
            from: CopySource::Memory {
                from: self.address(line, from, ends.from)?,
                bytes,
                source_bytes: bytes,
                ignored: None,
            },
            to: self.address(line, to, ends.to)?,
            reduction,
            is_bulk: true,
            completes: match mbarrier {
                // In the block that the copy goes to.
                Some(mbarrier) => Some(self.address(line, mbarrier, ends.to)?),
                None => None,
            },
            multicast: match mask {
                Some(mask) => Some(self.source(line, mask, Scalar::B16)?),
                None => None,
            },
        };
        self.emit_plain(instruction, Op::AsyncCopy(Box::new(copy)))
    }
}

/// Between which memories a bulk copy goes, and how it completes.
#[derive(Clone, Copy)]
struct Ends {
    from: Where,
    to: Where,
    /// On an mbarrier; else as one of a group.
    completes: bool,
    may_multicast: bool,
}

impl Ends {
    /// Those that the first words name; and the words after them.
    fn of<'w, 'a>(words: &'w [&'a str]) -> Option<(Self, &'w [&'a str])> {
        let ends = |from, to, completes, may_multicast| Self {
            from,
            to,
            completes,
            may_multicast,
        };
        Some(match words {
            [
                "shared::cta",
                "global",
                "mbarrier::complete_tx::bytes",
                rest @ ..,
            ] => (ends(Where::Global, Where::Shared, true, false), rest),
            [
                "shared::cluster",
                "global",
                "mbarrier::complete_tx::bytes",
                rest @ ..,
            ] => (ends(Where::Global, Where::ClusterShared, true, true), rest),
            [
                "shared::cluster",
                "shared::cta",
                "mbarrier::complete_tx::bytes",
                rest @ ..,
            ] => (ends(Where::Shared, Where::ClusterShared, true, false), rest),
            ["global", "shared::cta", "bulk_group", rest @ ..] => {
                (ends(Where::Shared, Where::Global, false, false), rest)
            }
            _ => return None,
        })
    }
}

/// The reduction of a bulk copy, if there is such a one.
fn bulk_reduction(ends: &Ends, words: &[&str]) -> Option<Reduction> {
    use AtomicOperation::*;
    use Scalar::*;
    let (operation, ty, keeps_subnormal) = match words {
        [operation, ty] => (operation, ty, false),
        [operation, "noftz", ty] => (operation, ty, true),
        _ => return None,
    };
    let (operation, ty) = (AtomicOperation::parse(operation)?, Scalar::parse(ty)?);
    let exists = match ends.to {
        Where::ClusterShared if ends.from == Where::Shared => {
            !keeps_subnormal && shared_form_exists(operation, ty)
        }
        Where::Global => match operation {
            // Halves are added with `.noftz`, and only they.
            Add if keeps_subnormal => matches!(ty, F16 | Bf16),
            _ if keeps_subnormal => false,
            Add => matches!(ty, U32 | S32 | U64 | F32 | F64),
            Min | Max => matches!(ty, U32 | S32 | U64 | S64 | F16 | Bf16),
            And | Or | Xor => matches!(ty, B32 | B64),
            _ => shared_form_exists(operation, ty),
        },
        _ => false,
    };
    exists.then_some(Reduction {
        operation,
        ty,
        order: AccessOrder::Relaxed(Scope::Gpu),
    })
}

/// Whether there is such an asynchronous reduction in shared memory.
pub(super) fn shared_form_exists(operation: AtomicOperation, ty: Scalar) -> bool {
    use AtomicOperation::*;
    use Scalar::*;
    match operation {
        Add => matches!(ty, U32 | S32 | U64),
        Min | Max => matches!(ty, U32 | S32),
        Inc | Dec => ty == U32,
        And | Or | Xor => ty == B32,
        Exchange | CompareAndSwap => false,
    }
}

/// The number of groups that a wait leaves pending.
fn group_count(instruction: &Instr) -> Result<u32> {
    match instruction.operands[..] {
        [Operand::Integer(count)] if u32::try_from(count).is_ok() => Ok(count as u32),
        _ => wrong_operands(instruction),
    }
}

/// Where the mbarrier of an arrival that follows copies is.
fn mbarrier_place(words: &[&str]) -> Option<Where> {
    match words {
        ["b64"] => Some(Where::Generic),
        ["shared" | "shared::cta", "b64"] => Some(Where::Shared),
        _ => None,
    }
}
