//! What a page shows of a command's output: its lines, but for the spaces between words. A line `...` stands for any lines, and `...` at the
//! end of a line for its rest.

const REST: &str = "...";

/// Whether the output is what is shown; otherwise why not.
pub fn matches(shown: &[String], printed: &str) -> Result<(), String> {
    if shown.is_empty() {
        return Err("the page shows nothing of what the command prints".to_owned());
    }
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    let mut rest = &printed[..];
    let mut segments = shown.split(|line| line == REST).peekable();
    let mut is_first = true;
    while let Some(segment) = segments.next() {
        // What stands between two `...` is looked for, what stands at either end has its place.
        let last_place = rest.len().saturating_sub(segment.len());
        let mut places = match (is_first, segments.peek()) {
            (true, _) => 0..=0,
            (false, Some(_)) => 0..=last_place,
            (false, None) if segment.is_empty() => return Ok(()),
            (false, None) => last_place..=last_place,
        };
        let place = places
            .find(|&place| begins(segment, &rest[place..]))
            .ok_or_else(|| format!("the output lacks, in its place:\n{}", segment.join("\n")))?;
        rest = &rest[place + segment.len()..];
        is_first = false;
    }
    match rest {
        [] => Ok(()),
        [next, ..] => Err(format!("the page ends before:\n{next}")),
    }
}

fn begins(segment: &[String], printed: &[&str]) -> bool {
    let pairs = || segment.iter().zip(printed);
    pairs().count() == segment.len() && pairs().all(|(shown, printed)| is_line(shown, printed))
}

/// What is to be shown instead: each line by the one of the output that begins like it, or, where nothing was shown, everything.
///
/// # Errors
/// No line of the output begins like one that is shown.
pub fn renewed(shown: &[String], printed: &str) -> Result<Vec<String>, String> {
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    if shown.is_empty() {
        return Ok(printed
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect());
    }
    let mut rest = &printed[..];
    let mut renewed = Vec::new();
    for line in shown {
        if line == REST {
            renewed.push(line.clone());
            continue;
        }
        let same = rest.iter().position(|printed| is_line(line, printed));
        let alike = || {
            rest.iter()
                .position(|printed| label(line) == label(printed))
        };
        let at = same
            .or_else(alike)
            .ok_or_else(|| format!("nothing is printed any more like\n{line}"))?;
        renewed.push(match same {
            Some(_) => line.clone(),
            None => rest[at].trim_end().to_owned(),
        });
        rest = &rest[at + 1..];
    }
    Ok(renewed)
}

fn is_line(shown: &str, printed: &str) -> bool {
    let mut words = printed.split_whitespace();
    for word in shown.split_whitespace() {
        if word == REST {
            return true;
        }
        if words.next() != Some(word) {
            return false;
        }
    }
    words.next().is_none()
}

/// What a line is about: the first cell of a table's row, or the first word.
fn label(line: &str) -> &str {
    let line = line.trim_start();
    let cell = line.split("  ").next().unwrap_or_default();
    if cell == line.trim_end() {
        line.split_whitespace().next().unwrap_or_default()
    } else {
        cell
    }
}
