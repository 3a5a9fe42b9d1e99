//! Asynchronous stores and reductions into the shared memory of other blocks of the cluster (PTX ISA `st.async`, `red.async`).

use super::async_copy::shared_form_exists;
use super::lowering::Lowering;
use super::refusal::{Result, unknown, wrong_operands};
use crate::address::Where;
use crate::code::*;
use crate::observer::{AccessOrder, Scope};
use crate::syntax::Instruction as Instr;
use crate::types::Scalar;

impl Lowering<'_, '_> {
    /// `st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vector}.type [to], b, [mbarrier]` and
    /// `red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.operation.type [to], b, [mbarrier]`
    pub(super) fn async_store(&mut self, instruction: &Instr) -> Result<()> {
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let (words, reduces) = match (instruction.opcode.as_str(), &words[..]) {
            ("st", ["async", "weak", words @ ..] | ["async", words @ ..]) => (words, false),
            ("red", ["async", "relaxed", "cluster", words @ ..]) => (words, true),
            _ => return unknown(instruction),
        };
        let (place, words) = match words {
            ["shared::cluster", words @ ..] => (Where::ClusterShared, words),
            words => (Where::Generic, words),
        };
        let ["mbarrier::complete_tx::bytes", words @ .., ty] = words else {
            return unknown(instruction);
        };
        let Some(ty) = Scalar::parse(ty) else {
            return unknown(instruction);
        };
        let (vector, reduction) = match words {
            [operation] if reduces => match AtomicOperation::parse(operation) {
                Some(operation) if shared_form_exists(operation, ty) => (
                    1,
                    Some(Reduction {
                        operation,
                        ty,
                        order: AccessOrder::Relaxed(Scope::Cluster),
                    }),
                ),
                _ => return unknown(instruction),
            },
            [] if !reduces => (1, None),
            ["v2"] if !reduces => (2, None),
            ["v4"] if !reduces => (4, None),
            _ => return unknown(instruction),
        };
        if !reduces && !is_stored(ty, vector) {
            return unknown(instruction);
        }
        let [to, value, mbarrier] = &instruction.operands[..] else {
            return wrong_operands(instruction);
        };
        let rows = self.atomic_rows(instruction, value, ty, vector, false)?;
        let copy = AsyncCopy {
            from: CopySource::Registers(rows.into()),
            to: self.address(instruction.line, to, place)?,
            reduction,
            is_bulk: false,
            completes: Some(self.address(instruction.line, mbarrier, place)?),
            multicast: None,
        };
        self.emit_plain(instruction, Op::AsyncCopy(Box::new(copy)))
    }
}

/// Whether vectors of this many elements of the type are stored asynchronously.
fn is_stored(ty: Scalar, vector: usize) -> bool {
    use Scalar::*;
    matches!(ty, B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64) && vector * ty.bytes() <= 16
}
