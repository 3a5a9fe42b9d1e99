//! The bytes that a kernel cannot do without moving between the GPU and its memory.

use std::collections::HashSet;
use warpfold_emulator::{AccessEvent, AccessKind, Observer, Space, Wants};

/// Bytes that memory moves at least.
const SECTOR_BYTES: u64 = 32;

/// The sectors of global memory that a launch touches.
///
/// However large the caches are, a sector that is read must come once, and one that is written must go back once. What is read again or
/// written again may stay in a cache.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    read: HashSet<u64>,
    written: HashSet<u64>,
}

impl Traffic {
    pub(super) fn bytes(&self) -> u64 {
        (self.read.len() + self.written.len()) as u64 * SECTOR_BYTES
    }
}

impl Observer for Traffic {
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.read.extend(other.read);
        self.written.extend(other.written);
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        if event.space != Space::Global {
            return;
        }
        for (lane, &address) in event.addresses.iter().enumerate() {
            if event.lanes & (1 << lane) == 0 {
                continue;
            }
            let last = address + u64::from(event.bytes) - 1;
            let sectors = address / SECTOR_BYTES..=last / SECTOR_BYTES;
            if event.kind != AccessKind::Store {
                self.read.extend(sectors.clone());
            }
            if event.kind != AccessKind::Load {
                self.written.extend(sectors);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lesson, random};
    use warpfold::Device;
    use warpfold::device::DeviceChoice;
    use warpfold_kernels::catalogue;

    /// Bytes that a lesson moves for 2^14 elements.
    fn bytes_of(id: &str) -> u64 {
        let device = Device::open(&DeviceChoice::Emulator).expect("the emulator always opens");
        let lesson = catalogue::find(id).expect("it is in the catalogue");
        let values = random::i32_values(1 << 14, 1).expect("they fit");
        let mut traffic = Traffic::default();
        lesson::observe(&device, lesson, lesson.usual(512), &values, &mut traffic)
            .expect("the lesson runs");
        traffic.bytes()
    }

    #[test]
    fn what_is_only_read_moves_once() {
        // 2^14 elements, and 4 partials, which are one sector.
        assert_eq!(bytes_of("shuffle"), (4 << 14) + 32);
    }

    #[test]
    fn what_works_in_place_moves_twice_as_far_as_it_writes() {
        // The tree of step 4 writes to the first eighth of each tile.
        assert_eq!(bytes_of("unroll8"), (4 << 14) + (4 << 14) / 8 + 32);
    }
}
