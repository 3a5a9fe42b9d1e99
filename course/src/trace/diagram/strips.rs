//! How the lanes of a warp hit the sectors of global memory and the banks of shared memory.

use super::model::{Hits, Strip};
use crate::trace::memory::Memory;
use crate::trace::picture::Access;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a sector, and of a word.
const SECTOR: u64 = 32;
const WORD: u64 = 4;
const BANKS: u64 = 32;

/// The strip of one access.
pub(super) fn strip(access: &Access) -> Strip {
    let memory = Memory::of(access.first);
    let does = if access.is_write { "writes" } else { "reads" };
    let lanes = access.offsets.len();
    let start = format!(
        "warp {} {does} {}: {lanes} lanes × {} bytes",
        access.warp,
        memory.name(),
        access.bytes
    );
    let words = |&(_, offset): &(u32, u64)| {
        offset / WORD..(offset + u64::from(access.bytes)).div_ceil(WORD)
    };
    if memory == Memory::Shared {
        let mut banks: Vec<BTreeMap<u64, Vec<u32>>> = vec![BTreeMap::new(); BANKS as usize];
        for lane in &access.offsets {
            for word in words(lane) {
                let bank = &mut banks[(word % BANKS) as usize];
                bank.entry(word).or_default().push(lane.0);
            }
        }
        let most = banks.iter().map(BTreeMap::len).max().unwrap_or_default();
        let used = banks.iter().filter(|bank| !bank.is_empty()).count();
        let plural = if used == 1 { "" } else { "s" };
        let cost = match most {
            0 | 1 => format!("{used} bank{plural}, one word of each, served at once"),
            _ => format!(
                "{used} bank{plural}, up to {most} words of each, served one after the other: {most} wavefronts"
            ),
        };
        return Strip {
            text: format!("{start}: {cost}"),
            hits: Hits::Banks(
                banks
                    .into_iter()
                    .map(|bank| bank.into_values().collect())
                    .collect(),
            ),
        };
    }
    let mut sectors: BTreeMap<u64, u8> = BTreeMap::new();
    let mut wanted: BTreeSet<u64> = BTreeSet::new();
    for word in access.offsets.iter().flat_map(words) {
        wanted.insert(word);
        *sectors.entry(word * WORD / SECTOR).or_default() |= 1 << (word % (SECTOR / WORD));
    }
    let bytes = wanted.len() as u64 * WORD;
    let moved = sectors.len() as u64 * SECTOR;
    Strip {
        text: format!(
            "{start}: {} sectors of {SECTOR} bytes, {} % of them wanted",
            sectors.len(),
            (100 * bytes).checked_div(moved).unwrap_or_default()
        ),
        hits: Hits::Sectors(sectors.into_iter().collect()),
    }
}
