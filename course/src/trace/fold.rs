//! Which warps a picture shows where it has no room for all: those whose work no other that is shown does, and the one that leaves the
//! total.

use super::events::LANES;
use super::memory::Memory;
use super::picture::{Picture, Work};
use std::collections::{BTreeMap, HashSet};

/// A warp of a block of the host's grid; of the grids that kernels launch, those that stand in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unit {
    pub place: usize,
    pub warp: u32,
}

/// Who works where and when.
pub(super) struct Cast<'p> {
    picture: &'p Picture,
    /// For each step, which of the blocks in each place works.
    active: Vec<BTreeMap<usize, usize>>,
    /// Who writes to the total last, and in which step.
    last: Option<(Unit, usize)>,
}

impl<'p> Cast<'p> {
    pub fn new(picture: &'p Picture) -> Self {
        let mut active = vec![BTreeMap::new(); picture.steps()];
        for (index, block) in picture.blocks.iter().enumerate() {
            for (active, step) in active.iter_mut().zip(&block.steps) {
                if !step.work.is_empty() {
                    active.entry(block.place).or_insert(index);
                }
            }
        }
        Self {
            picture,
            active,
            last: last(picture),
        }
    }

    /// Who leaves the total, if the launch has one.
    pub fn last(&self) -> Option<Unit> {
        self.last.map(|(unit, _)| unit)
    }

    /// The index of the block that works in a place.
    pub fn block(&self, place: usize, step: usize) -> Option<usize> {
        self.active[step].get(&place).copied()
    }

    /// The work of a warp.
    pub fn work(&self, unit: Unit, step: usize) -> impl Iterator<Item = &'p Work> + use<'p> {
        let block = self.block(unit.place, step);
        let work = block.map(|block| &self.picture.blocks[block].steps[step].work);
        work.into_iter()
            .flatten()
            .filter(move |work| work.thread / LANES == unit.warp)
    }

    /// All warps of the host's grid.
    pub fn units(&self) -> Vec<Unit> {
        let places = self.picture.blocks.iter().filter(|block| block.grid == 0);
        let units = places.flat_map(|block| {
            let warps = 0..block.threads.div_ceil(LANES);
            warps.map(|warp| Unit {
                place: block.place,
                warp,
            })
        });
        units.collect()
    }

    /// What a warp does in a step, whatever cells it begins with; `None` if nothing.
    fn deed(&self, unit: Unit, step: usize) -> Option<Deed> {
        let mut first: BTreeMap<Memory, usize> = BTreeMap::new();
        for work in self.work(unit, step) {
            let written = work.writes.iter().map(|write| write.cell);
            for cell in work.reads.iter().copied().chain(written) {
                let least = first.entry(Memory::of(cell)).or_insert(usize::MAX);
                *least = cell.index().min(*least);
            }
        }
        let relative = |cell| {
            let memory = Memory::of(cell);
            (memory, cell.index() - first[&memory])
        };
        let deed: Deed = self
            .work(unit, step)
            .map(|work| LaneDeed {
                lane: work.thread % LANES,
                is_used: work.is_used,
                from_register: work.from_register,
                reads: work.reads.iter().map(|&cell| relative(cell)).collect(),
                writes: work
                    .writes
                    .iter()
                    .map(|write| relative(write.cell))
                    .collect(),
                launches: work.launches.len(),
                is_last: self.last == Some((unit, step)),
            })
            .collect();
        (!deed.is_empty()).then_some(deed)
    }

    /// The warps to show, in order: the first, the one that leaves the total, and as many more as do something in some step that none of
    /// those does, up to `most`.
    pub fn folded(&self, most: usize) -> Folded {
        let units = self.units();
        let mut shown: Vec<Unit> = Vec::new();
        let mut covered: HashSet<(usize, Deed)> = HashSet::new();
        let mut cut = 0;
        // The room that is kept for the one that leaves the total.
        let mut kept = usize::from(self.last().is_some());
        for &unit in &units {
            kept -= usize::from(self.last() == Some(unit));
            let deeds = (0..self.picture.steps())
                .filter_map(|step| Some((step, self.deed(unit, step)?)))
                .filter(|deed| !covered.contains(deed));
            let news: Vec<(usize, Deed)> = deeds.collect();
            if news.is_empty() && !shown.is_empty() {
                continue;
            }
            if shown.len() + kept == most {
                cut += 1;
                continue;
            }
            covered.extend(news);
            shown.push(unit);
        }
        Folded { shown, cut }
    }

    /// How many other blocks do in every step what this one does.
    pub fn alike(&self, place: usize) -> usize {
        let units = self.units();
        let of = |place| units.iter().filter(move |unit| unit.place == place);
        let are_alike = |other: usize| {
            of(place).count() == of(other).count()
                && of(place).zip(of(other)).all(|(&one, &other)| {
                    (0..self.picture.steps())
                        .all(|step| self.deed(one, step) == self.deed(other, step))
                })
        };
        let others: HashSet<usize> = units.iter().map(|unit| unit.place).collect();
        others
            .into_iter()
            .filter(|&other| other != place && are_alike(other))
            .count()
    }
}

/// The warps that are shown.
pub(super) struct Folded {
    pub shown: Vec<Unit>,
    /// How many have work of their own and are not shown all the same.
    pub cut: usize,
}

type Deed = Vec<LaneDeed>;

/// What a lane does, its cells counted from the first of the warp's in that memory.
#[derive(PartialEq, Eq, Hash)]
struct LaneDeed {
    lane: u32,
    is_used: bool,
    from_register: bool,
    reads: Vec<(Memory, usize)>,
    writes: Vec<(Memory, usize)>,
    launches: usize,
    /// Whether its warp leaves the total.
    is_last: bool,
}

/// The warp that writes to the total last, of those of one step in the last block, and the step.
fn last(picture: &Picture) -> Option<(Unit, usize)> {
    let writers = picture.blocks.iter().flat_map(|block| {
        let steps = block.steps.iter().enumerate();
        steps.flat_map(move |(step, of)| {
            let is_total = |work: &&Work| {
                let mut writes = work.writes.iter();
                writes.any(|write| Memory::of(write.cell) == Memory::Total)
            };
            of.work.iter().filter(is_total).map(move |work| {
                let unit = Unit {
                    place: block.place,
                    warp: work.thread / LANES,
                };
                (unit, step)
            })
        })
    });
    writers.max_by_key(|&(_, step)| step)
}
