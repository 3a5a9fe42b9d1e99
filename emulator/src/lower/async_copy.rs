//! Asynchronous copies and the barriers in memory that they complete on (PTX ISA §9.7.9.25 and §9.7.13.15).

use super::{Instr, Lowering, Result, error, spelling, unknown};
use crate::program::*;
use crate::syntax::Operand;
use crate::types::{Scalar, Space};

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
            [
                "async",
                "bulk",
                "shared::cta" | "shared::cluster",
                "global",
                "mbarrier::complete_tx::bytes",
            ] => self.bulk_copy(instruction, Space::Shared, Space::Global, true),
            [
                "async",
                "bulk",
                "shared::cluster",
                "shared::cta",
                "mbarrier::complete_tx::bytes",
            ] => self.bulk_copy(instruction, Space::Shared, Space::Shared, true),
            ["async", "bulk", "global", "shared::cta", "bulk_group"] => {
                self.bulk_copy(instruction, Space::Global, Space::Shared, false)
            }
            ["async", "mbarrier", "arrive", "noinc", ref rest @ ..] if is_mbarrier_place(rest) => {
                let [address] = &instruction.operands[..] else {
                    return wrong_operands(instruction);
                };
                // The copies that the arrival is behind are complete with it, which is one of the moments that the manual allows.
                let mbarrier = Mbarrier {
                    address: self.address(instruction.line, address, Space::Shared)?,
                    kind: MbarrierKind::Arrive { dropped: false },
                    operand: None,
                    state: None,
                    predicate: None,
                    after_copies: true,
                };
                self.emit_plain(instruction, Op::Mbarrier(Box::new(mbarrier)))
            }
            // It adds the arrival that it then makes.
            ["async", "mbarrier", "arrive", ref rest @ ..] if is_mbarrier_place(rest) => {
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
            to: self.address(line, to, Space::Shared)?,
            from: self.address(line, from, Space::Global)?,
            source_bytes: match source_bytes {
                Some(source_bytes) => self.source(line, source_bytes, Scalar::U32)?,
                None => bytes_row,
            },
            ignored,
            bytes: bytes_row,
            is_bulk: false,
            completes: None,
        };
        self.emit_plain(instruction, Op::AsyncCopy(Box::new(copy)))
    }

    /// `cp.async.bulk… [to], [from], bytes{, [mbarrier]}{, cache-policy}`
    fn bulk_copy(
        &mut self,
        instruction: &Instr,
        to_space: Space,
        from_space: Space,
        completes: bool,
    ) -> Result<()> {
        let line = instruction.line;
        let [to, from, bytes, rest @ ..] = self.without_policy(instruction)? else {
            return wrong_operands(instruction);
        };
        let (mbarrier, rest) = match rest {
            [mbarrier, rest @ ..] if completes => (Some(mbarrier), rest),
            rest => (None, rest),
        };
        if completes && mbarrier.is_none() || !rest.is_empty() {
            return wrong_operands(instruction);
        }
        let bytes = self.source(line, bytes, Scalar::U32)?;
        let copy = AsyncCopy {
            to: self.address(line, to, to_space)?,
            from: self.address(line, from, from_space)?,
            bytes,
            source_bytes: bytes,
            ignored: None,
            is_bulk: true,
            completes: match mbarrier {
                Some(mbarrier) => Some(self.address(line, mbarrier, Space::Shared)?),
                None => None,
            },
        };
        self.emit_plain(instruction, Op::AsyncCopy(Box::new(copy)))
    }

    /// `mbarrier.…`
    pub(super) fn memory_barrier(&mut self, instruction: &'m Instr) -> Result<()> {
        use MbarrierKind::*;
        let line = instruction.line;
        let words: Vec<&str> = instruction
            .modifiers
            .iter()
            .map(String::as_str)
            .filter(|word| {
                !matches!(
                    *word,
                    "acquire"
                        | "release"
                        | "relaxed"
                        | "cta"
                        | "cluster"
                        | "b64"
                        | "shared"
                        | "shared::cta"
                        | "shared::cluster"
                )
            })
            .collect();
        let operands = &instruction.operands[..];
        match (&words[..], operands) {
            (["init"], [address, count]) => {
                self.mbarrier(instruction, Init, None, address, Some(count), None)
            }
            (["inval"], [_]) => self.emit_plain(instruction, Op::Nothing),
            (["expect_tx"], [address, bytes]) => {
                self.mbarrier(instruction, Expect, None, address, Some(bytes), None)
            }
            (["complete_tx"], [address, bytes]) => {
                self.mbarrier(instruction, Complete, None, address, Some(bytes), None)
            }
            (["arrive"] | ["arrive", "noComplete"], [state, address, rest @ ..])
                if rest.len() <= 1 =>
            {
                self.mbarrier(
                    instruction,
                    Arrive { dropped: false },
                    Some(state),
                    address,
                    rest.first(),
                    None,
                )
            }
            (["arrive_drop"] | ["arrive_drop", "noComplete"], [state, address, rest @ ..])
                if rest.len() <= 1 =>
            {
                self.mbarrier(
                    instruction,
                    Arrive { dropped: true },
                    Some(state),
                    address,
                    rest.first(),
                    None,
                )
            }
            (["arrive", "expect_tx"], [state, address, bytes]) => self.mbarrier(
                instruction,
                ExpectAndArrive,
                Some(state),
                address,
                Some(bytes),
                None,
            ),
            (["test_wait" | "try_wait"], [d, address, state, ..]) => {
                self.mbarrier(instruction, TestState, None, address, Some(state), Some(d))
            }
            (["test_wait" | "try_wait", "parity"], [d, address, parity, ..]) => self.mbarrier(
                instruction,
                TestParity,
                None,
                address,
                Some(parity),
                Some(d),
            ),
            (["pending_count"], [d, state]) => {
                let a = self.source(line, state, Scalar::U64)?;
                let d = self.destination(line, d, Scalar::U32)?;
                self.emit_plain(instruction, Op::MbarrierPending { d, a })
            }
            _ => unknown(instruction),
        }
    }

    fn mbarrier(
        &mut self,
        instruction: &Instr,
        kind: MbarrierKind,
        state: Option<&Operand>,
        address: &Operand,
        operand: Option<&Operand>,
        predicate: Option<&Operand>,
    ) -> Result<()> {
        let line = instruction.line;
        let state = match state {
            Some(Operand::Name(name)) if name == "_" => None,
            Some(state) => Some(self.destination(line, state, Scalar::B64)?),
            None => None,
        };
        let operand = match operand {
            Some(operand) if kind == MbarrierKind::TestState => {
                Some(Row::Wide(self.source(line, operand, Scalar::B64)?))
            }
            Some(operand) => Some(Row::Narrow(self.source(line, operand, Scalar::U32)?)),
            None => None,
        };
        let mbarrier = Mbarrier {
            address: self.address(line, address, Space::Shared)?,
            kind,
            operand,
            state,
            predicate: match predicate {
                Some(predicate) => self.predicate_destination(line, predicate)?,
                None => None,
            },
            after_copies: false,
        };
        self.emit_plain(instruction, Op::Mbarrier(Box::new(mbarrier)))
    }
}

/// The number of groups that a wait leaves pending.
fn group_count(instruction: &Instr) -> Result<u32> {
    match instruction.operands[..] {
        [Operand::Integer(count)] if u32::try_from(count).is_ok() => Ok(count as u32),
        _ => wrong_operands(instruction),
    }
}

fn is_mbarrier_place(words: &[&str]) -> bool {
    words
        .iter()
        .all(|word| matches!(*word, "shared" | "shared::cta" | "b64"))
}

fn wrong_operands<T>(instruction: &Instr) -> Result<T> {
    error(
        instruction.line,
        format!("the operands of `{}` do not fit", spelling(instruction)),
    )
}
