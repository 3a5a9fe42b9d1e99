//! "Did you mean …?"

/// What to add to a sentence about an unknown name: the nearest of the known names, else all of them.
pub fn did_you_mean<'known>(name: &str, known: impl IntoIterator<Item = &'known str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; there are: `{}`", known.join("`, `")),
    }
}

/// A greater likeness means that one name may have been typed for the other.
pub const LIKE: f64 = 0.75;

/// How much a name is like a known one: 1 if they are the same, nearly 1 if the known one begins with it, and less the more differs.
pub fn likeness(name: &str, known: &str) -> f64 {
    match known.strip_prefix(name) {
        Some("") => 1.0,
        // A shorter beginning could be that of anything. The shortest of several names is the likeliest.
        Some(rest) if name.len() >= 3 => 0.99 - 1e-3 * rest.len() as f64,
        _ => strsim::jaro_winkler(name, known).min(0.9),
    }
}

/// The known name that is most like this one, if any is like it at all.
fn nearest<'known>(
    name: &str,
    known: impl IntoIterator<Item = &'known str>,
) -> Option<&'known str> {
    let similarities = known
        .into_iter()
        .map(|candidate| (likeness(name, candidate), candidate));
    similarities
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .filter(|(similarity, _)| *similarity > LIKE)
        .map(|(_, nearest)| nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_corrected_and_nonsense_gets_the_list() {
        let known = ["neighbored", "interleaved"];
        assert_eq!(
            did_you_mean("neighboured", known),
            "; did you mean `neighbored`?"
        );
        assert_eq!(
            did_you_mean("xyz", known),
            "; there are: `neighbored`, `interleaved`"
        );
    }
}
