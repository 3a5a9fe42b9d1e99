//! Atomic operations, and what they make of two values.

use super::access::{Faulty, Seen};
use super::block::Block;
use super::execute::Site;
use crate::alu::{canonical, flush};
use crate::memory::Width;
use crate::observer::{AccessKind, Observer};
use crate::program::{Atomic, AtomicOperation};
use crate::registers::LANES;
use crate::types::{Scalar, Space};

impl<O: Observer> Block<'_, '_, O> {
    /// Executes an atomic operation, lane by lane in ascending order.
    pub(super) fn atomic(&mut self, site: Site, atomic: &Atomic) -> Faulty<()> {
        let bytes = atomic.ty.bytes() as u64;
        let (operation, ty) = (atomic.operation, atomic.ty);
        let mut seen = Seen::default();
        let mut left = [0; LANES];
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
            let address = registers.address(&atomic.address, lane);
            let b = registers.get(atomic.b, lane);
            let c = atomic.c.map_or(0, |row| registers.get(row, lane));
            let target = self
                .target(
                    site,
                    lane,
                    atomic.address.place,
                    address,
                    bytes,
                    AccessKind::Atomic,
                )
                .map_err(|fault| (fault, lane as u32))?;
            seen.add(lane, &target);
            let flushes = target.space == Space::Global;
            let apply = |old: u64| match (operation, ty) {
                // Single precision is added to global memory without subnormal values (PTX ISA §9.7.13.6 `atom`).
                (AtomicOperation::Add, Scalar::F32) => add_f32(old, b, flushes),
                _ => combine(operation, ty, old, b, c),
            };
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
            if let Some(d) = atomic.d {
                let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
                registers.put(d, lane, old);
            }
        }
        if O::VALUES {
            seen.values.push(left);
        }
        self.report(site, AccessKind::Atomic, atomic.order, bytes, &seen);
        Ok(())
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
