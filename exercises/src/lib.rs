#![doc = include_str!("../README.md")]

mod carried;
pub mod case;
mod costs;
mod exercise;
mod judge;
mod picture;
mod record;
mod rows;
mod run;
mod source;
mod stage;
mod verify;

pub use exercise::{Better, Counter, Exercise, Forbidden, Gate, OFFSETS, Sizes, Wrong};
pub use judge::{
    ARCH, Comparison, Compiled, Conviction, JudgeError, Judgement, LaunchFigures, SCHEDULES, judge,
};
pub use rows::{EXERCISES, find};
pub use source::parameter_names;
pub use stage::Stage;
pub use verify::{Sample, verify};
pub use warpfold_workshop::{Source, Workshop, WorkshopError};

/// What a kernel of an exercise may call, as text.
pub const FUNCTIONS: &str = include_str!("../functions.md");

#[cfg(test)]
mod tests {
    use super::EXERCISES;

    #[test]
    fn every_task_names_its_lesson_its_counter_its_gates_and_what_is_forbidden() {
        for exercise in EXERCISES {
            let task = exercise.task();
            let has = |words: String| {
                assert!(
                    task.contains(&words),
                    "{}: no {words} in its task",
                    exercise.id
                );
            };
            has(format!("Counter: `{}`.", exercise.counter.metric));
            has(format!("`{}`", exercise.lesson));
            let gates = exercise.gates.iter();
            let gates: Vec<String> = gates
                .map(|gate| format!("`{}` {}", gate.metric, gate.factor))
                .collect();
            has(format!(
                "Gates, as multiples of the reference's count: {}.\n",
                gates.join(", ")
            ));
            for forbidden in exercise.forbidden {
                has(format!("`{}`", forbidden.instruction));
            }
        }
    }

    #[test]
    fn the_functions_are_those_of_the_prelude() {
        let prelude = warpfold_workshop::carried("kernels/src/prelude.rs").expect("it is carried");
        let items = prelude.split_once("pub use").expect("it has items").1;
        let words =
            items.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        let names: std::collections::BTreeSet<&str> = words
            .filter(|word| word.len() > 4)
            .filter(|word| word.contains('_') || word.starts_with(char::is_uppercase))
            .filter(|word| !word.starts_with("warpfold") && !word.starts_with("target_"))
            .filter(|word| !word.starts_with("cuda") && *word != "compute_80")
            .collect();
        assert!(names.contains("vote_all"), "{names:?}");
        for name in names {
            assert!(super::FUNCTIONS.contains(name), "functions.md lacks {name}");
        }
    }
}
