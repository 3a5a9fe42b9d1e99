//! The device that the emulator stands in for, as far as a launch depends on it.

use crate::kernel::Kernel;
use crate::occupancy::Multiprocessor;

/// What a GPU has room for. The emulated one has few multiprocessors, each like those of an H100 or H200 (sm_90).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Multiprocessors (`%nsmid`).
    pub multiprocessors: u32,
    /// What each of them has.
    pub each: Multiprocessor,
}

impl DeviceProperties {
    /// The emulated device.
    pub const EMULATED: Self = Self {
        multiprocessors: 8,
        each: match Multiprocessor::of(90) {
            Some(multiprocessor) => multiprocessor,
            None => panic!("sm_90 is known"),
        },
    };

    /// How many blocks of a launch are resident on one multiprocessor at a time, but for registers, which suffice always here: how many
    /// a kernel takes is decided when a GPU's assembler compiles the PTX. 0 when one block alone is too large.
    pub fn resident_blocks(
        &self,
        kernel: &Kernel,
        block: [u32; 3],
        dynamic_shared_bytes: u32,
    ) -> u32 {
        let needs = kernel.block_needs(block, dynamic_shared_bytes, None);
        self.each.occupancy(&needs).blocks
    }
}
