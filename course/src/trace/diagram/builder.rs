//! What a picture is built from and with: who is shown, where they stand, and what cells hold.

use super::contents::Contents;
use super::model::{Group, Scene, Thread};
use crate::trace::elements;
use crate::trace::events::LANES;
use crate::trace::fold::{Cast, Unit};
use crate::trace::memory::Memory;
use crate::trace::picture::{Boundary, Cell, Content, Picture, Work};
use std::collections::HashMap;

/// A picture that is being built.
pub(super) struct Builder<'p> {
    pub picture: &'p Picture,
    pub cast: Cast<'p>,
    pub contents: Contents,
    pub units: Vec<Unit>,
    pub hidden: Vec<Unit>,
    pub groups: Vec<Group>,
    pub scale: usize,
    pub is_full: bool,
    /// What each thread of each place has last written.
    pub last_writes: HashMap<(usize, u32), Cell>,
    /// Who works in the scene above.
    pub last_summary: Vec<String>,
    /// The memory of the row that the scene above ends with.
    pub above: Option<Memory>,
}

impl Builder<'_> {
    /// What lies before a step, in all blocks together.
    pub fn boundary(&self, step: usize) -> Boundary {
        let blocks = self.picture.blocks.iter();
        let boundaries = blocks.map(|block| block.steps[step].boundary);
        boundaries.max().unwrap_or_default()
    }

    /// The line of source that the first block with work comes from.
    pub fn origin(&self, step: usize) -> Option<String> {
        let blocks = self.picture.blocks.iter();
        let mut origins = blocks.filter_map(|block| block.steps[step].source.clone());
        origins.next()
    }

    /// The column of a cell in a group; `None` where it is in none of those.
    pub fn column(&self, group: usize, cell: Cell) -> Option<usize> {
        let unit = self.units[group];
        let memory = Memory::of(cell);
        if memory.is_named() {
            return None;
        }
        let scale = if memory == Memory::Registers {
            1
        } else {
            self.scale
        };
        let index = cell
            .index()
            .checked_sub(self.contents.first(unit.place, memory))?;
        let index = index.checked_sub(unit.warp as usize * LANES as usize * scale)?;
        // A register stands with its thread.
        let index = if memory == Memory::Registers {
            index * self.scale
        } else {
            index
        };
        (index < self.groups[group].columns).then_some(self.groups[group].first + index)
    }

    /// Where a thread stands.
    pub fn at(&self, group: usize, thread: u32, is_stretched: bool) -> f64 {
        let lane = f64::from(thread - self.units[group].warp * LANES);
        let first = self.groups[group].first as f64;
        if is_stretched {
            first + lane * self.scale as f64 + (self.scale as f64 - 1.0) / 2.0
        } else {
            first + lane
        }
    }

    pub fn is_in_group(&self, thread: &Thread, group: usize) -> bool {
        let columns = &self.groups[group];
        (columns.first as f64..(columns.first + columns.columns) as f64).contains(&thread.at)
    }

    pub fn thread_at(&self, scene: &Scene, group: usize, work: &Work) -> f64 {
        let mut threads = scene.threads.iter();
        let thread =
            threads.find(|thread| thread.number == work.thread && self.is_in_group(thread, group));
        thread.map_or(self.groups[group].first as f64, |thread| thread.at)
    }
}

/// The threads of a warp of the host's grid.
pub(super) fn threads(picture: &Picture, unit: Unit) -> u32 {
    let block = picture
        .blocks
        .iter()
        .find(|block| block.place == unit.place);
    let threads = block.map_or(0, |block| block.threads);
    (threads - (unit.warp * LANES).min(threads)).min(LANES)
}

/// The elements that a cell is made of.
pub(super) fn label(content: &Content) -> String {
    elements::label(content.elements.as_deref().unwrap_or_default())
}
