//! `warpfold exercise grade`: the solutions of a class, one folder each.

use super::verdict::stars;
use crate::failure::Failure;
use crate::output::{JsonArguments, Output};
use crate::progress::during;
use crate::show;
use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use warpfold_exercises::{EXERCISES, Exercise, Judgement, Source, Workshop, judge};

/// The command's arguments.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// Folders of solutions, one for each learner
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// A solution that was judged.
#[derive(Serialize)]
struct Graded {
    folder: PathBuf,
    #[serde(flatten)]
    verdict: Verdict,
}

/// A judgement, and of what.
#[derive(Serialize)]
pub struct Verdict {
    pub exercise: &'static str,
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// Judges every solution that differs from its starter. Nobody's progress changes.
pub fn run(arguments: &Arguments, workshop: &mut Workshop) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    let mut graded = Vec::new();
    let mut table = show::table(&[
        ("folder", Left),
        ("exercise", Left),
        ("stars", Left),
        ("convicted by", Left),
        ("counter", Left),
        ("yours", Right),
        ("reference", Right),
    ]);
    for folder in &arguments.folders {
        let solutions = solutions(folder)?;
        let mut total = 0;
        for (exercise, file) in &solutions {
            let judged = during(format!("judging {}", file.display()), || {
                judge(workshop, exercise, Source::File(file), None)
            })??;
            total += judged.stars;
            let stage = judged
                .conviction
                .as_ref()
                .map(|conviction| conviction.stage);
            let counter = judged.counter;
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            table.add_row([
                folder.display().to_string(),
                exercise.id.to_owned(),
                stars(judged.stars),
                stage.map_or(String::new(), |stage| stage.to_string()),
                counter.map_or("", |counter| counter.metric).to_owned(),
                number(counter.and_then(|counter| counter.yours)),
                number(counter.and_then(|counter| counter.reference)),
            ]);
            graded.push(Graded {
                folder: folder.clone(),
                verdict: Verdict {
                    exercise: exercise.id,
                    judgement: judged,
                },
            });
        }
        table.add_row([
            folder.display().to_string(),
            format!("{} of {} begun", solutions.len(), EXERCISES.len()),
            format!("{total} of {}", 3 * EXERCISES.len()),
        ]);
    }
    output.print(show::fitted_text(&table, 3, &[4]))?;
    output.write_json(&graded)
}

/// The solutions in a folder that are no longer the starters.
fn solutions(folder: &Path) -> Result<Vec<(&'static Exercise, PathBuf)>, Failure> {
    let mut solutions = Vec::new();
    for exercise in EXERCISES {
        let file = folder.join(format!("{}.rs", exercise.folder()));
        match fs::read_to_string(&file) {
            Ok(text) if text == exercise.starter_text() => {}
            Ok(_) => solutions.push((exercise, file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && folder.is_dir() => {}
            Err(error) => {
                return Err(Failure::Input(format!(
                    "cannot read {}: {error}",
                    file.display()
                )));
            }
        }
    }
    Ok(solutions)
}
