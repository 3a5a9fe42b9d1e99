//! What an independent parser finds in a PTX text, in the terms of the emulator's public interface. It is [`ptx_syntax`], which has
//! a type of its own for every form of every instruction of PTX ISA 9.0.

use ptx_syntax::r#type::{
    DataType, FunctionBody, FunctionStatement, Instruction, ModuleDirective, ParameterDirective,
};
use ptx_syntax::{PtxUnlexer, PtxUnparser};

/// An entry or function with a body.
#[derive(Debug)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Whether it is an `.entry`.
    pub is_entry: bool,
    /// Its parameters in order: name, and size in bytes.
    pub parameters: Vec<(String, usize)>,
    /// Its instructions in the order of the text: the line, counted from 1, then guard and opcode with modifiers.
    pub instructions: Vec<(u32, String)>,
}

/// What the parser finds in a text.
///
/// # Errors
/// Why it refuses the text.
pub fn parse(source: String) -> Result<Vec<Definition>, String> {
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

fn parameter(directive: &ParameterDirective) -> (String, usize) {
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
    (name.val.clone(), bytes(ty) * elements as usize)
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
