//! Loads, stores, addresses and the special moves (PTX ISA §9.7.9).

use super::lowering::Lowering;
use super::operands::clock;
use super::refusal::{Result, error, spelling, unknown, unsupported};
use super::scope::Symbol;
use crate::address::{Address, Where};
use crate::alu::{self, Form};
use crate::code::*;
use crate::observer::{AccessOrder, Scope};
use crate::registers::Rows;
use crate::row::Row;
use crate::syntax::{Instruction as Instr, Operand};
use crate::types::{Scalar, Space};
use crate::window;

/// The scope that a modifier names.
pub(super) fn scope(modifier: &str) -> Option<Scope> {
    match modifier {
        "cta" => Some(Scope::Block),
        "cluster" => Some(Scope::Cluster),
        "gpu" => Some(Scope::Gpu),
        "sys" => Some(Scope::System),
        _ => None,
    }
}

/// Modifiers of loads and stores that only advise the hardware.
pub(super) fn is_hint(modifier: &str) -> bool {
    matches!(
        modifier,
        "weak" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "unified"
    ) || modifier.starts_with("L1::")
        || modifier.starts_with("L2::")
        || modifier.starts_with("level::")
}

impl<'m> Lowering<'_, 'm> {
    pub(super) fn data(&mut self, instruction: &'m Instr) -> Result<()> {
        match instruction.opcode.as_str() {
            "ld" | "ldu" => self.access(instruction, true),
            "st" => self.access(instruction, false),
            "atom" => self.atomic(instruction, true),
            "red" => self.atomic(instruction, false),
            "cvta" => self.convert_address(instruction),
            _ => self.is_space(instruction),
        }
    }

    fn access(&mut self, instruction: &Instr, is_load: bool) -> Result<()> {
        let line = instruction.line;
        let mut place = Where::Generic;
        let mut vector = 1;
        let mut ty = None;
        let mut order = AccessOrder::Weak;
        let mut of_scope = Scope::Gpu;
        for modifier in &instruction.modifiers {
            match modifier.as_str() {
                "v2" => vector = 2,
                "v4" => vector = 4,
                "v8" => vector = 8,
                "volatile" => order = AccessOrder::Volatile,
                "nc" => order = AccessOrder::ReadOnly,
                "relaxed" | "mmio" => order = AccessOrder::Relaxed(Scope::Gpu),
                "acquire" | "release" => order = AccessOrder::AcquireRelease(Scope::Gpu),
                word if is_hint(word) => {}
                word => {
                    if let Some(found) = scope(word) {
                        of_scope = found;
                    } else if let Some(found) = self.place(word) {
                        place = found;
                    } else if let Some(found) =
                        Scalar::parse(word).filter(|&found| found != Scalar::Pred && ty.is_none())
                    {
                        ty = Some(found);
                    } else {
                        return unknown(instruction);
                    }
                }
            }
        }
        let Some(ty) = ty else {
            return unknown(instruction);
        };
        if !is_load && place == Where::Const {
            return error(line, "constant memory cannot be stored to");
        }
        if vector * ty.bytes() > 32 {
            return error(
                line,
                format!("`{}` is wider than 32 bytes", spelling(instruction)),
            );
        }
        let (value, address) = match (self.without_policy(instruction)?, is_load) {
            ([value, address], true) | ([address, value], false) => (value, address),
            _ => {
                return error(
                    line,
                    format!(
                        "`{}` takes a register and an address",
                        spelling(instruction)
                    ),
                );
            }
        };
        let address = self.address(line, address, place)?;
        let parts = value.elements();
        if parts.len() != vector {
            return error(
                line,
                format!(
                    "`{}` takes {vector} registers, not {}",
                    spelling(instruction),
                    parts.len()
                ),
            );
        }
        let mut registers = Vec::with_capacity(vector);
        for part in parts {
            if ty == Scalar::B128 {
                registers.extend(self.row_pair(line, part)?.map(Some));
                continue;
            }
            registers.push(match part {
                Operand::Name(name) if name == "_" && is_load => None,
                Operand::Name(name) if is_load => {
                    Some(self.any_register(line, name, ty.bytes())?)
                }
                _ if is_load => return error(line, "the destination of a load must be a register"),
                source => Some(self.any_source(line, source, ty)?),
            });
        }
        let access = Box::new(Access {
            address,
            element_bytes: ty.bytes().min(8) as u8,
            signed: ty.is_signed(),
            registers: registers.into(),
            order: order.with_scope(of_scope),
            is_whole: ty == Scalar::B128 && !order.is_weak(),
        });
        self.emit_plain(
            instruction,
            if is_load {
                Op::Load(access)
            } else {
                Op::Store(access)
            },
        )
    }

    /// The memory that a state space's name stands for here. `.shared` alone means `.shared::cta`.
    pub(super) fn place(&self, word: &str) -> Option<Where> {
        match word {
            "shared::cluster" => return Some(Where::ClusterShared),
            "param::entry" => return Some(Where::EntryParameter),
            _ => {}
        }
        Some(match Space::parse(word)? {
            Space::Generic => Where::Generic,
            Space::Global => Where::Global,
            Space::Const => Where::Const,
            Space::Shared => Where::Shared,
            Space::Local => Where::Local,
            Space::Param if self.function.is_entry => Where::EntryParameter,
            Space::Param => Where::FrameParameter,
        })
    }

    pub(super) fn address(
        &mut self,
        line: u32,
        operand: &Operand,
        mut place: Where,
    ) -> Result<Address> {
        let Operand::Address { base, offset } = operand else {
            return error(line, "an address in brackets is needed here");
        };
        let space = place.space();
        let base = match &**base {
            Operand::Name(name) => match self.lookup(line, name)? {
                Symbol::Register { .. } if place == Where::FrameParameter => {
                    return unsupported(
                        line,
                        "a register holds no address in a function's parameters: what `mov` gives is the address of a copy in local memory, for `ld.local`, or, after `cvta.local`, for `ld`",
                    );
                }
                Symbol::Register { .. } => self.any_register(line, name, 4)?,
                Symbol::Address(found, _)
                    if found == space || (space == Space::Generic && found == Space::Global) =>
                {
                    Row::Wide(self.source(line, &Operand::Name(name.clone()), Scalar::U64)?)
                }
                symbol => {
                    let parameter = match symbol {
                        Symbol::EntryParameter(slice) => Some((Where::EntryParameter, slice)),
                        Symbol::FrameParameter(slice) => Some((Where::FrameParameter, slice)),
                        Symbol::OwnParameter(number) => {
                            let slice = self.code.parameters[number as usize];
                            Some((Where::FrameParameter, slice))
                        }
                        _ => None,
                    };
                    let Some((lies, slice)) = parameter.filter(|_| space == Space::Param) else {
                        return error(
                            line,
                            format!("`{name}` does not live in {} memory", space.name()),
                        );
                    };
                    place = lies;
                    Row::Wide(self.constant(Scalar::U64, slice.offset.into()))
                }
            },
            Operand::Integer(value) => Row::Wide(self.constant(Scalar::U64, *value)),
            _ => return error(line, "an address is a register, a symbol or a number"),
        };
        Ok(Address {
            place,
            base,
            offset: *offset,
        })
    }

    /// `cvta.space` adds the window's first address, and `cvta.to.space` subtracts it. Global and constant addresses are generic already.
    fn convert_address(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let (to_space, space) = match modifiers[..] {
            ["to", space, "u64"] => (true, space),
            [space, "u64"] => (false, space),
            _ => return unknown(instruction),
        };
        let Some(space) = Space::parse(space) else {
            return unknown(instruction);
        };
        let [d, a] = &instruction.operands[..] else {
            return error(
                line,
                format!(
                    "`{}` takes a destination and a source",
                    spelling(instruction)
                ),
            );
        };
        if let (Space::Param, Operand::Name(name)) = (space, a)
            && let Some(Symbol::OwnParameter(_)) = self.local_symbol(name)
        {
            return unsupported(
                line,
                format!(
                    "`cvta.param` takes parameters of a kernel, and `{name}` is one of a function: `mov` gives its address, and `cvta.local` makes that generic"
                ),
            );
        }
        let rows = Rows {
            d: self.destination(line, d, Scalar::U64)?,
            a: self.source(line, a, Scalar::U64)?,
            b: self.constant(Scalar::U64, window_of(space).map_or(0, |(first, _)| first)),
            ..Rows::default()
        };
        self.emit_wide(instruction, if to_space { "sub" } else { "add" }, rows)
    }

    /// Appends arithmetic on 64 bits that an instruction comes to.
    pub(super) fn emit_wide(
        &mut self,
        instruction: &Instr,
        opcode: &str,
        rows: Rows,
    ) -> Result<()> {
        let modifiers = ["u64".to_owned()];
        let Some(alu) = alu::select(&Form::new(opcode, &modifiers)) else {
            return unknown(instruction);
        };
        self.emit_plain(
            instruction,
            Op::Alu {
                execute: alu.execute,
                rows,
                extra: 0,
            },
        )
    }

    /// `mapa` and `getctarank`, on generic addresses or on those of shared memory.
    pub(super) fn cluster_address(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let ty = match modifiers[..] {
            [ty @ ("u32" | "u64")] | ["shared::cluster", ty @ ("u32" | "u64")] => {
                Scalar::parse(ty).unwrap_or(Scalar::U64)
            }
            _ => return unknown(instruction),
        };
        let op = match (instruction.opcode.as_str(), &instruction.operands[..]) {
            ("mapa", [d, a, rank]) => Op::MapAddress {
                d: Row::of(ty, self.destination(line, d, ty)?),
                a: Row::of(ty, self.source(line, a, ty)?),
                rank: self.source(line, rank, Scalar::U32)?,
            },
            ("getctarank", [d, a]) => Op::RankOfAddress {
                d: self.destination(line, d, Scalar::U32)?,
                a: Row::of(ty, self.source(line, a, ty)?),
            },
            _ => {
                return error(
                    line,
                    format!("the operands of `{}` do not fit", spelling(instruction)),
                );
            }
        };
        self.emit_plain(instruction, op)
    }

    fn is_space(&mut self, instruction: &Instr) -> Result<()> {
        let line = instruction.line;
        let space = match &instruction.modifiers[..] {
            [space] => Space::parse(space),
            _ => None,
        };
        let Some(space) = space else {
            return unknown(instruction);
        };
        let [d, a] = &instruction.operands[..] else {
            return error(line, "`isspacep` takes a predicate and an address");
        };
        let Some(d) = self.predicate_destination(line, d)? else {
            return error(line, "`isspacep` needs a predicate");
        };
        let a = self.any_source(line, a, Scalar::U64)?;
        let window = match space {
            Space::Const => (window::CONST, window::LENGTH),
            _ => window_of(space).unwrap_or((window::GLOBAL, window::GLOBAL.wrapping_neg())),
        };
        self.emit_plain(instruction, Op::IsSpace { d, a, window })
    }

    /// A 64-bit register that receives half of 128 bits, or the sink `_`.
    fn half(&mut self, line: u32, operand: &Operand) -> Result<Option<Row>> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            Operand::Name(name) => self.any_register(line, name, 8).map(Some),
            _ => error(line, "the destination must be a register"),
        }
    }

    /// The forms of `mov` that are more than a copy of one register. Returns whether it was one.
    pub(super) fn special_move(&mut self, instruction: &Instr) -> Result<bool> {
        let line = instruction.line;
        let ty = match &instruction.modifiers[..] {
            [ty] => Scalar::parse(ty),
            _ => None,
        };
        let (Some(ty), [d, a]) = (ty, &instruction.operands[..]) else {
            return Ok(false);
        };
        let op = match (d, a) {
            _ if ty == Scalar::B128 => {
                let a = match a {
                    Operand::Vector(parts) => {
                        let [low, high] = &parts[..] else {
                            return error(line, "two 64-bit parts make up 128 bits");
                        };
                        [
                            self.any_source(line, low, Scalar::B64)?,
                            self.any_source(line, high, Scalar::B64)?,
                        ]
                    }
                    a => self.row_pair(line, a)?,
                };
                let d = match d {
                    Operand::Vector(parts) => {
                        let [low, high] = &parts[..] else {
                            return error(line, "two 64-bit parts make up 128 bits");
                        };
                        [self.half(line, low)?, self.half(line, high)?]
                    }
                    d => self.row_pair(line, d)?.map(Some),
                };
                Op::MovePair { d, a }
            }
            (Operand::Vector(parts), a) => {
                let bits = part_bits(line, ty, parts.len())?;
                let a = self.any_source(line, a, ty)?;
                let parts = parts
                    .iter()
                    .map(|part| match part {
                        Operand::Name(name) if name == "_" => Ok(None),
                        Operand::Name(name) => {
                            self.any_register(line, name, bits as usize / 8).map(Some)
                        }
                        _ => error(line, "the destination must be a register"),
                    })
                    .collect::<Result<_>>()?;
                Op::Unpack { a, bits, parts }
            }
            (d, Operand::Vector(parts)) => {
                let bits = part_bits(line, ty, parts.len())?;
                let part_type = match bits {
                    8 => Scalar::B8,
                    16 => Scalar::B16,
                    _ => Scalar::B32,
                };
                let d = Row::of(ty, self.destination(line, d, ty)?);
                let parts = parts
                    .iter()
                    .map(|part| self.any_source(line, part, part_type))
                    .collect::<Result<_>>()?;
                Op::Pack { d, bits, parts }
            }
            (d, Operand::Name(name)) => {
                let Some((clock, wide)) = clock(name) else {
                    return Ok(false);
                };
                if wide != (ty.bytes() == 8) {
                    return error(
                        line,
                        format!(
                            "`{name}` does not have the width of `{}`",
                            spelling(instruction)
                        ),
                    );
                }
                Op::Clock {
                    d: Row::of(ty, self.destination(line, d, ty)?),
                    clock,
                }
            }
            _ => return Ok(false),
        };
        self.emit_plain(instruction, op)?;
        Ok(true)
    }
}

fn part_bits(line: u32, ty: Scalar, parts: usize) -> Result<u32> {
    let bits = ty.bytes() * 8;
    if !matches!(parts, 2 | 4) || bits / parts < 8 {
        return error(line, format!("{parts} parts do not make up {bits} bits"));
    }
    Ok((bits / parts) as u32)
}

/// First address and length of a space's window into the generic address space.
fn window_of(space: Space) -> Option<(u64, u64)> {
    match space {
        Space::Shared => Some((window::SHARED, window::LENGTH)),
        Space::Local => Some((window::LOCAL, window::LENGTH)),
        Space::Param => Some((window::PARAM, window::LENGTH)),
        Space::Generic | Space::Global | Space::Const => None,
    }
}
