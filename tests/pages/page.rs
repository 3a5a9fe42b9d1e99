//! The commands of a page: those with what they print, in blocks marked `console`, and those named in the text.

use std::path::Path;

/// The heading under which a page shows runs.
const OBSERVE: &str = "Observe";

/// A page of the course.
pub struct Page {
    /// Its file.
    pub file: &'static str,
    text: String,
    /// The commands whose output it shows.
    pub shown: Vec<Shown>,
    /// The commands that its text names.
    pub named: Vec<String>,
    /// Whether it asks for a prediction directly before it shows a run.
    pub asks: bool,
}

/// A command with what the page shows of its output.
pub struct Shown {
    /// The command.
    pub command: String,
    /// What the page shows.
    pub lines: Vec<String>,
    /// The heading that it stands under.
    heading: String,
    /// The lines of the file that hold what is shown.
    place: std::ops::Range<usize>,
}

impl Shown {
    /// Whether the lesson is to be changed before.
    pub fn is_break(&self) -> bool {
        self.heading == "Break it" && self.command.starts_with("warpfold try ")
    }
}

impl Page {
    /// Reads a page.
    ///
    /// # Panics
    /// There is no such file, or a block does not end or begins without a command.
    pub fn read(root: &Path, file: &'static str) -> Self {
        let text = std::fs::read_to_string(root.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        // Of a lesson it is the comment at the head.
        let is_document = file.ends_with(".md");
        let mut shown: Vec<Shown> = Vec::new();
        let mut prose = String::new();
        let mut heading = "";
        // The block that the line is in: `console` is `Some(true)`.
        let mut block = None;
        // Whether the command goes on in the next line.
        let mut goes_on = false;
        let mut asks = false;
        // Whether the line is in a paragraph that asks for a prediction.
        let mut is_question = false;
        let mut previous = "";
        for (number, line) in text.lines().enumerate() {
            let line = match line.strip_prefix("//!") {
                Some(line) => line,
                None if is_document => line,
                None => break,
            };
            let line = line.strip_prefix(' ').unwrap_or(line);
            if let Some(language) = line.strip_prefix("```") {
                block = match block {
                    None => Some(language == "console"),
                    Some(_) => None,
                };
                asks |= is_question && block == Some(true) && heading == OBSERVE;
                is_question = false;
            } else if let (Some(true), Some(command)) = (block, line.strip_prefix("$ ")) {
                goes_on = command.ends_with('\\');
                shown.push(Shown {
                    command: command.trim_end_matches('\\').to_owned(),
                    lines: Vec::new(),
                    heading: heading.to_owned(),
                    place: number + 1..number + 1,
                });
            } else if block == Some(true) {
                let last = shown.last_mut().filter(|last| last.place.end == number);
                let last = last.unwrap_or_else(|| panic!("{file}: a block begins with no command"));
                last.place.end = number + 1;
                if goes_on {
                    goes_on = line.ends_with('\\');
                    last.command += line.trim_end_matches('\\');
                    last.place.start = number + 1;
                } else {
                    last.lines.push(line.to_owned());
                }
            } else if let Some(words) = line.strip_prefix("## ") {
                heading = words;
            } else if block.is_none() {
                prose += line;
                prose += " ";
                let begins = previous.is_empty()
                    || previous.starts_with("## ")
                    || previous.starts_with("```");
                is_question = match begins {
                    true => line.starts_with("**Predict.** "),
                    false => is_question && !line.is_empty(),
                };
            }
            previous = line;
        }
        assert!(block.is_none(), "{file}: a block does not end");
        let spans = prose.split('`').skip(1).step_by(2);
        // `warpfold check` alone speaks of the command.
        let named =
            spans.filter(|span| span.starts_with("warpfold ") && span.matches(' ').count() > 1);
        Self {
            file,
            named: named.map(str::to_owned).collect(),
            asks,
            text,
            shown,
        }
    }

    /// Whether it shows a run where a page should.
    pub fn has_run(&self) -> bool {
        self.shown.iter().any(|shown| shown.heading == OBSERVE)
    }

    /// Whether it shows what becomes of a lesson that is broken.
    pub fn has_break(&self) -> bool {
        self.shown.iter().any(Shown::is_break)
    }

    /// The text with other lines for what it shows; `None` where they are the same.
    ///
    /// # Errors
    /// The first that `renew` answers with.
    pub fn renewed(
        &self,
        renew: &mut dyn FnMut(&Shown) -> Result<Vec<String>, String>,
    ) -> Result<Option<String>, String> {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        // From the end, so that the places before stay what they are.
        for shown in self.shown.iter().rev() {
            let renewed =
                renew(shown).map_err(|reason| format!("`{}`: {reason}", shown.command))?;
            let mark = match self.file.ends_with(".md") {
                true => "",
                false => "//! ",
            };
            let in_file = renewed
                .iter()
                .map(|line| format!("{mark}{line}").trim_end().to_owned());
            lines.splice(shown.place.clone(), in_file);
        }
        let text = lines.join("\n") + "\n";
        Ok((text != self.text).then_some(text))
    }
}
