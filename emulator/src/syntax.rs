//! The syntax tree of a PTX module, names unresolved.

use crate::types::{Scalar, Space};

/// A whole module.
#[derive(Debug, Default)]
pub(crate) struct ModuleSyntax {
    /// The number in `.target sm_80`.
    pub target_sm: u32,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Entries and functions, declarations included.
    pub functions: Vec<Function>,
    /// Names of `.file`s by their number.
    pub files: Vec<(u64, String)>,
    /// `.alias a, b`: the name and what it stands for.
    pub aliases: Vec<(String, String)>,
}

impl ModuleSyntax {
    /// The function that a name stands for.
    pub fn resolve_alias<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases
            .iter()
            .find(|(alias, _)| alias == name)
            .map_or(name, |(_, target)| target)
    }

    /// The entry of this name, unless it is only declared.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        let name = self.resolve_alias(name);
        self.functions
            .iter()
            .find(|function| function.name == name && function.is_entry && function.body.is_some())
    }

    /// The device function of this name, unless it is only declared.
    pub fn function_with_body(&self, name: &str) -> Option<&Function> {
        let name = self.resolve_alias(name);
        self.functions
            .iter()
            .find(|function| function.name == name && !function.is_entry && function.body.is_some())
    }
}

/// A variable outside registers: `.shared .align 4 .b8 tile[2048]`.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub line: u32,
    pub space: Space,
    pub name: String,
    pub align: u64,
    /// Size in bytes; 0 for an array of unknown size (`extern .shared`).
    pub bytes: u64,
    /// Declared without a size.
    pub unsized_array: bool,
    pub external: bool,
    pub initial: Vec<Initial>,
}

/// One piece of an initialiser at an offset from the variable's start.
#[derive(Debug, Clone)]
pub(crate) struct Initial {
    pub line: u32,
    pub offset: u64,
    pub bytes: usize,
    pub value: InitialValue,
}

/// A number, or the address of another symbol plus an offset.
#[derive(Debug, Clone)]
pub(crate) enum InitialValue {
    Bits(u64),
    /// Of that address, the bits under the mask, moved to the lowest place: `0xFF00(symbol)`.
    Symbol {
        name: String,
        offset: i64,
        mask: u64,
    },
}

/// A parameter of an entry or function.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub name: String,
    pub bytes: usize,
    pub align: usize,
}

/// An `.entry` or a `.func`.
#[derive(Debug)]
pub(crate) struct Function {
    pub line: u32,
    pub last_line: u32,
    pub name: String,
    pub is_entry: bool,
    pub returns: Vec<Parameter>,
    pub parameters: Vec<Parameter>,
    /// From `.reqntid`: the only block shape allowed.
    pub required_block: Option<[u32; 3]>,
    /// Blocks of a cluster along x, y and z.
    pub cluster: [u32; 3],
    /// From `.maxntid`: the most threads of a block.
    pub max_threads: Option<u64>,
    /// Why the emulator cannot run it, however right it may be: the line and what is missing.
    pub unsupported: Option<(u32, String)>,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement>>,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Registers {
        line: u32,
        ty: Scalar,
        names: Vec<RegisterNames>,
    },
    Variable(Variable),
    Label {
        line: u32,
        name: String,
    },
    /// `name: .branchtargets a, b;`
    BranchTargets {
        name: String,
        labels: Vec<String>,
    },
    /// `name: .callprototype …;`
    CallPrototype {
        name: String,
    },
    Instruction(Instruction),
    Scope(Vec<Statement>),
    /// A declaration that the emulator cannot honour: an error only for kernels that contain it.
    Unsupported {
        line: u32,
        message: String,
    },
    Location(Location),
}

/// A place in a source file, from `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub file: u64,
    pub line: u32,
}

/// `%r<7>` or `%p`.
#[derive(Debug)]
pub(crate) enum RegisterNames {
    One(String),
    Numbered { prefix: String, count: u64 },
}

#[derive(Debug)]
pub(crate) struct Instruction {
    pub line: u32,
    pub guard: Option<Guard>,
    /// The opcode up to the first dot.
    pub opcode: String,
    /// What follows it, without dots: `["global", "v4", "u32"]`.
    pub modifiers: Vec<String>,
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// `@!%p1 bra.uni`
    pub fn without_operands(&self) -> String {
        let guard = self.guard.as_ref().map_or(String::new(), |guard| {
            let not = if guard.negated { "!" } else { "" };
            format!("@{not}{} ", guard.predicate)
        });
        let opcode = std::iter::once(&self.opcode).chain(&self.modifiers);
        let opcode: Vec<&str> = opcode.map(String::as_str).collect();
        guard + &opcode.join(".")
    }
}

/// `@%p` or `@!%p`.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub predicate: String,
    pub negated: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Operand {
    /// A register, symbol, label or special register.
    Name(String),
    /// `!%p`
    Negated(String),
    /// `-%r`
    Minus(String),
    Integer(u64),
    F32(u32),
    F64(u64),
    /// `[base+offset]`; the base is a name or an absolute number.
    Address {
        base: Box<Operand>,
        offset: i64,
    },
    /// `{%r1, %r2}`
    Vector(Vec<Operand>),
    /// `(a, b)` in calls
    List(Vec<Operand>),
    /// `%p|%q`: a second destination
    Pair(Box<Operand>, Box<Operand>),
    /// `symbol+offset` outside brackets
    Sum {
        name: String,
        offset: i64,
    },
}

impl Operand {
    /// The elements of a vector; what is none is one element.
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Vector(elements) => elements,
            one => std::slice::from_ref(one),
        }
    }
}
