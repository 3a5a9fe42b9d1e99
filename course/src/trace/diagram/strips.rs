//! How the lanes of a warp hit the sectors of global memory, the banks of shared memory and the words of constant memory.

use super::model::{Hits, Strip};
use crate::trace::elements::count;
use crate::trace::memory::Memory;
use crate::trace::picture::Access;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a sector, and of a word.
const SECTOR: u64 = 32;
const WORD: u64 = 4;
const BANKS: u64 = 32;

/// The strips of a warp's accesses in a step; of those that cost the same, the first.
pub(super) fn strips<'a>(accesses: impl Iterator<Item = &'a Access>) -> Vec<Strip> {
    let mut strips: Vec<Strip> = Vec::new();
    for access in accesses {
        let strip = strip(access);
        match strips.iter_mut().find(|other| other.text == strip.text) {
            Some(other) => other.more += 1,
            None => strips.push(strip),
        }
    }
    for strip in strips.iter_mut().filter(|strip| strip.more > 0) {
        strip.text += &format!("; and {} more like this", strip.more);
    }
    strips
}

fn strip(access: &Access) -> Strip {
    let memory = Memory::of(access.first);
    let does = if access.is_write { "writes" } else { "reads" };
    let (cost, hits) = match memory {
        Memory::Shared => banks(access),
        Memory::Constant => constant(access),
        _ => sectors(access),
    };
    Strip {
        text: format!(
            "warp {} {does} {}: {} × {} bytes: {cost}",
            access.warp,
            memory.name(),
            count(access.offsets.len(), "lane"),
            access.bytes
        ),
        more: 0,
        hits,
    }
}

/// Each lane, and the words that it accesses.
fn words(access: &Access) -> impl Iterator<Item = (u32, u64)> + '_ {
    access.offsets.iter().flat_map(|&(lane, offset)| {
        let end = (offset + u64::from(access.bytes)).div_ceil(WORD);
        (offset / WORD..end).map(move |word| (lane, word))
    })
}

fn banks(access: &Access) -> (String, Hits) {
    let mut banks: Vec<BTreeMap<u64, Vec<u32>>> = vec![BTreeMap::new(); BANKS as usize];
    for (lane, word) in words(access) {
        let bank = &mut banks[(word % BANKS) as usize];
        bank.entry(word).or_default().push(lane);
    }
    let most = banks.iter().map(BTreeMap::len).max().unwrap_or_default();
    let used = banks.iter().filter(|bank| !bank.is_empty()).count();
    let (banks_used, each) = (count(used, "bank"), if used == 1 { "it" } else { "each" });
    let cost = match most {
        0 | 1 => format!("{banks_used}, one word of {each}, served at once"),
        _ => format!(
            "{banks_used}, up to {most} words of {each}, served one after the other: {most} wavefronts"
        ),
    };
    let banks = banks.into_iter();
    let hits = banks.map(|bank| bank.into_values().collect()).collect();
    (cost, Hits::Banks(hits))
}

fn constant(access: &Access) -> (String, Hits) {
    let mut wanted: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (lane, word) in words(access) {
        wanted.entry(word).or_default().push(lane);
    }
    let cost = match wanted.len() {
        1 => "1 word, which all of them get at once".to_owned(),
        turns => format!("{turns} words, one after the other: {turns} turns"),
    };
    (cost, Hits::Words(wanted.into_iter().collect()))
}

fn sectors(access: &Access) -> (String, Hits) {
    let mut sectors: BTreeMap<u64, u8> = BTreeMap::new();
    let wanted: BTreeSet<u64> = words(access).map(|(_, word)| word).collect();
    for word in &wanted {
        *sectors.entry(word * WORD / SECTOR).or_default() |= 1 << (word % (SECTOR / WORD));
    }
    let bytes = wanted.len() as u64 * WORD;
    let moved = sectors.len() as u64 * SECTOR;
    let cost = format!(
        "{} of {SECTOR} bytes, {} % {} wanted",
        count(sectors.len(), "sector"),
        (100 * bytes).checked_div(moved).unwrap_or_default(),
        if sectors.len() == 1 {
            "of it"
        } else {
            "of them"
        }
    );
    (cost, Hits::Sectors(sectors.into_iter().collect()))
}
