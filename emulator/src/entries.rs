//! The texts of single entries: a compiler, and this emulator's parser, do work for all that they are given.

use std::collections::HashMap;

/// The text without the lines of other entries, or `None` where there is none of this name or a body does not end. Each line keeps its
/// number.
pub fn alone(ptx: &str, entry: &str) -> Option<String> {
    let mut kept = String::with_capacity(ptx.len() / 8);
    let (mut is_there, mut is_other, mut depth) = (false, false, 0_usize);
    for line in lines(ptx) {
        if depth == 0
            && let Some(name) = entry_named_in(line.code)
        {
            is_other = name != entry;
            is_there |= !is_other;
        }
        kept.push_str(if is_other { "\n" } else { line.text });
        depth = (depth + line.opens).checked_sub(line.closes)?;
        // An entry ends with the bracket that closes its body; its parameters, before that, have none.
        is_other &= depth > 0 || line.closes == 0;
    }
    (is_there && depth == 0).then_some(kept)
}

/// The text with more at the beginning of each entry's body: what `beginning` makes of what comes before the body, which is the entry's name, its
/// parameters and the bounds of its launches. `None` where a body does not end.
pub fn with_beginnings(ptx: &str, beginning: impl Fn(&str) -> String) -> Option<String> {
    let mut all = String::with_capacity(ptx.len());
    // Where the head of an entry begins that has no body yet.
    let (mut head, mut at, mut depth) = (None, 0, 0_usize);
    for line in lines(ptx) {
        if depth == 0 && entry_named_in(line.code).is_some() {
            head = Some(at);
        }
        match (head, line.code.find('{')) {
            (Some(start), Some(brace)) => {
                let (before, after) = line.text.split_at(brace + 1);
                all.push_str(before);
                all.push_str(&beginning(&ptx[start..at + brace]));
                all.push_str(after);
                head = None;
            }
            _ => all.push_str(line.text),
        }
        at += line.text.len();
        depth = (depth + line.opens).checked_sub(line.closes)?;
    }
    (depth == 0).then_some(all)
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
        for line in lines(ptx) {
            if depth == 0
                && let Some(name) = entry_named_in(line.code)
            {
                found.common.push(&ptx[start..at]);
                (of, start) = (Some(name), at);
            }
            at += line.text.len();
            depth = (depth + line.opens).checked_sub(line.closes)?;
            if depth == 0
                && line.closes > 0
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

/// A line of a text, with its end.
struct Line<'t> {
    text: &'t str,
    /// What comes before strings and comments, which have no say; no compiler writes anything after them.
    code: &'t str,
    /// How many braces the code opens and closes.
    opens: usize,
    closes: usize,
}

/// The lines of a text, which is read once: there may be megabytes of it.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (mut opens, mut closes, mut code) = (0, 0, None);
        let mut length = rest.len();
        for (at, byte) in rest.bytes().enumerate() {
            match byte {
                b'\n' => {
                    length = at + 1;
                    break;
                }
                b'"' | b'/' => code = code.or(Some(at)),
                b'{' if code.is_none() => opens += 1,
                b'}' if code.is_none() => closes += 1,
                _ => {}
            }
        }
        let (text, later) = rest.split_at(length);
        rest = later;
        (!text.is_empty()).then(|| Line {
            text,
            code: &text[..code.unwrap_or(length)],
            opens,
            closes,
        })
    })
}

/// `name` in `.visible .entry name(`.
pub fn entry_named_in(code: &str) -> Option<&str> {
    let (_, declared) = code.split_once(".entry")?;
    declared
        .split(['(', ' ', '\t', '\n'])
        .find(|word| !word.is_empty())
}
