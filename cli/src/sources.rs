//! Lines of source, to be shown where something is said about them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use warpfold_emulator::{Origin, SourcePlace};
use warpfold_exercises::parameter_names;

/// Files that stand in for those that the program carries, by their names in the PTX.
static REPLACED: RwLock<BTreeMap<String, String>> = RwLock::new(BTreeMap::new());

/// What a file's name in a message ends with.
const EXTENSIONS: [&str; 5] = ["rs", "cu", "cuh", "cpp", "h"];

/// From now on the file of that name has this text: PTX was compiled from it.
pub fn replace(file: &str, text: String) {
    let mut replaced = REPLACED.write().unwrap_or_else(PoisonError::into_inner);
    replaced.insert(file.to_owned(), text);
}

/// A line, trimmed, counted from 1.
pub fn line(file: &str, line: u32) -> Option<String> {
    with_text(file, |text| {
        let line = text.lines().nth(line.checked_sub(1)? as usize)?;
        Some(line.trim().to_owned())
    })
}

/// What a kernel's parameter is called in a file; of a kernel that is compiled for several sizes, which its name ends with, too.
pub fn parameter(file: &str, kernel: &str, index: usize) -> Option<String> {
    let stem = kernel.trim_end_matches(|character: char| character.is_ascii_digit());
    let kernels = [kernel, stem.strip_suffix('_').unwrap_or(kernel)];
    with_text(file, |text| {
        let mut names = kernels.iter().map(|kernel| parameter_names(text, kernel));
        names.find_map(|names| names.get(index).cloned())
    })
}

/// The text of a file that was replaced, or that the program carries, or that is found under that name.
fn with_text<T>(file: &str, of: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let replaced = REPLACED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = replaced.get(file) {
        return of(text);
    }
    match warpfold_workshop::carried(file) {
        Some(text) => of(text),
        None => of(&fs::read_to_string(file).ok()?),
    }
}

/// The line that PTX comes from, and its text: the line that was inlined, where that is not one of the language's own library.
pub fn of(origin: Origin) -> (SourcePlace, Option<String>) {
    let text = |place: &SourcePlace| line(&place.file, place.line);
    match origin.inlined {
        Some(inlined) if text(&inlined).is_some() => (inlined.clone(), text(&inlined)),
        _ => (origin.own.clone(), text(&origin.own)),
    }
}

/// A text, with every line of source that one of its lines names, as in `kernels/src/sum.rs:17`, below that.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for shown in text.split_inclusive('\n') {
        quoted += shown;
        for (file, number) in shown.split_whitespace().filter_map(place) {
            if let Some(line) = line(file, number) {
                if !quoted.ends_with('\n') {
                    quoted.push('\n');
                }
                quoted += &format!("{number:>8} | {line}\n");
            }
        }
    }
    if !text.ends_with('\n') {
        quoted.truncate(quoted.trim_end_matches('\n').len());
    }
    quoted
}

/// A word that names a line of a file.
fn place(word: &str) -> Option<(&str, u32)> {
    let (file, line) = word.trim_end_matches(',').rsplit_once(':')?;
    let extension = Path::new(file).extension()?.to_str()?;
    let is_source = EXTENSIONS.contains(&extension);
    Some((file, line.parse().ok()?)).filter(|_| is_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_named_is_quoted_below() {
        replace("a/sum.rs", "fn sum() {\n    *mine = 1;\n}\n".to_owned());
        assert_eq!(
            quoted("reads  a/sum.rs:2  PTX line 7: ld\nwrites b.rs:2, a/sum.rs:9"),
            "reads  a/sum.rs:2  PTX line 7: ld\n       2 | *mine = 1;\nwrites b.rs:2, a/sum.rs:9"
        );
        assert_eq!(
            quoted("a trap, a/sum.rs:1, PTX"),
            "a trap, a/sum.rs:1, PTX\n       1 | fn sum() {"
        );
    }
}
