//! Asynchronous copies between their issue and their completion: whoever reads or writes what they write, or writes what they
//! read, may come before them or after.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::shadow::{Conflict, Mode, Moment};
use crate::observer::{AccessEvent, AccessKind, AccessOrder, CopyEvent};
use crate::registers::each_lane;
use crate::types::Space;

/// The ends of a block's copies that are not complete. Copies whose ends begin at one address are taken for one, which is the last.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// By space and first address; `true` for destinations.
    ends: BTreeMap<(Space, bool, u64), End>,
    /// Bytes of the longest since there were none.
    longest: u64,
}

#[derive(Clone, Copy, Debug)]
struct End {
    past: u64,
    copy: Moment,
    lane: u32,
    /// How many copies these are: several may reduce into the same place, or read from it.
    copies: u32,
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
        for_ends(event, |lane, key, bytes| {
            let mode = if key.1 { writes } else { reads };
            let end = self.ends.entry(key).or_insert(End {
                past: 0,
                copy,
                lane: 0,
                copies: 0,
            });
            *end = End {
                past: end.past.max(key.2 + u64::from(bytes)),
                copy: Moment {
                    mode: mode.unfinished(),
                    ..copy
                },
                lane: lane as u32,
                copies: end.copies + 1,
            };
            self.longest = self.longest.max(bytes.into());
        });
    }

    /// Copies are complete.
    pub fn remove(&mut self, event: &CopyEvent<'_>) {
        for_ends(event, |_, key, _| {
            if let Entry::Occupied(mut end) = self.ends.entry(key) {
                end.get_mut().copies -= 1;
                if end.get().copies == 0 {
                    end.remove();
                }
            }
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
        // The end that bytes from one address to another clash with, and where it begins.
        let end = |address: u64, past: u64| {
            let end = |is_destination: bool| {
                let key = |address| (event.space, is_destination, address);
                let near = key(address.saturating_sub(self.longest))..key(past);
                let clashes = |end: &End| address < end.past && end.copy.conflicts(&access);
                self.ends.range(near).rev().find(|(_, end)| clashes(end))
            };
            let (&(_, _, first), end) = end(true).or_else(|| end(false))?;
            Some((first, end))
        };
        let bytes = u64::from(event.bytes);
        let (mut least, mut greatest) = (u64::MAX, 0);
        each_lane(event.lanes, |lane| {
            least = least.min(event.addresses[lane]);
            greatest = greatest.max(event.addresses[lane]);
        });
        if end(least, greatest + bytes).is_none() {
            return 0;
        }
        each_lane(event.lanes, |lane| {
            let address = event.addresses[lane];
            let Some((first, end)) = end(address, address + bytes) else {
                return;
            };
            met |= 1 << lane;
            found(Conflict {
                before: end.copy,
                before_lane: end.lane,
                after: access,
                after_lane: lane as u32,
                address: address.max(first),
            });
        });
        met
    }
}

/// Both ends of each lane's copy, with their lengths; those of no length are left out.
fn for_ends(event: &CopyEvent<'_>, mut f: impl FnMut(usize, (Space, bool, u64), u32)) {
    each_lane(event.lanes, |lane| {
        for (key, bytes) in [
            ((event.to_space, true, event.to[lane]), event.to_bytes[lane]),
            (
                (event.from_space, false, event.from[lane]),
                event.from_bytes[lane],
            ),
        ] {
            if bytes != 0 {
                f(lane, key, bytes);
            }
        }
    });
}
