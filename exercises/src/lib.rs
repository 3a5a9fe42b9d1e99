#![doc = include_str!("../README.md")]

mod carried;
pub mod case;
mod exercise;
mod judge;
mod rows;
mod run;
mod stage;
mod verify;

pub use exercise::{Better, Counter, Exercise, Forbidden, Gate, OFFSETS, Sizes, Wrong};
pub use judge::{
    ARCH, Comparison, Conviction, JudgeError, Judgement, LaunchFigures, SCHEDULES, judge,
};
pub use rows::{EXERCISES, find};
pub use stage::Stage;
pub use verify::{Sample, verify};
pub use warpfold_workshop::{Source, Workshop, WorkshopError};

/// What a kernel of an exercise may call, as text.
pub const FUNCTIONS: &str = include_str!("../functions.md");

#[cfg(test)]
mod tests {
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
