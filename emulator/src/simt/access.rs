//! Loads, stores and atomics of a warp.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::block::Block;
use super::diagnosis::Failed;
use super::warp::Fragment;
use crate::error::Fault;
use crate::memory::{Region, Width, window};
use crate::observer::{AccessEvent, AccessKind, AccessOrder, Observer, ValuesEvent};
use crate::program::*;
use crate::registers::{FULL, LANES, Registers, each_lane};
use crate::types::{Scalar, Space};

/// A fault and the lane that caused it.
pub(super) type Faulty<T> = Result<T, (Fault, u32)>;

/// Where an address leads, resolved.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub region: Region<'a>,
    pub offset: u64,
    pub space: Space,
}

pub(super) fn base_address(registers: &Registers, address: &Address, lane: usize) -> u64 {
    let base = match address.base {
        Row::Wide(row) => registers.wide[row as usize][lane],
        Row::Narrow(row) => u64::from(registers.narrow[row as usize][lane]),
    };
    base.wrapping_add_signed(address.offset)
}

/// The addresses of all lanes; those of inactive ones mean nothing.
#[inline(always)]
fn addresses(registers: &Registers, address: &Address) -> [u64; LANES] {
    match address.base {
        Row::Wide(row) => {
            registers.wide[row as usize].map(|base| base.wrapping_add_signed(address.offset))
        }
        Row::Narrow(row) => registers.narrow[row as usize]
            .map(|base| u64::from(base).wrapping_add_signed(address.offset)),
    }
}

/// Checks all lanes of the mask against one region at once: their offsets in it, if every access is inside and aligned.
#[inline(always)]
fn offsets_in(
    region: &Region<'_>,
    addresses: &[u64; LANES],
    lanes: u32,
    bytes: u64,
) -> Option<[u64; LANES]> {
    let limit = region.bytes.checked_sub(bytes)?;
    let offsets = addresses.map(|address| address.wrapping_sub(region.base));
    let mut good = true;
    if lanes == FULL {
        for lane in 0..LANES {
            good &= offsets[lane] <= limit;
            good &= addresses[lane] & (bytes - 1) == 0;
        }
    } else {
        each_lane(lanes, |lane| {
            good &= offsets[lane] <= limit && addresses[lane] & (bytes - 1) == 0;
        });
    }
    good.then_some(offsets)
}

impl<'k, 'm, O: Observer> Block<'k, 'm, O> {
    /// Finds the memory behind one lane's address, or the fault.
    pub(super) fn target(
        &self,
        warp: usize,
        fragment: &Fragment,
        lane: usize,
        place: Where,
        address: u64,
        bytes: u64,
        access: &'static str,
    ) -> Result<Target<'_>, Fault> {
        let (region, address_in_space, space) = match place {
            Where::Generic => {
                let in_window = |first: u64| (first..first + window::LENGTH).contains(&address);
                if in_window(window::SHARED) {
                    (
                        Some(self.shared_region()),
                        address - window::SHARED,
                        Space::Shared,
                    )
                } else if in_window(window::LOCAL) {
                    (
                        Some(self.local_region(warp, lane)),
                        address - window::LOCAL,
                        Space::Local,
                    )
                } else if in_window(window::PARAM) {
                    (Some(self.parameters), address - window::PARAM, Space::Param)
                } else {
                    (self.memory.region(address), address, Space::Global)
                }
            }
            Where::Global => (self.memory.region(address), address, Space::Global),
            Where::Shared => (Some(self.shared_region()), address, Space::Shared),
            Where::Local => (Some(self.local_region(warp, lane)), address, Space::Local),
            Where::EntryParameter => (Some(self.parameters), address, Space::Param),
            Where::FrameParameter => {
                let frame = &self.warps[warp].frames[fragment.frame as usize];
                let bytes = self.program.functions[frame.code as usize].parameter_bytes;
                (
                    Some(slice_region(&frame.parameters, bytes, lane)),
                    address,
                    Space::Param,
                )
            }
        };
        let shown = if place == Where::Generic {
            Space::Generic
        } else {
            space
        };
        if address % bytes != 0 {
            return Err(Fault::Misaligned {
                access,
                bytes: bytes as usize,
                space: shown,
                address,
            });
        }
        if let Some(region) = region {
            let offset = address_in_space.wrapping_sub(region.base);
            if region.holds(offset, bytes) {
                if region.read_only && access != "load" {
                    return Err(Fault::ReadOnly { access, address });
                }
                return Ok(Target {
                    region,
                    offset,
                    space,
                });
            }
        }
        Err(self.diagnose(&Failed {
            access,
            bytes,
            named: shown,
            space,
            address,
        }))
    }

    fn shared_region(&self) -> Region<'_> {
        Region::new(0, self.shared_bytes, false, &self.shared)
    }

    fn local_region(&self, warp: usize, lane: usize) -> Region<'_> {
        let warp = &self.warps[warp];
        slice_region(&warp.local, warp.local_bytes, lane)
    }

    /// The region that the first lane's address points into, for the common case that all lanes' do.
    #[inline(always)]
    fn candidate(&mut self, place: Where, address: u64) -> Option<(Region<'m>, Space)> {
        match place {
            Where::Global | Where::Generic if address >= window::GLOBAL => {
                let cached = self.cached_region;
                if address.wrapping_sub(cached.base) < cached.bytes {
                    return Some((cached, Space::Global));
                }
                let memory = self.memory;
                let region = memory.region(address)?;
                self.cached_region = region;
                Some((region, Space::Global))
            }
            Where::EntryParameter => Some((self.parameters, Space::Param)),
            _ => None,
        }
    }

    /// Executes a load.
    pub(super) fn load(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        access: &Access,
        lanes: u32,
        line: u32,
    ) -> Faulty<()> {
        let bytes = u64::from(access.element_bytes) * access.registers.len() as u64;
        let addresses = addresses(
            &self.warps[warp].frames[fragment.frame as usize].registers,
            &access.address,
        );
        let first = lanes.trailing_zeros() as usize;
        let place = access.address.place;
        if access.order == AccessOrder::AcquireRelease {
            fence(Ordering::SeqCst);
        }
        let (space, base) = if let Some((region, space)) = self.candidate(place, addresses[first])
            && let Some(offsets) = offsets_in(&region, &addresses, lanes, bytes)
        {
            let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
            load_elements(registers, access, &region, &offsets, lanes);
            (told_space(&region, space), 0)
        } else if let Some(base) = shared_base(place, addresses[first])
            && let region = Region::new(base, self.shared_bytes, false, &self.shared)
            && let Some(offsets) = offsets_in(&region, &addresses, lanes, bytes)
        {
            let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
            load_elements(registers, access, &region, &offsets, lanes);
            (Space::Shared, base)
        } else {
            return self.load_by_lane(warp, fragment, access, &addresses, lanes, line);
        };
        if O::ACCESSES {
            let addresses = addresses.map(|address| address.wrapping_sub(base));
            self.observer.access(AccessEvent {
                warp: warp as u32,
                line,
                kind: AccessKind::Load,
                order: access.order,
                space,
                bytes: bytes as u32,
                lanes,
                addresses: &addresses,
            });
            let values = self.moved(warp, fragment, access);
            self.report_values(warp, lanes, &values);
        }
        Ok(())
    }

    fn load_by_lane(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        access: &Access,
        addresses: &[u64; LANES],
        lanes: u32,
        line: u32,
    ) -> Faulty<()> {
        let element_bytes = u64::from(access.element_bytes);
        let bytes = element_bytes * access.registers.len() as u64;
        let mut values = [0; 32];
        let mut seen = Seen::default();
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let target = self
                .target(
                    warp,
                    fragment,
                    lane,
                    access.address.place,
                    addresses[lane],
                    bytes,
                    "load",
                )
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            for (element, value) in values.iter_mut().enumerate().take(access.registers.len()) {
                let offset = target.offset + element as u64 * element_bytes;
                *value = load_one(&target.region, offset, access.element_bytes, access.signed);
            }
            let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
            for (row, value) in access.registers.iter().zip(values) {
                match row {
                    Some(Row::Narrow(row)) => registers.narrow[*row as usize][lane] = value as u32,
                    Some(Row::Wide(row)) => registers.wide[*row as usize][lane] = value,
                    None => {}
                }
            }
        }
        seen.values = self.moved(warp, fragment, access);
        self.report(warp, line, AccessKind::Load, access.order, bytes, &seen);
        Ok(())
    }

    /// Executes a store.
    pub(super) fn store(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        access: &Access,
        lanes: u32,
        line: u32,
    ) -> Faulty<()> {
        let bytes = u64::from(access.element_bytes) * access.registers.len() as u64;
        let addresses = addresses(
            &self.warps[warp].frames[fragment.frame as usize].registers,
            &access.address,
        );
        let first = lanes.trailing_zeros() as usize;
        let place = access.address.place;
        let (space, base) = if let Some((region, space)) = self.candidate(place, addresses[first])
            && !region.read_only
            && let Some(offsets) = offsets_in(&region, &addresses, lanes, bytes)
        {
            let registers = &self.warps[warp].frames[fragment.frame as usize].registers;
            store_elements(registers, access, &region, &offsets, lanes);
            (space, 0)
        } else if let Some(base) = shared_base(place, addresses[first])
            && let region = Region::new(base, self.shared_bytes, false, &self.shared)
            && let Some(offsets) = offsets_in(&region, &addresses, lanes, bytes)
        {
            let registers = &self.warps[warp].frames[fragment.frame as usize].registers;
            store_elements(registers, access, &region, &offsets, lanes);
            (Space::Shared, base)
        } else {
            return self.store_by_lane(warp, fragment, access, &addresses, lanes, line);
        };
        if access.order == AccessOrder::AcquireRelease {
            fence(Ordering::SeqCst);
        }
        if O::ACCESSES {
            let addresses = addresses.map(|address| address.wrapping_sub(base));
            self.observer.access(AccessEvent {
                warp: warp as u32,
                line,
                kind: AccessKind::Store,
                order: access.order,
                space,
                bytes: bytes as u32,
                lanes,
                addresses: &addresses,
            });
            let values = self.moved(warp, fragment, access);
            self.report_values(warp, lanes, &values);
        }
        Ok(())
    }

    fn store_by_lane(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        access: &Access,
        addresses: &[u64; LANES],
        lanes: u32,
        line: u32,
    ) -> Faulty<()> {
        let element_bytes = u64::from(access.element_bytes);
        let bytes = element_bytes * access.registers.len() as u64;
        let mut seen = Seen::default();
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let target = self
                .target(
                    warp,
                    fragment,
                    lane,
                    access.address.place,
                    addresses[lane],
                    bytes,
                    "store",
                )
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            let registers = &self.warps[warp].frames[fragment.frame as usize].registers;
            for (element, row) in access.registers.iter().enumerate() {
                let value = row.map_or(0, |row| row_value(registers, row, lane));
                let offset = target.offset + element as u64 * element_bytes;
                store_one(&target.region, offset, access.element_bytes, value);
            }
        }
        if access.order == AccessOrder::AcquireRelease {
            fence(Ordering::SeqCst);
        }
        seen.values = self.moved(warp, fragment, access);
        self.report(warp, line, AccessKind::Store, access.order, bytes, &seen);
        Ok(())
    }

    /// Executes an atomic operation, lane by lane in ascending order.
    pub(super) fn atomic(
        &mut self,
        warp: usize,
        fragment: &Fragment,
        atomic: &Atomic,
        lanes: u32,
        line: u32,
    ) -> Faulty<()> {
        let bytes = atomic.ty.bytes() as u64;
        let mut seen = Seen::default();
        let mut left = [0; LANES];
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[warp].frames[fragment.frame as usize].registers;
            let address = base_address(registers, &atomic.address, lane);
            let b = row_value(registers, atomic.b, lane);
            let c = atomic.c.map_or(0, |row| row_value(registers, row, lane));
            let target = self
                .target(
                    warp,
                    fragment,
                    lane,
                    atomic.address.place,
                    address,
                    bytes,
                    "atomic",
                )
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            let (operation, ty) = (atomic.operation, atomic.ty);
            let apply = |old: u64| combine(operation, ty, old, b, c);
            let old = match bytes {
                2 => target
                    .region
                    .update(target.offset, |old: u16| apply(u64::from(old)) as u16)
                    .to_u64(),
                4 => target
                    .region
                    .update(target.offset, |old: u32| apply(u64::from(old)) as u32)
                    .to_u64(),
                _ => target.region.update(target.offset, apply),
            };
            if O::VALUES {
                left[lane] = apply(old);
            }
            let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
            match atomic.d {
                Some(Row::Narrow(row)) => registers.narrow[row as usize][lane] = old as u32,
                Some(Row::Wide(row)) => registers.wide[row as usize][lane] = old,
                None => {}
            }
        }
        if O::VALUES {
            seen.values.push(left);
        }
        self.report(warp, line, AccessKind::Atomic, atomic.order, bytes, &seen);
        Ok(())
    }

    /// Tells the observer of an access that went lane by lane, one event per space.
    pub(super) fn report(
        &mut self,
        warp: usize,
        line: u32,
        kind: AccessKind,
        order: AccessOrder,
        bytes: u64,
        seen: &Seen,
    ) {
        if !O::ACCESSES {
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
                    warp: warp as u32,
                    line,
                    kind,
                    order,
                    space,
                    bytes: bytes as u32,
                    lanes,
                    addresses: &seen.addresses,
                });
                self.report_values(warp, lanes, &seen.values);
            }
        }
    }

    /// What the lanes have loaded or stored, element by element of the vector; nothing where no observer wants it.
    fn moved(&self, warp: usize, fragment: &Fragment, access: &Access) -> Vec<[u64; LANES]> {
        if !O::VALUES {
            return Vec::new();
        }
        let registers = &self.warps[warp].frames[fragment.frame as usize].registers;
        let in_row = |row: &Option<Row>| {
            core::array::from_fn(|lane| row.map_or(0, |row| row_value(registers, row, lane)))
        };
        access.registers.iter().map(in_row).collect()
    }

    /// Tells the observer what an access has moved.
    fn report_values(&mut self, warp: usize, lanes: u32, values: &[[u64; LANES]]) {
        for values in values {
            self.observer.values(ValuesEvent {
                warp: warp as u32,
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
}

impl Seen {
    pub fn add(&mut self, lane: usize, target: &Target<'_>) {
        self.lanes[told_space(&target.region, target.space) as usize] |= 1 << lane;
        self.addresses[lane] = target.region.base.wrapping_add(target.offset);
    }
}

/// The space that observers are told of: constant memory lies among the allocations of global memory, where nothing else is
/// read-only.
#[inline(always)]
fn told_space(region: &Region<'_>, space: Space) -> Space {
    match space {
        Space::Global if region.read_only => Space::Const,
        _ => space,
    }
}

/// The first address of shared memory as this access sees it, if it goes there.
#[inline(always)]
fn shared_base(place: Where, address: u64) -> Option<u64> {
    match place {
        Where::Shared => Some(0),
        Where::Generic if address.wrapping_sub(window::SHARED) < window::LENGTH => {
            Some(window::SHARED)
        }
        _ => None,
    }
}

/// One lane's piece of a memory that holds `bytes` for each lane in turn.
fn slice_region(words: &[AtomicU64], bytes: u32, lane: usize) -> Region<'_> {
    let per_lane = bytes as usize / 8;
    Region::new(
        0,
        u64::from(bytes),
        false,
        words
            .get(lane * per_lane..(lane + 1) * per_lane)
            .unwrap_or(&[]),
    )
}

pub(super) fn row_value(registers: &Registers, row: Row, lane: usize) -> u64 {
    match row {
        Row::Narrow(row) => u64::from(registers.narrow[row as usize][lane]),
        Row::Wide(row) => registers.wide[row as usize][lane],
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

/// Loads every element of a vector for all lanes, whose offsets are checked.
#[inline(always)]
fn load_elements(
    registers: &mut Registers,
    access: &Access,
    region: &Region<'_>,
    offsets: &[u64; LANES],
    lanes: u32,
) {
    for (element, row) in access.registers.iter().enumerate() {
        let shift = element as u64 * u64::from(access.element_bytes);
        match (row, access.element_bytes) {
            (None, _) => {}
            (Some(Row::Narrow(row)), 4) => {
                let row = &mut registers.narrow[*row as usize];
                for_lanes(lanes, |lane| {
                    row[lane] = region.load::<u32>(offsets[lane] + shift)
                });
            }
            (Some(Row::Wide(row)), 8) => {
                let row = &mut registers.wide[*row as usize];
                for_lanes(lanes, |lane| {
                    row[lane] = region.load::<u64>(offsets[lane] + shift)
                });
            }
            (Some(Row::Narrow(row)), bytes) => {
                let row = &mut registers.narrow[*row as usize];
                each_lane(lanes, |lane| {
                    row[lane] = load_one(region, offsets[lane] + shift, bytes, access.signed) as u32
                });
            }
            (Some(Row::Wide(row)), bytes) => {
                let row = &mut registers.wide[*row as usize];
                each_lane(lanes, |lane| {
                    row[lane] = load_one(region, offsets[lane] + shift, bytes, access.signed)
                });
            }
        }
    }
}

/// Stores every element of a vector for all lanes, whose offsets are checked; later lanes win where lanes collide.
#[inline(always)]
fn store_elements(
    registers: &Registers,
    access: &Access,
    region: &Region<'_>,
    offsets: &[u64; LANES],
    lanes: u32,
) {
    for (element, row) in access.registers.iter().enumerate() {
        let shift = element as u64 * u64::from(access.element_bytes);
        match (row, access.element_bytes) {
            (None, _) => {}
            (Some(Row::Narrow(row)), 4) => {
                let row = &registers.narrow[*row as usize];
                for_lanes(lanes, |lane| region.store(offsets[lane] + shift, row[lane]));
            }
            (Some(row), bytes) => {
                each_lane(lanes, |lane| {
                    store_one(
                        region,
                        offsets[lane] + shift,
                        bytes,
                        row_value(registers, *row, lane),
                    )
                });
            }
        }
    }
}

/// As [`each_lane`], with a plain loop where all lanes are active.
#[inline(always)]
fn for_lanes(lanes: u32, mut f: impl FnMut(usize)) {
    if lanes == FULL {
        for lane in 0..LANES {
            f(lane);
        }
    } else {
        each_lane(lanes, f);
    }
}

/// The value that an atomic operation, or a step of a reduction over a warp, leaves.
pub(super) fn combine(operation: AtomicOperation, ty: Scalar, old: u64, b: u64, c: u64) -> u64 {
    use AtomicOperation::*;
    let signed = ty.is_signed();
    let wide = ty.bytes() == 8;
    let less = |a: u64, b: u64| match (signed, wide) {
        (true, true) => (a as i64) < b as i64,
        (true, false) => (a as i32) < b as i32,
        (false, true) => a < b,
        (false, false) => (a as u32) < b as u32,
    };
    match operation {
        Add => match ty {
            Scalar::F32 => {
                u64::from((f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits())
            }
            Scalar::F64 => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
            _ => old.wrapping_add(b),
        },
        Min => {
            if less(b, old) {
                b
            } else {
                old
            }
        }
        Max => {
            if less(old, b) {
                b
            } else {
                old
            }
        }
        Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        And => old & b,
        Or => old | b,
        Xor => old ^ b,
        Exchange => b,
        CompareAndSwap => {
            if old == b & width_mask(ty) {
                c
            } else {
                old
            }
        }
    }
}

fn width_mask(ty: Scalar) -> u64 {
    if ty.bytes() == 8 {
        u64::MAX
    } else {
        (1 << (8 * ty.bytes())) - 1
    }
}
