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
    files: &'static [&'static str],
    form: &'static str,
    instead: &'static str,
}

/// The ladder and its neighbours, for each architecture.
const KERNELS: &[&str] = &[
    "kernels.sm_70.ptx",
    "kernels.sm_80.ptx",
    "kernels.sm_90.ptx",
];

/// Those that need a newer version of PTX.
const RECENT: &[&str] = &["recent.sm_70.ptx", "recent.sm_80.ptx", "recent.sm_90.ptx"];

/// An addition without a result, which the other parser wants with its operation before all other modifiers.
const fn addition(
    files: &'static [&'static str],
    form: &'static str,
    instead: &'static str,
) -> Limit {
    Limit {
        files,
        form,
        instead,
    }
}

/// A reduction by bulk copies of `bulk.cu`: operation and type.
const fn reduction(form: &'static str) -> Limit {
    Limit {
        files: &["bulk.nvcc.sm_90a.ptx"],
        form,
        instead: "bulk_group.add.noftz.f16",
    }
}

const LIMITS: &[Limit] = &[
    // An initialiser with the generic address of a variable (PTX ISA §5.4.4).
    Limit {
        files: &["basics.nvcc.sm_80.ptx"],
        form: "generic(counter)",
        instead: "counter",
    },
    Limit {
        files: &["even_odd.rustc_O0.sm_80.ptx"],
        form: "generic(anon_$_9245a561a8a55a9e2f712bd87d5371c6_$_2), 10",
        instead: "anon_$_9245a561a8a55a9e2f712bd87d5371c6_$_2, 10",
    },
    // A prototype with a return parameter: the other parser knows no parentheses around it.
    Limit {
        files: &["basics.nvcc.sm_80.ptx", "by_value.clang.sm_80.ptx"],
        form: ".callprototype (.param .b32 _) _ (",
        instead: ".callprototype _ (",
    },
    Limit {
        files: &["functions.rustc.sm_80.ptx"],
        form: ".callprototype (.param .b64 _) _ (",
        instead: ".callprototype _ (",
    },
    // The other parser knows no size of a cluster.
    Limit {
        files: &["hopper.nvcc.sm_90.ptx", "bulk.nvcc.sm_90a.ptx"],
        form: ".explicitcluster\n.reqnctapercluster",
        instead: "\n.reqntid",
    },
    // It has the operation of `red` in front of all other modifiers.
    addition(
        KERNELS,
        "red.relaxed.gpu.global.add.f64",
        "red.add.global.relaxed.gpu.f64",
    ),
    addition(
        KERNELS,
        "red.relaxed.gpu.global.add.f32",
        "red.add.global.relaxed.gpu.f32",
    ),
    addition(
        KERNELS,
        "red.relaxed.cta.shared.add.u32",
        "red.add.shared.relaxed.cta.u32",
    ),
    addition(
        RECENT,
        "red.relaxed.gpu.global.add.noftz.f16",
        "red.add.global.relaxed.gpu.noftz.f16",
    ),
    addition(
        &["recent.sm_90.ptx"],
        "red.relaxed.gpu.global.add.noftz.bf16",
        "red.add.global.relaxed.gpu.noftz.bf16",
    ),
    // It knows no constants of a function.
    Limit {
        files: KERNELS,
        form: ".const .align 4 .b32 weights[16] = { 1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47 };",
        instead: ".shared .align 4 .b32 weights[16];",
    },
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
    // nvcc writes the scope after the state space, where the manual has it before.
    Limit {
        files: &["sync.nvcc.sm_80.ptx"],
        form: "atom.global.cta.",
        instead: "atom.cta.global.",
    },
    Limit {
        files: &["sync.nvcc.sm_80.ptx"],
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
    for limit in LIMITS {
        for file in limit.files {
            refuses(limit, file);
        }
    }
}

fn refuses(limit: &Limit, file: &str) {
    let form = limit.form;
    let path = FOLDERS
        .iter()
        .map(|folder| repository().join(folder).join(file))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("there is no {file}"));
    let source = read(&path);
    assert!(source.contains(form), "{file} has no `{form}`");
    let others = limits_of(file).filter(|other| other.form != form);
    assert!(
        parse(replace(&source, others)).is_err(),
        "the other parser takes `{form}` now: remove it from LIMITS"
    );
}

fn limits_of(file: &str) -> impl Iterator<Item = &'static Limit> {
    LIMITS
        .iter()
        .filter(move |limit| limit.files.contains(&file))
}

fn compare(path: &Path, disagreements: &mut Vec<String>) {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let source = read(path);
    let limits = || limits_of(&file);
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
