//! What `cuda_std` and `cuda_builder` export, rust-cuda's export under the same name with the same signature, so that a crate
//! written for one compiles with the other; what goes beyond it says so in its documentation.

#[path = "api/exports.rs"]
mod exports;
#[path = "api/list.rs"]
mod list;

use std::collections::BTreeMap;
use std::path::Path;

use exports::{Found, MARK};
use list::{Export, FILE, listed};

fn exported() -> Vec<Found> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = exports::of_crate("cuda_std", &repository.join("cuda_std/src"));
    found.extend(exports::of_crate(
        "cuda_builder",
        &repository.join("cuda_builder/src"),
    ));
    found
}

fn lines(exports: &[Export]) -> String {
    exports
        .iter()
        .map(|export| format!("\n  {}: {}", export.module, export.signature))
        .collect()
}

#[test]
fn what_is_exported_is_what_is_listed() {
    let exported: Vec<Export> = exported().into_iter().map(|found| found.export).collect();
    let listed: Vec<Export> = listed().into_iter().map(|line| line.export).collect();
    let only_in = |some: &[Export], others: &[Export]| -> Vec<Export> {
        let only = |export: &&Export| !others.contains(export);
        some.iter().filter(only).cloned().collect()
    };
    let unlisted = only_in(&exported, &listed);
    assert!(
        unlisted.is_empty(),
        "{FILE} does not list these: add each as rust-cuda has it, or with `+ ` and the words `{MARK}` in its \
         documentation:{}",
        lines(&unlisted)
    );
    let gone = only_in(&listed, &exported);
    assert!(
        gone.is_empty(),
        "{FILE} lists these, which neither crate exports:{}",
        lines(&gone)
    );
}

#[test]
fn an_addition_says_so_and_nothing_else_does() {
    let is_addition: BTreeMap<Export, bool> = listed()
        .into_iter()
        .map(|line| (line.export, line.is_addition))
        .collect();
    for found in exported() {
        let Some(&is_addition) = is_addition.get(&found.export) else {
            continue;
        };
        assert_eq!(
            found.is_marked,
            is_addition,
            "{}: `{}` must {}begin its documentation with `{MARK}`",
            found.export.module,
            found.export.signature,
            if is_addition { "" } else { "not " }
        );
    }
}

#[test]
fn nothing_is_listed_twice() {
    let mut lines: Vec<Export> = listed().into_iter().map(|line| line.export).collect();
    let count = lines.len();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), count);
}

#[test]
fn every_kind_of_export_is_found_in_a_source() {
    let found = exports::of_source(
        "demo",
        r#"
            mod private {
                pub fn hidden() {}
                /// *Addition to rust-cuda's API:* an option.
                pub struct Option { pub level: u32, secret: u8 }
                impl Option { pub fn set(mut self, level: u32,) -> Self { self } fn helper() {} }
            }
            pub use private::Option;
            pub use elsewhere::kernel;
            registers! { /// The lane.
                pub fn lane() -> u32 { _lane } }
            pub enum Order { First = "1", Second(u32,) }
            pub trait Value: Sized { unsafe fn get(self) -> u32; }
            #[cfg(test)] mod tests { pub fn not_exported() {} }
            pub(crate) fn neither() {}
        "#,
    );
    let found: Vec<(String, bool)> = found
        .into_iter()
        .map(|found| (found.export.signature.replace(' ', ""), found.is_marked))
        .collect();
    let expected = [
        ("pubstructOption", true),
        ("Option::level:u32", true),
        ("pubusekernel", false),
        ("pubfnlane()->u32", false),
        ("pubenumOrder", false),
        ("Order::First", false),
        ("Order::Second(u32)", false),
        ("pubtraitValue:Sized", false),
        ("Value::unsafefnget(self)->u32", false),
        ("Option::fnset(self,level:u32)->Self", true),
    ]
    .map(|(signature, is_marked)| (signature.to_owned(), is_marked));
    assert_eq!(found, expected);
}
