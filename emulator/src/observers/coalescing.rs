//! Coalescing: how many 32-byte sectors a warp's access to global memory asks for.

use crate::registers::{FULL, LANES, each_lane};

/// Bytes that the memory system moves at least.
const SECTOR_BYTES: u32 = 32;

/// What a warp's access to global memory comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coalesced {
    /// Different sectors that the lanes touch.
    pub sectors: u32,
    /// The sectors that it would take if the lanes' bytes lay side by side, or the actual ones where lanes share bytes and
    /// these are fewer.
    pub ideal_sectors: u32,
    /// Different bytes that the lanes touch.
    pub useful_bytes: u32,
    /// How often the memory system must serve a sector if lanes with the same address take turns, as atomics do: over all
    /// sectors, the largest number of lanes with one address in each.
    pub passes: u32,
}

/// Coalesces the accesses of `lanes`, each of `bytes` bytes (1 to 32, a power of two) at a multiple of `bytes`. Those of bulk copies,
/// which are longer, are each by itself.
pub(super) fn coalesce(addresses: &[u64; LANES], lanes: u32, bytes: u32) -> Coalesced {
    if bytes > SECTOR_BYTES {
        return coalesce_bulk(addresses, lanes, bytes);
    }
    let mut compact = [0; LANES];
    let compact = active(addresses, lanes, &mut compact);
    if !compact.is_sorted() {
        compact.sort_unstable();
    }
    let (mut sectors, mut different) = (0, 0);
    let (mut passes, mut most, mut same) = (0, 0, 0);
    let mut previous = None;
    for &address in &*compact {
        if previous != Some(address) {
            different += 1;
            same = 0;
        }
        if previous.is_none_or(|previous| sector(previous) != sector(address)) {
            sectors += 1;
            passes += most;
            most = 0;
        }
        same += 1;
        most = most.max(same);
        previous = Some(address);
    }
    Coalesced {
        sectors,
        ideal_sectors: sectors.min((lanes.count_ones() * bytes).div_ceil(SECTOR_BYTES)),
        useful_bytes: different * bytes,
        passes: passes + most,
    }
}

fn coalesce_bulk(addresses: &[u64; LANES], lanes: u32, bytes: u32) -> Coalesced {
    let mut sectors = 0;
    each_lane(lanes, |lane| {
        let last = addresses[lane] + u64::from(bytes) - 1;
        sectors += (sector(last) - sector(addresses[lane])) as u32 + 1;
    });
    let useful_bytes = lanes.count_ones() * bytes;
    Coalesced {
        sectors,
        ideal_sectors: useful_bytes.div_ceil(SECTOR_BYTES),
        useful_bytes,
        passes: sectors,
    }
}

fn sector(address: u64) -> u64 {
    address / u64::from(SECTOR_BYTES)
}

/// The addresses of the lanes that take part, in their order.
fn active<'a>(
    addresses: &[u64; LANES],
    lanes: u32,
    compact: &'a mut [u64; LANES],
) -> &'a mut [u64] {
    if lanes == FULL {
        *compact = *addresses;
        return compact;
    }
    let mut count = 0;
    each_lane(lanes, |lane| {
        compact[count] = addresses[lane];
        count += 1;
    });
    &mut compact[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        address: impl Fn(u64) -> u64,
        lanes: u32,
        bytes: u32,
        sectors: u32,
        ideal_sectors: u32,
        useful_bytes: u32,
        passes: u32,
    ) {
        let addresses = core::array::from_fn(|lane| address(lane as u64));
        let expected = Coalesced {
            sectors,
            ideal_sectors,
            useful_bytes,
            passes,
        };
        assert_eq!(coalesce(&addresses, lanes, bytes), expected);
    }

    #[test]
    fn neighbours_share_sectors() {
        check(|lane| 4 * lane, FULL, 4, 4, 4, 128, 4);
        check(|lane| 4 * (31 - lane), FULL, 4, 4, 4, 128, 4);
        check(|lane| 16 * lane, FULL, 16, 16, 16, 512, 16);
        check(|lane| lane, FULL, 1, 1, 1, 32, 1);
    }

    #[test]
    fn an_offset_costs_one_sector_more() {
        check(|lane| 4 * (lane + 1), FULL, 4, 5, 4, 128, 5);
        check(|lane| 4 * (lane + 8), FULL, 4, 4, 4, 128, 4);
    }

    #[test]
    fn a_stride_costs_up_to_a_sector_per_lane() {
        check(|lane| 8 * lane, FULL, 4, 8, 4, 128, 8);
        check(|lane| 128 * lane, FULL, 4, 32, 4, 128, 32);
    }

    #[test]
    fn shared_bytes_count_once() {
        check(|_| 64, FULL, 4, 1, 1, 4, 32);
        check(|lane| 4 * (lane / 2), FULL, 4, 2, 2, 64, 4);
    }

    #[test]
    fn absent_lanes_ask_for_nothing() {
        check(|lane| 4 * lane, 0x5555_5555, 4, 4, 2, 64, 4);
        check(|lane| 4 * lane, 1 << 31, 4, 1, 1, 4, 1);
    }
}
