//! A step on the sheet.

use super::drawing::{Drawing, row_name};
use super::layout::{GROUP_GAP, MARGIN, MOST_WIDTH, NOTE_SIZE, START};
use super::shapes::{Point, SMALL_CHARACTER, SMALL_SIZE, VALUE_CHARACTER, colours, width_of};
use crate::trace::diagram::{Band, Chip, Diagram, Hits, Row, Scene, Source, Strip, Style};
use crate::trace::elements;
use crate::trace::memory::Memory;
use crate::trace::picture::Boundary;

/// Height of a band, and of a chip with one line of text or two.
const BAND: f64 = 17.0;
const CHIP: f64 = 20.0;
const TALL_CHIP: f64 = 32.0;
/// Between rows.
const BETWEEN: f64 = 5.0;
/// Between two steps.
const BELOW: f64 = 8.0;

impl Drawing {
    pub(super) fn scene(&mut self, diagram: &Diagram, scene: &Scene) {
        self.boundary(scene);
        let top = self.y;
        self.summary(scene, top);
        self.bands(&scene.read_bands, "reads");
        let chips = self.chips(
            scene,
            &scene.read_chips,
            false,
            matches!(scene.source, Source::Nothing),
        );
        let source = match &scene.source {
            Source::Nothing => None,
            Source::Above(_) => self.above,
            Source::Row(row) => Some(self.row(row)),
        };
        let radius = self.layout.radius();
        let reach = self.reach(scene, chips.iter().any(Option::is_some));
        let threads = self.y + reach + radius;
        self.sheet.label_before(START - 8.0, threads, "threads");
        for thread in &scene.threads {
            let centre = (self.layout.x(thread.at), threads);
            let number = diagram.is_full.then_some(thread.number);
            self.sheet.thread(centre, radius, number, thread.style);
        }
        // Work in vain first, so that it lies below what counts.
        let mut moves: Vec<_> = scene.moves.iter().collect();
        moves.sort_by_key(|movement| movement.is_used);
        for movement in &moves {
            let x = self.layout.x(scene.threads[movement.thread].at);
            let (end, colour) = ((x, threads - radius), colours::line(movement.is_used));
            if let Some(y) = source {
                for &column in &movement.from {
                    self.sheet
                        .line((self.layout.x(column as f64), y), end, colour, false);
                }
                if let Some(column) = movement.kept {
                    self.sheet
                        .line((self.layout.x(column as f64), y), end, colour, true);
                }
            }
            for start in movement.from_chips.iter().filter_map(|&chip| chips[chip]) {
                self.sheet.line(start, end, colour, false);
            }
        }
        self.y = threads + radius;
        self.above = Some(self.y);
        let has_row = scene.target.is_some();
        let has_arrows = has_row || !scene.write_chips.is_empty();
        self.y += if has_arrows {
            self.descent(scene)
        } else {
            BETWEEN
        };
        let target = scene.target.as_ref().map(|row| {
            let y = self.y;
            self.above = Some(self.row(row));
            y
        });
        let chips = self.chips(scene, &scene.write_chips, true, !has_row);
        for movement in &moves {
            let x = self.layout.x(scene.threads[movement.thread].at);
            let (start, colour) = ((x, threads + radius), colours::line(movement.is_used));
            if let Some(y) = target {
                for &column in &movement.to {
                    self.sheet
                        .arrow(start, (self.layout.x(column as f64), y), colour);
                }
            }
            for end in movement.to_chips.iter().filter_map(|&chip| chips[chip]) {
                self.sheet.arrow(start, end, colour);
            }
        }
        self.bands(&scene.write_bands, "writes");
        for strip in &scene.strips {
            self.strip(strip);
        }
        let lines = self.said(scene).len();
        self.y = self.y.max(top + 18.0 + 13.0 * lines as f64) + BELOW;
    }

    /// What separates a step from the one above.
    fn boundary(&mut self, scene: &Scene) {
        if let Some(generation) = &scene.generation {
            self.y += 14.0;
            self.sheet.bold((MARGIN, self.y), NOTE_SIZE, generation);
            self.y += 6.0;
        }
        let (name, colour, width, dashes) = match scene.boundary {
            Boundary::GridBarrier => ("the grid's barrier", colours::INK, 4.0, ""),
            Boundary::BlockBarrier => ("barrier", colours::NOTE, 2.5, ""),
            Boundary::WarpBarrier => ("warp barrier", colours::NOTE, 2.0, "8 5"),
            Boundary::Copy => ("copies have arrived", colours::NOTE, 2.0, "2 4"),
            Boundary::GridWait => ("its grids are complete", colours::NOTE, 2.0, "2 4"),
            Boundary::Unordered => ("no barrier!", colours::ALARM, 1.5, "1 5"),
            Boundary::Start | Boundary::OwnThread | Boundary::Exchange | Boundary::Launch => return,
        };
        self.y += 4.0;
        let ends = (START, self.layout.end());
        self.sheet.rule(ends, self.y, colour, width, dashes);
        self.sheet
            .text((MARGIN, self.y + 4.0), NOTE_SIZE, colour, name);
        self.y += 8.0;
    }

    /// The number of a step, how far its threads read, and how many work.
    fn summary(&mut self, scene: &Scene, top: f64) {
        let step = if scene.is_folded { "Steps" } else { "Step" };
        let name = format!("{step} {}", scene.name);
        let width = self.sheet.bold((MARGIN, top + 13.0), 13, &name);
        if let Some(distance) = &scene.distance {
            let x = MARGIN + width + 8.0;
            self.sheet
                .text((x, top + 13.0), NOTE_SIZE, colours::INK, distance);
        }
        for (line, text) in self.said(scene).iter().enumerate() {
            self.sheet
                .note((MARGIN, top + 27.0 + 13.0 * line as f64), text);
        }
    }

    /// The lines below the number of a step, none as long as to reach the names of rows.
    fn said(&self, scene: &Scene) -> Vec<String> {
        const MOST: f64 = 160.0;
        let made_of = scene.made_of.iter().filter(|_| !self.layout.is_full);
        let mut lines = Vec::new();
        for text in scene.summary.iter().chain(made_of) {
            // What stands in brackets stays together, and a number with its sign.
            let spaces = text.match_indices(' ').map(|(space, _)| space);
            let may_break = |space: &usize| match text.find(" (") {
                Some(bracket) => *space == bracket,
                None => !text[*space..].starts_with(" %"),
            };
            let fits = |end: &usize| width_of(&text[..*end], NOTE_SIZE) <= MOST;
            let mut ends = spaces.filter(may_break).chain([text.len()]);
            let end = ends.rfind(fits).unwrap_or(text.len());
            lines.push(text[..end].to_owned());
            let rest = text[end..].trim_start();
            lines.extend((!rest.is_empty()).then(|| rest.to_owned()));
        }
        lines
    }

    /// How far above the threads their sources are: the further the lines lead sideways, the more.
    fn reach(&self, scene: &Scene, has_chips: bool) -> f64 {
        let widest = scene.moves.iter().flat_map(|movement| {
            let at = self.layout.x(scene.threads[movement.thread].at);
            let columns = movement.from.iter().chain(&movement.kept);
            columns.map(move |&column| (self.layout.x(column as f64) - at).abs())
        });
        match widest.fold(-1.0, f64::max) {
            none if none < 0.0 => {
                if has_chips {
                    24.0
                } else {
                    6.0
                }
            }
            widest => (16.0 + widest / 6.0).clamp(20.0, 46.0),
        }
    }

    /// The same for what they write.
    fn descent(&self, scene: &Scene) -> f64 {
        let widest = scene.moves.iter().flat_map(|movement| {
            let at = self.layout.x(scene.threads[movement.thread].at);
            let columns = movement.to.iter();
            columns.map(move |&column| (self.layout.x(column as f64) - at).abs())
        });
        (16.0 + widest.fold(0.0, f64::max) / 6.0).clamp(20.0, 46.0)
    }

    /// A row of cells; returns its lower edge.
    fn row(&mut self, row: &Row) -> f64 {
        let height = self.layout.cell_height();
        let middle = self.y + height / 2.0;
        self.sheet
            .label_before(START - 8.0, middle, row_name(row.memory));
        let width = self.layout.cell - 2.0;
        for cell in &row.cells {
            let x = self.layout.x(cell.column as f64);
            self.sheet.cell(
                (x - width / 2.0, self.y),
                (width, height),
                row.memory,
                cell.style,
            );
            if self.layout.is_full {
                self.sheet
                    .in_cell((x, middle), cell.style, &cell.value, &cell.elements);
            }
        }
        self.y += height;
        let edge = self.y;
        self.y += BETWEEN;
        edge
    }

    /// Cells that lanes access together, group by group side by side.
    fn bands(&mut self, bands: &[Band], name: &str) {
        if bands.is_empty() {
            return;
        }
        let mut counts = vec![0_usize; self.layout.groups.len()];
        let top = self.y + BETWEEN;
        for band in bands {
            let y = top + counts[band.group] as f64 * (BAND + 3.0);
            counts[band.group] += 1;
            let half = self.layout.cell / 2.0;
            let left = self.layout.x(band.columns.0 as f64) - half;
            let right = self.layout.x((band.columns.1 - 1) as f64) + half;
            let style = if band.is_used {
                Style::Active
            } else {
                Style::InVain
            };
            self.sheet.cell(
                (left + 1.0, y),
                (right - left - 2.0, BAND),
                band.memory,
                style,
            );
            let room = right - left - 8.0;
            let fits = |text: &&str| text.chars().count() as f64 * SMALL_CHARACTER <= room;
            // Of `32 cells of global` the number fits where nothing else does.
            let number = band.texts.last().and_then(|text| text.split(" of ").next());
            let mut texts = band.texts.iter().map(String::as_str).chain(number);
            if let Some(text) = texts.find(fits) {
                let centre = ((left + right) / 2.0, y + BAND / 2.0);
                self.sheet.number(centre, SMALL_SIZE, colours::INK, text);
            }
        }
        let most = counts.into_iter().max().unwrap_or_default() as f64;
        self.sheet.label_before(START - 8.0, top + BAND / 2.0, name);
        self.y = top + most * (BAND + 3.0);
    }

    /// Cells that stand alone; returns where lines to them end, or begin, of those that have any.
    fn chips(
        &mut self,
        scene: &Scene,
        chips: &[Chip],
        is_written: bool,
        has_lines: bool,
    ) -> Vec<Option<Point>> {
        if chips.is_empty() {
            return Vec::new();
        }
        let height = if chips.iter().any(|chip| !chip.elements.is_empty()) {
            TALL_CHIP
        } else {
            CHIP
        };
        let top = self.y + if is_written { 0.0 } else { BETWEEN };
        // Where each row is full up to.
        let mut ends: Vec<f64> = Vec::new();
        let mut anchors = Vec::new();
        let mut placed: Vec<(f64, f64, usize, String)> = Vec::new();
        for (index, chip) in chips.iter().enumerate() {
            let moves = scene.moves.iter();
            let mut by = moves.filter(|movement| {
                if is_written {
                    movement.to_chips.contains(&index)
                } else {
                    movement.from_chips.contains(&index)
                }
            });
            let thread = by
                .next()
                .map(|movement| scene.threads[movement.thread].number);
            let mut text = chip.text.clone();
            let width = |text: &str| {
                let elements = chip.elements.chars().count() as f64 * SMALL_CHARACTER;
                (text.chars().count() as f64 * VALUE_CHARACTER).max(elements) + 12.0
            };
            let group = self.layout.group_of(chip.at);
            let (least, end) = self.layout.group(group);
            let place = |text: &str, ends: &[f64], row: usize| {
                let wanted = self.layout.x(chip.at) - width(text) / 2.0;
                let most = MOST_WIDTH - MARGIN - width(text);
                let left = wanted.min(end - width(text)).max(least).min(most);
                let full = ends.get(row).copied().unwrap_or(f64::NEG_INFINITY);
                let moved = left.max(full + 8.0);
                // The first of a group stands in any row; others where they do not lead into the next group.
                let is_first = full <= least;
                let fits = is_first || moved + width(text) <= end + GROUP_GAP - 8.0;
                (moved <= most && fits && (moved - wanted).abs() <= 240.0).then_some(moved)
            };
            let row = (0..=ends.len())
                .find(|&row| place(&text, &ends, row).is_some())
                .unwrap_or(ends.len());
            let is_lined = has_lines && row == 0;
            if !is_lined && let Some(thread) = thread {
                text = format!("thread {thread}: {text}");
            }
            let row = (row..=ends.len())
                .find(|&row| place(&text, &ends, row).is_some())
                .unwrap_or(ends.len());
            let left = place(&text, &ends, row).unwrap_or(least);
            let width = width(&text);
            if ends.len() <= row {
                ends.push(0.0);
            }
            ends[row] = left + width;
            placed.push((left, width, row, text));
            let inset = 4.0;
            let nearest = self.layout.x(chip.at);
            let nearest = nearest.clamp(left + inset, left + width - inset);
            anchors.push(is_lined.then_some(nearest));
        }
        let rows = ends.len();
        let mut points = Vec::new();
        for ((chip, (left, width, row, text)), anchor) in chips.iter().zip(placed).zip(anchors) {
            // Those with lines are next to the threads.
            let from_threads = if is_written { row } else { rows - 1 - row };
            let y = top + from_threads as f64 * (height + BETWEEN);
            let style = if chip.is_used {
                Style::Active
            } else {
                Style::InVain
            };
            self.sheet
                .cell((left, y), (width, height), chip.memory, style);
            self.sheet.in_cell(
                (left + width / 2.0, y + height / 2.0),
                style,
                &text,
                &chip.elements,
            );
            let edge = if is_written { y } else { y + height };
            points.push(anchor.map(|x| (x, edge)));
        }
        self.y = top + rows as f64 * (height + BETWEEN);
        points
    }

    /// How a warp hits memory.
    fn strip(&mut self, strip: &Strip) {
        self.y += 14.0;
        self.wrapped((START, MOST_WIDTH - MARGIN - START), &strip.text);
        self.y -= 10.0;
        match &strip.hits {
            Hits::Sectors(sectors) => {
                let room = MOST_WIDTH - MARGIN - START;
                let word = ((room / sectors.len().max(1) as f64 - 5.0) / 8.0).min(11.0);
                for (index, (_, wanted)) in sectors.iter().enumerate() {
                    let left = START + index as f64 * (8.0 * word + 5.0);
                    for bit in 0..8 {
                        let style = if wanted >> bit & 1 == 1 {
                            Style::Active
                        } else {
                            Style::Idle
                        };
                        let corner = (left + f64::from(bit) * word, self.y);
                        self.sheet
                            .cell(corner, (word - 0.6, 12.0), Memory::Input, style);
                    }
                }
                self.y += 16.0;
            }
            Hits::Banks(banks) => self.banks(banks),
            Hits::Words(words) => self.words(words),
        }
    }

    /// The words of constant memory, with the lanes that want each below it.
    fn words(&mut self, words: &[(u64, Vec<u32>)]) {
        const HEIGHT: f64 = 13.0;
        let room = MOST_WIDTH - MARGIN - START;
        let labels = words.iter().map(|(word, lanes)| {
            let lanes: Vec<usize> = lanes.iter().map(|&lane| lane as usize).collect();
            (word.to_string(), elements::label(&lanes))
        });
        let labels: Vec<(String, String)> = labels.collect();
        let lengths = labels.iter().map(|(_, lanes)| lanes.chars().count());
        let width = lengths.max().unwrap_or_default() as f64 * SMALL_CHARACTER + 8.0;
        let width = width.max(22.0);
        let most = (room / width) as usize;
        let shown = if labels.len() > most {
            most - 1
        } else {
            labels.len()
        };
        if shown < labels.len() {
            let centre = START + (shown as f64 + 0.5) * width;
            let text = format!("+{}", labels.len() - shown);
            let y = self.y + 12.0 + HEIGHT / 2.0 - 0.5;
            self.sheet
                .number((centre, y), SMALL_SIZE, colours::INK, &text);
        }
        for (index, (word, lanes)) in labels.iter().take(shown).enumerate() {
            let left = START + index as f64 * width;
            let centre = (left + width / 2.0, self.y + 5.0);
            self.sheet
                .number(centre, SMALL_SIZE, colours::PALE_INK, word);
            let corner = (left + 1.0, self.y + 12.0);
            self.sheet.cell(
                corner,
                (width - 2.0, HEIGHT - 1.5),
                Memory::Constant,
                Style::Active,
            );
            let centre = (centre.0, corner.1 + HEIGHT / 2.0 - 0.5);
            self.sheet.number(centre, SMALL_SIZE, colours::INK, lanes);
        }
        self.sheet.label_before(START - 8.0, self.y + 5.0, "word");
        self.sheet
            .label_before(START - 8.0, self.y + 12.0 + HEIGHT / 2.0, "lanes");
        self.y += 12.0 + HEIGHT + 4.0;
    }

    /// The 32 banks, with the lanes that want a word of each below one another.
    fn banks(&mut self, banks: &[Vec<Vec<u32>>]) {
        const WIDTH: f64 = 22.0;
        const HEIGHT: f64 = 13.0;
        const MOST: usize = 6;
        let deepest = banks.iter().map(Vec::len).max().unwrap_or_default();
        let shown = if deepest > MOST { MOST - 1 } else { deepest };
        for (bank, words) in banks.iter().enumerate() {
            let left = START + bank as f64 * WIDTH;
            self.sheet.number(
                (left + WIDTH / 2.0, self.y + 5.0),
                SMALL_SIZE,
                colours::PALE_INK,
                &bank.to_string(),
            );
            for (row, lanes) in words.iter().take(shown).enumerate() {
                let corner = (left + 1.0, self.y + 12.0 + row as f64 * HEIGHT);
                self.sheet.cell(
                    corner,
                    (WIDTH - 2.0, HEIGHT - 1.5),
                    Memory::Shared,
                    Style::Active,
                );
                let centre = (left + WIDTH / 2.0, corner.1 + HEIGHT / 2.0 - 0.5);
                let text = match lanes[..] {
                    [only] => only.to_string(),
                    [first, ..] => format!("{first}…"),
                    [] => String::new(),
                };
                self.sheet.number(centre, SMALL_SIZE, colours::INK, &text);
            }
            if words.len() > shown {
                let centre = (
                    left + WIDTH / 2.0,
                    self.y + 12.0 + (shown as f64 + 0.5) * HEIGHT,
                );
                let text = format!("+{}", words.len() - shown);
                self.sheet.number(centre, SMALL_SIZE, colours::INK, &text);
            }
        }
        let rows = shown + usize::from(deepest > shown);
        let middle = self.y + 12.0 + rows as f64 * HEIGHT / 2.0;
        self.sheet.label_before(START - 8.0, self.y + 5.0, "bank");
        self.sheet.label_before(START - 8.0, middle, "lanes");
        debug_assert!(width_of("lanes", NOTE_SIZE) < START);
        self.y += 12.0 + rows as f64 * HEIGHT + 4.0;
    }
}
