//! The catalogue and the PTX must name the same kernels.

use cuda_builder::ptx;
use warpfold_exhibits::catalogue::EXHIBITS;
use warpfold_kernels::catalogue::{PtxText, entry_names};

use super::compare::Finding;

/// Compares the entries of a module's PTX for compute capability `sm` with the catalogue, both ways.
pub fn compare(file: &str, ptx: &str, module: PtxText, sm: u32) -> Vec<Finding> {
    let expected: Vec<&str> = entry_names(module, sm).collect();
    let catalogue = "kernels/src/catalogue";
    compare_with(file, &ptx::entries(ptx), &expected, catalogue)
}

/// Compares the entries of the exhibits' PTX with their catalogue, both ways.
pub fn compare_exhibits(file: &str, ptx: &str) -> Vec<Finding> {
    let expected: Vec<&str> = EXHIBITS.iter().map(|exhibit| exhibit.id).collect();
    let catalogue = "kernels/exhibits/src/catalogue.rs";
    compare_with(file, &ptx::entries(ptx), &expected, catalogue)
}

fn compare_with(
    file: &str,
    found: &[String],
    expected: &[&str],
    catalogue: &'static str,
) -> Vec<Finding> {
    let missing: Vec<String> = expected
        .iter()
        .filter(|&&name| !found.iter().any(|entry| entry == name))
        .map(|&name| name.to_owned())
        .collect();
    let unknown: Vec<String> = found
        .iter()
        .filter(|entry| !expected.contains(&entry.as_str()))
        .cloned()
        .collect();
    let mut findings = Vec::new();
    if !missing.is_empty() {
        findings.push(Finding::EntriesMissing {
            file: file.to_owned(),
            entries: missing,
            catalogue,
        });
    }
    if !unknown.is_empty() {
        findings.push(Finding::EntriesUnknown {
            file: file.to_owned(),
            entries: unknown,
            catalogue,
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_same_names_in_any_order_are_right() {
        assert!(compare_with("k.ptx", &found("b a"), &["a", "b"], "list.rs").is_empty());
    }

    #[test]
    fn each_name_on_one_side_only_is_reported() {
        let findings = compare_with("k.ptx", &found("a extra"), &["a", "b", "c"], "list.rs");
        let messages: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "k.ptx lacks entries that the catalogue lists: `b`, `c`; write the kernels or mend list.rs",
                "k.ptx has entries that the catalogue does not list: `extra`; add them to list.rs or remove \
                 the kernels",
            ]
        );
    }

    #[test]
    fn the_catalogue_expects_something_of_every_architecture() {
        assert!(!compare("k.ptx", "", PtxText::Kernels, 70).is_empty());
        assert!(!compare_exhibits("k.ptx", "").is_empty());
    }
}
