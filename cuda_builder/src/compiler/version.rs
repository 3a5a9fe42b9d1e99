//! What `rustc -vV` says.

use std::fmt;

/// *Addition to rust-cuda's API:* a compiler's version, enough to tell whether two builds can be compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustcVersion {
    /// The first line: `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub summary: String,
    /// The release: `1.96.0`, `1.97.0-nightly`.
    pub release: String,
    /// The LLVM that makes the PTX: `22.1.8`.
    pub llvm: String,
    /// When the compiler's source was committed: `2026-05-25`, empty if it does not know.
    pub commit_date: String,
}

impl RustcVersion {
    /// Reads the output of `rustc -vV`; `None` if it is none.
    pub(crate) fn parse(verbose: &str) -> Option<Self> {
        let field = |name: &str| {
            verbose
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(str::to_owned)
        };
        let summary = verbose.lines().next()?.trim().to_owned();
        Some(Self {
            summary: summary.starts_with("rustc ").then_some(summary)?,
            release: field("release")?,
            llvm: field("LLVM version")?,
            commit_date: field("commit-date")
                .filter(|date| date != "unknown")
                .unwrap_or_default(),
        })
    }

    /// Orders compilers from the oldest to the newest.
    pub(crate) fn age_order(&self) -> (Vec<u32>, String) {
        let numbers = self.release.split('-').next().unwrap_or_default();
        let numbers = numbers.split('.').filter_map(|part| part.parse().ok());
        (numbers.collect(), self.commit_date.clone())
    }
}

/// `rustc 1.96.0 (ac68faa20 2026-05-25), LLVM 22.1.8`.
impl fmt::Display for RustcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, LLVM {}", self.summary, self.llvm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "\
rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)
binary: rustc
commit-hash: ac68faa20c58cbccd01ee7208bf3b6e93a7d7f96
commit-date: 2026-05-25
host: x86_64-unknown-linux-gnu
release: 1.96.0
LLVM version: 22.1.8
";

    fn nightly(release: &str, date: &str) -> RustcVersion {
        RustcVersion::parse(&format!(
            "rustc {release}\nrelease: {release}\ncommit-date: {date}\nLLVM version: 22.1.4\n"
        ))
        .unwrap()
    }

    #[test]
    fn the_version_is_read_and_printed() {
        let version = RustcVersion::parse(DEBIAN).unwrap();
        assert_eq!(version.release, "1.96.0");
        assert_eq!(version.commit_date, "2026-05-25");
        assert_eq!(
            version.to_string(),
            "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball), LLVM 22.1.8"
        );
    }

    #[test]
    fn an_unknown_commit_date_is_empty() {
        assert_eq!(nightly("1.96.0", "unknown").commit_date, "");
    }

    #[test]
    fn newer_means_release_first_then_date() {
        let mut versions = [
            nightly("1.100.0-nightly", "2026-01-01"),
            nightly("1.97.0-nightly", "2026-05-19"),
            nightly("1.97.0-nightly", "2026-05-02"),
        ];
        versions.sort_by_key(RustcVersion::age_order);
        let dates = versions.map(|version| version.commit_date);
        assert_eq!(dates, ["2026-05-02", "2026-05-19", "2026-01-01"]);
    }

    #[test]
    fn anything_else_is_no_version() {
        for text in [
            "",
            "rustc 1.96.0\n",
            "clang 20\nrelease: 20\nLLVM version: 20\n",
        ] {
            assert_eq!(RustcVersion::parse(text), None, "{text}");
        }
    }
}
