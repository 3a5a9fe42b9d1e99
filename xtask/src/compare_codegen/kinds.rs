//! Instructions by kind, as they stand in the PTX: each once, however often it runs.

/// How many instructions of each kind a kernel has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds {
    counts: [usize; NAMES.len()],
}

/// The kinds, as the columns of the table are headed.
pub(super) const NAMES: [&str; 8] = [
    "global", "shared", "atomic", "barrier", "warp", "branch", "move", "compute",
];

impl Kinds {
    /// Counts operations such as `ld.global.b32`.
    pub(super) fn count(operations: &[String]) -> Self {
        let mut kinds = Self::default();
        for operation in operations {
            let name = kind(operation);
            for (count, _) in kinds
                .counts
                .iter_mut()
                .zip(NAMES)
                .filter(|(_, known)| *known == name)
            {
                *count += 1;
            }
        }
        kinds
    }

    /// All instructions.
    pub(super) fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The counts, in the order of [`NAMES`].
    pub(super) fn counts(&self) -> [usize; NAMES.len()] {
        self.counts
    }
}

/// The kind of an operation. A load or store that names no memory counts as global, which is what the hardware makes of
/// nearly all of them.
fn kind(operation: &str) -> &'static str {
    let mut parts = operation.split('.');
    let first = parts.next().unwrap_or_default();
    let has = |part: &str| parts.clone().any(|found| found.starts_with(part));
    match first {
        "ld" | "ldu" | "st" if has("param") => "move",
        "ld" | "ldu" | "st" if has("shared") => "shared",
        "ld" | "ldu" | "st" => "global",
        "atom" | "red" => "atomic",
        "bar" | "barrier" if parts.next() == Some("warp") => "warp",
        "bar" | "barrier" => "barrier",
        "shfl" | "vote" | "match" | "redux" | "activemask" => "warp",
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" => "branch",
        "mov" | "cvt" | "cvta" | "selp" => "move",
        _ => "compute",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_kind_with_a_column() {
        for (operation, expected) in [
            ("ld.global.v4.b32", "global"),
            ("st.b32", "global"),
            ("ld.volatile.shared.u32", "shared"),
            ("st.shared::cta.b32", "shared"),
            ("ld.param.b64", "move"),
            ("atom.shared.add.u32", "atomic"),
            ("bar.sync", "barrier"),
            ("barrier.sync.aligned", "barrier"),
            ("bar.warp.sync", "warp"),
            ("shfl.sync.down.b32", "warp"),
            ("bra.uni", "branch"),
            ("ret", "branch"),
            ("cvta.to.global.u64", "move"),
            ("setp.lt.u32", "compute"),
            ("add.s32", "compute"),
        ] {
            assert_eq!(kind(operation), expected, "{operation}");
            assert!(NAMES.contains(&expected));
        }
    }

    #[test]
    fn counts_add_up() {
        let operations =
            ["mov.u32", "ld.global.b32", "add.s32", "add.s32", "ret"].map(str::to_owned);
        let kinds = Kinds::count(&operations);
        assert_eq!(kinds.counts(), [1, 0, 0, 0, 0, 1, 1, 2]);
        assert_eq!(kinds.total(), 5);
    }
}
