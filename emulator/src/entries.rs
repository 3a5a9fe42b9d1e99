//! The texts of single entries: a compiler, and this emulator's parser, do work for all that they are given.

use std::collections::HashMap;

/// The text without the lines of other entries, or `None` where there is none of this name or a body does not end. Each line keeps its
/// number.
pub fn alone(ptx: &str, entry: &str) -> Option<String> {
    let mut kept = String::with_capacity(ptx.len() / 8);
    let (mut is_there, mut is_other, mut depth) = (false, false, 0_usize);
    for line in ptx.split_inclusive('\n') {
        let code = code_of(line);
        if depth == 0
            && let Some(name) = entry_named_in(code)
        {
            is_other = name != entry;
            is_there |= !is_other;
        }
        kept.push_str(if is_other { "\n" } else { line });
        let ends = code.matches('}').count();
        depth = (depth + code.matches('{').count()).checked_sub(ends)?;
        // An entry ends with the bracket that closes its body; its parameters, before that, have none.
        is_other &= depth > 0 || ends == 0;
    }
    (is_there && depth == 0).then_some(kept)
}

/// A text of many entries, from which a few are taken.
#[derive(Debug)]
pub struct Entries<'t> {
    /// What belongs to no entry, in its order.
    common: Vec<&'t str>,
    /// The text of each entry.
    entries: HashMap<&'t str, &'t str>,
}

impl<'t> Entries<'t> {
    /// What belongs to no entry, in its order.
    pub fn common(&self) -> &[&'t str] {
        &self.common
    }

    /// The name of each entry, and its text.
    pub fn texts(&self) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.entries.iter().map(|(&name, &text)| (name, text))
    }

    /// Looks for the entries; `None` where a body does not end.
    pub fn of(ptx: &'t str) -> Option<Self> {
        let mut found = Self {
            common: Vec::new(),
            entries: HashMap::new(),
        };
        let (mut of, mut start, mut at, mut depth) = (None, 0, 0, 0_usize);
        for line in ptx.split_inclusive('\n') {
            let code = code_of(line);
            if depth == 0
                && let Some(name) = entry_named_in(code)
            {
                found.common.push(&ptx[start..at]);
                (of, start) = (Some(name), at);
            }
            at += line.len();
            let ends = code.matches('}').count();
            depth = (depth + code.matches('{').count()).checked_sub(ends)?;
            if depth == 0
                && ends > 0
                && let Some(name) = of.take()
            {
                found.entries.insert(name, &ptx[start..at]);
                start = at;
            }
        }
        found.common.push(&ptx[start..]);
        (depth == 0 && of.is_none()).then_some(found)
    }

    /// The text with no other entry than this one.
    pub fn only(&self, entry: &str) -> Option<String> {
        let text = self.entries.get(entry)?;
        Some([&self.common.concat(), *text].concat())
    }
}

/// The line without strings and comments, which have no say; no compiler writes anything after them.
fn code_of(line: &str) -> &str {
    let code = line.split('"').next().unwrap_or_default();
    code.split('/').next().unwrap_or_default()
}

/// `name` in `.visible .entry name(`.
fn entry_named_in(code: &str) -> Option<&str> {
    let (_, declared) = code.split_once(".entry")?;
    declared
        .split(['(', ' ', '\t', '\n'])
        .find(|word| !word.is_empty())
}
