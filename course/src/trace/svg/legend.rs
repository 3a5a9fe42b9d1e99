//! What the signs mean: only those that the picture has.

use super::drawing::{Drawing, row_name};
use super::layout::{MARGIN, MOST_WIDTH, NOTE_SIZE};
use super::shapes::{colours, width_of};
use crate::trace::diagram::{Diagram, Source, Style};
use crate::trace::memory::Memory;
use std::collections::BTreeSet;

enum Sign {
    Thread(Style),
    Cell(Memory),
    Dashes,
}

impl Drawing {
    pub(super) fn legend(&mut self, diagram: &Diagram) {
        let scenes = || diagram.scenes.iter();
        let mut signs = vec![(Sign::Thread(Style::Active), "a thread at work")];
        let has = |style: Style| {
            scenes().any(|scene| scene.threads.iter().any(|thread| thread.style == style))
        };
        if has(Style::InVain) {
            signs.push((Sign::Thread(Style::InVain), "works in vain"));
        }
        if has(Style::Idle) {
            signs.push((Sign::Thread(Style::Idle), "idle"));
        }
        let memories: BTreeSet<Memory> = scenes()
            .flat_map(|scene| {
                let source = match &scene.source {
                    Source::Row(row) => Some(row.memory),
                    _ => None,
                };
                let bands = scene.read_bands.iter().chain(&scene.write_bands);
                let target = scene.target.as_ref().map(|row| row.memory);
                let chips = scene.read_chips.iter().chain(&scene.write_chips);
                // A launch stands in no memory.
                let chips = chips.map(|chip| chip.memory);
                let chips = chips.filter(|memory| *memory != Memory::Registers);
                source
                    .into_iter()
                    .chain(target)
                    .chain(bands.map(|band| band.memory))
                    .chain(chips)
            })
            .collect();
        let mut names = BTreeSet::new();
        for memory in memories {
            if names.insert(row_name(memory)) {
                signs.push((Sign::Cell(memory), row_name(memory)));
            }
        }
        if scenes().any(|scene| scene.moves.iter().any(|movement| movement.kept.is_some())) {
            signs.push((Sign::Dashes, "kept in the thread's register"));
        }
        self.y += 16.0;
        let mut x = MARGIN;
        for (sign, words) in signs {
            let width = 30.0 + width_of(words, NOTE_SIZE) + 16.0;
            if x + width > MOST_WIDTH - MARGIN {
                x = MARGIN;
                self.y += 20.0;
            }
            match sign {
                Sign::Thread(style) => self.sheet.thread((x + 15.0, self.y), 7.0, None, style),
                Sign::Cell(memory) => {
                    self.sheet
                        .cell((x, self.y - 7.0), (22.0, 14.0), memory, Style::Active);
                }
                Sign::Dashes => {
                    let colour = colours::INK;
                    self.sheet
                        .line((x, self.y), (x + 24.0, self.y), colour, true);
                }
            }
            self.sheet.note((x + 29.0, self.y + 4.0), words);
            x += width;
        }
        self.y += 24.0;
        if diagram.is_full {
            let words =
                "In a cell: its value, and below it the elements of the input that it is made of.";
            self.sheet.note((MARGIN, self.y), words);
            self.y += 15.0;
        }
        for note in &diagram.notes {
            self.wrapped((MARGIN, MOST_WIDTH - 2.0 * MARGIN), note);
        }
        self.y += 6.0;
    }
}
