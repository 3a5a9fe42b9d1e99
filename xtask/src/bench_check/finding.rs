//! What is wrong with the counts.

/// Why the counts are not those of the baseline.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// Something costs more than it did.
    #[error(
        "over 5 % higher than in benches/baseline.json: {names}; make it cheaper again, or, if it is worth its price, keep the counts with \
         `cargo xtask bench-check --bless`"
    )]
    Costlier {
        /// What does.
        names: String,
    },
    /// The baseline has what nothing counts any more.
    #[error(
        "in benches/baseline.json and not counted: {names}; count it again, or, if it is meant to be gone, take it out with \
         `cargo xtask bench-check --bless`"
    )]
    NotCounted {
        /// What it is.
        names: String,
    },
    /// Something is counted that there is nothing to compare with.
    #[error(
        "counted and not in benches/baseline.json: {names}; put it there with `cargo xtask bench-check --bless`"
    )]
    NotInBaseline {
        /// What it is.
        names: String,
    },
}
