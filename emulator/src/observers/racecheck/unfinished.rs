//! Asynchronous copies between their issue and their completion: whoever reads or writes what they write, or writes what they
//! read, may come before them or after.

use std::collections::BTreeMap;

use super::shadow::{Conflict, Mode, Moment};
use crate::observer::{AccessEvent, AccessKind, CopyEvent};
use crate::registers::each_lane;
use crate::types::Space;

/// The ends of a block's copies that are not complete. Copies whose ends begin at one address are taken for one.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// By space and first address; `true` for destinations.
    ends: BTreeMap<(Space, bool, u64), End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    past: u64,
    copy: Moment,
    lane: u32,
}

impl Unfinished {
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn clear(&mut self) {
        self.ends.clear();
    }

    /// Lanes have issued copies, at a moment of the block's.
    pub fn add(&mut self, event: &CopyEvent<'_>, copy: Moment) {
        for_ends(event, |lane, key, bytes| {
            let kind = match key.1 {
                true => AccessKind::Store,
                false => AccessKind::Load,
            };
            let end = End {
                past: key.2 + u64::from(bytes),
                copy: Moment {
                    mode: Mode::of_copy(kind),
                    ..copy
                },
                lane: lane as u32,
            };
            self.ends.insert(key, end);
        });
    }

    /// Copies are complete.
    pub fn remove(&mut self, event: &CopyEvent<'_>) {
        for_ends(event, |_, key, _| {
            self.ends.remove(&key);
        });
    }

    /// Tells of each lane whose access meets a copy; returns these lanes.
    pub fn meet(
        &self,
        event: &AccessEvent<'_>,
        access: Moment,
        mut found: impl FnMut(Conflict),
    ) -> u32 {
        let mut met = 0;
        each_lane(event.lanes, |lane| {
            let (address, past) = (
                event.addresses[lane],
                event.addresses[lane] + u64::from(event.bytes),
            );
            let end = |is_destination: bool| {
                let key = |address| (event.space, is_destination, address);
                let (&(_, _, first), end) = self.ends.range(key(0)..key(past)).next_back()?;
                (address < end.past).then_some((first, *end))
            };
            let sources_matter = event.kind != AccessKind::Load;
            let Some((first, end)) = end(true).or_else(|| end(false).filter(|_| sources_matter))
            else {
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
