//! Which addresses of global memory atomics contend for.

use super::Map;

use crate::observer::{AccessEvent, AccessKind, Observer, Wants};
use crate::registers::each_lane;
use crate::types::Space;

/// Counts the atomic operations on each address of global memory, PTX line by PTX line. The memory it takes grows with the
/// number of addresses.
#[derive(Clone, Debug, Default)]
pub struct AtomicTargets {
    /// Operations by line and address.
    operations: Map<(u32, u64), u64>,
}

impl AtomicTargets {
    /// The most operations of one line on one address; 0 where it has none.
    pub fn most_at(&self, line: u32) -> u64 {
        self.operations
            .iter()
            .filter(|((at, _), _)| *at == line)
            .map(|(_, &operations)| operations)
            .max()
            .unwrap_or(0)
    }

    /// The most operations on one address: at least as many must happen one after the other.
    pub fn most(&self) -> u64 {
        let mut by_address: Map<u64, u64> = Map::default();
        for (&(_, address), &operations) in &self.operations {
            *by_address.entry(address).or_default() += operations;
        }
        by_address.into_values().max().unwrap_or(0)
    }
}

impl Observer for AtomicTargets {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants::ACCESSES
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        for (target, operations) in other.operations {
            *self.operations.entry(target).or_default() += operations;
        }
    }

    #[inline(always)]
    fn access(&mut self, event: AccessEvent<'_>) {
        if event.kind == AccessKind::Atomic && event.space == Space::Global {
            each_lane(event.lanes, |lane| {
                let target = (event.line, event.addresses[lane]);
                *self.operations.entry(target).or_default() += 1;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::{AccessOrder, Scope};

    #[test]
    fn operations_add_up_by_address_and_line() {
        let mut targets = AtomicTargets::default();
        let mut atomic = |line, lanes, address: fn(usize) -> u64| {
            targets.access(AccessEvent {
                warp: 0,
                line,
                kind: AccessKind::Atomic,
                order: AccessOrder::Relaxed(Scope::Gpu),
                space: Space::Global,
                bytes: 4,
                lanes,
                addresses: &core::array::from_fn(address),
                completes_copies: false,
            });
        };
        atomic(5, u32::MAX, |_| 64);
        atomic(5, u32::MAX, |lane| 64 + 4 * lane as u64);
        atomic(9, 0xf, |_| 64);
        assert_eq!((targets.most_at(5), targets.most_at(9)), (33, 4));
        assert_eq!(targets.most_at(6), 0);
        let mut all = targets.fork();
        all.merge(targets);
        assert_eq!(all.most(), 37);
    }
}
