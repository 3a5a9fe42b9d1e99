//! The task of an exercise with what one needs to begin, and the list of what a kernel may call.

use crate::failure::Failure;
use crate::show;
use crate::suggest;
use comfy_table::CellAlignment::Left;
use std::path::Path;
use warpfold_emulator::Metric;
use warpfold_exercises::{ABOUT_FUNCTIONS, Exercise, Function, functions};
use warpfold_kernels::catalogue;

/// The task, how to read its lessons, what its counters count, and the commands that help with the file.
pub fn task(exercise: &Exercise, file: &Path) -> String {
    let mut lessons = show::table(&[("to read a lesson", Left), ("in the repository", Left)]);
    for lesson in lessons_of(exercise) {
        lessons.add_row([
            format!("warpfold lessons {} --page", lesson.id),
            lesson.file.to_owned(),
        ]);
    }
    let mut counters = show::table(&[("counted", Left), ("what it is", Left)]);
    for metric in metrics(exercise) {
        counters.add_row([metric.name, metric.explanation]);
    }
    format!(
        "{}\n{}\n\n{}\n\n{}\n{}",
        show::flowed(exercise.task()),
        show::text(&lessons),
        show::text(&counters),
        show::flowed(
            "A solution that is right and sound has one star. With its counter within 1.10 × of the reference's it has two, within 1.02 × three, unless a \
             gate is exceeded: what is gained must not be paid there."
        ),
        show::flowed(&format!(
            "Your file is {}. `warpfold exercise {1}` judges it, `warpfold exercise task {1}` shows this again, `warpfold exercise functions` lists what a \
             kernel may call, `warpfold exercise hint {1}` helps.",
            file.display(),
            exercise.id
        ))
    )
}

/// The lessons that a task names.
fn lessons_of(exercise: &Exercise) -> Vec<&'static catalogue::Lesson> {
    let read = exercise.task().split_once("\nRead: ");
    let line = read.and_then(|(_, rest)| rest.lines().next());
    // Names stand in backquotes.
    let names = line.unwrap_or_default().split('`').skip(1).step_by(2);
    names.filter_map(catalogue::find).collect()
}

/// The metrics that a task names.
fn metrics(exercise: &Exercise) -> Vec<&'static Metric> {
    let gates = exercise.gates.iter().map(|gate| gate.metric);
    let names = [exercise.counter.metric].into_iter().chain(gates);
    names.filter_map(Metric::find).collect()
}

/// All that a kernel may call, or everything about one of these.
pub fn functions_text(name: Option<&str>) -> Result<String, Failure> {
    let groups = functions();
    let Some(name) = name else {
        let mut text = show::flowed(ABOUT_FUNCTIONS);
        for group in &groups {
            text += &format!("\n{}\n", show::flowed(&group.title).trim_end());
            for function in &group.functions {
                text += &format!("\n  {}\n", head(function));
                let first = function.words.split("\n\n").next().unwrap_or_default();
                for line in show::flowed_within(&first.replace('\n', " "), 4).lines() {
                    text += &format!("    {line}\n");
                }
            }
        }
        return Ok(text);
    };
    let known = groups.iter().flat_map(|group| &group.functions);
    let is_method = |function: &&Function| function.name.rsplit("::").next() == Some(name);
    // A function comes before a method of the same name.
    let found = known.clone().find(|function| function.name == name);
    match found.or_else(|| known.clone().find(is_method)) {
        Some(function) => Ok(format!(
            "{}\n\n{}",
            head(function),
            show::flowed(&function.words)
        )),
        None => {
            let names = known.map(|function| function.name.as_str());
            let hint = suggest::did_you_mean(name, names);
            Err(Failure::Input(format!(
                "kernels of exercises call nothing of the name `{name}`{hint}"
            )))
        }
    }
}

/// How an item is declared, and how it gets into a file.
fn head(function: &Function) -> String {
    // Of a method the type.
    let of = function
        .name
        .rsplit_once("::")
        .map(|(of, _)| format!("{of}: "));
    let import = function
        .import
        .as_ref()
        .map(|import| format!("    with `{import}`"));
    format!(
        "{}{}{}",
        of.unwrap_or_default(),
        function.signature,
        import.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_exercises::EXERCISES;

    #[test]
    fn every_task_names_lessons_that_can_be_read_and_explains_what_is_counted() {
        for exercise in EXERCISES {
            let lessons = lessons_of(exercise);
            assert!(!lessons.is_empty(), "{}", exercise.id);
            for lesson in lessons {
                assert!(
                    warpfold_workshop::carried(lesson.file).is_some(),
                    "{}",
                    lesson.id
                );
            }
            let text = task(exercise, Path::new("mine.rs"));
            for metric in metrics(exercise) {
                assert!(text.contains(metric.explanation), "{}: {text}", exercise.id);
            }
        }
    }
}
