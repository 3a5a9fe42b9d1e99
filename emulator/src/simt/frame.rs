//! Frames made ready: rows of constants and special registers hold their values before the first instruction.

use std::sync::atomic::AtomicU64;

use super::block::{Block, RESERVED_SHARED_BYTES};
use super::shape::thread_index;
use super::warp::Frame;
use crate::code::{Special, Value};
use crate::observer::Observer;
use crate::registers::LANES;

impl<O: Observer> Block<'_, '_, O> {
    /// Sizes a frame for its function and fills the rows of constants and special registers.
    pub(super) fn prepare_frame(&self, warp: u32, frame: &mut Frame, local_base: u32) {
        let code = &self.code.functions[frame.code as usize];
        frame.local_base = local_base;
        let registers = &mut frame.registers;
        registers.carry = 0;
        registers.narrow.clear();
        registers.narrow.resize(code.narrow_rows, [0; LANES]);
        registers.wide.clear();
        registers.wide.resize(code.wide_rows, [0; LANES]);
        registers.predicates.clear();
        registers.predicates.resize(code.predicate_rows, 0);
        for &row in &code.true_predicates {
            registers.predicates[row as usize] = u32::MAX;
        }
        for &(row, value) in &code.narrow_values {
            registers.narrow[row as usize] = self
                .value(value, warp, local_base)
                .map(|value| value as u32);
        }
        for &(row, value) in &code.wide_values {
            registers.wide[row as usize] = self.value(value, warp, local_base);
        }
        frame.parameters.clear();
        frame.parameters.resize_with(
            code.parameter_bytes as usize / 8 * LANES,
            AtomicU64::default,
        );
    }

    fn value(&self, value: Value, warp: u32, local_base: u32) -> [u64; LANES] {
        let special = match value {
            Value::Constant(bits) => return [bits; LANES],
            Value::Local(offset) => return [u64::from(local_base.wrapping_add(offset)); LANES],
            Value::DynamicShared(offset) => {
                return [u64::from(self.code.dynamic_shared_offset).wrapping_add(offset); LANES];
            }
            Value::Special(special) => special,
        };
        let block = self.shape.block;
        core::array::from_fn(|lane| {
            let thread = warp * LANES as u32 + lane as u32;
            let lane_bit = 1u32 << lane;
            u64::from(match special {
                Special::ThreadIndex(axis) => thread_index(block, thread)[axis as usize],
                Special::BlockDim(axis) => block[axis as usize],
                Special::ClusterDim(axis) => self.shape.cluster[axis as usize],
                Special::Clusters(axis) => self.shape.clusters()[axis as usize],
                Special::BlocksInCluster => self.shape.blocks_per_cluster() as u32,
                Special::GridDim(axis) => self.shape.grid[axis as usize],
                Special::Lane => lane as u32,
                Special::Warp => warp,
                Special::Multiprocessors => self.shape.multiprocessors,
                Special::Warps => self.warps.len() as u32,
                Special::LaneMaskEq => lane_bit,
                Special::LaneMaskLt => lane_bit - 1,
                Special::LaneMaskLe => lane_bit | (lane_bit - 1),
                Special::LaneMaskGe => !(lane_bit - 1),
                Special::LaneMaskGt => !(lane_bit | (lane_bit - 1)),
                Special::DynamicSharedBytes => self.shape.dynamic_shared_bytes,
                Special::TotalSharedBytes => self.spaces.shared_bytes as u32,
                Special::ReservedShared => self.spaces.shared_bytes as u32 - RESERVED_SHARED_BYTES,
                Special::ReservedSharedEnd => self.spaces.shared_bytes as u32,
                Special::BlockIndex(_)
                | Special::Multiprocessor
                | Special::ClusterIndex(_)
                | Special::IndexInCluster(_)
                | Special::RankInCluster => {
                    let value = Value::Special(special);
                    self.shape.value_of_block(self.index, value).unwrap_or(0)
                }
                Special::WorkspaceLow => self.shape.workspace as u32,
                Special::WorkspaceHigh => (self.shape.workspace >> 32) as u32,
            })
        })
    }
}
