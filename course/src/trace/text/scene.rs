//! A step in lines of text.

use super::columns::{Columns, LABEL};
use super::line::{Line, pack, wrap};
use crate::trace::diagram::{Band, Diagram, Move, Row, Scene, Source, Style};
use crate::trace::memory::Memory;
use crate::trace::picture::Boundary;

pub(super) fn lines(diagram: &Diagram, columns: &Columns, scene: &Scene) -> Vec<String> {
    let mut lines = heading(columns, scene);
    if let Some(origin) = &scene.origin {
        lines.push(origin.chars().take(columns.width).collect());
    }
    let mut drawn = Vec::new();
    drawn.extend(bands("reads", columns, &scene.read_bands));
    drawn.extend(chips("reads", columns, scene, false));
    drawn.push(threads(diagram, columns, scene));
    if diagram.is_full {
        drawn.extend(arrows(columns, scene));
        drawn.extend(contents(columns, scene));
    } else {
        drawn.extend(marks(columns, scene));
    }
    drawn.extend(bands("writes", columns, &scene.write_bands));
    drawn.extend(chips("writes", columns, scene, true));
    lines.extend(drawn.iter().map(Line::to_string));
    if !diagram.is_full
        && let Some(made_of) = &scene.made_of
    {
        let mut line = Line::labelled("made of");
        line.put(LABEL, made_of);
        lines.push(line.to_string());
    }
    lines
}

/// The rule above a step.
fn heading(columns: &Columns, scene: &Scene) -> Vec<String> {
    let mut heading = if scene.is_folded {
        format!("── steps {}", scene.name)
    } else {
        format!("── step {}", scene.name)
    };
    let boundary = match scene.boundary {
        Boundary::Start | Boundary::OwnThread | Boundary::Exchange | Boundary::Launch => None,
        Boundary::GridWait => Some("after the grids it launched"),
        Boundary::Copy => Some("after asynchronous copies"),
        Boundary::WarpBarrier => Some("after a warp barrier"),
        Boundary::BlockBarrier => Some("after a barrier"),
        Boundary::GridBarrier => Some("after the grid's barrier"),
        Boundary::Unordered => Some("without a barrier"),
    };
    for part in scene
        .distance
        .as_deref()
        .into_iter()
        .chain(scene.generation.as_deref())
        .chain(boundary)
    {
        heading = format!("{heading} · {part}");
    }
    let summary = scene.summary.join(", ");
    let length = |text: &str| text.chars().count();
    let end = columns.end.max(columns.width.min(80));
    // Two spaces, and the end of the rule.
    let both = length(&heading) + length(&summary) + 5;
    if !summary.is_empty() && both + 2 <= columns.width {
        let rule = "─".repeat(end.saturating_sub(both).max(2));
        return vec![format!("{heading} {rule} {summary} ──")];
    }
    let rule = "─".repeat(end.saturating_sub(length(&heading) + 1).max(2));
    let mut lines = vec![format!("{heading} {rule}")];
    lines.extend(wrap(&scene.summary, ", ", columns.width));
    lines
}

/// Which threads work.
fn threads(diagram: &Diagram, columns: &Columns, scene: &Scene) -> Line {
    let mut line = Line::labelled("threads");
    for thread in &scene.threads {
        let at = columns.slot_at(thread.at);
        if !diagram.is_full {
            line.set(
                at,
                match thread.style {
                    Style::Active | Style::Initial => '█',
                    Style::InVain => '░',
                    Style::Idle => '·',
                },
            );
            continue;
        }
        let text = match thread.style {
            Style::Idle => "·".to_owned(),
            _ => thread.number.to_string(),
        };
        line.put((at + 2).saturating_sub(text.chars().count()), &text);
    }
    line
}

/// What lanes access together.
fn bands(label: &str, columns: &Columns, bands: &[Band]) -> Vec<Line> {
    let texts = bands.iter().map(|band| {
        let (first, end) = (
            columns.slot(band.columns.0),
            columns.slot(band.columns.1 - 1) + 1,
        );
        let room = end - first;
        let fits = |text: &&String| text.chars().count() <= room;
        let text = band
            .texts
            .iter()
            .find(fits)
            .or(band.texts.iter().rev().nth(1));
        (first, text.cloned().unwrap_or_default())
    });
    pack(label, texts, columns.width)
}

/// Cells that stand alone.
fn chips(label: &str, columns: &Columns, scene: &Scene, is_written: bool) -> Vec<Line> {
    let chips = if is_written {
        &scene.write_chips
    } else {
        &scene.read_chips
    };
    let texts = chips.iter().enumerate().map(|(index, chip)| {
        let moves = scene.moves.iter();
        let by: Vec<String> = moves
            .filter(|movement| {
                if is_written {
                    movement.to_chips.contains(&index)
                } else {
                    movement.from_chips.contains(&index)
                }
            })
            .map(|movement| scene.threads[movement.thread].number.to_string())
            .collect();
        let elements = match &chip.elements {
            none if none.is_empty() => String::new(),
            elements => format!(" of {elements}"),
        };
        let by = by.first().map_or(String::new(), |by| {
            if is_written {
                format!("{by}▸ ")
            } else {
                format!("{by}◂ ")
            }
        });
        (
            columns.slot_at(chip.at),
            format!("{by}{}{elements}", chip.text),
        )
    });
    pack(label, texts, columns.width)
}

/// The arrows of a step.
fn arrows(columns: &Columns, scene: &Scene) -> Vec<Line> {
    let memory = match &scene.source {
        Source::Row(row) => Some(row.memory),
        Source::Above(memory) => Some(*memory),
        Source::Nothing => None,
    };
    let memories = memory
        .into_iter()
        .chain(scene.target.as_ref().map(|row| row.memory));
    let mut names: Vec<&str> = memories.map(Memory::name).collect();
    names.dedup();
    let moves = scene.moves.iter();
    let moves = moves.filter(|movement| !movement.from.is_empty() || !movement.to.is_empty());
    let label = if names.len() > 1 {
        "cells"
    } else {
        names.first().unwrap_or(&"")
    };
    let arrows = moves.map(|movement| arrow(columns, scene, movement));
    pack(label, arrows, usize::MAX)
}

/// The arrow of a thread, and where it begins.
fn arrow(columns: &Columns, scene: &Scene, movement: &Move) -> (usize, String) {
    let thread = &scene.threads[movement.thread];
    let number = format!("{:>2}", thread.number);
    let target = movement
        .to
        .first()
        .copied()
        .unwrap_or(thread.at.floor() as usize);
    let mut line = Line::default();
    let first = movement.from.iter().copied().fold(target, usize::min);
    let last = movement.from.iter().copied().fold(target, usize::max);
    let start = columns.slot(first);
    let at = |column: usize| columns.slot(column) - start;
    for column in at(first) + 2..at(last) + 1 {
        line.set(column, '─');
    }
    for &source in &movement.from {
        let end = match source {
            source if source == target => continue,
            source if source == first => '└',
            source if source == last => '┘',
            _ => '┴',
        };
        line.set(at(source) + 1, end);
    }
    for (offset, character) in number.chars().enumerate() {
        if character != ' ' || at(target) == 0 {
            line.set(at(target) + offset, character);
        }
    }
    if first < target {
        line.set(at(target) - 1, '▸');
        if number.starts_with(' ') {
            line.set(at(target), ' ');
        }
    }
    line.set(
        at(target) + 2,
        if last > target || first == target {
            '◂'
        } else {
            ' '
        },
    );
    (start, line.to_string())
}

/// What the written cells hold now.
fn contents(columns: &Columns, scene: &Scene) -> Vec<Line> {
    let Some(row) = &scene.target else {
        return Vec::new();
    };
    let written = || {
        let cells = row.cells.iter();
        cells.filter(|cell| matches!(cell.style, Style::Active | Style::InVain))
    };
    let values = written().filter(|cell| !cell.value.is_empty()).map(|cell| {
        let end = columns.slot(cell.column) + 2;
        (
            end.saturating_sub(cell.value.chars().count()),
            cell.value.clone(),
        )
    });
    let elements = written()
        .filter(|cell| !cell.elements.is_empty())
        .map(|cell| {
            // A set stands with its first number under that of the column.
            let first_number = cell
                .elements
                .chars()
                .take_while(char::is_ascii_digit)
                .count();
            let end = columns.slot(cell.column) + 2;
            (end.saturating_sub(first_number), cell.elements.clone())
        });
    let mut lines = pack("holds", values, columns.width);
    lines.extend(pack("made of", elements, columns.width));
    lines
}

/// What is read and written by work that counts, a line for each memory.
fn marks(columns: &Columns, scene: &Scene) -> Vec<Line> {
    let used = || scene.moves.iter().filter(|movement| movement.is_used);
    let mut rows: Vec<(&str, Vec<usize>, char)> = Vec::new();
    let name = |row: &Row| row.memory.name();
    let target = scene.target.as_ref().map(name);
    let source = match &scene.source {
        Source::Row(row) => Some(name(row)),
        Source::Above(memory) => Some(memory.name()),
        Source::Nothing => None,
    };
    rows.push((
        source.unwrap_or("read"),
        used().flat_map(|movement| movement.from.clone()).collect(),
        '○',
    ));
    rows.push((
        target.unwrap_or("registers"),
        used().flat_map(|movement| movement.to.clone()).collect(),
        '●',
    ));
    let mut lines: Vec<(&str, Line)> = Vec::new();
    for (name, columns_of, mark) in rows {
        if columns_of.is_empty() {
            continue;
        }
        let known = lines.iter().position(|(other, _)| *other == name);
        let index = known.unwrap_or_else(|| {
            lines.push((name, Line::labelled(name)));
            lines.len() - 1
        });
        for column in columns_of {
            lines[index].1.set(columns.slot(column), mark);
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}
