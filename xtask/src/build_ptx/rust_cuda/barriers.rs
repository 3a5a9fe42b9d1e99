//! Each kernel has as many barriers as rustc's own backend gives it.

use std::fs;
use std::path::Path;

use cuda_builder::ptx;

use super::Finding;
use crate::error::XtaskError;
use warpfold_ptx::header::Header;

/// Compares with `other`, the committed PTX of the same module for the same architecture, which must come from the same
/// sources.
pub(super) fn compare(
    repository: &Path,
    file: &str,
    text: &str,
    other: String,
    source_hash: &str,
) -> Result<Vec<Finding>, XtaskError> {
    let path = repository.join(&other);
    if !path.exists() {
        return Ok(vec![Finding::Missing { file: other }]);
    }
    let other_text =
        fs::read_to_string(&path).map_err(XtaskError::io(format!("read {}", path.display())))?;
    let Some(header) = Header::parse(&other_text) else {
        return Ok(vec![Finding::NoHeader { file: other }]);
    };
    if header.source_hash != source_hash {
        return Ok(vec![Finding::Stale {
            file: other,
            committed: header.source_hash,
            current: source_hash.to_owned(),
        }]);
    }
    Ok(differences(file, text, &other, &other_text))
}

/// The kernels of `text` whose number of barriers is another in `other_text`; kernels of one side only are not compared.
fn differences(file: &str, text: &str, other: &str, other_text: &str) -> Vec<Finding> {
    let others = barriers(other_text);
    barriers(text)
        .into_iter()
        .filter_map(|(entry, count)| {
            let (_, other_count) = others.iter().find(|(name, _)| *name == entry)?;
            (count != *other_count).then(|| Finding::BarriersDiffer {
                file: file.to_owned(),
                entry,
                barriers: count,
                other: other.to_owned(),
                other_barriers: *other_count,
            })
        })
        .collect()
}

/// Each kernel with the number of its block barriers.
fn barriers(text: &str) -> Vec<(String, usize)> {
    let is_barrier = |operation: &&String| {
        operation.starts_with("bar.sync") || operation.starts_with("barrier.sync")
    };
    ptx::operations(text)
        .into_iter()
        .map(|(entry, operations)| (entry, operations.iter().filter(is_barrier).count()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, body: &str) -> String {
        format!(".visible .entry {name}()\n{{\n{body}ret;\n}}\n")
    }

    #[test]
    fn a_barrier_too_many_is_named_with_both_counts() {
        let ours = kernel("sum", "bar.sync 0;\nbar.warp.sync -1;\n");
        let theirs = kernel("sum", "@%p1 bra $A;\nbar.sync 0;\n$A: bar.sync 0;\n")
            + &kernel("more", "bar.sync 0;\n");
        let findings = differences("theirs.ptx", &theirs, "ours.ptx", &ours);
        let messages: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(
            messages[0]
                .starts_with("theirs.ptx: `sum` has 2 `bar.sync`, and 1 in ours.ptx; unless one"),
            "{messages:?}"
        );
    }

    #[test]
    fn equal_counts_are_right_wherever_the_barriers_stand() {
        let ours = kernel("sum", "bar.sync 0;\nadd.s32 %r1, %r1, 1;\n");
        let theirs = kernel("sum", "add.s32 %r1, %r1, 1;\nbarrier.sync 0;\n");
        assert!(differences("theirs.ptx", &theirs, "ours.ptx", &ours).is_empty());
    }

    #[test]
    fn a_stale_or_absent_file_is_not_compared_with() {
        let root = tempfile::tempdir().unwrap();
        let compare = || {
            compare(
                root.path(),
                "theirs.ptx",
                "",
                "kernels/ptx/kernels.sm_80.ptx".into(),
                "bb",
            )
            .unwrap()
        };
        assert!(matches!(&compare()[..], [Finding::Missing { .. }]));
        fs::create_dir_all(root.path().join("kernels/ptx")).unwrap();
        let header = Header {
            generator: "g".into(),
            compiler: "c".into(),
            target: "t".into(),
            source_hash: "aa".into(),
        };
        let path = root.path().join("kernels/ptx/kernels.sm_80.ptx");
        fs::write(&path, header.to_string()).unwrap();
        assert!(matches!(&compare()[..], [Finding::Stale { .. }]));
        fs::write(&path, "ret;").unwrap();
        assert!(matches!(&compare()[..], [Finding::NoHeader { .. }]));
    }
}
