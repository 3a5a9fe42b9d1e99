//! From the recorded execution to scenes.

use super::builder::{Builder, label, threads};
use super::contents::Contents;
use super::model::{CellMark, Diagram, Move, Room, Row, Scene, Source, Style, Thread};
use super::runs::fold_runs;
use super::strips::strips;
use super::tree::{sizes, tree};
use crate::trace::events::LANES;
use crate::trace::fold::{Cast, Unit};
use crate::trace::memory::Memory;
use crate::trace::picture::{Boundary, Cell, Picture, Work};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most warps that are shown where not all fit with their numbers.
const MOST_WARPS: usize = 3;
/// The most cells of a memory that a thread may read one by one, with a line each.
const MOST_LINES: usize = 2;

/// The picture for that much room.
pub(in crate::trace) fn diagram(picture: &Picture, room: &impl Room) -> Diagram {
    let cast = Cast::new(picture);
    let contents = Contents::new(picture);
    let scale = scale(picture, &contents);
    let length = |text: &str| text.chars().count();
    let shown_contents = || picture.contents();
    let value = shown_contents().map(|content| length(&content.value.to_string()));
    let value = value.max().unwrap_or_default();
    let label = shown_contents().map(|content| length(&label(&content)));
    let label = label.max().unwrap_or_default();
    let columns = |units: &[Unit]| -> usize {
        units
            .iter()
            .map(|unit| threads(picture, *unit) as usize * scale)
            .sum()
    };
    let all = cast.units();
    let folded = cast.folded(MOST_WARPS);
    let is_enough_for_numbers =
        |units: &[Unit]| room.is_enough_for_numbers(units.len(), columns(units), value, label);
    let (units, is_full, cut) = if is_enough_for_numbers(&all) {
        (all.clone(), true, 0)
    } else if is_enough_for_numbers(&folded.shown) {
        (folded.shown, true, folded.cut)
    } else if all.len() <= 2 && room.is_enough(all.len(), columns(&all)) {
        (all.clone(), false, 0)
    } else {
        let mut shown = folded.shown;
        let count = shown.len();
        while shown.len() > 1 && !room.is_enough(shown.len(), columns(&shown)) {
            // The one that leaves the total stays.
            let is_last = |unit: &Unit| Some(*unit) == cast.last();
            let spare = shown.iter().skip(1).rposition(|unit| !is_last(unit));
            shown.remove(spare.map_or(shown.len() - 1, |spare| spare + 1));
        }
        let cut = folded.cut + count - shown.len();
        (shown, false, cut)
    };
    let mut builder = Builder {
        picture,
        cast,
        contents,
        groups: Vec::new(),
        hidden: all
            .into_iter()
            .filter(|unit| !units.contains(unit))
            .collect(),
        units,
        scale,
        is_full,
        last_writes: HashMap::new(),
        last_summary: Vec::new(),
        above: None,
    };
    builder.name_groups();
    let scenes = (0..picture.steps())
        .map(|step| builder.scene(step))
        .collect();
    let scenes = fold_runs(scenes, &builder.groups);
    let notes = builder.notes(cut);
    Diagram {
        lesson: picture.lesson,
        title: picture.title,
        subtitle: subtitle(picture),
        is_full,
        groups: builder.groups,
        tree: tree(picture),
        scenes,
        notes,
    }
}

/// What was launched, part by part.
fn subtitle(picture: &Picture) -> Vec<String> {
    let mut parts = vec![format!("n = {}", picture.n)];
    if let Some(grid) = picture.grids.first() {
        parts.push(sizes(grid.blocks, grid.threads));
    }
    let counts = |(index, value): (usize, &crate::number::Number)| {
        value.to_integer() == Some(index as i128 + 1)
            || value.to_float() == Some(index as f64 + 1.0)
    };
    if !picture.input.is_empty() && picture.input.iter().enumerate().all(counts) {
        parts.push("element i begins as i + 1".to_owned());
    }
    parts.push("drawn from an execution of the PTX".to_owned());
    parts
}

/// How many columns a thread has: two where a block of one warp works on twice as many cells as it has threads.
fn scale(picture: &Picture, contents: &Contents) -> usize {
    let mut widest = 0;
    for block in picture.blocks.iter().filter(|block| block.grid == 0) {
        if block.threads > LANES {
            return 1;
        }
        let written = block.steps.iter().flat_map(|step| &step.work);
        for write in written.flat_map(|work| &work.writes) {
            let memory = Memory::of(write.cell);
            if matches!(memory, Memory::Input | Memory::Shared | Memory::Output) {
                let index = write.cell.index() - contents.first(block.place, memory);
                widest = widest.max((index + 1).div_ceil(block.threads as usize));
            }
        }
    }
    if widest == 2 { 2 } else { 1 }
}

impl Builder<'_> {
    /// The memory whose cells arrows lead from, or to: that with most cells in view.
    fn main_memory(
        &self,
        step: usize,
        has_lines: impl Fn(&Work) -> bool,
        cells: impl Fn(&Work) -> Vec<Cell>,
    ) -> Option<Memory> {
        let mut counts: BTreeMap<Memory, usize> = BTreeMap::new();
        let mut unfit: BTreeSet<Memory> = BTreeSet::new();
        for (group, &unit) in self.units.iter().enumerate() {
            let mut most: BTreeMap<Memory, (usize, bool)> = BTreeMap::new();
            for work in self.cast.work(unit, step) {
                let mut of_thread: BTreeMap<Memory, usize> = BTreeMap::new();
                for cell in cells(work) {
                    let memory = Memory::of(cell);
                    if memory.is_named() {
                        continue;
                    }
                    *of_thread.entry(memory).or_default() += 1;
                    let entry = most.entry(memory).or_insert((0, true));
                    // What is read in vain may be out of view.
                    entry.1 &=
                        (self.column(group, cell).is_some() || !work.is_used) && has_lines(work);
                }
                for (memory, count) in of_thread {
                    let entry = most.entry(memory).or_insert((0, true));
                    entry.0 = entry.0.max(count);
                }
            }
            for (memory, (lines, is_in_view)) in most {
                if lines <= MOST_LINES && is_in_view {
                    *counts.entry(memory).or_default() += self
                        .cast
                        .work(unit, step)
                        .flat_map(&cells)
                        .filter(|&cell| Memory::of(cell) == memory)
                        .count();
                } else {
                    unfit.insert(memory);
                }
            }
        }
        let can_be = |(memory, _): &(Memory, usize)| !unfit.contains(memory);
        let best = counts.into_iter().filter(can_be);
        best.max_by_key(|&(_, count)| count)
            .map(|(memory, _)| memory)
    }

    fn scene(&mut self, step: usize) -> Scene {
        let reads = |work: &Work| work.reads.clone();
        let writes = |work: &Work| work.writes.iter().map(|write| write.cell).collect();
        let from = self.main_memory(step, |work| work.width == 1, reads);
        let to = self.main_memory(step, |_| true, writes);
        let source = match from {
            None => Source::Nothing,
            Some(memory) if self.above == Some(memory) => Source::Above(memory),
            Some(memory) => Source::Row(self.row(step, memory, None)),
        };
        let mut scene = Scene {
            name: (step + 1).to_string(),
            generation: self.generation(step),
            boundary: self.boundary(step),
            origin: self.origin(step),
            distance: self.distance(step),
            summary: self.summary(step),
            made_of: self.made_of(step),
            source,
            ..Scene::default()
        };
        // One exchange after the other: only what changes.
        let summary = std::mem::replace(&mut self.last_summary, scene.summary.clone());
        if scene.boundary == Boundary::Exchange
            && step > 0
            && self.boundary(step - 1) == Boundary::Exchange
        {
            scene.summary.retain(|line| !summary.contains(line));
        }
        let is_stretched = self.is_stretched(step);
        for group in 0..self.units.len() {
            self.threads(&mut scene, group, step, is_stretched);
        }
        for group in 0..self.units.len() {
            self.lines(&mut scene, group, step, from, to);
            self.read_bands(&mut scene, group, step, from);
            self.write_bands(&mut scene, group, step, to);
        }
        for &unit in &self.units {
            for work in self.cast.work(unit, step) {
                if let Some(write) = work.writes.last() {
                    self.last_writes
                        .insert((unit.place, work.thread), write.cell);
                }
            }
        }
        self.take_over(step);
        let row = to.map(|memory| self.row(step, memory, Some(step)));
        // Registers without contents are their threads.
        let has_cells = |row: &Row| {
            row.memory != Memory::Registers
                || self.is_full && row.cells.iter().any(|cell| !cell.value.is_empty())
        };
        scene.target = row.filter(|row| has_cells(row));
        self.strips(&mut scene, step);
        let ends =
            scene.write_bands.is_empty() && scene.write_chips.is_empty() && scene.strips.is_empty();
        self.above = to.filter(|_| ends);
        scene
    }

    /// Whether threads stand in the middle of their columns rather than above the first cells: whichever makes the shorter lines.
    fn is_stretched(&self, step: usize) -> bool {
        if self.scale == 1 {
            return true;
        }
        let length = |is_stretched: bool| -> f64 {
            let groups = self.units.iter().enumerate();
            let lines = groups.flat_map(|(group, &unit)| {
                self.cast.work(unit, step).flat_map(move |work| {
                    let cells = work.writes.iter().map(|write| write.cell);
                    let columns = cells.filter_map(move |cell| self.column(group, cell));
                    let at = self.at(group, work.thread, is_stretched);
                    columns.map(move |column| (column as f64 - at).abs())
                })
            });
            lines.sum()
        };
        // Half a column for each thread is not worth moving them.
        let works = self
            .units
            .iter()
            .flat_map(|&unit| self.cast.work(unit, step));
        length(true) <= length(false) + works.count() as f64
    }

    /// The threads of a warp.
    fn threads(&self, scene: &mut Scene, group: usize, step: usize, is_stretched: bool) {
        let unit = self.units[group];
        let block = self.cast.block(unit.place, step);
        let of_host = || {
            self.picture
                .blocks
                .iter()
                .find(|block| block.place == unit.place)
        };
        let block = block
            .map(|block| &self.picture.blocks[block])
            .or_else(of_host);
        let count = block.map_or(0, |block| block.threads);
        let first = unit.warp * LANES;
        for thread in first..count.min(first + LANES) {
            let mut works = self
                .cast
                .work(unit, step)
                .filter(|work| work.thread == thread);
            scene.threads.push(Thread {
                at: self.at(group, thread, is_stretched),
                number: thread,
                style: match works.next() {
                    Some(work) if work.is_used => Style::Active,
                    Some(_) => Style::InVain,
                    None => Style::Idle,
                },
            });
        }
    }

    /// The lines from cells to threads and from there to cells.
    fn lines(
        &self,
        scene: &mut Scene,
        group: usize,
        step: usize,
        from: Option<Memory>,
        to: Option<Memory>,
    ) {
        let unit = self.units[group];
        let has_source = !matches!(scene.source, Source::Nothing);
        for work in self.cast.work(unit, step) {
            let is_place = |thread: &Thread| thread.number == work.thread;
            let of_group = |thread: &Thread| {
                let columns = &self.groups[group];
                (columns.first as f64..(columns.first + columns.columns) as f64)
                    .contains(&thread.at)
            };
            let Some(thread) = scene
                .threads
                .iter()
                .position(|thread| is_place(thread) && of_group(thread))
            else {
                continue;
            };
            let columns = |memory: Option<Memory>, cells: Vec<Cell>| -> Vec<usize> {
                let cells = cells.into_iter();
                cells
                    .filter(|&cell| Some(Memory::of(cell)) == memory)
                    .filter_map(|cell| self.column(group, cell))
                    .collect()
            };
            let own = self.last_writes.get(&(unit.place, work.thread)).copied();
            let kept = own.filter(|own| {
                work.from_register
                    && has_source
                    && Some(Memory::of(*own)) == from
                    && !work.reads.contains(own)
            });
            let writes = work.writes.iter().map(|write| write.cell).collect();
            scene.moves.push(Move {
                thread,
                is_used: work.is_used,
                from: columns(from, work.reads.clone()),
                kept: kept.and_then(|own| self.column(group, own)),
                from_chips: Vec::new(),
                to: columns(to, writes),
                to_chips: Vec::new(),
            });
        }
    }

    /// Notes what cells hold after a step.
    fn take_over(&mut self, step: usize) {
        for block in &self.picture.blocks {
            let step = &block.steps[step];
            let writes = step.work.iter().flat_map(|work| &work.writes);
            for write in step.registers.iter().chain(writes) {
                if let Some(content) = &write.content {
                    self.contents.set(block.place, write.cell, content.clone());
                }
            }
        }
    }

    /// The row of a memory: the cells in view that hold anything, and those that are `written` in a step.
    fn row(&self, step: usize, memory: Memory, written: Option<usize>) -> Row {
        let mut cells = Vec::new();
        for (group, &unit) in self.units.iter().enumerate() {
            let mut styles: BTreeMap<Cell, Style> = BTreeMap::new();
            for work in self.cast.work(unit, step).filter(|_| written.is_some()) {
                for write in &work.writes {
                    let style = if work.is_used {
                        Style::Active
                    } else {
                        Style::InVain
                    };
                    styles.insert(write.cell, style);
                }
            }
            let work = self.cast.work(unit, step);
            let read: BTreeSet<Cell> = work.flat_map(|work| work.reads.iter().copied()).collect();
            for cell in self.contents.touched(unit.place, memory) {
                let Some(column) = self.column(group, cell) else {
                    continue;
                };
                let content = self.contents.get(unit.place, cell);
                let is_initial = written.is_none() && read.contains(&cell);
                let style = match styles.get(&cell) {
                    Some(&style) => style,
                    None if content.is_none() => continue,
                    None if is_initial => Style::Initial,
                    None => Style::Idle,
                };
                cells.push(CellMark {
                    column,
                    style,
                    value: content
                        .map(|content| content.value.to_string())
                        .unwrap_or_default(),
                    elements: content.map(label).unwrap_or_default(),
                });
            }
        }
        Row { memory, cells }
    }

    /// How the first of the warps that are shown accesses memory, where the lesson is about that.
    fn strips(&self, scene: &mut Scene, step: usize) {
        let Some((unit, block)) = self
            .units
            .iter()
            .find_map(|&unit| Some((unit, self.cast.block(unit.place, step)?)))
        else {
            return;
        };
        let accesses = self.picture.blocks[block].steps[step].accesses.iter();
        let own = accesses.filter(|access| access.warp == unit.warp);
        scene.strips = strips(own);
    }
}
