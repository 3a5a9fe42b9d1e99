//! That no modules of ours depend on one another in a circle, and that a circle would be seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::circles::circles;
use super::error::ArchitectureError;
use super::modules::Modules;
use super::workspace::{Package, Workspace};
use super::{complaints, picture};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate is in a folder")
}

#[test]
fn no_modules_depend_on_one_another_in_a_circle() {
    let workspace = Workspace::of(repository()).unwrap();
    let complaints = complaints(&workspace, repository()).unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A crate of these files.
struct Planted(TempDir);

impl Planted {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("lib.rs")
    }

    fn modules(&self) -> Result<Modules, ArchitectureError> {
        Modules::read(&self.root(), self.0.path())
    }

    /// What is said of each circle.
    fn circles(&self) -> Vec<String> {
        let modules = self.modules().unwrap();
        circles(&modules).iter().map(ToString::to_string).collect()
    }

    /// A workspace of this crate alone.
    fn workspace(&self) -> Workspace {
        let target =
            serde_json::json!({"name": "planted", "kind": ["lib"], "src_path": self.root()});
        let package =
            serde_json::json!({"name": "planted", "dependencies": [], "targets": [target]});
        Workspace {
            packages: vec![serde_json::from_value::<Package>(package).unwrap()],
        }
    }
}

#[track_caller]
fn says(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(Planted::new(files).circles(), expected);
}

#[test]
fn a_planted_circle_is_named_with_a_line_for_each_step() {
    says(
        &[
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "//! A.\n\nuse crate::b::B;\n"),
            ("b.rs", "pub struct B;\nfn f() { super::c::g(); }\n"),
            ("c.rs", "use crate::{a::A, b};\n"),
        ],
        &[
            "b → c → b\n  b uses c: b.rs:2: fn f() { super::c::g(); }\n  c uses b: c.rs:1: use crate::{a::A, b};",
        ],
    );
}

#[test]
fn a_longer_circle_is_named_whole() {
    says(
        &[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "use super::c;\n"),
            ("c.rs", "m!(crate::a::A);\n"),
            ("d.rs", "use crate::a::A;\n"),
        ],
        &[
            "a → b → c → a\n  a uses b: a.rs:1: use crate::b::B;\n  b uses c: b.rs:1: use super::c;\n  c uses a: c.rs:1: m!(crate::a::A);",
        ],
    );
}

#[test]
fn folders_that_use_each_other_are_a_circle() {
    says(
        &[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a/mod.rs", "mod high;\nmod low;\n"),
            ("a/high.rs", "use crate::b::middle;\n"),
            ("a/low.rs", ""),
            ("b/mod.rs", "mod middle;\n"),
            ("b/middle.rs", "use crate::a::low;\n"),
        ],
        &[
            "a → b → a\n  a uses b: a/high.rs:1: use crate::b::middle;\n  b uses a: b/middle.rs:1: use crate::a::low;",
        ],
    );
}

#[test]
fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
    let child = ("a/b.rs", "use super::C;\npub struct B;\n");
    let uses = "\n  a::b uses a: a/b.rs:1: use super::C;";
    for (parent, line) in [
        ("mod b;\nuse b::B;\nstruct C;\n", "a.rs:2: use b::B;"),
        ("mod b;\nstruct C(b::B);\n", "a.rs:2: struct C(b::B);"),
        // What is passed on and used besides.
        (
            "mod b;\npub use b::B;\nstruct C(B);\n",
            "a.rs:2: pub use b::B;",
        ),
        (
            "mod b;\npub use b::*;\nstruct C;\n",
            "a.rs:2: pub use b::*;",
        ),
    ] {
        says(
            &[("lib.rs", "mod a;\n"), ("a.rs", parent), child],
            &[&format!("a → a::b → a\n  a uses a::b: {line}{uses}")],
        );
    }
}

#[test]
fn a_name_that_a_parent_passes_on_leads_to_its_definition() {
    says(
        &[
            (
                "lib.rs",
                "mod a;\nmod b;\npub use a::A;\npub use b::B as C;\n",
            ),
            ("a.rs", "use crate::C;\n"),
            ("b.rs", "use crate::A;\n"),
        ],
        &["a → b → a\n  a uses b: a.rs:1: use crate::C;\n  b uses a: b.rs:1: use crate::A;"],
    );
}

#[test]
fn a_child_may_use_its_parent_or_be_passed_on() {
    says(
        &[
            ("lib.rs", "mod a;\nmod d;\npub use a::b::B;\n"),
            (
                "a/mod.rs",
                "pub mod b;\npub struct Parser;\nimpl Parser { fn parse(&self) { self.b() } }\n",
            ),
            (
                "a/b.rs",
                "use super::Parser;\nuse crate::B;\npub(in crate::a) struct B;\npub(super) fn f() {}\n",
            ),
            ("d/mod.rs", "mod e;\nmod f;\npub use e::E;\npub use f::F;\n"),
            ("d/e.rs", "use super::F;\nuse ::a::b;\nuse std::a::d;\n"),
            ("d/f.rs", "mod inner { use super::F; }\nuse inner::G;\n"),
        ],
        &[],
    );
}

#[test]
fn what_tests_alone_use_makes_no_circle() {
    let used_by_tests = "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
    says(
        &[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", used_by_tests),
        ],
        &[],
    );
}

#[test]
fn a_circle_is_complained_of_with_the_name_of_its_crate() {
    let planted = Planted::new(&[
        ("lib.rs", "mod device;\n"),
        ("device/mod.rs", "mod a;\nmod b;\n"),
        ("device/a.rs", "use super::b::B;\n"),
        ("device/b.rs", "use super::a::A;\n"),
    ]);
    let complaints = complaints(&planted.workspace(), planted.0.path()).unwrap();
    assert_eq!(complaints.len(), 1);
    let beginning =
        "modules of planted depend on one another in a circle: device::a → device::b → device::a";
    assert!(complaints[0].starts_with(beginning), "{complaints:?}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let planted = Planted::new(&[("lib.rs", "mod a;\n")]);
    let message = planted.modules().err().unwrap().to_string();
    assert!(message.contains("cannot read a.rs"), "{message}");
}

#[test]
fn modules_are_drawn_above_those_that_they_use() {
    let planted = Planted::new(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use d::D;\n"),
        ("a.rs", "use crate::b::B;\n"),
        ("b.rs", "use crate::c::C;\n"),
        ("c.rs", ""),
        ("d.rs", "use crate::c::C;\n"),
    ]);
    let modules = planted.modules().unwrap();
    let block = picture::block(
        &planted.workspace(),
        &BTreeMap::from([("planted", modules)]),
    );
    assert!(
        block.contains("planted\n    a\n    b d\n    c\n"),
        "{block}"
    );
    let text = "before\n<!-- modules: begin -->\nold\n<!-- modules: end -->\nafter\n";
    let drawn = picture::with_block(text, &block).unwrap();
    assert_eq!(
        drawn,
        format!("before\n<!-- modules: begin -->\n{block}<!-- modules: end -->\nafter\n")
    );
    assert_eq!(picture::with_block("no markers", &block), None);
}
