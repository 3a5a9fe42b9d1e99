//! Moves that are more than a copy: halves and quarters of registers, clocks, tests of an address.

use crate::clock::HostInstant;
use crate::code::Clock;
use crate::registers::{Registers, blend, each_lane};
use crate::row::Row;

/// `mov.b64 d, {a, b}`: parts of `bits` bits each, the first lowest.
pub(super) fn pack(registers: &mut Registers, d: Row, bits: u32, parts: &[Row], lanes: u32) {
    let mask = (1u64 << bits) - 1;
    each_lane(lanes, |lane| {
        let value = parts.iter().enumerate().fold(0, |value, (index, part)| {
            value | (registers.get(*part, lane) & mask) << (index as u32 * bits)
        });
        registers.put(d, lane, value);
    });
}

/// `mov.b64 {a, b}, d`
pub(super) fn unpack(
    registers: &mut Registers,
    a: Row,
    bits: u32,
    parts: &[Option<Row>],
    lanes: u32,
) {
    let mask = (1u64 << bits) - 1;
    each_lane(lanes, |lane| {
        let value = registers.get(a, lane);
        for (index, part) in parts.iter().enumerate() {
            if let Some(part) = *part {
                registers.put(part, lane, value >> (index as u32 * bits) & mask);
            }
        }
    });
}

/// `mov.b128`
pub(super) fn move_pair(registers: &mut Registers, d: [Option<Row>; 2], a: [Row; 2], lanes: u32) {
    each_lane(lanes, |lane| {
        let values = a.map(|row| registers.get(row, lane));
        for (row, value) in d.into_iter().zip(values) {
            if let Some(row) = row {
                registers.put(row, lane, value);
            }
        }
    });
}

/// `isspacep`: whether the address lies in a window, given by its first address and its length.
pub(super) fn is_space(
    registers: &mut Registers,
    d: u32,
    a: Row,
    (first, length): (u64, u64),
    lanes: u32,
) {
    let mut bits = 0;
    each_lane(lanes, |lane| {
        bits |= u32::from(registers.get(a, lane).wrapping_sub(first) < length) << lane;
    });
    let d = &mut registers.predicates[d as usize];
    *d = blend(*d, bits, lanes);
}

/// What a clock shows. The warp's own advances by one with each instruction.
pub(super) fn read_clock(clock: Clock, executed: u64, started: HostInstant) -> u64 {
    let nanoseconds = || started.elapsed().as_nanos() as u64;
    match clock {
        Clock::Cycles => executed & 0xffff_ffff,
        Clock::CyclesHigh => executed >> 32,
        Clock::Cycles64 => executed,
        Clock::Nanoseconds => nanoseconds(),
        Clock::NanosecondsLow => nanoseconds() & 0xffff_ffff,
        Clock::NanosecondsHigh => nanoseconds() >> 32,
    }
}
