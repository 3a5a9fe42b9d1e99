//! What warps access that no lines lead from or to: bands for many lanes together, single cells for a few.

use super::builder::{Builder, label};
use super::model::{Band, Chip, Scene};
use crate::trace::elements;
use crate::trace::memory::{Memory, cell_name};
use crate::trace::picture::{Cell, Work, Write};
use std::collections::{BTreeMap, BTreeSet};

/// The most loads of a warp that have a band each.
const MOST_BANDS: usize = 4;
/// The most cells that stand alone for a warp in one step.
const MOST_CHIPS: usize = 4;

/// What lanes of a warp access by one instruction.
type Load<'w> = Vec<(&'w Work, Vec<Cell>)>;

impl Builder<'_> {
    /// What a warp reads that no lines lead from.
    pub fn read_bands(&self, scene: &mut Scene, group: usize, step: usize, from: Option<Memory>) {
        let unit = self.units[group];
        let mut loads: BTreeMap<Memory, Vec<Load<'_>>> = BTreeMap::new();
        for work in self.cast.work(unit, step) {
            let updates = |cell: &Cell| {
                let is_written = work.writes.iter().any(|write| write.cell == *cell);
                Memory::of(*cell).is_named() && is_written
            };
            let mut by_memory: BTreeMap<Memory, Vec<Cell>> = BTreeMap::new();
            for cell in work.reads.iter().filter(|cell| !updates(cell)) {
                if Some(Memory::of(*cell)) != from {
                    by_memory.entry(Memory::of(*cell)).or_default().push(*cell);
                }
            }
            for (memory, cells) in by_memory {
                // An exchange of many registers is one instruction.
                let is_one = work.is_copy || memory == Memory::Registers;
                let width = if is_one { cells.len() } else { work.width };
                let loads = loads.entry(memory).or_default();
                for (number, load) in cells.chunks(width.max(1)).enumerate() {
                    if loads.len() <= number {
                        loads.push(Vec::new());
                    }
                    loads[number].push((work, load.to_vec()));
                }
            }
        }
        for (memory, mut loads) in loads {
            // By place, in whatever order the compiler has put them.
            loads.sort_by_key(|load| {
                let cells = load.iter().flat_map(|(_, cells)| cells);
                cells.map(|cell| cell.index()).min()
            });
            let count = loads.len();
            for (number, load) in loads.into_iter().enumerate() {
                if count > MOST_BANDS && (MOST_BANDS - 2..count - 1).contains(&number) {
                    if number == MOST_BANDS - 2 {
                        let text = format!("… {} more loads like these …", count - MOST_BANDS + 1);
                        let band =
                            self.band(scene, group, memory, &load, vec![text, "…".to_owned()]);
                        scene.read_bands.push(band);
                    }
                    continue;
                }
                self.read(scene, group, memory, &load);
            }
        }
    }

    /// One load of some lanes of a warp.
    fn read(&self, scene: &mut Scene, group: usize, memory: Memory, load: &[(&Work, Vec<Cell>)]) {
        let indices = indices_of(load.iter().flat_map(|(_, cells)| cells));
        let is_used = load.iter().any(|(work, _)| work.is_used);
        let few = indices.len() <= MOST_CHIPS && memory.is_named();
        let is_copy = load.iter().any(|(work, _)| work.is_copy);
        if few || load.len() < 4 && !self.is_full && !is_copy {
            let by_cell = if few { load.len() } else { 1 };
            let chunk = load.len().div_ceil(by_cell.max(1)).max(1);
            for part in load.chunks(chunk) {
                let indices = indices_of(part.iter().flat_map(|(_, cells)| cells));
                let threads: Vec<u32> = part.iter().map(|(work, _)| work.thread).collect();
                let chip = scene.read_chips.len();
                for movement in &mut scene.moves {
                    if threads.contains(&scene.threads[movement.thread].number)
                        && self.is_in_group(&scene.threads[movement.thread], group)
                    {
                        movement.from_chips.push(chip);
                    }
                }
                let first = part.first().and_then(|(_, cells)| cells.first().copied());
                let text = match (first, indices.len(), memory.is_named()) {
                    (Some(cell), 1, true) => cell_name(cell),
                    _ => format!("{}[{}]", memory.name(), elements::label(&indices)),
                };
                scene.read_chips.push(Chip {
                    memory,
                    at: part
                        .first()
                        .map_or(0.0, |(work, _)| self.thread_at(scene, group, work)),
                    text,
                    elements: String::new(),
                    is_used,
                });
            }
            return;
        }
        let (name, set) = (memory.name(), elements::label(&indices));
        let cells = format!("{name}[{set}]");
        let lane_cells = load.first().map_or(0, |(_, cells)| cells.len());
        let mut texts = Vec::new();
        if is_copy {
            texts.push(format!("asynchronous copy of {cells}"));
        } else if memory == Memory::Registers {
            texts.push(format!("{name} of threads {set}, all together"));
        } else if memory == Memory::Constant && indices.len() == 1 {
            texts.push(format!("{cells}, the same for all"));
        } else if lane_cells > 1 {
            texts.push(format!("{cells}, {lane_cells} a lane"));
        }
        texts.extend([
            cells,
            set,
            format!("{} of {name}", elements::count(indices.len(), "cell")),
        ]);
        let band = self.band(scene, group, memory, load, texts);
        scene.read_bands.push(band);
    }

    fn band(
        &self,
        scene: &Scene,
        group: usize,
        memory: Memory,
        load: &[(&Work, Vec<Cell>)],
        texts: Vec<String>,
    ) -> Band {
        let is_copy = load.iter().any(|(work, _)| work.is_copy);
        let columns = &self.groups[group];
        let at = load
            .iter()
            .map(|(work, _)| self.thread_at(scene, group, work));
        let (least, most) = at.fold((f64::INFINITY, 0.0_f64), |(least, most), at| {
            (least.min(at), most.max(at))
        });
        // A copy is no lane's; it fills the warp's room.
        let span = if is_copy {
            (columns.first, columns.first + columns.columns)
        } else {
            (least.floor() as usize, most.ceil() as usize + 1)
        };
        Band {
            group,
            memory,
            columns: span,
            texts,
            is_used: load.iter().any(|(work, _)| work.is_used),
        }
    }

    /// What a warp writes that no lines lead to, and what it launches.
    pub fn write_bands(&self, scene: &mut Scene, group: usize, step: usize, to: Option<Memory>) {
        let unit = self.units[group];
        let mut by_memory: BTreeMap<Memory, Vec<(&Work, &Write)>> = BTreeMap::new();
        for work in self.cast.work(unit, step) {
            for write in &work.writes {
                let memory = Memory::of(write.cell);
                if Some(memory) != to && memory != Memory::Registers {
                    by_memory.entry(memory).or_default().push((work, write));
                }
            }
            for grid in &work.launches {
                self.write_chip(
                    scene,
                    group,
                    &[work],
                    Memory::Registers,
                    format!("launches grid {grid}"),
                    String::new(),
                );
            }
        }
        for (memory, writes) in by_memory {
            if memory.is_named() && writes.len() <= MOST_CHIPS {
                for (work, write) in writes {
                    let name = cell_name(write.cell);
                    let (text, elements) = match &write.content {
                        Some(content) => (format!("{name} = {}", content.value), label(content)),
                        None => (name, String::new()),
                    };
                    self.write_chip(scene, group, &[work], memory, text, elements);
                }
                continue;
            }
            let load: Load<'_> = writes
                .iter()
                .map(|(work, write)| (*work, vec![write.cell]))
                .collect();
            let indices = indices_of(load.iter().flat_map(|(_, cells)| cells));
            let set = elements::label(&indices);
            let mut texts = Vec::new();
            if let (
                true,
                [_],
                Some((
                    _,
                    Write {
                        cell,
                        content: Some(content),
                    },
                )),
            ) = (memory.is_named(), &indices[..], writes.last())
            {
                let name = cell_name(*cell);
                texts.push(format!(
                    "{} lanes, one after the other: {name} = {} in the end",
                    writes.len(),
                    content.value
                ));
                texts.push(format!("{name} = {}", content.value));
            }
            texts.extend([
                format!("{}[{set}]", memory.name()),
                set,
                format!(
                    "{} of {}",
                    elements::count(indices.len(), "cell"),
                    memory.name()
                ),
            ]);
            if load.len() < 4 && !self.is_full && load.iter().all(|(work, _)| !work.is_copy) {
                let works: Vec<&Work> = load.iter().map(|(work, _)| *work).collect();
                let text = texts.swap_remove(0);
                self.write_chip(scene, group, &works, memory, text, String::new());
                continue;
            }
            let band = self.band(scene, group, memory, &load, texts);
            scene.write_bands.push(band);
        }
    }

    fn write_chip(
        &self,
        scene: &mut Scene,
        group: usize,
        works: &[&Work],
        memory: Memory,
        text: String,
        elements: String,
    ) {
        let chip = scene.write_chips.len();
        for movement in &mut scene.moves {
            let thread = &scene.threads[movement.thread];
            let does = |work: &&Work| work.thread == thread.number;
            if works.iter().any(does) && self.is_in_group(thread, group) {
                movement.to_chips.push(chip);
            }
        }
        scene.write_chips.push(Chip {
            memory,
            at: self.thread_at(scene, group, works[0]),
            text,
            elements,
            is_used: works.iter().any(|work| work.is_used),
        });
    }
}

fn indices_of<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<usize> {
    let indices: BTreeSet<usize> = cells.map(|cell| cell.index()).collect();
    indices.into_iter().collect()
}
