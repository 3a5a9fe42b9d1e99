//! What cells hold while the picture is built, and which a row shows.

use crate::trace::memory::Memory;
use crate::trace::picture::{Cell, Content, Picture};
use std::collections::{BTreeMap, BTreeSet};

/// A cell; of memory that each block has for itself, with the place of the block.
type Key = (Option<usize>, Cell);

/// The contents of all cells.
pub(super) struct Contents {
    now: BTreeMap<Key, Content>,
    /// The cells that each place ever touches, by memory.
    touched: BTreeMap<(usize, Memory), BTreeSet<Cell>>,
}

impl Contents {
    pub fn new(picture: &Picture) -> Self {
        let mut touched: BTreeMap<(usize, Memory), BTreeSet<Cell>> = BTreeMap::new();
        for block in &picture.blocks {
            for work in block.steps.iter().flat_map(|step| &step.work) {
                let written = work.writes.iter().map(|write| write.cell);
                for cell in work.reads.iter().copied().chain(written) {
                    let key = (block.place, Memory::of(cell));
                    touched.entry(key).or_default().insert(cell);
                }
            }
        }
        let input = (0..picture.input.len()).map(|index| {
            let content = picture.first_content(index);
            ((None, Cell::Input(index)), content)
        });
        let beside = picture.beside.iter();
        let beside = beside.filter_map(|write| Some(((None, write.cell), write.content.clone()?)));
        Self {
            now: input.chain(beside).collect(),
            touched,
        }
    }

    fn key(place: usize, cell: Cell) -> Key {
        (Memory::of(cell).is_of_block().then_some(place), cell)
    }

    pub fn get(&self, place: usize, cell: Cell) -> Option<&Content> {
        self.now.get(&Self::key(place, cell))
    }

    pub fn set(&mut self, place: usize, cell: Cell, content: Content) {
        self.now.insert(Self::key(place, cell), content);
    }

    /// The cells of a memory that a place ever touches.
    pub fn touched(&self, place: usize, memory: Memory) -> impl Iterator<Item = Cell> + '_ {
        self.touched
            .get(&(place, memory))
            .into_iter()
            .flatten()
            .copied()
    }

    /// The index of the first of them; of the registers, that of thread 0.
    pub fn first(&self, place: usize, memory: Memory) -> usize {
        if memory == Memory::Registers {
            return 0;
        }
        // They are in order: a memory has cells of one kind.
        let first = self.touched(place, memory).next();
        first.map_or(0, Cell::index)
    }
}
