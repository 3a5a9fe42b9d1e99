//! The device that the emulator stands in for, as far as a launch depends on it.

use crate::kernel::Kernel;
use crate::registers::LANES;

/// What a GPU has room for. The emulated one has few multiprocessors, each like those of an H100 or H200 (sm_90).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Multiprocessors (`%nsmid`).
    pub multiprocessors: u32,
    /// The most threads that are resident on one of them, in whole warps.
    pub threads_per_multiprocessor: u32,
    /// The most blocks that are resident on one of them.
    pub blocks_per_multiprocessor: u32,
    /// Shared memory of one of them, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// The most shared memory of a block, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that the system takes for each block in addition to what the block asks for, in bytes.
    pub reserved_shared_bytes_per_block: u32,
}

/// Shared memory is given to blocks in pieces of this many bytes.
const SHARED_GRANULARITY: u32 = 128;

impl DeviceProperties {
    /// The emulated device.
    pub const EMULATED: Self = Self {
        multiprocessors: 8,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        shared_bytes_per_multiprocessor: 228 << 10,
        shared_bytes_per_block: 227 << 10,
        reserved_shared_bytes_per_block: 1 << 10,
    };

    /// How many blocks of a launch are resident on one multiprocessor at a time, as CUDA's occupancy calculator has it, but for
    /// registers: how many a kernel takes is decided when a GPU's assembler compiles the PTX, so here they suffice always.
    /// 0 when one block alone is too large.
    pub fn resident_blocks(
        &self,
        kernel: &Kernel,
        block: [u32; 3],
        dynamic_shared_bytes: u32,
    ) -> u32 {
        let threads: u64 = block.iter().map(|&extent| u64::from(extent)).product();
        let threads = threads.max(1).next_multiple_of(LANES as u64);
        let shared = kernel.code.shared_bytes(dynamic_shared_bytes);
        if shared > u64::from(self.shared_bytes_per_block) {
            return 0;
        }
        let shared = (shared + u64::from(self.reserved_shared_bytes_per_block))
            .next_multiple_of(u64::from(SHARED_GRANULARITY));
        let by_threads = u64::from(self.threads_per_multiprocessor) / threads;
        let by_shared = u64::from(self.shared_bytes_per_multiprocessor) / shared;
        u64::from(self.blocks_per_multiprocessor)
            .min(by_threads)
            .min(by_shared) as u32
    }
}
