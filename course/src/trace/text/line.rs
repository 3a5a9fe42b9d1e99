//! One line of text that things are put on at fixed columns.

/// A line under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    cells: Vec<char>,
}

impl Line {
    /// A line that begins with a label.
    pub fn labelled(label: &str) -> Self {
        let mut line = Self::default();
        line.put(0, label);
        line
    }

    /// Puts text at a column, if everything it covers, and one column on each side of it, is free.
    pub fn put(&mut self, column: usize, text: &str) -> bool {
        let end = column + text.chars().count();
        let around = column.saturating_sub(1)..(end + 1).min(self.cells.len());
        let is_free = self
            .cells
            .get(around)
            .is_none_or(|cells| cells.iter().all(|&cell| cell == ' '));
        if is_free {
            self.cells.resize(self.cells.len().max(end), ' ');
            for (cell, character) in self.cells[column..].iter_mut().zip(text.chars()) {
                *cell = character;
            }
        }
        is_free
    }

    /// Sets one character, whatever is around it.
    pub fn set(&mut self, column: usize, character: char) {
        self.cells.resize(self.cells.len().max(column + 1), ' ');
        self.cells[column] = character;
    }
}

/// Puts texts at their columns, further left where they would not end before `width`, on as many lines as they need not to touch; no line
/// where there are none.
pub(super) fn pack(
    label: &str,
    texts: impl IntoIterator<Item = (usize, String)>,
    width: usize,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (column, text) in texts {
        let room = width.saturating_sub(text.chars().count());
        let column = column.min(room).max(label.chars().count() + 1);
        if lines.iter_mut().any(|line| line.put(column, &text)) {
            continue;
        }
        let mut line = Line::labelled(if lines.is_empty() { label } else { "" });
        line.put(column, &text);
        lines.push(line);
    }
    lines
}

/// Parts on as many lines as they need.
pub(super) fn wrap(parts: &[String], between: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if length(line) + length(between) + length(part) <= width => {
                line.push_str(between);
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

impl std::fmt::Display for Line {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: String = self.cells.iter().collect();
        formatter.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_a_space_between_them() {
        let mut line = Line::labelled("ab");
        assert!(!line.put(2, "c"), "it would touch");
        assert!(line.put(3, "c"));
        assert!(!line.put(1, "x"), "it would cover");
        assert!(line.put(10, "d"));
        assert!(!line.put(8, "xy"), "it would touch");
        assert_eq!(line.to_string(), "ab c      d");
    }
}
