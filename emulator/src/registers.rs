//! The register file of one warp and one function call: 32 lanes side by side, so that an instruction is one loop over lanes.
//!
//! A register of up to 32 bits is a row of 32 `u32`, a 64-bit one a row of 32 `u64`, a predicate one `u32` with a bit per lane. A
//! value narrower than its row is extended as its type says, and read back truncated. Constants and special registers are rows too,
//! filled when the frame is made, so that every operand of an instruction is the number of a row.

use crate::address::Address;
use crate::row::Row;

/// Lanes of a warp.
pub const LANES: usize = 32;
/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;
/// Lanes handled between a load and a store of rows: operand rows may be the same row as the destination, never half of it. Here and below loops
/// take the place of `core::array::from_fn`: for hundreds of functions, that takes the compiler twice as long.
const CHUNK: usize = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    pub narrow: Vec<[u32; LANES]>,
    pub wide: Vec<[u64; LANES]>,
    pub predicates: Vec<u32>,
    /// The carry flag of `add.cc` and its kin, a bit per lane.
    pub carry: u32,
}

impl Registers {
    /// What a lane of a row of either file holds.
    #[inline(always)]
    pub fn get(&self, row: Row, lane: usize) -> u64 {
        match row {
            Row::Narrow(row) => u64::from(self.narrow[row as usize][lane]),
            Row::Wide(row) => self.wide[row as usize][lane],
        }
    }

    /// A predicate as a source: `number << 1 | negated`.
    #[inline(always)]
    pub fn predicate(&self, code: u32) -> u32 {
        let bits = self.predicates[(code >> 1) as usize];
        if code & 1 == 1 { !bits } else { bits }
    }

    /// The address that an operand names.
    #[inline(always)]
    pub fn address(&self, address: &Address, lane: usize) -> u64 {
        self.get(address.base, lane)
            .wrapping_add_signed(address.offset)
    }

    /// Sets it, to the low half of the value in the narrow file.
    #[inline(always)]
    pub fn put(&mut self, row: Row, lane: usize, value: u64) {
        match row {
            Row::Narrow(row) => self.narrow[row as usize][lane] = value as u32,
            Row::Wide(row) => self.wide[row as usize][lane] = value,
        }
    }
}

/// What a lane of a row holds.
pub(crate) trait Slot: Copy + Default {
    fn rows(registers: &Registers) -> &[[Self; LANES]];
    fn rows_mut(registers: &mut Registers) -> &mut [[Self; LANES]];
}

impl Slot for u32 {
    #[inline(always)]
    fn rows(registers: &Registers) -> &[[u32; LANES]] {
        &registers.narrow
    }
    #[inline(always)]
    fn rows_mut(registers: &mut Registers) -> &mut [[u32; LANES]] {
        &mut registers.narrow
    }
}

impl Slot for u64 {
    #[inline(always)]
    fn rows(registers: &Registers) -> &[[u64; LANES]] {
        &registers.wide
    }
    #[inline(always)]
    fn rows_mut(registers: &mut Registers) -> &mut [[u64; LANES]] {
        &mut registers.wide
    }
}

/// A value of a PTX type as it sits in a lane.
pub(crate) trait Lane: Copy {
    type Slot: Slot;
    fn from_slot(slot: Self::Slot) -> Self;
    fn to_slot(self) -> Self::Slot;
}

macro_rules! lane {
    ($($ty:ty, $slot:ty, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            type Slot = $slot;
            #[inline(always)]
            fn from_slot(slot: $slot) -> Self {
                let from: fn($slot) -> $ty = $from;
                from(slot)
            }
            #[inline(always)]
            fn to_slot(self) -> $slot {
                let to: fn($ty) -> $slot = $to;
                to(self)
            }
        }
    )*};
}

lane! {
    u8, u32, |slot| slot as u8, |value| u32::from(value);
    i8, u32, |slot| slot as i8, |value| i32::from(value) as u32;
    u16, u32, |slot| slot as u16, |value| u32::from(value);
    i16, u32, |slot| slot as i16, |value| i32::from(value) as u32;
    u32, u32, |slot| slot, |value| value;
    i32, u32, |slot| slot as i32, |value| value as u32;
    f32, u32, f32::from_bits, f32::to_bits;
    u64, u64, |slot| slot, |value| value;
    i64, u64, |slot| slot as i64, |value| value as u64;
    f64, u64, f64::from_bits, f64::to_bits;
}

/// Row numbers of an instruction's destination and sources.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rows {
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

/// Calls `f` for every lane of the mask.
#[inline(always)]
pub(crate) fn each_lane(mut mask: u32, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// As [`each_lane`], with a plain loop where all lanes are active.
#[inline(always)]
pub(crate) fn for_lanes(lanes: u32, mut f: impl FnMut(usize)) {
    if lanes == FULL {
        for lane in 0..LANES {
            f(lane);
        }
    } else {
        each_lane(lanes, f);
    }
}

#[inline(always)]
fn chunk<T: Slot>(registers: &Registers, row: u32, start: usize) -> [T; CHUNK] {
    let row = &T::rows(registers)[row as usize];
    core::array::from_fn(|i| row[start + i])
}

#[inline(always)]
fn read<T: Lane>(registers: &Registers, row: u32, lane: usize) -> T {
    T::from_slot(T::Slot::rows(registers)[row as usize][lane])
}

#[inline(always)]
fn write<T: Lane>(registers: &mut Registers, row: u32, lane: usize, value: T) {
    T::Slot::rows_mut(registers)[row as usize][lane] = value.to_slot();
}

/// `d = f(a)` over the lanes of the mask.
#[inline(always)]
pub(crate) fn map1<A: Lane, D: Lane>(
    registers: &mut Registers,
    rows: &Rows,
    mask: u32,
    f: impl Fn(A) -> D,
) {
    if mask == FULL {
        for start in (0..LANES).step_by(CHUNK) {
            let a = chunk::<A::Slot>(registers, rows.a, start);
            let mut out = [D::Slot::default(); CHUNK];
            for i in 0..CHUNK {
                out[i] = f(A::from_slot(a[i])).to_slot();
            }
            D::Slot::rows_mut(registers)[rows.d as usize][start..start + CHUNK]
                .copy_from_slice(&out);
        }
    } else {
        each_lane(mask, |lane| {
            let value = f(read(registers, rows.a, lane));
            write(registers, rows.d, lane, value);
        });
    }
}

/// `d = f(a, b)` over the lanes of the mask.
#[inline(always)]
pub(crate) fn map2<A: Lane, B: Lane, D: Lane>(
    registers: &mut Registers,
    rows: &Rows,
    mask: u32,
    f: impl Fn(A, B) -> D,
) {
    if mask == FULL {
        for start in (0..LANES).step_by(CHUNK) {
            let a = chunk::<A::Slot>(registers, rows.a, start);
            let b = chunk::<B::Slot>(registers, rows.b, start);
            let mut out = [D::Slot::default(); CHUNK];
            for i in 0..CHUNK {
                out[i] = f(A::from_slot(a[i]), B::from_slot(b[i])).to_slot();
            }
            D::Slot::rows_mut(registers)[rows.d as usize][start..start + CHUNK]
                .copy_from_slice(&out);
        }
    } else {
        each_lane(mask, |lane| {
            let value = f(read(registers, rows.a, lane), read(registers, rows.b, lane));
            write(registers, rows.d, lane, value);
        });
    }
}

/// `d = f(a, b, c)` over the lanes of the mask.
#[inline(always)]
pub(crate) fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
    registers: &mut Registers,
    rows: &Rows,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    if mask == FULL {
        for start in (0..LANES).step_by(CHUNK) {
            let a = chunk::<A::Slot>(registers, rows.a, start);
            let b = chunk::<B::Slot>(registers, rows.b, start);
            let c = chunk::<C::Slot>(registers, rows.c, start);
            let mut out = [D::Slot::default(); CHUNK];
            for i in 0..CHUNK {
                out[i] = f(A::from_slot(a[i]), B::from_slot(b[i]), C::from_slot(c[i])).to_slot();
            }
            D::Slot::rows_mut(registers)[rows.d as usize][start..start + CHUNK]
                .copy_from_slice(&out);
        }
    } else {
        each_lane(mask, |lane| {
            let value = f(
                read(registers, rows.a, lane),
                read(registers, rows.b, lane),
                read(registers, rows.c, lane),
            );
            write(registers, rows.d, lane, value);
        });
    }
}

/// The lanes (of all 32) for which `f(a, b)` holds.
#[inline(always)]
pub(crate) fn test2<A: Lane, B: Lane>(
    registers: &Registers,
    rows: &Rows,
    f: impl Fn(A, B) -> bool,
) -> u32 {
    let a = &A::Slot::rows(registers)[rows.a as usize];
    let b = &B::Slot::rows(registers)[rows.b as usize];
    gather(|lane| f(A::from_slot(a[lane]), B::from_slot(b[lane])))
}

/// The lanes (of all 32) for which `f(a)` holds.
#[inline(always)]
pub(crate) fn test1<A: Lane>(registers: &Registers, row: u32, f: impl Fn(A) -> bool) -> u32 {
    let a = &A::Slot::rows(registers)[row as usize];
    gather(|lane| f(A::from_slot(a[lane])))
}

/// A bit for every lane (of all 32) for which the test holds.
#[inline(always)]
pub(crate) fn gather(test: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(test(lane)) << lane)
}

/// Replaces the bits of `old` under `mask` by those of `new`.
#[inline(always)]
pub(crate) fn blend(old: u32, new: u32, mask: u32) -> u32 {
    (old & !mask) | (new & mask)
}
