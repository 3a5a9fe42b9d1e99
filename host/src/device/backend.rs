//! What a device is, once it is open.

use super::emulator::Emulator;
use super::gpu::Gpu;

/// One of the two things that run kernels. Whatever a device makes holds its part of the same one.
pub(super) enum Backend {
    /// A GPU, through its driver.
    Gpu(Gpu),
    /// The processor of this machine.
    Emulator(Emulator),
}

impl Backend {
    /// Whether both are one device, opened once.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gpu(one), Self::Gpu(other)) => one.is_same(other),
            (Self::Emulator(one), Self::Emulator(other)) => one.is_same(other),
            _ => false,
        }
    }
}
