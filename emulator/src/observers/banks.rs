//! Shared memory's banks: in how many turns ("wavefronts") it serves a warp's access.
//!
//! There are 32 banks of four bytes; a wavefront takes one word from each. The rules below are those of NVIDIA GPUs since Volta,
//! as Nsight Compute's `memory_l1_wavefronts_shared` counts them; the figures measured on a GPU that they are tested against are
//! in the tests of this crate.

use crate::observer::AccessKind;
use crate::registers::{LANES, each_lane};

/// Bytes of all banks together: the most that one wavefront takes.
const WAVEFRONT_BYTES: u32 = 128;
/// Bytes of one bank.
const BANK_BYTES: u32 = 4;
/// The most lanes that one wavefront can serve with different words.
const BANKS: usize = (WAVEFRONT_BYTES / BANK_BYTES) as usize;

/// What a warp's access to shared memory comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflicts {
    /// The wavefronts that it takes.
    pub wavefronts: u32,
    /// The wavefronts that its bytes would take without bank conflicts, or the actual ones where lanes share words and these
    /// are fewer.
    pub ideal_wavefronts: u32,
}

/// Counts the wavefronts of an access of `lanes`, each of `bytes` bytes (1 to 16, a power of two) at a multiple of `bytes`; bulk
/// copies are longer, and conflict with nobody.
pub(super) fn conflicts(
    kind: AccessKind,
    addresses: &[u64; LANES],
    lanes: u32,
    bytes: u32,
) -> Conflicts {
    let wavefronts = wavefronts(kind, addresses, lanes, bytes);
    Conflicts {
        wavefronts,
        ideal_wavefronts: wavefronts.min((lanes.count_ones() * bytes).div_ceil(WAVEFRONT_BYTES)),
    }
}

/// Accesses of 4 bytes and less serve all lanes together; of 8 bytes, first one half of the warp and then the other; of 16 bytes,
/// one quarter after the other. A load serves two halves (or the two quarters of a half) together where
/// [their lanes agree](agree_in_pairs).
fn wavefronts(kind: AccessKind, addresses: &[u64; LANES], lanes: u32, bytes: u32) -> u32 {
    let together = |lanes: u32| kind == AccessKind::Load && agree_in_pairs(addresses, lanes);
    let turns = |lanes: u32| turns(kind, addresses, lanes, bytes);
    match bytes {
        17.. => lanes.count_ones() * bytes.div_ceil(WAVEFRONT_BYTES),
        0..=4 => turns(lanes),
        8 if together(lanes) => turns(lanes),
        8 => turns(lanes & 0xffff) + turns(lanes & 0xffff_0000),
        _ => [lanes & 0xffff, lanes & 0xffff_0000]
            .into_iter()
            .map(|half| {
                if together(half) {
                    turns(half)
                } else {
                    turns(half & 0x00ff_00ff) + turns(half & 0xff00_ff00)
                }
            })
            .sum(),
    }
}

/// Whether, of each pair of lanes whose numbers differ in bit 0 alone, or else of each whose numbers differ in bit 1 alone, both
/// have the same address or one is absent.
fn agree_in_pairs(addresses: &[u64; LANES], lanes: u32) -> bool {
    [(1, 0x5555_5555), (2, 0x3333_3333)]
        .into_iter()
        .any(|(distance, first_lanes)| {
            let mut agree = true;
            // The first lanes of the pairs of which both take part.
            each_lane(lanes & lanes >> distance & first_lanes, |lane| {
                agree &= addresses[lane] == addresses[lane + distance];
            });
            agree
        })
}

/// The wavefronts of lanes that are served together: the largest number of different words that one bank must give. Atomics
/// take a turn for each lane of a bank, even of one word.
fn turns(kind: AccessKind, addresses: &[u64; LANES], lanes: u32, bytes: u32) -> u32 {
    // A wide element covers neighbouring banks, and two of them the same banks or none in common: as if banks were so wide.
    let bank_bytes = bytes.clamp(BANK_BYTES, WAVEFRONT_BYTES);
    let banks = u64::from(WAVEFRONT_BYTES / bank_bytes);
    // The lanes whose words a bank gives, as a list: the last lane, and for each lane the one before it.
    let (mut last, mut before) = ([NO_LANE; BANKS], [NO_LANE; LANES]);
    let mut given = [0u32; BANKS];
    let mut words = [0; LANES];
    let mut most = 0;
    each_lane(lanes, |lane| {
        words[lane] = addresses[lane] / u64::from(bank_bytes);
        let bank = (words[lane] % banks) as usize;
        if kind != AccessKind::Atomic {
            let mut other = last[bank];
            while other != NO_LANE {
                if words[other as usize] == words[lane] {
                    return;
                }
                other = before[other as usize];
            }
            before[lane] = last[bank];
            last[bank] = lane as u8;
        }
        given[bank] += 1;
        most = most.max(given[bank]);
    });
    most
}

/// The end of a list of lanes.
const NO_LANE: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::FULL;

    #[track_caller]
    fn check(
        kind: AccessKind,
        word: impl Fn(u64) -> u64,
        lanes: u32,
        bytes: u32,
        wavefronts: u32,
        ideal: u32,
    ) {
        let addresses = core::array::from_fn(|lane| word(lane as u64) * u64::from(bytes));
        let found = conflicts(kind, &addresses, lanes, bytes);
        assert_eq!(
            (found.wavefronts, found.ideal_wavefronts),
            (wavefronts, ideal)
        );
    }

    #[test]
    fn a_stride_of_words_conflicts_as_often_as_it_divides_the_banks() {
        for stride in 1..=32u64 {
            let ways = 1 << stride.trailing_zeros();
            for kind in [AccessKind::Load, AccessKind::Store] {
                check(kind, |lane| lane * stride, FULL, 4, ways, 1);
            }
        }
    }

    #[test]
    fn equal_words_are_broadcast_and_equal_atomics_take_turns() {
        check(AccessKind::Load, |_| 7, FULL, 4, 1, 1);
        check(AccessKind::Store, |_| 7, FULL, 4, 1, 1);
        check(AccessKind::Atomic, |_| 7, FULL, 4, 32, 1);
        check(AccessKind::Atomic, |lane| lane / 4, FULL, 4, 4, 1);
        check(AccessKind::Load, |lane| lane, FULL, 1, 1, 1);
    }

    #[test]
    fn wide_elements_take_a_wavefront_for_each_128_bytes() {
        for kind in [AccessKind::Load, AccessKind::Store] {
            check(kind, |lane| lane, FULL, 8, 2, 2);
            check(kind, |lane| lane, FULL, 16, 4, 4);
            check(kind, |lane| lane, 0xffff, 16, 2, 2);
            check(kind, |lane| lane * 32, FULL, 16, 32, 4);
        }
    }

    #[test]
    fn wide_loads_merge_halves_where_lanes_agree_in_pairs() {
        check(AccessKind::Load, |lane| lane / 2, FULL, 8, 1, 1);
        check(AccessKind::Store, |lane| lane / 2, FULL, 8, 2, 2);
        check(AccessKind::Load, |lane| lane & !2, FULL, 16, 4, 4);
        check(AccessKind::Load, |_| 3, FULL, 16, 2, 2);
        check(AccessKind::Load, |lane| lane % 16, FULL, 8, 2, 2);
        // Absent lanes agree with everyone, and merged halves may conflict.
        check(AccessKind::Load, |lane| lane, 0x5555_5555, 8, 2, 1);
    }

    #[test]
    fn nobody_takes_no_wavefront() {
        check(AccessKind::Load, |lane| lane, 0, 16, 0, 0);
    }
}
