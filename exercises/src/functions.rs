//! What a kernel of an exercise may call: whatever the prelude brings in and the exercises import besides, with signatures and words from
//! the sources, so that the list lacks nothing.

use std::fmt::Write;

use crate::rows::EXERCISES;

/// What there is to know besides, above the list.
pub const ABOUT_FUNCTIONS: &str = include_str!("../functions.md");

/// Where the prelude's names are.
const PRELUDE: &str = "kernels/src/prelude.rs";

/// Functions that a macro of the device library makes, whose declarations no source holds as they are: name, signature, words.
const MADE_BY_MACROS: [(&str, &str, &str); 5] = [
    (
        "load_relaxed",
        "unsafe fn load_relaxed(word: *const u32) -> u32",
        "The value of a word that other blocks are changing by atomic operations. This load orders nothing by itself.",
    ),
    (
        "load_relaxed_u64",
        "unsafe fn load_relaxed_u64(word: *const u64) -> u64",
        "As `load_relaxed`, of a word of 64 bits.",
    ),
    (
        "store_relaxed",
        "unsafe fn store_relaxed(word: *mut u32, value: u32)",
        "Writes a word that other blocks are using by atomic operations. This store orders nothing by itself.",
    ),
    (
        "store_relaxed_u64",
        "unsafe fn store_relaxed_u64(word: *mut u64, value: u64)",
        "As `store_relaxed`, of a word of 64 bits.",
    ),
    (
        "redux_add",
        "unsafe fn redux_add(value: i32) -> i32",
        "The sum of the warp's 32 values, in every lane, by one instruction.",
    ),
];

/// Functions and other items of one module.
#[derive(Clone, Debug)]
pub struct FunctionGroup {
    /// What they are for, in a sentence.
    pub title: String,
    /// The items.
    pub functions: Vec<Function>,
}

/// An item that a kernel may name: a function, a macro, a constant, or a method.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name; of a method after the type's, as in `Lanes::shuffle_up`.
    pub name: String,
    /// How it is declared, without `pub`.
    pub signature: String,
    /// Its documentation, in Markdown.
    pub words: String,
    /// What a file needs besides the prelude in order to name it.
    pub import: Option<String>,
}

/// Everything that a kernel of an exercise may call, in the order of the prelude.
pub fn functions() -> Vec<FunctionGroup> {
    let prelude = text(PRELUDE);
    let mut paths: Vec<(String, Option<String>)> = imports(prelude)
        .into_iter()
        .map(|path| (path, None))
        .collect();
    for exercise in EXERCISES {
        for path in imports(exercise.starter_text())
            .into_iter()
            .chain(imports(exercise.reference()))
        {
            let is_ours = path.starts_with("warpfold_device::") || path.starts_with("cuda_std::");
            if is_ours && paths.iter().all(|(known, _)| *known != path) {
                paths.push((path.clone(), Some(format!("use {path};"))));
            }
        }
    }
    let mut groups: Vec<(&str, FunctionGroup)> = Vec::new();
    for (path, import) in paths {
        let Some((file, functions)) = items(&path, import) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == file) {
            Some((_, group)) => group.functions.extend(functions),
            None => {
                let title = title(text(file));
                groups.push((file, FunctionGroup { title, functions }));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A file that the program carries.
fn text(file: &str) -> &'static str {
    warpfold_workshop::carried(file).unwrap_or_default()
}

/// The paths that the `use` items of a file name, such as `warpfold_device::lanes::ballot`.
fn imports(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let item = line.strip_prefix("pub ").unwrap_or(line);
        let Some(item) = item.strip_prefix("use ") else {
            continue;
        };
        let mut item = item.to_owned();
        while !item.contains(';') {
            let Some(more) = lines.next() else { break };
            item += more;
        }
        let item: String = item
            .split(';')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        match item.split_once('{') {
            None => paths.push(item),
            Some((folder, names)) => {
                let names = names.trim_end_matches('}').split(',');
                let names = names.filter(|name| !name.is_empty());
                paths.extend(names.map(|name| format!("{folder}{name}")));
            }
        }
    }
    paths
}

/// Where a path leads, and what is there: one item, or a type's own with those that can be called on it.
fn items(path: &str, import: Option<String>) -> Option<(&'static str, Vec<Function>)> {
    let (folder, name) = path.rsplit_once("::")?;
    let candidates: &[&str] = match folder {
        "cuda_std" => &["cuda_std/macros/src/lib.rs"],
        "cuda_std::thread" => &["cuda_std/src/thread.rs"],
        "warpfold_device" => &["device/src/memory.rs", "device/src/thread.rs"],
        "warpfold_device::lanes" => &["device/src/lanes.rs"],
        "warpfold_device::math" => &["device/src/math.rs"],
        "warpfold_device::memory" => &["device/src/memory.rs"],
        "warpfold_device::redux" => &["device/src/redux.rs"],
        "warpfold_device::shuffle" => &["device/src/shuffle.rs"],
        "warpfold_device::thread" => &["device/src/thread.rs"],
        _ => return None,
    };
    let made = MADE_BY_MACROS.iter().find(|(made, ..)| *made == name);
    if let Some((_, signature, words)) = made {
        let function = Function {
            name: name.to_owned(),
            signature: (*signature).to_owned(),
            words: (*words).to_owned(),
            import,
        };
        return Some((candidates[0], vec![function]));
    }
    candidates.iter().find_map(|&file| {
        let lines: Vec<&str> = text(file).lines().collect();
        let place = lines.iter().position(|line| declares(line) == Some(name))?;
        let is_attribute = lines[..place].ends_with(&["#[proc_macro_attribute]"]);
        let mut functions = vec![Function {
            name: name.to_owned(),
            signature: match is_attribute {
                true => format!("#[{name}]"),
                false => signature(&lines[place..]),
            },
            words: words(&lines[..place]),
            import: import.clone(),
        }];
        functions.extend(members(&lines, name, import.as_ref()));
        Some((file, functions))
    })
}

/// The name of the item that begins in a line.
fn declares(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let declared = [
        "pub fn ",
        "pub unsafe fn ",
        "pub const ",
        "pub struct ",
        "pub trait ",
        "macro_rules! ",
    ];
    let rest = declared.iter().find_map(|word| line.strip_prefix(word))?;
    Some(name_of(rest))
}

fn name_of(text: &str) -> &str {
    let end = text.find(|character: char| !(character.is_alphanumeric() || character == '_'));
    &text[..end.unwrap_or(text.len())]
}

/// The public functions and constants of a type, or those of a trait.
fn members(lines: &[&str], name: &str, import: Option<&String>) -> Vec<Function> {
    let mut functions = Vec::new();
    // Whether the lines belong to the type, and whether that is a trait.
    let mut within = None;
    for (place, line) in lines.iter().enumerate() {
        let is_trait = line.starts_with(&format!("pub trait {name}"));
        let of_type = line.starts_with("impl")
            && line.ends_with('{')
            && line
                .split(|character: char| !character.is_alphanumeric())
                .any(|word| word == name)
            && !line.contains(" for ");
        if is_trait || of_type {
            within = Some(is_trait);
        } else if *line == "}" {
            within = None;
        }
        let member = line.trim_start();
        let declared = match within {
            Some(true) => member
                .strip_prefix("fn ")
                .or_else(|| member.strip_prefix("const "))
                .map(name_of),
            Some(false) => declares(line),
            None => None,
        };
        if let Some(own) = declared.filter(|own| *own != name) {
            functions.push(Function {
                name: format!("{name}::{own}"),
                signature: signature(&lines[place..]),
                words: words(&lines[..place]),
                import: import.cloned(),
            });
        }
    }
    functions
}

/// The declaration that begins in the first of these lines, in one line.
fn signature(lines: &[&str]) -> String {
    let first = lines[0].trim();
    if let Some(name) = first.strip_prefix("macro_rules! ") {
        return format!("{}!", name.trim_end_matches(" {"));
    }
    let mut declaration = String::new();
    for line in lines {
        let line = line.trim();
        // Of a constant the value does not matter; a type may have a default.
        let ends: &[&str] = match first.contains("const ") && !first.contains("struct ") {
            true => &[" {", ";", " = "],
            false => &[" {", ";"],
        };
        let end = ends.iter().filter_map(|end| line.find(end)).min();
        let is_last = end.is_some() || line.ends_with(':') || line.starts_with("where");
        let _ = write!(declaration, "{} ", &line[..end.unwrap_or(line.len())]);
        if is_last {
            break;
        }
    }
    let declaration = declaration.trim().trim_end_matches(':');
    declaration
        .strip_prefix("pub ")
        .unwrap_or(declaration)
        .replace("( ", "(")
        .replace(", )", ")")
}

/// The documentation at the end of these lines, before the attributes of what follows.
fn words(lines: &[&str]) -> String {
    let before = lines.iter().rev();
    let mut words: Vec<&str> = before
        .map(|line| line.trim_start())
        .skip_while(|line| !line.starts_with("///") && !line.is_empty() && *line != "}")
        .map_while(|line| line.strip_prefix("///"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    words.reverse();
    without_links(&words.join("\n"))
}

/// Markdown with the names of links alone, without brackets and what they lead to.
fn without_links(text: &str) -> String {
    let mut pieces = text.replace("[`", "`");
    while let Some((before, after)) = pieces.split_once("`](") {
        let after = after.split_once(')').map_or("", |(_, after)| after);
        pieces = format!("{before}`{after}");
    }
    pieces.replace("`]", "`")
}

/// The first sentence of a module's documentation.
fn title(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    let words = lines.collect::<Vec<_>>().join(" ");
    match words.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None if words.is_empty() => "Kernels.".to_owned(),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Vec<Function> {
        functions()
            .into_iter()
            .flat_map(|group| group.functions)
            .collect()
    }

    #[test]
    fn every_name_of_the_prelude_and_of_the_exercises_imports_is_listed_with_words() {
        let listed = listed();
        let of_exercises = EXERCISES.iter().flat_map(|exercise| {
            let wrong = exercise.wrong().into_iter().map(|wrong| wrong.text);
            let texts = wrong.chain([exercise.starter_text(), exercise.reference()]);
            texts.flat_map(imports).collect::<Vec<_>>()
        });
        let of_prelude = imports(text(PRELUDE));
        assert!(of_prelude.len() > 25, "{of_prelude:?}");
        for path in of_prelude.into_iter().chain(of_exercises) {
            if path.starts_with("core::") || path == "crate::prelude::*" {
                continue;
            }
            let name = path.rsplit("::").next().unwrap_or_default();
            let function = listed.iter().find(|function| function.name == name);
            let function = function.unwrap_or_else(|| panic!("{path} is not listed"));
            assert!(function.words.len() > 20, "{function:?}");
            assert!(function.signature.contains(name), "{function:?}");
        }
    }

    #[test]
    fn methods_are_listed_with_their_signatures() {
        let listed = listed();
        let of = |name: &str| {
            let found = listed.iter().find(|function| function.name == name);
            found.unwrap_or_else(|| panic!("{name} is not listed"))
        };
        let exponential = of("Float::exp_of_negative");
        assert_eq!(exponential.signature, "fn exp_of_negative(self) -> Self");
        assert!(
            exponential.words.starts_with("e to the power"),
            "{exponential:?}"
        );
        assert_eq!(
            exponential.import.as_deref(),
            Some("use warpfold_device::math::Float;")
        );
        assert!(of("Float::maximum").words.contains("NaN"));
        assert_eq!(
            of("Lanes::shuffle_up").signature,
            "unsafe fn shuffle_up<T: Words>(self, value: T, delta: u32) -> T"
        );
        assert_eq!(
            of("Lanes").signature,
            "struct Lanes<const WIDTH: u32 = WARP_SIZE>"
        );
        assert_eq!(of("shared_array").signature, "shared_array!");
        assert_eq!(of("WARP_SIZE").signature, "const WARP_SIZE: u32");
        assert!(
            listed
                .iter()
                .all(|function| function.name != "Lanes::among")
        );
    }

    #[test]
    fn links_become_the_names_that_they_are_of() {
        assert_eq!(
            without_links("as [`down`](Self::down), an `[i32]`, or [`up`]"),
            "as `down`, an `[i32]`, or `up`"
        );
    }

    #[test]
    fn what_macros_make_is_in_the_prelude_and_has_no_declaration() {
        let paths = imports(text(PRELUDE));
        for (name, signature, _) in MADE_BY_MACROS {
            assert!(
                paths
                    .iter()
                    .any(|path| path.ends_with(&format!("::{name}"))),
                "{name}"
            );
            assert!(signature.contains(&format!(" {name}(")));
            for file in ["device/src/memory.rs", "device/src/redux.rs"] {
                let text = text(file);
                assert!(text.lines().all(|line| declares(line) != Some(name)));
            }
        }
    }
}
