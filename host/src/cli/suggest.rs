//! "Did you mean …?"

/// What to add to a sentence about an unknown name: the nearest of the known names, else all of them.
pub fn did_you_mean<'known>(name: &str, known: impl IntoIterator<Item = &'known str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .max_by(|(left, _), (right, _)| left.total_cmp(right));
    match nearest {
        Some((similarity, nearest)) if similarity > 0.75 => format!("; did you mean `{nearest}`?"),
        _ => format!("; there are: `{}`", known.join("`, `")),
    }
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
