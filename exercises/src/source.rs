//! What messages take from the source of a solution: the names of the kernel's parameters, and lines.

use warpfold_emulator::Origin;

/// The names of the parameters of a kernel in their order, as its source has them; none where the source has no such function.
pub fn parameter_names(source: &str, kernel: &str) -> Vec<String> {
    let opening = format!("fn {kernel}(");
    let Some((_, rest)) = source.split_once(&opening) else {
        return Vec::new();
    };
    let mut depth = 0;
    let end = rest.find(|character| {
        depth += match character {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        depth < 0
    });
    let list = &rest[..end.unwrap_or(rest.len())];
    let pieces = list.split(',').filter_map(|piece| piece.split_once(':'));
    let names = pieces.map(|(name, _)| {
        let name = name.trim();
        name.strip_prefix("mut ").unwrap_or(name).to_owned()
    });
    names.collect()
}

/// A parameter in a message: by its name, where that is known.
pub(crate) fn shown(names: &[String], index: usize) -> String {
    match names.get(index) {
        Some(name) => name.clone(),
        None => format!("argument {index}, counted from 0,"),
    }
}

/// The line of the solution among the places that an instruction comes from.
pub(crate) fn line_in(file: &str, origin: Option<&Origin>) -> Option<u32> {
    let origin = origin?;
    let places = origin.inlined.iter().chain([&origin.own]);
    let mut own = places.filter(|place| place.file.ends_with(file));
    own.next().map(|place| place.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_types() {
        let source = "#[kernel]\npub unsafe fn dot(\n    left: *const f32,\n    mut n: usize,\n    pair: (u32, u32),\n) { f(a: b) }";
        assert_eq!(parameter_names(source, "dot"), ["left", "n", "pair"]);
        assert!(parameter_names(source, "other").is_empty());
    }

    #[test]
    fn every_exercise_names_as_many_parameters_as_it_passes() {
        for exercise in crate::EXERCISES {
            let passed = (exercise.case)(exercise.many(), 0).arguments.len();
            for text in [exercise.starter_text(), exercise.reference()] {
                let names = parameter_names(text, exercise.kernel);
                assert_eq!(names.len(), passed, "{}: {names:?}", exercise.id);
            }
        }
    }
}
