//! What goes from device to device.

use super::Map;

use crate::memory::Memory;
use crate::observer::{AccessEvent, AccessKind, BlockEvent, Observer, Wants};
use crate::registers::each_lane;
use crate::types::Space;

/// Counts accesses to the memory of other devices.
#[derive(Clone, Debug, Default)]
pub struct PeerTraffic {
    device: u8,
    /// By the device that accesses and the one that is accessed.
    between: Map<(u8, u8), PeerAccesses>,
}

/// What kernels of one device have done in the memory of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerAccesses {
    /// Bytes that they have loaded.
    pub loaded_bytes: u64,
    /// Bytes that they have stored.
    pub stored_bytes: u64,
    /// Atomic operations, counted by threads.
    pub atomics: u64,
}

impl PeerTraffic {
    /// What kernels of one device have done in the memory of the other.
    pub fn between(&self, from: u8, to: u8) -> PeerAccesses {
        self.between.get(&(from, to)).copied().unwrap_or_default()
    }

    /// What kernels have done in the memory of any other device than their own.
    pub fn total(&self) -> PeerAccesses {
        let mut total = PeerAccesses::default();
        for accesses in self.between.values() {
            total.add(accesses);
        }
        total
    }
}

impl PeerAccesses {
    fn add(&mut self, other: &Self) {
        self.loaded_bytes += other.loaded_bytes;
        self.stored_bytes += other.stored_bytes;
        self.atomics += other.atomics;
    }
}

impl Observer for PeerTraffic {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (pair, accesses) in other.between {
            self.between.entry(pair).or_default().add(&accesses);
        }
    }

    #[inline(always)]
    fn block(&mut self, event: BlockEvent) {
        self.device = event.device;
    }

    #[inline(always)]
    fn access(&mut self, event: AccessEvent<'_>) {
        if event.space != Space::Global {
            return;
        }
        each_lane(event.lanes, |lane| {
            let Some(device) = Memory::device_of(event.addresses[lane]) else {
                return;
            };
            if device == self.device {
                return;
            }
            let accesses = self.between.entry((self.device, device)).or_default();
            let bytes = u64::from(event.bytes);
            match event.kind {
                AccessKind::Load => accesses.loaded_bytes += bytes,
                AccessKind::Store => accesses.stored_bytes += bytes,
                AccessKind::Atomic => accesses.atomics += 1,
            }
        });
    }
}
