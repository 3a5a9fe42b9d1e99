//! Barriers in memory (PTX ISA §9.7.13.15).

use super::lowering::Lowering;
use super::refusal::{Result, unknown};
use crate::address::Where;
use crate::code::*;
use crate::row::Row;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::{Scalar, Space};

impl<'m> Lowering<'_, 'm> {
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
                    "acquire" | "release" | "relaxed" | "cta" | "cluster" | "b64"
                ) && self.place(word).is_none()
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
        let place = instruction.modifiers.iter();
        let place = place.filter_map(|word| self.place(word)).next_back();
        let place = place.unwrap_or(Where::Generic);
        if !matches!(place.space(), Space::Shared | Space::Generic) {
            return unknown(instruction);
        }
        let operand = match operand {
            Some(operand) if kind == MbarrierKind::TestState => {
                Some(Row::Wide(self.source(line, operand, Scalar::B64)?))
            }
            Some(operand) => Some(Row::Narrow(self.source(line, operand, Scalar::U32)?)),
            None => None,
        };
        let mbarrier = Mbarrier {
            address: self.address(line, address, place)?,
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
