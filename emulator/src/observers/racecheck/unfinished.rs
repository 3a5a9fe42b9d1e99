//! Asynchronous copies between their issue and their completion. An access to what they write, or a write to what they read, may come
//! before them or after.

use std::collections::BTreeMap;

use super::shadow::{Conflict, Mode, Moment};
use crate::observer::{AccessEvent, AccessKind, AccessOrder, CopyEvent};
use crate::registers::each_lane;
use crate::types::Space;

/// The ends of a block's copies that are not complete.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    ends: BTreeMap<Key, End>,
    /// Bytes of the longest since there were none.
    longest: u64,
}

/// Space, whether it is a destination, first address, and the number and lane of the copy.
type Key = (Space, bool, u64, u64, u32);

#[derive(Clone, Copy, Debug)]
struct End {
    past: u64,
    copy: Moment,
}

impl Unfinished {
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn clear(&mut self) {
        self.ends.clear();
        self.longest = 0;
    }

    /// Lanes have issued copies, which write in the mode of this moment of the block's; they all read weakly.
    pub fn add(&mut self, event: &CopyEvent<'_>, copy: Moment) {
        let writes = copy.mode;
        let reads = Mode::of(AccessKind::Load, AccessOrder::Weak, writes.reach);
        for_ends(event, |key, bytes| {
            let mode = if key.1 { writes } else { reads };
            let copy = Moment {
                mode: mode.unfinished(),
                ..copy
            };
            let past = key.2 + u64::from(bytes);
            self.ends.insert(key, End { past, copy });
            self.longest = self.longest.max(bytes.into());
        });
    }

    /// Copies are complete.
    pub fn remove(&mut self, event: &CopyEvent<'_>) {
        for_ends(event, |key, _| {
            self.ends.remove(&key);
        });
        if self.ends.is_empty() {
            self.longest = 0;
        }
    }

    /// Tells of each lane whose access meets a copy; returns these lanes.
    pub fn meet(
        &self,
        event: &AccessEvent<'_>,
        access: Moment,
        mut found: impl FnMut(Conflict),
    ) -> u32 {
        let mut met = 0;
        // The end that bytes from one address to another clash with: where it begins, whose it is, and what.
        let clash = |address: u64, past: u64| {
            let clash_with = |is_destination: bool| {
                let key = |address| (event.space, is_destination, address, 0, 0);
                let near = key(address.saturating_sub(self.longest))..key(past);
                let clashes = |end: &End| address < end.past && end.copy.conflicts(&access);
                self.ends.range(near).rev().find(|(_, end)| clashes(end))
            };
            let (&(.., first, _, lane), end) = clash_with(true).or_else(|| clash_with(false))?;
            Some((first, lane, end.copy))
        };
        let bytes = u64::from(event.bytes);
        let (mut least, mut greatest) = (u64::MAX, 0);
        each_lane(event.lanes, |lane| {
            least = least.min(event.addresses[lane]);
            greatest = greatest.max(event.addresses[lane]);
        });
        if clash(least, greatest + bytes).is_none() {
            return 0;
        }
        each_lane(event.lanes, |lane| {
            let address = event.addresses[lane];
            let Some((first, before_lane, before)) = clash(address, address + bytes) else {
                return;
            };
            met |= 1 << lane;
            found(Conflict {
                before,
                before_lane,
                after: access,
                after_lane: lane as u32,
                address: address.max(first),
                was_missed: false,
            });
        });
        met
    }
}

/// Both ends of each lane's copy, with their lengths; those of no length are left out.
fn for_ends(event: &CopyEvent<'_>, mut f: impl FnMut(Key, u32)) {
    each_lane(event.lanes, |lane| {
        let key = |space, is_destination, first| {
            (space, is_destination, first, event.number, lane as u32)
        };
        for (key, bytes) in [
            (
                key(event.to_space, true, event.to[lane]),
                event.to_bytes[lane],
            ),
            (
                key(event.from_space, false, event.from[lane]),
                event.from_bytes[lane],
            ),
        ] {
            if bytes != 0 {
                f(key, bytes);
            }
        }
    });
}
