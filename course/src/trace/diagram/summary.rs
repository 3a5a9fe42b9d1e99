//! What is said of a step: who works, how far threads read, and what comes of it.

use super::builder::Builder;
use crate::trace::elements;
use crate::trace::events::LANES;
use crate::trace::memory::Memory;
use crate::trace::picture::Cell;
use std::collections::BTreeSet;

impl Builder<'_> {
    /// The grids of a generation, at the first step of it.
    pub fn generation(&self, step: usize) -> Option<String> {
        if self.picture.grids.len() < 2 {
            return None;
        }
        let active = |step: usize| {
            let blocks = self.picture.blocks.iter();
            let active = blocks.filter(move |block| !block.steps[step].work.is_empty());
            active.map(|block| block.grid).collect::<BTreeSet<u64>>()
        };
        let grids = active(step);
        if step > 0 && active(step - 1) == grids {
            return None;
        }
        let generation = self
            .picture
            .grids
            .iter()
            .find(|grid| grids.contains(&grid.number))
            .map(|grid| grid.generation)?;
        let numbers: Vec<usize> = grids.iter().map(|&grid| grid as usize).collect();
        let grids = if numbers.len() == 1 { "grid" } else { "grids" };
        Some(format!(
            "generation {generation}: {grids} {}",
            elements::label(&numbers)
        ))
    }

    /// How many threads and warps of those that there are work.
    pub fn summary(&self, step: usize) -> Vec<String> {
        let blocks = || {
            let blocks = self.picture.blocks.iter();
            blocks.filter(move |block| {
                // Of a grid that kernels have launched, or of several, those at work; of one alone all.
                self.picture.grids.len() == 1 || !block.steps[step].work.is_empty()
            })
        };
        let work = || blocks().flat_map(move |block| &block.steps[step].work);
        let threads: u32 = blocks().map(|block| block.threads).sum();
        let working = work().count();
        let in_vain = work().filter(|work| !work.is_used).count();
        let percent = |part: usize, of: usize| match 100 * part / of.max(1) {
            0 if part > 0 => "under 1 %".to_owned(),
            percent => format!("{percent} %"),
        };
        let mut lines = vec![format!(
            "{working} of {} ({})",
            elements::count(threads as usize, "thread"),
            percent(working, threads as usize)
        )];
        let warps: usize = blocks()
            .map(|block| block.threads.div_ceil(LANES) as usize)
            .sum();
        if self.picture.block > LANES {
            let active: usize = blocks()
                .map(|block| {
                    let work = block.steps[step].work.iter();
                    work.map(|work| work.thread / LANES)
                        .collect::<BTreeSet<_>>()
                        .len()
                })
                .sum();
            lines.push(format!(
                "{active} of {} ({})",
                elements::count(warps, "warp"),
                percent(active, warps)
            ));
        }
        if in_vain > 0 {
            lines.push(format!("{in_vain} in vain"));
        }
        let like = self.hidden.iter().filter(|&&unit| {
            let is_shown = self.units.iter().any(|shown| shown.place == unit.place);
            is_shown && self.cast.work(unit, step).next().is_some()
        });
        match like.count() {
            0 => {}
            more => lines.push(format!("{} likewise", elements::count(more, "more warp"))),
        }
        lines
    }

    /// How far from what they write the threads read, where that is the same for all: `+4`, `+8 … +56`.
    pub fn distance(&self, step: usize) -> Option<String> {
        let mut common: Option<Vec<i64>> = None;
        for block in &self.picture.blocks {
            for work in &block.steps[step].work {
                for write in &work.writes {
                    let index = |cell: Cell| cell.index() as i64;
                    let near = |&&cell: &&Cell| Memory::of(cell) == Memory::of(write.cell);
                    let mut distances: Vec<i64> = work
                        .reads
                        .iter()
                        .filter(near)
                        .map(|&cell| index(cell) - index(write.cell))
                        .filter(|&distance| distance != 0)
                        .collect();
                    distances.sort_unstable();
                    match &common {
                        // A lane at the end of an exchange that gets its own value back reads nothing.
                        _ if distances.is_empty() || work.is_copy => {}
                        Some(common) if *common != distances => return None,
                        _ => common = Some(distances),
                    }
                }
            }
        }
        match common?[..] {
            [] => None,
            [only] => Some(format!("{only:+}")),
            [first, second] => Some(format!("{first:+}, {second:+}")),
            [first, .., last] => Some(format!("{first:+} … {last:+}")),
        }
    }

    /// How many elements the written cells are made of.
    pub fn made_of(&self, step: usize) -> Option<String> {
        let counts = || {
            let steps = self.picture.blocks.iter().map(|block| &block.steps[step]);
            steps
                .flat_map(|step| &step.work)
                .filter(|work| work.is_used)
                .flat_map(|work| &work.writes)
                .filter_map(|write| write.content.as_ref()?.elements.as_ref())
                .map(Vec::len)
                // What decides whose turn it is, is made of none.
                .filter(|&count| count > 0)
        };
        let (least, most) = (counts().min()?, counts().max()?);
        Some(match (least, most) {
            (1, 1) => "1 element each".to_owned(),
            _ if least == most => format!("{most} elements each"),
            _ => format!("{least} to {most} elements each"),
        })
    }
}
