//! Atomic operations, and what they make of two values.

use super::access::Seen;
use super::block::Block;
use super::site::{Faulty, Site};
use super::spaces::Target;
use crate::alu::{HalfOperation, canonical, combine_halves, flush};
use crate::code::{Atomic, AtomicOperation};
use crate::observer::{AccessKind, Observer};
use crate::region::{Region, Width};
use crate::registers::LANES;
use crate::row::Row;
use crate::types::{Scalar, Space};

/// The most elements of an atomic operation, which is on at most 16 bytes.
const MOST_ELEMENTS: usize = 8;

impl<O: Observer> Block<'_, '_, O> {
    /// Executes an atomic operation, lane by lane in ascending order, and element by element of a vector.
    pub(super) fn atomic(&mut self, site: Site, atomic: &Atomic) -> Faulty<()> {
        let width = atomic.ty.bytes() as u64;
        let elements = match atomic.ty {
            Scalar::B128 => 1,
            _ => atomic.b.len() as u64,
        };
        let bytes = width * elements;
        let mut seen = Seen::default();
        if self.observer.wants().values {
            seen.values = vec![[0; LANES]; atomic.b.len()];
        }
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let address = registers.address(&atomic.address, lane);
            let values = |rows: &[Row]| {
                let mut values = [0; MOST_ELEMENTS];
                for (value, &row) in values.iter_mut().zip(rows) {
                    *value = registers.get(row, lane);
                }
                values
            };
            let (b, c) = (values(&atomic.b), values(&atomic.c));
            let place = atomic.address.place;
            let target = self
                .target(site, lane, place, address, bytes, AccessKind::Atomic)
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            let (mut old, mut left) = ([0; MOST_ELEMENTS], [0; MOST_ELEMENTS]);
            if atomic.ty == Scalar::B128 {
                let new = |old: [u64; 2]| match atomic.operation {
                    AtomicOperation::CompareAndSwap if old != [b[0], b[1]] => old,
                    AtomicOperation::CompareAndSwap => [c[0], c[1]],
                    _ => [b[0], b[1]],
                };
                let found = self
                    .spaces
                    .memory
                    .update_pair(&target.region, target.offset, new);
                old[..2].copy_from_slice(&found);
                left[..2].copy_from_slice(&new(found));
            } else {
                // Single precision is added to global memory without subnormal values (PTX ISA §9.7.13.6 `atom`).
                let flushes = target.space == Space::Global;
                for element in 0..elements as usize {
                    let at = element as u64 * width;
                    let (operation, ty) = (atomic.operation, atomic.ty);
                    [old[element], left[element]] =
                        update_element(&target, at, operation, ty, b[element], c[element], flushes);
                }
            }
            for (values, left) in seen.values.iter_mut().zip(left) {
                values[lane] = left;
            }
            let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
            for (row, old) in atomic.d.iter().zip(old) {
                if let Some(row) = *row {
                    registers.put(row, lane, old);
                }
            }
        }
        self.report(site, AccessKind::Atomic, atomic.order, bytes, &seen);
        Ok(())
    }
}

/// Makes an atomic operation on the element `at` bytes past the target; returns what was there, and what it leaves there.
/// Single precision is added with or without its subnormal values.
pub(super) fn update_element(
    target: &Target<'_>,
    at: u64,
    operation: AtomicOperation,
    ty: Scalar,
    b: u64,
    c: u64,
    flushes: bool,
) -> [u64; 2] {
    let new = |old: u64| match (operation, ty) {
        (AtomicOperation::Add, Scalar::F32) => add_f32(old, b, flushes),
        (operation, ty) => combine(operation, ty, old, b, c),
    };
    let bytes = ty.bytes() as u64;
    let old = update(&target.region, target.offset + at, bytes, new);
    // Memory keeps as many bits as the type has: an addition may have carried out of them.
    [old, new(old) & (u64::MAX >> (64 - 8 * bytes))]
}

/// Replaces a value of this many bytes by `new` of it; returns the old one.
fn update(region: &Region<'_>, offset: u64, bytes: u64, new: impl Fn(u64) -> u64) -> u64 {
    match bytes {
        2 => region
            .update(offset, |old: u16| new(u64::from(old)) as u16)
            .to_u64(),
        4 => region
            .update(offset, |old: u32| new(u64::from(old)) as u32)
            .to_u64(),
        _ => region.update(offset, new),
    }
}

fn add_f32(a: u64, b: u64, flushes: bool) -> u64 {
    let of = |bits: u64| f32::from_bits(bits as u32);
    let sum = if flushes {
        flush(flush(of(a)) + flush(of(b)))
    } else {
        of(a) + of(b)
    };
    u64::from(canonical(sum).to_bits())
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
    if matches!(
        ty,
        Scalar::F16 | Scalar::F16x2 | Scalar::Bf16 | Scalar::Bf16x2
    ) {
        let operation = match operation {
            Min => HalfOperation::Min,
            Max => HalfOperation::Max,
            _ => HalfOperation::Add,
        };
        return u64::from(combine_halves(operation, ty, old as u32, b as u32));
    }
    match operation {
        Add => match ty {
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
