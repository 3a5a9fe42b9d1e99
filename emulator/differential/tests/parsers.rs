//! Every PTX file of the repository, read by the emulator and by an independent parser: both have to find the same entries,
//! parameters and instructions.

use std::fs;
use std::path::{Path, PathBuf};

use warpfold_emulator::Module;
use warpfold_emulator_differential::{Definition, parse};

/// Where the repository keeps PTX, from its root.
const FOLDERS: [&str; 2] = ["emulator/tests/data", "kernels/ptx"];

/// A right form that the other parser refuses, and one that it takes in its place.
struct Limit {
    file: &'static str,
    form: &'static str,
    instead: &'static str,
}

const fn sum_of_doubles(file: &'static str) -> Limit {
    Limit {
        file,
        form: "red.relaxed.gpu.global.add.f64",
        instead: "red.add.global.relaxed.gpu.f64",
    }
}

const fn sum_in_shared_memory(file: &'static str) -> Limit {
    Limit {
        file,
        form: "red.relaxed.cta.shared.add.u32",
        instead: "red.add.shared.relaxed.cta.u32",
    }
}

/// A reduction by bulk copies of `bulk.cu`: operation and type.
const fn reduction(form: &'static str) -> Limit {
    Limit {
        file: "bulk.nvcc.sm_90a.ptx",
        form,
        instead: "bulk_group.add.noftz.f16",
    }
}

const LIMITS: [Limit; 23] = [
    // An initialiser with the generic address of a variable (PTX ISA §5.4.4).
    Limit {
        file: "basics.nvcc.sm_80.ptx",
        form: "generic(counter)",
        instead: "counter",
    },
    // A prototype with a return parameter: the other parser knows no parentheses around it.
    Limit {
        file: "basics.nvcc.sm_80.ptx",
        form: ".callprototype (.param .b32 _) _ (",
        instead: ".callprototype _ (",
    },
    Limit {
        file: "functions.rustc.sm_80.ptx",
        form: ".callprototype (.param .b64 _) _ (",
        instead: ".callprototype _ (",
    },
    Limit {
        file: "by_value.clang.sm_80.ptx",
        form: ".callprototype (.param .b32 _) _ (",
        instead: ".callprototype _ (",
    },
    // The other parser knows no size of a cluster.
    Limit {
        file: "hopper.nvcc.sm_90.ptx",
        form: ".explicitcluster\n.reqnctapercluster",
        instead: "\n.reqntid",
    },
    Limit {
        file: "bulk.nvcc.sm_90a.ptx",
        form: ".explicitcluster\n.reqnctapercluster",
        instead: "\n.reqntid",
    },
    // It has the operation of `red` in front of all other modifiers.
    sum_of_doubles("kernels.sm_70.ptx"),
    sum_of_doubles("kernels.sm_80.ptx"),
    sum_of_doubles("kernels.sm_90.ptx"),
    sum_in_shared_memory("kernels.sm_70.ptx"),
    sum_in_shared_memory("kernels.sm_80.ptx"),
    sum_in_shared_memory("kernels.sm_90.ptx"),
    // Of the reductions by bulk copies into global memory, it knows `.add.noftz` only.
    reduction("bulk_group.add.f32"),
    reduction("bulk_group.add.f64"),
    reduction("bulk_group.add.s32"),
    reduction("bulk_group.dec.u32"),
    reduction("bulk_group.inc.u32"),
    reduction("bulk_group.max.bf16"),
    reduction("bulk_group.max.s64"),
    reduction("bulk_group.min.f16"),
    reduction("bulk_group.xor.b64"),
    // nvcc writes the scope behind the state space, where the manual has it in front.
    Limit {
        file: "sync.nvcc.sm_80.ptx",
        form: "atom.global.cta.",
        instead: "atom.cta.global.",
    },
    Limit {
        file: "sync.nvcc.sm_80.ptx",
        form: "atom.global.sys.",
        instead: "atom.sys.global.",
    },
];

#[test]
fn the_emulator_and_an_independent_parser_read_the_same() {
    let mut disagreements = Vec::new();
    for folder in FOLDERS {
        let files = ptx_files(folder);
        assert!(!files.is_empty(), "{folder} has no PTX");
        for file in files {
            compare(&file, &mut disagreements);
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

#[test]
fn the_other_parser_still_refuses_the_forms_that_are_replaced_for_it() {
    for limit in &LIMITS {
        let Limit { file, form, .. } = limit;
        let path = FOLDERS
            .iter()
            .map(|folder| repository().join(folder).join(file))
            .find(|path| path.exists())
            .unwrap_or_else(|| panic!("there is no {file}"));
        let source = read(&path);
        assert!(source.contains(form), "{file} has no `{form}`");
        let others = LIMITS
            .iter()
            .filter(|other| other.file == *file && other.form != *form);
        assert!(
            parse(replace(&source, others)).is_err(),
            "the other parser takes `{form}` now: remove it from LIMITS"
        );
    }
}

fn compare(path: &Path, disagreements: &mut Vec<String>) {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let source = read(path);
    let limits = || LIMITS.iter().filter(|limit| limit.file == file);
    let module = Module::parse(&source).unwrap_or_else(|error| panic!("{file}: {error}"));
    let definitions =
        parse(replace(&source, limits())).unwrap_or_else(|error| panic!("{file}: {error}"));

    let ours: Vec<&str> = module.entries().collect();
    let theirs: Vec<&str> = definitions
        .iter()
        .filter(|definition| definition.is_entry)
        .map(|definition| definition.name.as_str())
        .collect();
    if ours != theirs {
        disagreements.push(format!("{file}: entries {ours:?} against {theirs:?}"));
    }
    let found = definitions
        .iter()
        .flat_map(|definition| differences(&module, definition, limits));
    disagreements.extend(found.map(|difference| format!("{file}: {difference}")));
}

/// What the emulator sees otherwise in one entry or function.
fn differences<'a, L: Iterator<Item = &'a Limit>>(
    module: &Module,
    theirs: &Definition,
    limits: impl Fn() -> L,
) -> Vec<String> {
    let name = &theirs.name;
    let mut differences = Vec::new();
    if theirs.is_entry {
        let parameters = module.parameters(name).unwrap_or_default();
        let ours: Vec<(String, usize)> = parameters
            .into_iter()
            .map(|parameter| (parameter.name, parameter.bytes))
            .collect();
        if ours != theirs.parameters {
            differences.push(format!(
                "parameters of `{name}`: {ours:?} against {:?}",
                theirs.parameters
            ));
        }
    }
    let ours = module.instructions(name).unwrap_or_default();
    if ours.len() != theirs.instructions.len() {
        differences.push(format!(
            "`{name}` has {} instructions against {}",
            ours.len(),
            theirs.instructions.len()
        ));
    }
    let pairs = ours.into_iter().zip(&theirs.instructions);
    let mut unequal = pairs
        .map(|((line, text), theirs)| ((line, replace(&text, limits())), theirs))
        .filter(|(ours, theirs)| ours != *theirs);
    if let Some((ours, theirs)) = unequal.next() {
        differences.push(format!("`{name}`: {ours:?} against {theirs:?}"));
    }
    differences
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ptx_files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join(folder))
        .unwrap_or_else(|error| panic!("{folder} cannot be listed: {error}"));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn replace<'a>(text: &str, limits: impl Iterator<Item = &'a Limit>) -> String {
    limits.fold(text.to_owned(), |text, limit| {
        text.replace(limit.form, limit.instead)
    })
}
