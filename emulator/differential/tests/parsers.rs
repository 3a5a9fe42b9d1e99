//! Every PTX file of the repository, read by the emulator's parser and by [`ptx_syntax`], which knows every form of the
//! instructions of PTX ISA 9.0 as a type of its own: both have to find the same entries, parameters and instructions.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_syntax::r#type::{
    DataType, FunctionBody, FunctionStatement, Instruction, ModuleDirective, ParameterDirective,
};
use ptx_syntax::{PtxUnlexer, PtxUnparser};
use warpfold_emulator::Module;

/// Where the repository keeps PTX, from its root.
const FOLDERS: [&str; 2] = ["emulator/tests/data", "kernels/ptx"];

/// A right form that the other parser refuses, and one that it takes in its place.
struct Limit {
    file: &'static str,
    form: &'static str,
    instead: &'static str,
}

const LIMITS: [Limit; 0] = [];

/// An entry or function with a body, as the other parser sees it.
struct Definition {
    name: String,
    is_entry: bool,
    parameters: Vec<Parameter>,
    /// Line, and guard and opcode with modifiers.
    instructions: Vec<(u32, String)>,
}

#[derive(Debug, PartialEq)]
struct Parameter {
    name: String,
    bytes: usize,
}

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
    for definition in &definitions {
        let name = &definition.name;
        if definition.is_entry {
            let ours: Option<Vec<Parameter>> = module.parameters(name).map(|parameters| {
                parameters
                    .into_iter()
                    .map(|warpfold_emulator::Parameter { name, bytes, .. }| Parameter { name, bytes })
                    .collect()
            });
            if ours.as_ref() != Some(&definition.parameters) {
                disagreements.push(format!(
                    "{file}: parameters of `{name}` {ours:?} against {:?}",
                    definition.parameters
                ));
            }
        }
        let ours: Vec<(u32, String)> = module
            .instructions(name)
            .unwrap_or_default()
            .into_iter()
            .map(|(line, text)| (line, replace(&text, limits())))
            .collect();
        let theirs = &definition.instructions;
        if ours.len() != theirs.len() {
            disagreements.push(format!(
                "{file}: `{name}` has {} instructions against {}",
                ours.len(),
                theirs.len()
            ));
        }
        if let Some((ours, theirs)) = ours.iter().zip(theirs).find(|(ours, theirs)| ours != theirs) {
            disagreements.push(format!("{file}: `{name}`: {ours:?} against {theirs:?}"));
        }
    }
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

/// What the other parser finds in a text.
fn parse(source: String) -> Result<Vec<Definition>, String> {
    // Unoptimised, it needs more stack than a test has.
    ptx_syntax::run_with_large_stack(move || {
        let module = ptx_syntax::parse_ptx(&source).map_err(|error| error.to_string())?;
        let lines = LineNumbers::new(&source);
        Ok(module
            .directives
            .iter()
            .filter_map(|directive| definition(directive, &lines))
            .collect())
    })
}

fn definition(directive: &ModuleDirective, lines: &LineNumbers) -> Option<Definition> {
    let (name, is_entry, parameters, body) = match directive {
        ModuleDirective::EntryFunction { directive, .. } => {
            (&directive.name, true, &directive.params, &directive.body)
        }
        ModuleDirective::FuncFunction { directive, .. } => {
            (&directive.name, false, &directive.params, &directive.body)
        }
        _ => return None,
    };
    let FunctionBody { statements, .. } = body.as_ref()?;
    let mut instructions = Vec::new();
    collect(statements, lines, &mut instructions);
    Some(Definition {
        name: name.val.clone(),
        is_entry,
        parameters: parameters.iter().map(parameter).collect(),
        instructions,
    })
}

fn parameter(directive: &ParameterDirective) -> Parameter {
    let (name, ty, dimensions) = match directive {
        ParameterDirective::Register { name, ty, .. } => (name, ty, [].as_slice()),
        ParameterDirective::Parameter {
            name, ty, array, ..
        } => (name, ty, array.as_slice()),
    };
    let elements: u64 = dimensions
        .iter()
        .map(|dimension| dimension.unwrap_or_default())
        .product();
    Parameter {
        name: name.val.clone(),
        bytes: bytes(ty) * elements as usize,
    }
}

fn bytes(ty: &DataType) -> usize {
    match ty {
        DataType::B8 { .. } | DataType::S8 { .. } | DataType::U8 { .. } => 1,
        DataType::B16 { .. } | DataType::S16 { .. } | DataType::U16 { .. } => 2,
        DataType::F16 { .. } => 2,
        DataType::B32 { .. } | DataType::S32 { .. } | DataType::U32 { .. } => 4,
        DataType::F32 { .. } | DataType::F16x2 { .. } => 4,
        DataType::B64 { .. } | DataType::S64 { .. } | DataType::U64 { .. } => 8,
        DataType::F64 { .. } => 8,
        DataType::B128 { .. } => 16,
        other => panic!("a parameter of type {other:?}"),
    }
}

fn collect(
    statements: &[FunctionStatement],
    lines: &LineNumbers,
    instructions: &mut Vec<(u32, String)>,
) {
    for statement in statements {
        match statement {
            FunctionStatement::Instruction { instruction, .. } => instructions.push((
                lines.of(instruction.span.start),
                without_operands(instruction),
            )),
            FunctionStatement::Block { statements, .. } => collect(statements, lines, instructions),
            FunctionStatement::Label { .. } | FunctionStatement::Directive { .. } => {}
        }
    }
}

/// Guard and opcode with modifiers, put together from the parsed form: `@!%p1 bra.uni`.
fn without_operands(instruction: &Instruction) -> String {
    let guard = instruction
        .predicate
        .as_ref()
        .map_or(String::new(), |predicate| {
            let not = if predicate.negated { "!" } else { "" };
            format!("@{not}{} ", text(&predicate.operand))
        });
    let whole = text(&instruction.inst);
    let opcode = whole.split([' ', ';']).next().unwrap_or_default();
    guard + opcode
}

fn text(node: &impl PtxUnparser) -> String {
    PtxUnlexer::to_string(&node.to_tokens_spaced()).expect("a String can be written to")
}

/// Where the lines of a text begin.
struct LineNumbers(Vec<usize>);

impl LineNumbers {
    fn new(source: &str) -> Self {
        let breaks = source.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    /// The line, counted from 1, of a place in bytes.
    fn of(&self, place: usize) -> u32 {
        self.0.partition_point(|&start| start <= place) as u32
    }
}
