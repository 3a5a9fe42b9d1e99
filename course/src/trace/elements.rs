//! Sets of elements in a few characters, and numbers of things.

/// A set of elements, in ascending order: `0…7` for a run, `0,2…6` for equal distances, else a list.
pub(super) fn label(elements: &[usize]) -> String {
    match *elements {
        [] => String::new(),
        [only] => only.to_string(),
        [first, second] if second - first > 1 => format!("{first},{second}"),
        [first, second, .., last] | [first, second @ last] => {
            let distance = second - first;
            let is_even = elements
                .windows(2)
                .all(|pair| pair[1] - pair[0] == distance);
            match (is_even, distance) {
                (true, 1) => format!("{first}…{last}"),
                (true, _) => format!("{first},{second}…{last}"),
                (false, _) => runs(elements),
            }
        }
    }
}

/// The runs of neighbours in a set: `0…1,4…5`.
fn runs(elements: &[usize]) -> String {
    elements
        .chunk_by(|left, right| left + 1 == *right)
        .map(|run| match run {
            [first, .., last] => format!("{first}…{last}"),
            _ => run[0].to_string(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// A number of these: `1 lane`, `2 lanes`.
pub(super) fn count(number: usize, name: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {name}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_as_short_as_they_can_be() {
        for (elements, expected) in [
            (&[][..], ""),
            (&[5], "5"),
            (&[0, 1], "0…1"),
            (&[0, 4], "0,4"),
            (&[0, 1, 2, 3], "0…3"),
            (&[1, 3, 5], "1,3…5"),
            (&[0, 1, 4, 5], "0…1,4…5"),
            (&[0, 1, 2, 9], "0…2,9"),
        ] {
            assert_eq!(label(elements), expected);
        }
    }
}
