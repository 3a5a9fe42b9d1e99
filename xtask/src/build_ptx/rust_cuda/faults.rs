//! What rust-cuda has got wrong before, each by its name: a function that nothing defines, an entry that is missing, and, compared
//! with what rustc's own backend makes of the same sources, another number of barriers and a `trap`.

use std::fs;
use std::path::Path;

use cuda_builder::ptx;
use warpfold_kernels::catalogue::PtxText;

use crate::build_ptx::compare::Finding;
use crate::build_ptx::entries;
use crate::build_ptx::error::BuildPtxError;
use crate::failure::io;
use warpfold_ptx::header::Header;

/// Kernels in which rust-cuda leaves a `trap` that no thread reaches. All divide by what is never 0, and rustc puts a test before
/// the division: in two the stride, which doubles from 1; in the last the vectors of a tile and the number of blocks.
/// LLVM 22 sees that the test is idle, libNVVM does not.
const IDLE_TRAPS: [&str; 3] = ["blocked", "flagship_bulk_i32", "segmented_blocked"];

/// PTX of a module for one architecture, and the file that holds it.
pub(super) struct Built<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) module: PtxText,
    pub(super) sm: u32,
}

impl Built<'_> {
    /// What is wrong with it by itself, and compared with `other`, the committed PTX of the same module for the same
    /// architecture, which must come from the same sources.
    pub(super) fn faults(
        &self,
        repository: &Path,
        other: String,
        source_hash: &str,
    ) -> Result<Vec<Finding>, BuildPtxError> {
        let mut findings = self.own_faults();
        match committed(repository, &other, source_hash)? {
            Ok(other_text) => findings.extend(self.differences(&other, &other_text)),
            Err(finding) => findings.push(finding),
        }
        Ok(findings)
    }

    fn own_faults(&self) -> Vec<Finding> {
        let violations = ptx::check(self.text).err().unwrap_or_default();
        violations
            .into_iter()
            .map(|violation| Finding::Violation {
                file: self.file.to_owned(),
                violation,
            })
            .chain(entries::compare(self.file, self.text, self.module, self.sm))
            .collect()
    }

    /// Kernels of one side only are not compared.
    fn differences(&self, other: &str, other_text: &str) -> Vec<Finding> {
        let others = ptx::operations(other_text);
        let mut findings = Vec::new();
        for (entry, operations) in ptx::operations(self.text) {
            let Some((_, other_operations)) = others.iter().find(|(name, _)| *name == entry) else {
                continue;
            };
            let (file, other) = (self.file.to_owned(), other.to_owned());
            if traps(&operations) > 0
                && traps(other_operations) == 0
                && !IDLE_TRAPS.contains(&entry.as_str())
            {
                findings.push(Finding::Trap {
                    file: file.clone(),
                    entry: entry.clone(),
                    other: other.clone(),
                });
            }
            let (barriers, other_barriers) = (barriers(&operations), barriers(other_operations));
            if barriers != other_barriers {
                findings.push(Finding::BarriersDiffer {
                    file,
                    entry,
                    barriers,
                    other,
                    other_barriers,
                });
            }
        }
        findings
    }
}

/// The text of a committed file, or why there is nothing to compare with.
fn committed(
    repository: &Path,
    other: &str,
    source_hash: &str,
) -> Result<Result<String, Finding>, BuildPtxError> {
    let path = repository.join(other);
    let file = other.to_owned();
    if !path.exists() {
        return Ok(Err(Finding::Missing { file }));
    }
    let text = fs::read_to_string(&path).map_err(io(format!("read {}", path.display())))?;
    Ok(match Header::parse(&text) {
        None => Err(Finding::NoHeader { file }),
        Some(header) if header.source_hash != source_hash => Err(Finding::Stale {
            file,
            committed: header.source_hash,
            current: source_hash.to_owned(),
        }),
        Some(_) => Ok(text),
    })
}

fn traps(operations: &[String]) -> usize {
    operations
        .iter()
        .filter(|operation| *operation == "trap")
        .count()
}

/// Barriers of the block.
fn barriers(operations: &[String]) -> usize {
    operations
        .iter()
        .filter(|operation| {
            operation.starts_with("bar.sync") || operation.starts_with("barrier.sync")
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::catalogue::entry_names;

    fn kernel(name: &str, body: &str) -> String {
        format!(".visible .entry {name}()\n{{\n{body}ret;\n}}\n")
    }

    fn built(text: &str) -> Built<'_> {
        Built {
            file: "theirs.ptx",
            text,
            module: PtxText::Nested,
            sm: 80,
        }
    }

    fn messages(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    /// Each kernel of the module, with nothing in it.
    fn whole_module() -> String {
        entry_names(PtxText::Nested, 80)
            .map(|name| kernel(name, ""))
            .collect()
    }

    #[test]
    fn a_whole_module_has_no_faults_of_its_own() {
        assert_eq!(built(&whole_module()).own_faults(), []);
    }

    #[test]
    fn an_undefined_function_is_named_with_its_caller() {
        let first = entry_names(PtxText::Nested, 80).next().unwrap();
        let call = "{\n.param .b32 retval0;\ncall.uni (retval0), llvm.nvvm.redux.sync.add, (param0, param1);\n}\n";
        let text = format!(
            ".extern .func (.param .b32 func_retval0) llvm.nvvm.redux.sync.add\n(\n.param .b32 a,\n.param .b32 b\n)\n;\n{}",
            whole_module().replacen("ret;", &format!("{call}ret;"), 1)
        );
        assert_eq!(
            messages(&built(&text).own_faults()),
            [format!(
                "theirs.ptx: line 1: function `llvm.nvvm.redux.sync.add` is declared but nothing defines it (called from `{first}` \
                 on line 11); it would fail when the module is loaded"
            )]
        );
    }

    #[test]
    fn a_missing_entry_is_named() {
        let text = whole_module().replacen("nested_sync", "renamed", 1);
        let found = messages(&built(&text).own_faults());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0]
                .starts_with("theirs.ptx lacks entries that the catalogue lists: `nested_sync`;"),
            "{found:?}"
        );
        assert!(found[1].contains("does not list: `renamed`"), "{found:?}");
    }

    #[test]
    fn a_barrier_too_many_is_named_with_both_counts() {
        let ours = kernel("sum", "bar.sync 0;\nbar.warp.sync -1;\n");
        let theirs = kernel("sum", "@%p1 bra $A;\nbar.sync 0;\n$A: bar.sync 0;\n")
            + &kernel("more", "bar.sync 0;\n");
        let found = messages(&built(&theirs).differences("ours.ptx", &ours));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("theirs.ptx: `sum` has 2 `bar.sync`, and 1 in ours.ptx; unless one"),
            "{found:?}"
        );
    }

    #[test]
    fn equal_counts_are_right_wherever_the_barriers_stand() {
        let ours = kernel("sum", "bar.sync 0;\nadd.s32 %r1, %r1, 1;\n");
        let theirs = kernel("sum", "add.s32 %r1, %r1, 1;\nbarrier.sync 0;\n");
        assert_eq!(built(&theirs).differences("ours.ptx", &ours), []);
    }

    #[test]
    fn a_trap_is_named_where_the_other_compiler_has_none() {
        let kernels = |body| kernel("sum", body) + &kernel("blocked", body);
        let found = messages(&built(&kernels("trap;\n")).differences("ours.ptx", &kernels("")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("theirs.ptx: `sum` has a `trap`, and none in ours.ptx; unless no")
                && found[0].contains("what is not, such as"),
            "{found:?}"
        );
        let with_trap = kernels("@%p1 trap;\n");
        assert_eq!(built(&with_trap).differences("ours.ptx", &with_trap), []);
    }

    #[test]
    fn the_kernels_with_an_idle_trap_exist() {
        let kernels: Vec<&str> = entry_names(PtxText::Kernels, 90).collect();
        for name in IDLE_TRAPS {
            assert!(kernels.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_stale_or_absent_file_is_not_compared_with() {
        let root = tempfile::tempdir().unwrap();
        let file = "kernels/ptx/kernels.sm_80.ptx";
        let committed = || committed(root.path(), file, "bb").unwrap().unwrap_err();
        assert!(matches!(committed(), Finding::Missing { .. }));
        fs::create_dir_all(root.path().join("kernels/ptx")).unwrap();
        let header = Header {
            generator: "g".into(),
            compiler: "c".into(),
            target: "t".into(),
            source_hash: "aa".into(),
        };
        let path = root.path().join(file);
        fs::write(&path, header.to_string()).unwrap();
        assert!(matches!(committed(), Finding::Stale { .. }));
        fs::write(&path, "ret;").unwrap();
        assert!(matches!(committed(), Finding::NoHeader { .. }));
    }
}
