//! The columns of the warps that are shown, and sentences on the others.

use super::builder::{Builder, threads};
use super::model::Group;
use crate::trace::elements::count;
use crate::trace::events::LANES;
use crate::trace::memory::Memory;
use crate::trace::picture::Boundary;
use std::collections::BTreeSet;

impl Builder<'_> {
    pub fn name_groups(&mut self) {
        let picture = self.picture;
        let mut first = 0;
        let warps = picture.block.div_ceil(LANES);
        let finisher = self.finisher();
        for (index, unit) in self.units.iter().enumerate() {
            let columns = threads(picture, *unit) as usize * self.scale;
            let mut name = format!("block {}", unit.place);
            if warps > 1 {
                name = format!("{name} · warp {}", unit.warp);
            }
            let is_first_of_block = index == 0 || self.units[index - 1].place != unit.place;
            let is_shown = |place: usize| self.units.iter().any(|unit| unit.place == place);
            let mut note = match self.cast.alike(unit.place) {
                alike if alike > 0 && is_first_of_block => {
                    let shown_alike = self
                        .units
                        .iter()
                        .map(|unit| unit.place)
                        .collect::<BTreeSet<_>>()
                        .len();
                    // Those that are shown themselves are not like it elsewhere.
                    let all: BTreeSet<usize> =
                        self.cast.units().iter().map(|unit| unit.place).collect();
                    match alike.min(all.len() - shown_alike) {
                        0 => String::new(),
                        more => format!("and {} like this", count(more, "block")),
                    }
                }
                _ => String::new(),
            };
            if finisher == Some(unit.place) && is_first_of_block {
                debug_assert!(is_shown(unit.place));
                let has_barrier =
                    (0..picture.steps()).any(|step| self.boundary(step) == Boundary::GridBarrier);
                note = if has_barrier {
                    "finishes for all"
                } else {
                    "the last to finish"
                }
                .to_owned();
            } else if self.cast.last() == Some(*unit)
                && unit.place > 0
                && note.is_empty()
                && !self.hidden.is_empty()
            {
                note = "the last to add".to_owned();
            }
            self.groups.push(Group {
                name,
                note,
                first,
                columns,
            });
            first += columns;
        }
    }

    /// The block that leaves the total, where one does for all.
    fn finisher(&self) -> Option<usize> {
        let count = self.cast.units().last()?.place + 1;
        let writes = |place: usize, wanted: fn(Memory) -> bool| {
            let blocks = self.picture.blocks.iter();
            blocks
                .filter(|block| block.place == place)
                .flat_map(|block| &block.steps)
                .flat_map(|step| &step.work)
                .flat_map(|work| &work.writes)
                .any(|write| wanted(Memory::of(write.cell)))
        };
        let finishers: Vec<usize> = (0..count)
            .filter(|&place| writes(place, |memory| memory == Memory::Total))
            .collect();
        match finishers[..] {
            [only] if count > 1 && writes(only, |memory| memory == Memory::Partials) => Some(only),
            _ => None,
        }
    }

    pub fn notes(&self, cut: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if cut > 0 {
            notes.push(format!(
                "Not drawn for lack of room: {} with other work than these.",
                count(cut, "more warp")
            ));
        }
        let is_unordered = |step: usize| self.boundary(step) == Boundary::Unordered;
        if (0..self.picture.steps()).any(is_unordered) {
            notes.push(
                "Without a barrier: lanes read what others have just written, and trust that the warp runs in lockstep, \
                 which no GPU since Volta promises."
                    .to_owned(),
            );
        }
        notes
    }
}
