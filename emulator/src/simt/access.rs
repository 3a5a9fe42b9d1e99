//! Loads and stores of a warp: all lanes at once where they go to one region, else lane by lane.

use super::block::Block;
use super::site::{Faulty, Site};
use super::spaces::Target;
use crate::address::Address;
use crate::code::Access;
use crate::observer::{AccessEvent, AccessKind, AccessOrder, Observer, ValuesEvent};
use crate::region::{Region, Width};
use crate::registers::{FULL, LANES, Registers, each_lane, for_lanes};
use crate::row::Row;
use crate::types::Space;

/// The most elements of a vector, which has at most 32 bytes.
const MOST_ELEMENTS: usize = 32;

/// Where each lane's access lies in a region that holds all of them.
struct Offsets([u64; LANES]);

impl Offsets {
    const ZERO: Self = Self([0; LANES]);

    /// Takes the lanes' addresses as offsets in a region; tells whether every access is inside and aligned. Those of inactive lanes
    /// stay 0.
    #[inline(always)]
    fn find(
        &mut self,
        registers: &Registers,
        address: &Address,
        region: &Region<'_>,
        lanes: u32,
        bytes: u64,
    ) -> bool {
        let Some(limit) = region.bytes.checked_sub(bytes) else {
            return false;
        };
        let displacement = (address.offset as u64).wrapping_sub(region.base);
        let offsets = &mut self.0;
        if lanes != FULL {
            each_lane(lanes, |lane| {
                offsets[lane] = registers.get(address.base, lane).wrapping_add(displacement);
            });
        } else {
            match address.base {
                Row::Wide(row) => {
                    for (offset, base) in offsets.iter_mut().zip(&registers.wide[row as usize]) {
                        *offset = base.wrapping_add(displacement);
                    }
                }
                Row::Narrow(row) => {
                    for (offset, base) in offsets.iter_mut().zip(&registers.narrow[row as usize]) {
                        *offset = u64::from(*base).wrapping_add(displacement);
                    }
                }
            }
        }
        // Regions are shorter than 2^63 bytes: an offset is outside if it, or what is left after it, has the highest bit.
        let (mut outside, mut low) = (0, 0);
        for &offset in offsets.iter() {
            outside |= offset | limit.wrapping_sub(offset);
            low |= offset;
        }
        outside >> 63 == 0 && low & (bytes - 1) == 0
    }

    /// The addresses in the space itself, for observers.
    fn addresses(&self, region: &Region<'_>, space: Space) -> [u64; LANES] {
        match space {
            Space::Shared => self.0,
            _ => self.0.map(|offset| region.base.wrapping_add(offset)),
        }
    }
}

impl<O: Observer> Block<'_, '_, O> {
    /// Executes a load, or (`STORES`) a store.
    #[inline(always)]
    pub(super) fn access<const STORES: bool>(&mut self, site: Site, access: &Access) -> Faulty<()> {
        let bytes = access.bytes();
        let memory = self.spaces.memory;
        let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
        let first = registers.address(&access.address, site.lanes.trailing_zeros() as usize);
        let mut offsets = Offsets::ZERO;
        let Some((region, space)) =
            self.spaces
                .region(access.address.place, first)
                .filter(|(region, _)| {
                    !(STORES && region.read_only)
                        && offsets.find(registers, &access.address, region, site.lanes, bytes)
                })
        else {
            return self.access_by_lane::<STORES>(site, access, bytes);
        };
        access.order.fence();
        let _guard = access.is_whole.then(|| memory.lock_pairs(region.base));
        if STORES {
            store_elements(registers, access, &region, &offsets, site.lanes);
        } else {
            load_elements(registers, access, &region, &offsets, site.lanes);
        }
        access.order.fence();
        if self.observer.wants().accesses {
            let event = AccessEvent {
                warp: site.warp as u32,
                line: site.line,
                kind: kind::<STORES>(),
                order: access.order,
                space,
                bytes: bytes as u32,
                lanes: site.lanes,
                addresses: &offsets.addresses(&region, space),
                completes_copies: false,
            };
            self.observer.access(event);
            let values = self.moved(site, access);
            self.report_values(site, site.lanes, &values);
        }
        Ok(())
    }

    /// The same where the lanes' addresses lead to several regions, or some of them nowhere.
    #[inline(never)]
    fn access_by_lane<const STORES: bool>(
        &mut self,
        site: Site,
        access: &Access,
        bytes: u64,
    ) -> Faulty<()> {
        access.order.fence();
        let mut values = [0; MOST_ELEMENTS];
        let values = &mut values[..access.registers.len()];
        let mut seen = Seen::default();
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let address = registers.address(&access.address, lane);
            if STORES {
                for (value, row) in values.iter_mut().zip(&access.registers) {
                    *value = row.map_or(0, |row| registers.get(row, lane));
                }
            }
            let place = access.address.place;
            let target = self
                .target(site, lane, place, address, bytes, kind::<STORES>())
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            let (region, width) = (&target.region, access.element_bytes);
            for (element, value) in values.iter_mut().enumerate() {
                let offset = target.offset + element as u64 * u64::from(width);
                if STORES {
                    store_one(region, offset, width, *value);
                } else {
                    *value = load_one(region, offset, width, access.signed);
                }
            }
            if !STORES {
                let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
                for (&value, row) in values.iter().zip(&access.registers) {
                    if let Some(row) = *row {
                        registers.put(row, lane, value);
                    }
                }
            }
        }
        access.order.fence();
        seen.values = self.moved(site, access);
        self.report(site, kind::<STORES>(), access.order, bytes, &seen);
        Ok(())
    }

    /// Tells the observer of an access that went lane by lane, one event per space.
    pub(super) fn report(
        &mut self,
        site: Site,
        kind: AccessKind,
        order: AccessOrder,
        bytes: u64,
        seen: &Seen,
    ) {
        if !self.observer.wants().accesses {
            return;
        }
        for space in [
            Space::Global,
            Space::Shared,
            Space::Local,
            Space::Const,
            Space::Param,
        ] {
            let lanes = seen.lanes[space as usize];
            if lanes != 0 {
                self.observer.access(AccessEvent {
                    warp: site.warp as u32,
                    line: site.line,
                    kind,
                    order,
                    space,
                    bytes: bytes as u32,
                    lanes,
                    addresses: &seen.addresses,
                    completes_copies: seen.completes_copies,
                });
                self.report_values(site, lanes, &seen.values);
            }
        }
    }

    /// What the lanes have loaded or stored, element by element of the vector; nothing where no observer wants it.
    fn moved(&self, site: Site, access: &Access) -> Vec<[u64; LANES]> {
        if !self.observer.wants().values {
            return Vec::new();
        }
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let in_row = |row: &Option<Row>| {
            core::array::from_fn(|lane| row.map_or(0, |row| registers.get(row, lane)))
        };
        access.registers.iter().map(in_row).collect()
    }

    /// Tells the observer what an access has moved.
    fn report_values(&mut self, site: Site, lanes: u32, values: &[[u64; LANES]]) {
        for values in values {
            self.observer.values(ValuesEvent {
                warp: site.warp as u32,
                lanes,
                values,
            });
        }
    }
}

/// The lanes of an access by space, with their addresses.
#[derive(Default)]
pub(super) struct Seen {
    lanes: [u32; 6],
    addresses: [u64; LANES],
    /// What the lanes have moved, element by element, where an observer wants it.
    pub values: Vec<[u64; LANES]>,
    /// As of [`AccessEvent`].
    pub completes_copies: bool,
}

impl Seen {
    pub fn add(&mut self, lane: usize, target: &Target<'_>) {
        self.lanes[target.space as usize] |= 1 << lane;
        self.addresses[lane] = target.region.base.wrapping_add(target.offset);
    }
}

/// What an access does that stores or does not.
const fn kind<const STORES: bool>() -> AccessKind {
    if STORES {
        AccessKind::Store
    } else {
        AccessKind::Load
    }
}

fn load_one(region: &Region<'_>, offset: u64, bytes: u8, signed: bool) -> u64 {
    match (bytes, signed) {
        (1, false) => region.load::<u8>(offset).to_u64(),
        (1, true) => region.load::<u8>(offset) as i8 as i64 as u64,
        (2, false) => region.load::<u16>(offset).to_u64(),
        (2, true) => region.load::<u16>(offset) as i16 as i64 as u64,
        (4, false) => region.load::<u32>(offset).to_u64(),
        (4, true) => region.load::<u32>(offset) as i32 as i64 as u64,
        _ => region.load::<u64>(offset),
    }
}

fn store_one(region: &Region<'_>, offset: u64, bytes: u8, value: u64) {
    match bytes {
        1 => region.store(offset, value as u8),
        2 => region.store(offset, value as u16),
        4 => region.store(offset, value as u32),
        _ => region.store(offset, value),
    }
}

/// Loads every element of a vector for all lanes.
#[inline(always)]
fn load_elements(
    registers: &mut Registers,
    access: &Access,
    region: &Region<'_>,
    offsets: &Offsets,
    lanes: u32,
) {
    for (element, row) in access.registers.iter().enumerate() {
        let shift = element as u64 * u64::from(access.element_bytes);
        let at = |lane: usize| offsets.0[lane] + shift;
        match (row, access.element_bytes) {
            (None, _) => {}
            (Some(Row::Narrow(row)), 4) => {
                let row = &mut registers.narrow[*row as usize];
                for_lanes(lanes, |lane| {
                    // SAFETY: `Offsets::find` saw that the whole vector lies in the region, aligned to its length.
                    row[lane] = unsafe { region.load_unchecked::<u32>(at(lane)) };
                });
            }
            (Some(Row::Wide(row)), 8) => {
                let row = &mut registers.wide[*row as usize];
                for_lanes(lanes, |lane| {
                    // SAFETY: as above.
                    row[lane] = unsafe { region.load_unchecked::<u64>(at(lane)) };
                });
            }
            (Some(row), bytes) => each_lane(lanes, |lane| {
                registers.put(*row, lane, load_one(region, at(lane), bytes, access.signed));
            }),
        }
    }
}

/// Stores every element of a vector for all lanes; later lanes win where lanes collide.
#[inline(always)]
fn store_elements(
    registers: &Registers,
    access: &Access,
    region: &Region<'_>,
    offsets: &Offsets,
    lanes: u32,
) {
    for (element, row) in access.registers.iter().enumerate() {
        let shift = element as u64 * u64::from(access.element_bytes);
        let at = |lane: usize| offsets.0[lane] + shift;
        match (row, access.element_bytes) {
            (None, _) => {}
            (Some(Row::Narrow(row)), 4) => {
                let row = &registers.narrow[*row as usize];
                for_lanes(lanes, |lane| {
                    // SAFETY: `Offsets::find` saw that the whole vector lies in the region, aligned to its length.
                    unsafe { region.store_unchecked(at(lane), row[lane]) };
                });
            }
            (Some(row), bytes) => each_lane(lanes, |lane| {
                store_one(region, at(lane), bytes, registers.get(*row, lane));
            }),
        }
    }
}
