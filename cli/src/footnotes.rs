//! Footnotes under tables of lessons.

use warpfold_kernels::catalogue::Lesson;

/// What stands under tables of the emulator's counters.
pub const NO_TIMES: &str = "The emulator counts what the kernels do; it does not know how long a GPU takes. On a machine with an \
                            NVIDIA GPU, the same command measures that.";

/// The mark of an exhibit, after its step.
pub fn mark(exhibit: Option<&str>) -> &'static str {
    if exhibit.is_some() { "*" } else { "" }
}

/// One line for each rule that exhibits among the lessons break, naming them.
pub fn exhibits<'catalogue>(lessons: impl IntoIterator<Item = &'catalogue Lesson>) -> Vec<String> {
    let mut by_rule: Vec<(&str, Vec<&str>)> = Vec::new();
    for lesson in lessons {
        let Some(rule) = lesson.exhibit else { continue };
        match by_rule.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, ids)) => ids.push(lesson.id),
            None => by_rule.push((rule, vec![lesson.id])),
        }
    }
    by_rule
        .iter()
        .map(|(rule, ids)| format!("* {}: kept as an exhibit; {rule}.", ids.join(", ")))
        .collect()
}
