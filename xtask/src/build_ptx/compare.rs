//! A committed PTX file against its rebuild.

use cuda_builder::ptx::Violation;
use warpfold_ptx::header::Header;

/// Something that has to be mended before the PTX can be used or committed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The PTX lacks kernels.
    #[error(
        "{file} lacks entries that the catalogue lists: {}; write the kernels or mend {catalogue}",
        quoted(.entries)
    )]
    EntriesMissing {
        /// The PTX file.
        file: String,
        /// Their names.
        entries: Vec<String>,
        /// The file that lists them.
        catalogue: &'static str,
    },
    /// The PTX has kernels that nobody would find.
    #[error(
        "{file} has entries that the catalogue does not list: {}; add them to {catalogue} or remove the kernels",
        quoted(.entries)
    )]
    EntriesUnknown {
        /// The PTX file.
        file: String,
        /// Their names.
        entries: Vec<String>,
        /// The file that lists them.
        catalogue: &'static str,
    },
    /// A kernel has more or fewer barriers than by the other compiler.
    #[error(
        "{file}: `{entry}` has {barriers} `bar.sync`, and {other_barriers} in {other}; unless one compiler unrolled a loop that \
         the other did not, a barrier was copied into divergent branches, which hangs a GPU: look at both before this one runs"
    )]
    BarriersDiffer {
        /// The PTX file.
        file: String,
        /// The kernel.
        entry: String,
        /// How many it has.
        barriers: usize,
        /// The PTX file of the other compiler.
        other: String,
        /// How many it has there.
        other_barriers: usize,
    },
    /// A kernel can trap, and by the other compiler it cannot.
    #[error(
        "{file}: `{entry}` has a `trap`, and none in {other}; unless no thread reaches it, the compiler takes for impossible what \
         is not, such as an atomic of `core` on shared memory: look at both before this one runs"
    )]
    Trap {
        /// The PTX file.
        file: String,
        /// The kernel.
        entry: String,
        /// The PTX file of the other compiler.
        other: String,
    },
    /// The PTX would not load, or would not do what its source says.
    #[error("{file}: {violation}")]
    Violation {
        /// The PTX file.
        file: String,
        /// What is wrong, and where.
        violation: Violation,
    },
    /// There is no such file.
    #[error("{file} does not exist: {MEND}")]
    Missing {
        /// The PTX file.
        file: String,
    },
    /// The file was not written by `cargo xtask build-ptx`, or edited.
    #[error("{file} does not begin with the header of a generated file: {MEND}")]
    NoHeader {
        /// The PTX file.
        file: String,
    },
    /// The sources have changed since the file was written.
    #[error("{file} was made from other sources, whose hash is {committed}, not {current}: {MEND}")]
    Stale {
        /// The PTX file.
        file: String,
        /// The hash in its header.
        committed: String,
        /// The hash of the sources as they are.
        current: String,
    },
    /// The same compiler makes something else of the same sources.
    #[error(
        "{file} differs from a rebuild with the same compiler on line {line} (`{committed}`, rebuilt `{rebuilt}`): {MEND}"
    )]
    Different {
        /// The PTX file.
        file: String,
        /// The first line that differs, counted from 1.
        line: usize,
        /// That line in the file.
        committed: String,
        /// That line in the rebuild.
        rebuilt: String,
    },
}

const MEND: &str = "run `cargo xtask build-ptx` with the same --sm and commit the result";

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// What can be said about a file that is as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same compiler gives the same bytes.
    Identical,
    /// Bytes say nothing, since another compiler made the file.
    OtherCompiler { committed: String, rebuilt: String },
}

/// Compares the two texts of one file.
pub(super) fn compare(file: &str, committed: &str, rebuilt: &str) -> Result<Verdict, Finding> {
    let file = file.to_owned();
    let (Some(old), Some(new)) = (Header::parse(committed), Header::parse(rebuilt)) else {
        return Err(Finding::NoHeader { file });
    };
    if old.source_hash != new.source_hash {
        return Err(Finding::Stale {
            file,
            committed: old.source_hash,
            current: new.source_hash,
        });
    }
    if old.compiler != new.compiler {
        return Ok(Verdict::OtherCompiler {
            committed: old.compiler,
            rebuilt: new.compiler,
        });
    }
    match first_difference(committed, rebuilt) {
        None => Ok(Verdict::Identical),
        Some((line, committed, rebuilt)) => Err(Finding::Different {
            file,
            line,
            committed,
            rebuilt,
        }),
    }
}

/// The first line that differs, counted from 1, and how it reads on both sides; line ends count.
fn first_difference(committed: &str, rebuilt: &str) -> Option<(usize, String, String)> {
    let (mut old, mut new) = (committed.split('\n'), rebuilt.split('\n'));
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (old, new) if old == new => line += 1,
            (old, new) => {
                let text = |line: Option<&str>| match line {
                    Some(line) => line.trim_start().escape_debug().to_string(),
                    None => "end of file".to_owned(),
                };
                return Some((line, text(old), text(new)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ptx(compiler: &str, hash: &str, body: &str) -> String {
        let header = Header {
            generator: "cargo xtask build-ptx".into(),
            compiler: compiler.into(),
            target: "nvptx64-nvidia-cuda sm_80".into(),
            source_hash: hash.into(),
        };
        format!("{header}{body}")
    }

    #[test]
    fn the_same_bytes_are_identical() {
        let text = ptx("rustc 1", "aa", "ret;\n");
        assert_eq!(compare("k.ptx", &text, &text), Ok(Verdict::Identical));
    }

    #[test]
    fn a_difference_is_shown_with_its_line_and_both_texts() {
        let finding = compare(
            "k.ptx",
            &ptx("rustc 1", "aa", "{\n\tadd;\n\tret;\n}\n"),
            &ptx("rustc 1", "aa", "{\n\tadd;\n\texit;\n}\n"),
        )
        .unwrap_err();
        assert_eq!(
            finding.to_string(),
            "k.ptx differs from a rebuild with the same compiler on line 7 (`ret;`, rebuilt `exit;`): run `cargo xtask \
             build-ptx` with the same --sm and commit the result"
        );
    }

    #[test]
    fn truncated_text_differs_at_its_end() {
        let finding = compare(
            "k.ptx",
            &ptx("rustc 1", "aa", "ret;"),
            &ptx("rustc 1", "aa", "ret;\n}"),
        )
        .unwrap_err();
        assert!(
            matches!(&finding, Finding::Different { line: 6, committed, .. } if committed == "end of file"),
            "{finding}"
        );
    }

    #[test]
    fn another_compiler_is_named_and_bytes_do_not_count() {
        let verdict = compare(
            "k.ptx",
            &ptx("rustc 1", "aa", "ret;\n"),
            &ptx("rustc 2", "aa", "exit;\n"),
        );
        assert_eq!(
            verdict,
            Ok(Verdict::OtherCompiler {
                committed: "rustc 1".into(),
                rebuilt: "rustc 2".into()
            })
        );
    }

    #[test]
    fn changed_sources_are_stale_whatever_the_compiler() {
        for compiler in ["rustc 1", "rustc 2"] {
            let finding = compare(
                "k.ptx",
                &ptx("rustc 1", "aa", "ret;\n"),
                &ptx(compiler, "bb", "ret;\n"),
            )
            .unwrap_err();
            assert!(matches!(finding, Finding::Stale { .. }), "{finding}");
        }
    }

    #[test]
    fn text_without_header_is_refused() {
        let finding = compare("k.ptx", "ret;\n", &ptx("rustc 1", "aa", "ret;\n")).unwrap_err();
        assert_eq!(
            finding.to_string(),
            "k.ptx does not begin with the header of a generated file: run `cargo xtask build-ptx` with the \
             same --sm and commit the result"
        );
    }
}
