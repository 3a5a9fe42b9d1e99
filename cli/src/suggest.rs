//! "Did you mean …?"

/// What to add to a sentence about an unknown name: the nearest of the known names, else all of them.
pub fn did_you_mean<'known>(name: &str, known: impl IntoIterator<Item = &'known str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; there are: `{}`", known.join("`, `")),
    }
}

/// The known name that is most like this one, if any is like it at all.
pub fn nearest<'known>(
    name: &str,
    known: impl IntoIterator<Item = &'known str>,
) -> Option<&'known str> {
    let similarities = known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    similarities
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .filter(|(similarity, _)| *similarity > 0.75)
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
