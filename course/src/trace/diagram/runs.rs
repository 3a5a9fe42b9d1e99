//! Several scenes in the place of one: exchanges that are made again and again, of which only the first run is drawn, and what a page has
//! no room for.

use super::model::{Diagram, Group, Scene, Source, Style};
use crate::trace::memory::Memory;
use crate::trace::picture::Boundary;
use std::collections::BTreeSet;

/// The fewest scenes that are worth folding.
const LEAST: usize = 3;

/// What a scene's exchange is: the number of each thread, and the columns that it reads, from the first of its group.
type Exchange = BTreeSet<(u32, Vec<usize>)>;

impl Diagram {
    /// Takes out a scene or two from the longest run of exchanges, or else from the middle, and from there on again; `false` where
    /// nothing is left to take.
    pub fn shorten(&mut self) -> bool {
        let count = self.scenes.len();
        let cut = self.scenes.iter().position(|scene| scene.is_cut);
        let middle = cut.unwrap_or_else(|| self.middle());
        let (start, mut end) = (middle.saturating_sub(1).max(1), (middle + 2).min(count));
        // What is drawn next must not need a row that is not.
        let needs_row = |scene: &Scene| matches!(scene.source, Source::Above(memory) if memory != Memory::Registers);
        while end < count && needs_row(&self.scenes[end]) {
            end += 1;
        }
        end = end.min(count.saturating_sub(1));
        if end < start + 2 {
            return false;
        }
        let mut taken = self.scenes.drain(start..end);
        let (Some(first), Some(last)) = (taken.next(), taken.next_back()) else {
            return false;
        };
        drop(taken);
        let first_name = first.name.split(" to ").next().unwrap_or_default();
        let last_name = last.name.rsplit(" to ").next().unwrap_or_default();
        let scene = Scene {
            name: format!("{first_name} to {last_name}"),
            is_folded: true,
            is_cut: true,
            generation: first.generation,
            boundary: first.boundary,
            summary: vec!["not drawn for lack of room".to_owned()],
            threads: last.threads,
            ..Scene::default()
        };
        self.scenes.insert(start, scene);
        true
    }

    /// The middle of the longest run of exchanges, or of all scenes.
    fn middle(&self) -> usize {
        let mut longest = (0, 0);
        let mut start = 0;
        for (index, scene) in self.scenes.iter().enumerate() {
            if !is_exchange(scene) {
                start = index + 1;
            } else if index + 1 - start > longest.1 - longest.0 {
                longest = (start, index + 1);
            }
        }
        match longest {
            (start, end) if end - start > LEAST => start.midpoint(end),
            _ => self.scenes.len() / 2,
        }
    }
}

/// The scenes, with one in the place of each run of exchanges that an earlier run has made already.
pub(super) fn fold_runs(scenes: Vec<Scene>, groups: &[Group]) -> Vec<Scene> {
    let mut folded: Vec<Scene> = Vec::new();
    let mut run: Vec<Scene> = Vec::new();
    let mut known: Vec<(String, Vec<Exchange>)> = Vec::new();
    for scene in scenes {
        if is_exchange(&scene) {
            run.push(scene);
        } else {
            folded.extend(end_of_run(std::mem::take(&mut run), &mut known, groups));
            folded.push(scene);
        }
    }
    folded.extend(end_of_run(run, &mut known, groups));
    folded
}

/// Whether a scene has an exchange and nothing else.
fn is_exchange(scene: &Scene) -> bool {
    scene.boundary == Boundary::Exchange
        && !matches!(scene.source, Source::Nothing)
        && scene.read_bands.is_empty()
        && scene.read_chips.is_empty()
        && scene.target.is_none()
        && scene.write_bands.is_empty()
        && scene.write_chips.is_empty()
        && scene.strips.is_empty()
}

fn exchange(scene: &Scene, groups: &[Group]) -> Exchange {
    let moves = scene.moves.iter().map(|movement| {
        let thread = &scene.threads[movement.thread];
        let group = groups.partition_point(|group| group.first as f64 <= thread.at) - 1;
        let first = groups[group].first;
        let from = movement.from.iter().map(|column| column - first).collect();
        (thread.number, from)
    });
    moves.collect()
}

/// The scenes of a run, those at its beginning folded to one where they are known.
fn end_of_run(
    mut run: Vec<Scene>,
    known: &mut Vec<(String, Vec<Exchange>)>,
    groups: &[Group],
) -> Vec<Scene> {
    let exchanges: Vec<Exchange> = run.iter().map(|scene| exchange(scene, groups)).collect();
    let like = known
        .iter()
        .filter(|(_, earlier)| exchanges.starts_with(earlier))
        .max_by_key(|(_, earlier)| earlier.len());
    let Some((names, earlier)) = like else {
        if let ([first, .., last], true) = (&run[..], run.len() >= LEAST) {
            known.push((format!("steps {} to {}", first.name, last.name), exchanges));
        }
        return run;
    };
    let rest = run.split_off(earlier.len());
    let Some(last) = run.pop() else {
        return rest;
    };
    let first = run.first().map_or(&last, |first| first);
    let mut summary = vec![format!("exchanges as in {names}")];
    let in_vain = last
        .threads
        .iter()
        .any(|thread| thread.style == Style::InVain);
    summary.extend(last.summary.iter().filter(|_| in_vain).cloned());
    let scene = Scene {
        name: format!("{} to {}", first.name, last.name),
        is_folded: true,
        generation: first.generation.clone(),
        boundary: first.boundary,
        summary,
        made_of: last.made_of,
        threads: last.threads,
        ..Scene::default()
    };
    std::iter::once(scene).chain(rest).collect()
}
