//! Names declared and looked up, and operands as rows.

use super::kernel::function_address;
use super::lowering::Lowering;
use super::refusal::{Result, error, unsupported};
use super::scope::{Fit, Jump, Range, Scope, Symbol};
use crate::code::*;
use crate::row::Row;
use crate::syntax::*;
use crate::types::{Scalar, Space};

impl<'m> Lowering<'_, 'm> {
    pub(super) fn scope(&mut self) -> &mut Scope<'m> {
        self.scopes
            .last_mut()
            .expect("a function has a scope until it is finished")
    }

    pub(super) fn declare(&mut self, line: u32, name: &str, symbol: Symbol) -> Result<()> {
        let scope = self.scope();
        if scope.range_of(name).is_some() || scope.symbols.insert(name.to_owned(), symbol).is_some()
        {
            return error(line, format!("`{name}` is declared twice in one scope"));
        }
        Ok(())
    }

    pub(super) fn registers(
        &mut self,
        line: u32,
        ty: Scalar,
        names: &'m [RegisterNames],
    ) -> Result<()> {
        for names in names {
            match names {
                RegisterNames::One(name) => {
                    let symbol = self.new_register(ty);
                    self.declare(line, name, symbol)?;
                }
                RegisterNames::Numbered { prefix, count } => {
                    let range = Range { ty, count: *count };
                    let scope = self.scope();
                    let again = scope.ranges.insert(prefix, range).is_some();
                    let taken = scope.symbols.keys().find(|name| {
                        let digits = name.strip_prefix(prefix.as_str());
                        digits.is_some_and(|digits| range.counts(digits))
                    });
                    if again || taken.is_some() {
                        let name = taken.cloned().unwrap_or_else(|| format!("{prefix}0"));
                        return error(line, format!("`{name}` is declared twice in one scope"));
                    }
                }
            }
        }
        Ok(())
    }

    fn new_register(&mut self, ty: Scalar) -> Symbol {
        let row = match ty {
            Scalar::Pred => self.new_predicate(),
            // Two neighbouring rows, the low half first.
            Scalar::B128 => {
                let low = self.new_row(true);
                self.new_row(true);
                low
            }
            _ => self.new_row(ty.bytes() == 8),
        };
        Symbol::Register { ty, row }
    }

    /// What a name stands for in this function.
    pub(super) fn local_symbol(&mut self, name: &str) -> Option<Symbol> {
        for index in (0..self.scopes.len()).rev() {
            if let Some(&symbol) = self.scopes[index].symbols.get(name) {
                return Some(symbol);
            }
            if let Some(range) = self.scopes[index].range_of(name) {
                let symbol = self.new_register(range.ty);
                self.scopes[index].symbols.insert(name.to_owned(), symbol);
                return Some(symbol);
            }
        }
        None
    }

    pub(super) fn label(&mut self, line: u32, name: &'m str) -> Result<()> {
        let at = self.code.instructions.len() as u32;
        if self.scope().labels.insert(name, at).is_some() {
            return error(line, format!("the label `{name}` is defined twice"));
        }
        Ok(())
    }

    pub(super) fn jump(&mut self, jump: Jump<'m>) {
        self.scope().jumps.push(jump);
    }

    /// Connects the jumps of a scope that ends with its labels; hands those that leave it to the scope around.
    pub(super) fn resolve_labels(&mut self, scope: Scope<'m>, outer: Option<usize>) -> Result<()> {
        for jump in scope.jumps {
            let Some(&target) = scope.labels.get(jump.label) else {
                match outer {
                    Some(outer) => self.scopes[outer].jumps.push(jump),
                    None => {
                        return error(
                            jump.line,
                            format!("the label `{}` is not defined", jump.label),
                        );
                    }
                }
                continue;
            };
            match &mut self.code.instructions[jump.instruction as usize].op {
                Op::Branch { target: to, .. } => *to = target,
                Op::BranchTable(table) => table.targets[jump.slot] = target,
                _ => {}
            }
            self.successors[jump.instruction as usize]
                .targets
                .push(target);
        }
        Ok(())
    }

    /// The labels of `.branchtargets`.
    pub(super) fn table(&self, line: u32, name: &str) -> Result<&'m [String]> {
        match self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.tables.get(name))
        {
            Some(labels) => Ok(labels),
            None => error(line, format!("the branch targets `{name}` are not defined")),
        }
    }

    pub(super) fn lookup(&mut self, line: u32, name: &str) -> Result<Symbol> {
        if let Some(symbol) = self.local_symbol(name) {
            return Ok(symbol);
        }
        let module = self.kernel.environment.module;
        if let Some(variable) = module
            .variables
            .iter()
            .find(|variable| variable.name == name && !variable.external)
            .or_else(|| {
                module
                    .variables
                    .iter()
                    .find(|variable| variable.name == name)
            })
        {
            if variable.space == Space::Shared {
                let value = self.module_shared(variable);
                return Ok(Symbol::Address(Space::Shared, value));
            }
            self.kernel.is_placed = true;
            return match self.kernel.environment.addresses.get(name) {
                Some(&address) => Ok(Symbol::Address(variable.space, Value::Constant(address))),
                None => unsupported(
                    line,
                    format!("the variable `{name}` is defined outside this module"),
                ),
            };
        }
        if let Some(entry) = module.entry(name)
            && let Some(address) = function_address(module, name)
        {
            self.kernel.take_entry(&entry.name);
            return Ok(Symbol::Address(Space::Generic, Value::Constant(address)));
        }
        if module
            .functions
            .iter()
            .any(|function| function.name == name)
        {
            let address = self.function_address(line, name)?;
            return Ok(Symbol::Address(Space::Generic, Value::Constant(address)));
        }
        if is_performance_counter(name) {
            return unsupported(
                line,
                format!("the performance counter `{name}` is not supported by the emulator"),
            );
        }
        if name == "%is_explicit_cluster" {
            return unsupported(
                line,
                format!("the special register `{name}` is not supported by the emulator"),
            );
        }
        let kind = if name.starts_with('%') {
            "register"
        } else {
            "name"
        };
        error(line, format!("the {kind} `{name}` is not declared"))
    }

    pub(super) fn is_wide_register(&mut self, operand: Option<&Operand>) -> bool {
        let Some(Operand::Name(name)) = operand else {
            return false;
        };
        matches!(self.local_symbol(name), Some(Symbol::Register { ty, .. }) if ty.bytes() == 8)
    }

    /// Whether it names a predicate, negated or not.
    pub(super) fn is_predicate(&mut self, operand: &Operand) -> bool {
        let (Operand::Name(name) | Operand::Negated(name)) = operand else {
            return false;
        };
        matches!(
            self.local_symbol(name),
            Some(Symbol::Register {
                ty: Scalar::Pred,
                ..
            })
        )
    }

    /// The row of a register that holds `ty`.
    fn register_row(&mut self, line: u32, name: &str, ty: Scalar, fit: Fit) -> Result<u32> {
        let bits = ty.bytes() * 8;
        match self.lookup(line, name)? {
            Symbol::Register {
                ty: Scalar::Pred, ..
            } => error(
                line,
                format!("`{name}` is a predicate where a register of {bits} bits is needed"),
            ),
            Symbol::Register { ty: found, row } => {
                let same_row = (found.bytes() == 8) == (ty.bytes() == 8);
                let fits = match fit {
                    _ if found == Scalar::B128 => false,
                    Fit::Exact => found.bytes() == ty.bytes(),
                    Fit::AtLeast => found.bytes() >= ty.bytes(),
                };
                if fits && same_row {
                    return Ok(row);
                }
                let message = format!(
                    "`{name}` has {} bits where {bits} are needed",
                    found.bytes() * 8
                );
                if fits {
                    unsupported(line, message)
                } else {
                    error(line, message)
                }
            }
            _ => error(line, format!("`{name}` is not a register")),
        }
    }

    /// The row that an instruction writes; the sink `_` gets a row that nobody reads.
    pub(super) fn destination(&mut self, line: u32, operand: &Operand, ty: Scalar) -> Result<u32> {
        self.fitting_destination(line, operand, ty, Fit::Exact)
    }

    pub(super) fn fitting_destination(
        &mut self,
        line: u32,
        operand: &Operand,
        ty: Scalar,
        fit: Fit,
    ) -> Result<u32> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(self.new_row(ty.bytes() == 8)),
            Operand::Name(name) => self.register_row(line, name, ty, fit),
            _ => error(line, "the destination must be a register"),
        }
    }

    /// The row that an instruction reads.
    pub(super) fn source(&mut self, line: u32, operand: &Operand, ty: Scalar) -> Result<u32> {
        self.fitting_source(line, operand, ty, Fit::Exact)
    }

    pub(super) fn fitting_source(
        &mut self,
        line: u32,
        operand: &Operand,
        ty: Scalar,
        fit: Fit,
    ) -> Result<u32> {
        match operand {
            Operand::Name(name) => {
                if let Some(special) = special(name) {
                    self.kernel.reserves_shared |=
                        special == Value::Special(Special::ReservedShared);
                    return Ok(self.value_row(ty.bytes() == 8, special));
                }
                match self.lookup(line, name)? {
                    Symbol::Register { .. } => self.register_row(line, name, ty, fit),
                    symbol => self.address_row(line, name, symbol, 0, ty),
                }
            }
            Operand::Sum { name, offset } => {
                let symbol = self.lookup(line, name)?;
                self.address_row(line, name, symbol, *offset, ty)
            }
            Operand::Integer(value) if ty.is_float() => {
                // Integers in float operands are their value, as the assembler converts them.
                let value = *value as i64 as f64;
                Ok(self.constant(ty, float_bits(value, ty)))
            }
            Operand::Integer(value) => Ok(self.constant(ty, *value)),
            Operand::F32(bits) if ty == Scalar::F64 => {
                Ok(self.constant(ty, f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(self.constant(ty, u64::from(*bits))),
            Operand::F64(bits) if ty == Scalar::F32 => {
                Ok(self.constant(ty, float_bits(f64::from_bits(*bits), ty)))
            }
            Operand::F64(bits) => Ok(self.constant(ty, *bits)),
            _ => error(line, "the source must be a register, a number or a symbol"),
        }
    }

    /// A row that holds the address of a variable in its own state space.
    fn address_row(
        &mut self,
        line: u32,
        name: &str,
        symbol: Symbol,
        offset: i64,
        ty: Scalar,
    ) -> Result<u32> {
        let value = match symbol {
            Symbol::Address(_, value) => match value {
                Value::Constant(base) => Value::Constant(base.wrapping_add_signed(offset)),
                Value::DynamicShared(base) => {
                    Value::DynamicShared(base.wrapping_add_signed(offset))
                }
                Value::Local(base) => Value::Local((i64::from(base) + offset) as u32),
                Value::Special(_) => value,
            },
            Symbol::EntryParameter(slice) => {
                Value::Constant(u64::from(slice.offset).wrapping_add_signed(offset))
            }
            Symbol::OwnParameter(number) => {
                Value::Local((i64::from(self.parameter_copy(number)) + offset) as u32)
            }
            Symbol::FrameParameter(_) => {
                return unsupported(
                    line,
                    format!(
                        "the address of `{name}` cannot be taken: it is a result of the function, or an argument or a result of a call"
                    ),
                );
            }
            Symbol::Register { .. } => {
                return error(
                    line,
                    format!("`{name}` is a register, which has no address"),
                );
            }
        };
        Ok(self.value_row(ty.bytes() == 8, value))
    }

    /// Where the copy of a parameter begins in the frame's local memory, which has it from now on.
    fn parameter_copy(&mut self, number: u32) -> u32 {
        let from = self.code.parameters[number as usize];
        if let Some(copy) = self.code.copies.iter().find(|copy| copy.from == from) {
            return copy.local;
        }
        let parameter = &self.function.parameters[number as usize];
        let align = parameter.align.max(1) as u64;
        let guard = u64::from(COPY_GUARD_BYTES);
        self.local.place(guard, 1);
        let local = self.local.place(from.bytes.into(), align) as u32;
        self.local.place(guard, 1);
        self.code.local_align = self.code.local_align.max(align as u32);
        self.code.copies.push(ParameterCopy {
            name: parameter.name.clone(),
            from,
            local,
        });
        local
    }

    /// A register that holds at least `bytes` bytes, for loads, stores and packing.
    pub(super) fn any_register(&mut self, line: u32, name: &str, bytes: usize) -> Result<Row> {
        match self.lookup(line, name)? {
            Symbol::Register {
                ty: Scalar::Pred, ..
            } => error(
                line,
                format!("`{name}` is a predicate where a register is needed"),
            ),
            Symbol::Register { ty, .. } if ty.bytes() < bytes || ty == Scalar::B128 => error(
                line,
                format!(
                    "`{name}` has {} bits where {} are needed",
                    ty.bytes() * 8,
                    bytes * 8
                ),
            ),
            Symbol::Register { ty, row } => Ok(Row::of(ty, row)),
            _ => error(line, format!("`{name}` is not a register")),
        }
    }

    /// The two rows of a 128-bit register, the low half first.
    pub(super) fn row_pair(&mut self, line: u32, operand: &Operand) -> Result<[Row; 2]> {
        let Operand::Name(name) = operand else {
            return error(line, "a register of 128 bits is needed here");
        };
        match self.lookup(line, name)? {
            Symbol::Register {
                ty: Scalar::B128,
                row,
            } => Ok([Row::Wide(row), Row::Wide(row + 1)]),
            _ => error(line, format!("`{name}` is not a register of 128 bits")),
        }
    }

    /// A register of at least the type's width, or a constant of the type.
    pub(super) fn any_source(&mut self, line: u32, operand: &Operand, ty: Scalar) -> Result<Row> {
        if let Operand::Name(name) = operand
            && special(name).is_none()
            && let Symbol::Register { .. } = self.lookup(line, name)?
        {
            return self.any_register(line, name, ty.bytes());
        }
        let row = self.source(line, operand, ty)?;
        Ok(Row::of(ty, row))
    }

    pub(super) fn predicate_register(&mut self, line: u32, name: &str) -> Result<u32> {
        match self.lookup(line, name)? {
            Symbol::Register {
                ty: Scalar::Pred,
                row,
            } => Ok(row),
            _ => error(line, format!("`{name}` is not a predicate")),
        }
    }

    pub(super) fn predicate_destination(
        &mut self,
        line: u32,
        operand: &Operand,
    ) -> Result<Option<u32>> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            Operand::Name(name) => self.predicate_register(line, name).map(Some),
            _ => error(line, "the destination must be a predicate"),
        }
    }

    /// A predicate as a source: `number << 1 | negated`.
    pub(super) fn predicate_source(&mut self, line: u32, operand: &Operand) -> Result<u32> {
        match operand {
            Operand::Name(name) => Ok(self.predicate_register(line, name)? << 1),
            Operand::Negated(name) => Ok(self.predicate_register(line, name)? << 1 | 1),
            Operand::Integer(value) => {
                let row = match self.true_predicate {
                    Some(row) => row,
                    None => {
                        let row = self.new_predicate();
                        self.code.true_predicates.push(row);
                        self.true_predicate = Some(row);
                        row
                    }
                };
                Ok(row << 1 | u32::from(*value == 0))
            }
            _ => error(line, "the source must be a predicate"),
        }
    }
}

fn float_bits(value: f64, ty: Scalar) -> u64 {
    if ty == Scalar::F32 {
        u64::from((value as f32).to_bits())
    } else {
        value.to_bits()
    }
}

/// Special registers whose value is known when a thread starts.
fn special(name: &str) -> Option<Value> {
    let axis = |base: &str| match name.strip_prefix(base)? {
        ".x" => Some(0),
        ".y" => Some(1),
        ".z" => Some(2),
        _ => None,
    };
    let special = match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" | "%aggr_smem_size" => Special::TotalSharedBytes,
        // What the first and the second part of it are for, only the system knows: they share the place.
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1" => {
            Special::ReservedShared
        }
        "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => Special::ReservedSharedEnd,
        "WARP_SZ" => return Some(Value::Constant(32)),
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::Multiprocessors,
        // The driver's: the workspace of cooperative groups.
        "%envreg1" => Special::WorkspaceHigh,
        "%envreg2" => Special::WorkspaceLow,
        "%cluster_ctarank" => Special::RankInCluster,
        "%cluster_nctarank" => Special::BlocksInCluster,
        // One grid.
        "%gridid" | "%current_graph_exec" => return Some(Value::Constant(0)),
        _ if name.starts_with("%envreg") => return Some(Value::Constant(0)),
        _ => {
            if let Some(axis) = axis("%tid") {
                Special::ThreadIndex(axis)
            } else if let Some(axis) = axis("%ntid") {
                Special::BlockDim(axis)
            } else if let Some(axis) = axis("%ctaid") {
                Special::BlockIndex(axis)
            } else if let Some(axis) = axis("%clusterid") {
                Special::ClusterIndex(axis)
            } else if let Some(axis) = axis("%nclusterid") {
                Special::Clusters(axis)
            } else if let Some(axis) = axis("%cluster_ctaid") {
                Special::IndexInCluster(axis)
            } else if let Some(axis) = axis("%cluster_nctaid") {
                Special::ClusterDim(axis)
            } else {
                Special::GridDim(axis("%nctaid")?)
            }
        }
    };
    Some(Value::Special(special))
}

/// `%pm0` to `%pm7`, or their 64 bits, `%pm0_64`.
fn is_performance_counter(name: &str) -> bool {
    let number = name.strip_prefix("%pm").unwrap_or_default();
    let number = number.strip_suffix("_64").unwrap_or(number);
    matches!(number.as_bytes(), [b'0'..=b'7'])
}

/// Special registers that change while a thread runs.
pub(super) fn clock(name: &str) -> Option<(Clock, bool)> {
    Some(match name {
        "%clock" => (Clock::Cycles, false),
        "%clock_hi" => (Clock::CyclesHigh, false),
        "%clock64" => (Clock::Cycles64, true),
        "%globaltimer" => (Clock::Nanoseconds, true),
        "%globaltimer_lo" => (Clock::NanosecondsLow, false),
        "%globaltimer_hi" => (Clock::NanosecondsHigh, false),
        _ => return None,
    })
}
