//! Barriers, fences and what the lanes of a warp do together (PTX ISA §9.7.13 and §9.7.9.6).

use super::data::scope;
use super::lowering::Lowering;
use super::refusal::{Result, unknown, wrong_operands};
use crate::code::*;
use crate::observer::Scope;
use crate::row::Row;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::Scalar;

impl<'m> Lowering<'_, 'm> {
    pub(super) fn synchronisation(&mut self, instruction: &'m Instr) -> Result<()> {
        let modifiers: Vec<&str> = instruction
            .modifiers
            .iter()
            .map(String::as_str)
            .filter(|&modifier| modifier != "cta")
            .collect();
        match (instruction.opcode.as_str(), &modifiers[..]) {
            ("bar" | "barrier", ["warp", "sync"]) => {
                let [members] = &instruction.operands[..] else {
                    return wrong_operands(instruction);
                };
                let members = Some(self.source(instruction.line, members, Scalar::B32)?);
                let collective = Collective {
                    members,
                    kind: CollectiveKind::Barrier,
                };
                self.emit_plain(instruction, Op::Collective(Box::new(collective)))
            }
            ("barrier", ["cluster", "arrive", rest @ ..])
                if rest
                    .iter()
                    .all(|word| matches!(*word, "release" | "relaxed" | "aligned")) =>
            {
                self.emit_plain(instruction, Op::ArriveAtCluster)
            }
            ("barrier", ["cluster", "wait", rest @ ..])
                if rest
                    .iter()
                    .all(|word| matches!(*word, "acquire" | "aligned")) =>
            {
                self.emit_plain(instruction, Op::WaitForCluster)
            }
            ("bar", rest) => self.barrier(instruction, rest, true),
            ("barrier", [rest @ .., "aligned"]) => self.barrier(instruction, rest, true),
            ("barrier", ["red", operation, "aligned", ty]) => {
                self.barrier(instruction, &["red", operation, ty], true)
            }
            ("barrier", rest) => self.barrier(instruction, rest, false),
            ("membar", ["gl" | "sys"] | []) => {
                self.emit_plain(instruction, Op::Fence(fence_of(instruction)))
            }
            ("fence", words) if words.iter().all(|word| is_fence_word(word)) => {
                self.emit_plain(instruction, Op::Fence(fence_of(instruction)))
            }
            ("activemask", ["b32"]) => {
                let [d] = &instruction.operands[..] else {
                    return wrong_operands(instruction);
                };
                let d = self.destination(instruction.line, d, Scalar::B32)?;
                self.emit_plain(instruction, Op::ActiveMask { d })
            }
            ("membar" | "fence" | "activemask", _) => unknown(instruction),
            (_, modifiers) => self.collective(instruction, modifiers),
        }
    }

    fn barrier(&mut self, instruction: &Instr, modifiers: &[&str], aligned: bool) -> Result<()> {
        let line = instruction.line;
        let mut operands = &instruction.operands[..];
        let kind = match modifiers {
            ["sync"] => BarrierKind::Sync,
            ["arrive"] => BarrierKind::Arrive,
            ["red", operation, ty] => {
                let [d, rest @ .., predicate] = operands else {
                    return wrong_operands(instruction);
                };
                operands = rest;
                let predicate = self.predicate_source(line, predicate)?;
                match (*operation, *ty) {
                    ("popc", "u32") => BarrierKind::Count {
                        d: self.destination(line, d, Scalar::U32)?,
                        predicate,
                    },
                    ("and" | "or", "pred") => {
                        let Some(d) = self.predicate_destination(line, d)? else {
                            return wrong_operands(instruction);
                        };
                        if *operation == "and" {
                            BarrierKind::And { d, predicate }
                        } else {
                            BarrierKind::Or { d, predicate }
                        }
                    }
                    _ => return unknown(instruction),
                }
            }
            _ => return unknown(instruction),
        };
        let (id, count) = match operands {
            [id] if kind != BarrierKind::Arrive => (id, None),
            [id, count] => (id, Some(count)),
            _ => return wrong_operands(instruction),
        };
        let id = self.source(line, id, Scalar::U32)?;
        let count = match count {
            Some(count) => Some(self.source(line, count, Scalar::U32)?),
            None => None,
        };
        self.emit_plain(
            instruction,
            Op::Barrier(Box::new(Barrier {
                id,
                count,
                kind,
                aligned,
            })),
        )
    }

    fn collective(&mut self, instruction: &Instr, modifiers: &[&str]) -> Result<()> {
        let line = instruction.line;
        let (synchronous, modifiers) = match modifiers {
            ["sync", rest @ ..] => (true, rest.to_vec()),
            // `match` has it in another place.
            [mode, "sync", rest @ ..] => (true, [&[*mode], rest].concat()),
            rest => (false, rest.to_vec()),
        };
        let mut operands = &instruction.operands[..];
        let mut members = None;
        if synchronous {
            let [rest @ .., mask] = operands else {
                return wrong_operands(instruction);
            };
            members = Some(self.source(line, mask, Scalar::B32)?);
            operands = rest;
        }
        let first = operands
            .first()
            .ok_or_else(|| wrong_operands::<()>(instruction).unwrap_err())?;
        let kind = match (instruction.opcode.as_str(), &modifiers[..]) {
            ("shfl", [mode, "b32"]) => {
                let mode = match *mode {
                    "up" => ShuffleMode::Up,
                    "down" => ShuffleMode::Down,
                    "bfly" => ShuffleMode::Butterfly,
                    "idx" => ShuffleMode::Index,
                    _ => return unknown(instruction),
                };
                let [_, a, b, c] = operands else {
                    return wrong_operands(instruction);
                };
                let (d, valid) = self.value_and_predicate(line, first)?;
                CollectiveKind::Shuffle {
                    mode,
                    d,
                    valid,
                    a: self.source(line, a, Scalar::B32)?,
                    b: self.source(line, b, Scalar::U32)?,
                    c: self.source(line, c, Scalar::U32)?,
                }
            }
            ("vote", [mode @ ("all" | "any" | "uni"), "pred"]) => {
                let [d, predicate] = operands else {
                    return wrong_operands(instruction);
                };
                let Some(d) = self.predicate_destination(line, d)? else {
                    return wrong_operands(instruction);
                };
                let predicate = self.predicate_source(line, predicate)?;
                match *mode {
                    "all" => CollectiveKind::VoteAll { d, predicate },
                    "any" => CollectiveKind::VoteAny { d, predicate },
                    _ => CollectiveKind::VoteUniform { d, predicate },
                }
            }
            ("vote", ["ballot", "b32"]) => {
                let [d, predicate] = operands else {
                    return wrong_operands(instruction);
                };
                CollectiveKind::Ballot {
                    d: self.destination(line, d, Scalar::B32)?,
                    predicate: self.predicate_source(line, predicate)?,
                }
            }
            ("match", ["any", ty @ ("b32" | "b64")]) if synchronous => {
                let [d, a] = operands else {
                    return wrong_operands(instruction);
                };
                let d = self.destination(line, d, Scalar::B32)?;
                let a = self.match_source(line, a, ty)?;
                CollectiveKind::MatchAny { d, a }
            }
            ("match", ["all", ty @ ("b32" | "b64")]) if synchronous => {
                let [_, a] = operands else {
                    return wrong_operands(instruction);
                };
                let (d, valid) = self.value_and_predicate(line, first)?;
                let a = self.match_source(line, a, ty)?;
                CollectiveKind::MatchAll { d, valid, a }
            }
            ("redux", [operation, ty @ ("s32" | "u32" | "b32")]) if synchronous => {
                let operation = match (*operation, *ty) {
                    ("add", "s32" | "u32") => AtomicOperation::Add,
                    ("min", "s32" | "u32") => AtomicOperation::Min,
                    ("max", "s32" | "u32") => AtomicOperation::Max,
                    ("and", "b32") => AtomicOperation::And,
                    ("or", "b32") => AtomicOperation::Or,
                    ("xor", "b32") => AtomicOperation::Xor,
                    _ => return unknown(instruction),
                };
                let ty = Scalar::parse(ty).unwrap_or(Scalar::U32);
                let [d, a] = operands else {
                    return wrong_operands(instruction);
                };
                CollectiveKind::Reduce {
                    operation,
                    ty,
                    d: self.destination(line, d, Scalar::B32)?,
                    a: self.source(line, a, Scalar::B32)?,
                }
            }
            ("redux", [operation @ ("min" | "max"), rest @ .., "f32"])
                if synchronous && rest.iter().all(|word| matches!(*word, "abs" | "NaN")) =>
            {
                let [d, a] = operands else {
                    return wrong_operands(instruction);
                };
                CollectiveKind::ReduceFloat {
                    want_max: *operation == "max",
                    of_magnitudes: rest.contains(&"abs"),
                    nan_propagates: rest.contains(&"NaN"),
                    d: self.destination(line, d, Scalar::F32)?,
                    a: self.source(line, a, Scalar::F32)?,
                }
            }
            ("elect", []) if synchronous => {
                let [Operand::Pair(d, elected)] = operands else {
                    return wrong_operands(instruction);
                };
                let d = match &**d {
                    Operand::Name(name) if name == "_" => None,
                    d => Some(self.destination(line, d, Scalar::B32)?),
                };
                let Some(elected) = self.predicate_destination(line, elected)? else {
                    return wrong_operands(instruction);
                };
                CollectiveKind::Elect { d, elected }
            }
            _ => return unknown(instruction),
        };
        self.emit_plain(
            instruction,
            Op::Collective(Box::new(Collective { members, kind })),
        )
    }

    /// `d|p` or `d`
    fn value_and_predicate(&mut self, line: u32, operand: &Operand) -> Result<(u32, Option<u32>)> {
        match operand {
            Operand::Pair(d, valid) => Ok((
                self.destination(line, d, Scalar::B32)?,
                self.predicate_destination(line, valid)?,
            )),
            d => Ok((self.destination(line, d, Scalar::B32)?, None)),
        }
    }

    fn match_source(&mut self, line: u32, operand: &Operand, ty: &str) -> Result<Row> {
        let ty = Scalar::parse(ty).unwrap_or(Scalar::B32);
        Ok(Row::of(ty, self.source(line, operand, ty)?))
    }
}

/// What a fence says of itself; `membar` is a `fence.sc` by its old name.
fn fence_of(instruction: &Instr) -> Fence {
    let words = || instruction.modifiers.iter().map(String::as_str);
    Fence {
        scope: words().find_map(scope).unwrap_or(Scope::Gpu),
        is_sequential: instruction.opcode == "membar" || words().any(|word| word == "sc"),
    }
}

/// Words of a fence.
fn is_fence_word(word: &str) -> bool {
    matches!(
        word,
        "sc" | "acq_rel" | "acquire" | "release" | "cta" | "cluster" | "gpu" | "sys"
    ) || matches!(
        word,
        "mbarrier_init" | "proxy" | "async" | "alias" | "generic" | "global"
    ) || word.starts_with("async.")
        || word.starts_with("async::")
        || word.starts_with("shared::")
        || word.starts_with("sync_restrict::")
}
