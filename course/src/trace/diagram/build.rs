//! From the recorded execution to scenes.

use super::contents::Contents;
use super::model::{
    Band, CellMark, Chip, Diagram, Group, Move, Room, Row, Scene, Source, Style, Thread,
};
use super::runs::fold_runs;
use super::strips::strip;
use super::tree::{generations, sizes};
use crate::trace::elements;
use crate::trace::fold::{Cast, Unit};
use crate::trace::memory::{Memory, cell_name};
use crate::trace::picture::{Boundary, Cell, Content, Picture, Work, Write};
use crate::trace::steps::LANES;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most warps that are shown where not all fit with their numbers.
const MOST_WARPS: usize = 3;
/// The most loads of a warp that have a band each.
const MOST_BANDS: usize = 4;
/// The most cells of a memory that a thread may read one by one, with a line each.
const MOST_LINES: usize = 2;
/// The most cells that stand alone for a warp in one step.
const MOST_CHIPS: usize = 4;

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
            shown.pop();
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
        generations: generations(picture),
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

/// The threads of a warp of the host's grid.
fn threads(picture: &Picture, unit: Unit) -> u32 {
    let block = picture
        .blocks
        .iter()
        .find(|block| block.place == unit.place);
    let threads = block.map_or(0, |block| block.threads);
    (threads - (unit.warp * LANES).min(threads)).min(LANES)
}

fn label(content: &Content) -> String {
    elements::label(content.elements.as_deref().unwrap_or_default())
}

/// What lanes of a warp access by one instruction.
type Load<'w> = Vec<(&'w Work, Vec<Cell>)>;

struct Builder<'p> {
    picture: &'p Picture,
    cast: Cast<'p>,
    contents: Contents,
    units: Vec<Unit>,
    hidden: Vec<Unit>,
    groups: Vec<Group>,
    scale: usize,
    is_full: bool,
    /// What each thread of each place has last written.
    last_writes: HashMap<(usize, u32), Cell>,
    /// Who works in the scene above.
    last_summary: Vec<String>,
    /// The memory of the row that the scene above ends with.
    above: Option<Memory>,
}

impl<'p> Builder<'p> {
    fn name_groups(&mut self) {
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
                        1 => "and 1 block like this".to_owned(),
                        more => format!("and {more} blocks like this"),
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

    fn notes(&self, cut: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if cut > 0 {
            let plural = if cut == 1 { "" } else { "s" };
            notes.push(format!(
                "{cut} more warp{plural} with work of other kinds: not drawn."
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

    /// What lies before a step, in all blocks together.
    fn boundary(&self, step: usize) -> Boundary {
        let blocks = self.picture.blocks.iter();
        let boundaries = blocks.map(|block| block.steps[step].boundary);
        boundaries.max().unwrap_or_default()
    }

    /// The column of a cell in a group; `None` where it is in none of those.
    fn column(&self, group: usize, cell: Cell) -> Option<usize> {
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
    fn at(&self, group: usize, thread: u32, is_stretched: bool) -> f64 {
        let lane = f64::from(thread - self.units[group].warp * LANES);
        let first = self.groups[group].first as f64;
        if is_stretched {
            first + lane * self.scale as f64 + (self.scale as f64 - 1.0) / 2.0
        } else {
            first + lane
        }
    }

    /// The memory whose cells arrows lead from, or to: that with most cells in view.
    fn main_memory(
        &self,
        step: usize,
        has_lines: impl Fn(&Work) -> bool,
        cells: impl Fn(&Work) -> Vec<Cell>,
    ) -> Option<Memory> {
        let mut counts: BTreeMap<Memory, usize> = BTreeMap::new();
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
                    counts.insert(memory, 0);
                }
            }
        }
        let best = counts.into_iter().filter(|&(_, count)| count > 0);
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

    /// The grids of a generation, at the first step of it.
    fn generation(&self, step: usize) -> Option<String> {
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
        let plural = if numbers.len() == 1 { "" } else { "s" };
        Some(format!(
            "generation {generation}: grid{plural} {}",
            elements::label(&numbers)
        ))
    }

    /// How many threads and warps of those that there are work.
    fn summary(&self, step: usize) -> Vec<String> {
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
            "{working} of {threads} threads ({})",
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
                "{active} of {warps} warps ({})",
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
            1 => lines.push("1 more warp likewise".to_owned()),
            more => lines.push(format!("{more} more warps likewise")),
        }
        lines
    }

    /// How far from what they write the threads read, where that is the same for all: `+4`, `+8 … +56`.
    fn distance(&self, step: usize) -> Option<String> {
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
    fn made_of(&self, step: usize) -> Option<String> {
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

    /// What a warp reads that no lines lead from.
    fn read_bands(&self, scene: &mut Scene, group: usize, step: usize, from: Option<Memory>) {
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
        for (memory, loads) in loads {
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
        } else if lane_cells > 1 {
            texts.push(format!("{cells}, {lane_cells} a lane"));
        }
        texts.extend([cells, set, format!("{} cells", indices.len())]);
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

    fn is_in_group(&self, thread: &Thread, group: usize) -> bool {
        let columns = &self.groups[group];
        (columns.first as f64..(columns.first + columns.columns) as f64).contains(&thread.at)
    }

    fn thread_at(&self, scene: &Scene, group: usize, work: &Work) -> f64 {
        let mut threads = scene.threads.iter();
        let thread =
            threads.find(|thread| thread.number == work.thread && self.is_in_group(thread, group));
        thread.map_or(self.groups[group].first as f64, |thread| thread.at)
    }

    /// What a warp writes that no lines lead to, and what it launches.
    fn write_bands(&self, scene: &mut Scene, group: usize, step: usize, to: Option<Memory>) {
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
                    work,
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
                    self.write_chip(scene, group, work, memory, text, elements);
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
                format!("{} cells", indices.len()),
            ]);
            if load.len() < 4 && !self.is_full && load.iter().all(|(work, _)| !work.is_copy) {
                let (work, text) = (load[0].0, texts.swap_remove(0));
                self.write_chip(scene, group, work, memory, text, String::new());
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
        work: &Work,
        memory: Memory,
        text: String,
        elements: String,
    ) {
        let chip = scene.write_chips.len();
        for movement in &mut scene.moves {
            let thread = &scene.threads[movement.thread];
            if thread.number == work.thread && self.is_in_group(thread, group) {
                movement.to_chips.push(chip);
            }
        }
        scene.write_chips.push(Chip {
            memory,
            at: self.thread_at(scene, group, work),
            text,
            elements,
            is_used: work.is_used,
        });
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
        scene.strips = own.map(strip).collect();
    }
}

fn indices_of<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<usize> {
    let indices: BTreeSet<usize> = cells.map(|cell| cell.index()).collect();
    indices.into_iter().collect()
}
