#![doc = include_str!("../README.md")]

mod carried;
pub mod case;
mod costs;
mod exercise;
mod functions;
mod judge;
mod picture;
mod record;
mod rows;
mod run;
mod source;
mod stage;
mod verify;

pub use exercise::{Better, Counter, Exercise, Forbidden, Gate, OFFSETS, Sizes, Wrong};
pub use functions::{ABOUT_FUNCTIONS, Function, FunctionGroup, functions};
pub use judge::{
    ARCH, Comparison, Compiled, Conviction, JudgeError, Judgement, LaunchFigures, SCHEDULES, judge,
};
pub use rows::{EXERCISES, find};
pub use source::parameter_names;
pub use stage::Stage;
pub use verify::{Sample, verify};
pub use warpfold_workshop::{Source, Workshop, WorkshopError};

#[cfg(test)]
mod tests {
    use super::{EXERCISES, Gate};

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
            let (none, some): (Vec<&Gate>, Vec<&Gate>) =
                exercise.gates.iter().partition(|gate| gate.factor == 0.0);
            let some: Vec<String> = some
                .iter()
                .map(|gate| format!("`{}` {}", gate.metric, gate.factor))
                .collect();
            let mut gates = format!(
                "Gates, as multiples of the reference's count: {}.",
                some.join(", ")
            );
            for gate in none {
                gates += &format!(" No `{}`.", gate.metric);
            }
            has(format!("{gates}\n"));
            for forbidden in exercise.forbidden {
                has(format!("`{}`", forbidden.instruction));
            }
        }
    }
}
