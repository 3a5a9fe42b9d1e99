//! The completion of copies: the bytes, what observers are told of them, and the mbarrier.

use std::sync::atomic::{Ordering, fence};

use crate::address::Where;
use crate::code::MbarrierKind;
use crate::observer::{AccessEvent, AccessKind, AccessOrder, Observer, Scope, ValuesEvent};
use crate::region::Region;
use crate::registers::{LANES, each_lane};
use crate::simt::access::Seen;
use crate::simt::atomic::update_element;
use crate::simt::block::Block;
use crate::simt::copies::{Contents, Pending, Side};
use crate::simt::mbarrier::apply;
use crate::simt::site::Site;
use crate::simt::spaces::Target;

/// What lanes have moved, element by element, where an observer wants it.
type Values = Vec<[u64; LANES]>;

impl<O: Observer> Block<'_, '_, O> {
    /// Moves the bytes, tells observers, and then the mbarrier.
    pub(super) fn finish_copy(&mut self, copy: &Pending) {
        let site = Site {
            warp: copy.warp as usize,
            frame: 0,
            lanes: copy.lanes,
            line: copy.line,
            clock: 0,
        };
        self.observer.copied(copy.event());
        let (mut read, mut left) = (Values::new(), Values::new());
        each_lane(copy.lanes, |lane| {
            self.move_bytes(site, copy, lane, &mut read, &mut left);
        });
        if self.observer.wants().accesses {
            let (kind, order) = copy.access();
            let element_bytes = copy.element_bytes();
            let weak = AccessOrder::Weak;
            self.tell_of_copy(
                site,
                AccessKind::Load,
                weak,
                &copy.from,
                element_bytes,
                &read,
            );
            self.tell_of_copy(site, kind, order, &copy.to, element_bytes, &left);
        }
        let Some(mbarriers) = &copy.completes else {
            return;
        };
        fence(Ordering::SeqCst);
        each_lane(copy.lanes, |lane| {
            let kind = AccessKind::Atomic;
            let mut seen = Seen::default();
            seen.completes_copies = true;
            if let Ok(target) =
                self.target(site, lane, Where::ClusterShared, mbarriers[lane], 8, kind)
            {
                seen.add(lane, &target);
                target.region.update(target.offset, |word| {
                    apply(MbarrierKind::Complete, word, copy.to.bytes[lane].into())
                });
            }
            self.report(
                site,
                kind,
                AccessOrder::AcquireRelease(Scope::Gpu),
                8,
                &seen,
            );
        });
    }

    /// Makes one lane's copy.
    #[inline(always)]
    fn move_bytes(
        &self,
        site: Site,
        copy: &Pending,
        lane: usize,
        read: &mut Values,
        left: &mut Values,
    ) {
        // The ranges were inside of one region each when the copy was issued, and the block does not free what its copies use.
        let Some(to) = self.side(site, lane, &copy.to, copy.access().0) else {
            return;
        };
        let from = match &copy.contents {
            Contents::Memory(bytes) if bytes[lane] != 0 => {
                let (place, address) = (copy.from.place, copy.from.addresses[lane]);
                self.target(site, lane, place, address, 1, AccessKind::Load)
                    .ok()
            }
            _ => None,
        };
        if let Contents::Memory(bytes) = &copy.contents
            && copy.reduction.is_none()
            && !self.observer.wants().values
        {
            let from = from.map(|from| (from, u64::from(bytes[lane])));
            copy_bytes(&to, copy.to.bytes[lane].into(), from);
            return;
        }
        let step = copy.element_bytes();
        let mut at = 0;
        while at < copy.to.bytes[lane] {
            let value = match &copy.contents {
                Contents::Memory(bytes) => from.as_ref().map_or(0, |from| {
                    let there = bytes[lane].saturating_sub(at).min(step);
                    load_bytes(&from.region, from.offset + u64::from(at), there)
                }),
                Contents::Words(words) => element_of(words, lane, at, step),
            };
            let stays = match copy.reduction {
                Some(reduction) => {
                    let (operation, ty) = (reduction.operation, reduction.ty);
                    // An H200 keeps subnormal values here, where the manual says that the current implementation does not.
                    update_element(&to, at.into(), operation, ty, value, 0, false)[1]
                }
                None => {
                    to.region.store(to.offset + u64::from(at), value as u32);
                    value
                }
            };
            if self.observer.wants().values {
                let element = (at / step) as usize;
                for (values, value) in [(&mut *read, value), (&mut *left, stays)] {
                    if values.len() <= element {
                        values.push([0; LANES]);
                    }
                    values[element][lane] = value;
                }
            }
            at += step;
        }
    }

    /// Where one side of a lane's copy begins; nowhere for a copy of nothing.
    fn side(&self, site: Site, lane: usize, side: &Side, kind: AccessKind) -> Option<Target<'_>> {
        if side.bytes[lane] == 0 {
            return None;
        }
        self.target(site, lane, side.place, side.addresses[lane], 1, kind)
            .ok()
    }

    /// Tells the observer of one side: an access of all lanes that copy as many bytes.
    fn tell_of_copy(
        &mut self,
        site: Site,
        kind: AccessKind,
        order: AccessOrder,
        side: &Side,
        element_bytes: u32,
        values: &[[u64; LANES]],
    ) {
        let mut rest = site.lanes;
        while rest != 0 {
            let bytes = side.bytes[rest.trailing_zeros() as usize];
            let mut lanes = 0;
            each_lane(rest, |lane| {
                lanes |= u32::from(side.bytes[lane] == bytes) << lane
            });
            rest &= !lanes;
            if bytes == 0 {
                continue;
            }
            self.observer.access(AccessEvent {
                warp: site.warp as u32,
                line: site.line,
                kind,
                order,
                space: side.place.space(),
                bytes,
                lanes,
                addresses: &side.addresses,
                completes_copies: true,
            });
            for values in values.iter().take(bytes.div_ceil(element_bytes) as usize) {
                self.observer.values(ValuesEvent {
                    warp: site.warp as u32,
                    lanes,
                    values,
                });
            }
        }
    }
}

/// Fills this many bytes with those that there are, and zeros after them.
fn copy_bytes(to: &Target<'_>, bytes: u64, from: Option<(Target<'_>, u64)>) {
    let (source, there) = match &from {
        Some((source, there)) => (Some(source), (*there).min(bytes)),
        None => (None, 0),
    };
    let mut at = 0;
    if let Some(source) = source
        && (to.offset | source.offset).is_multiple_of(8)
    {
        while at + 8 <= there {
            let word: u64 = source.region.load(source.offset + at);
            to.region.store(to.offset + at, word);
            at += 8;
        }
    }
    while at < bytes {
        let rest = there.saturating_sub(at).min(4) as u32;
        let word = source.map_or(0, |source| {
            load_bytes(&source.region, source.offset + at, rest)
        });
        to.region.store(to.offset + at, word as u32);
        at += 4;
    }
}

/// A value of at most 8 bytes; those that are not there are zeros.
fn load_bytes(region: &Region<'_>, offset: u64, bytes: u32) -> u64 {
    match bytes {
        2 => region.load::<u16>(offset).into(),
        4 => region.load::<u32>(offset).into(),
        8 => region.load(offset),
        _ => (0..bytes).fold(0, |value, byte| {
            let byte_there: u8 = region.load(offset + u64::from(byte));
            value | u64::from(byte_there) << (8 * byte)
        }),
    }
}

/// The element of this many bytes at an offset in the lane's words.
fn element_of(words: &[[u32; LANES]], lane: usize, at: u32, bytes: u32) -> u64 {
    let word = |index: u32| u64::from(words[index as usize][lane]);
    match bytes {
        8 => word(at / 4) | word(at / 4 + 1) << 32,
        _ => word(at / 4),
    }
}
