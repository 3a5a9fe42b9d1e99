//! What the judge says, as text.

use std::fmt::Write;
use warpfold_emulator::Metric;
use warpfold_exercises::{Conviction, Exercise, Judgement, Stage};

/// What the stars are for.
const STARS: &str =
    "★ right and sound · ★★ the counter within 1.10 × of the reference's · ★★★ within 1.02 ×";

/// Three stars, of which this many are won.
pub fn stars(won: u32) -> String {
    (0..3)
        .map(|star| if star < won { '★' } else { '☆' })
        .collect()
}

/// The verdict on a solution, whose text is `solution` and which messages call `name`.
pub fn describe(exercise: &Exercise, name: &str, solution: &str, judgement: &Judgement) -> String {
    let mut text = format!(
        "{} · {}   {}\n",
        exercise.number,
        exercise.title,
        stars(judgement.stars)
    );
    // What the counter has against it stands below, beside the others.
    let of_runs = |conviction: &&Conviction| conviction.stage != Stage::Counter;
    if let Some(conviction) = judgement.conviction.as_ref().filter(of_runs) {
        let _ = writeln!(text, "{}: {}", conviction.stage, conviction.headline);
        if let Some(number) = conviction.line {
            let line = solution
                .lines()
                .nth(number as usize - 1)
                .unwrap_or_default();
            let _ = writeln!(text, "  {name}:{number}: {}", line.trim());
        }
        if !conviction.given.is_empty() {
            let _ = writeln!(text, "  with {}", conviction.given);
        }
        if let Some(seed) = conviction.launch.and_then(|launch| launch.seed) {
            let _ = writeln!(
                text,
                "  with the threads in the random order of seed {seed}; again: warpfold exercise {} --seed {seed}",
                exercise.id
            );
        }
        if !conviction.details.is_empty() {
            let _ = writeln!(text, "\n{}\n", conviction.details);
        }
    }
    let comparisons = || judgement.counter.iter().chain(&judgement.gates);
    for comparison in comparisons() {
        let mark = if comparison.passes { '✓' } else { '✗' };
        let _ = writeln!(text, "{mark} {comparison}");
    }
    if judgement.stars < 3 {
        let _ = writeln!(text, "{STARS}");
        // What the numbers say that have to become better.
        for comparison in comparisons().filter(|comparison| !comparison.has_three_stars) {
            if let Some(metric) = Metric::find(comparison.metric) {
                let name = metric.name.replace('_', " ");
                let _ = writeln!(text, "  {name}: {}", metric.explanation);
            }
        }
    }
    let _ = write!(
        text,
        "compiled in {:.1} s, {} judged in {:.1} s",
        judgement.compiled_in_ms / 1e3,
        match judgement.launches {
            1 => "1 launch".to_owned(),
            launches => format!("{launches} launches"),
        },
        judgement.judged_in_ms / 1e3
    );
    text
}
