//! *Addition to rust-cuda's API:* textual checks on finished PTX: what the compiler lets pass and the driver, or nobody,
//! would notice later.

mod check;
mod launch_bounds;
mod scan;

use std::fmt;

pub use crate::ptxas::{Assembled, assemble, registers};
pub use check::check;
pub use launch_bounds::with_launch_bounds;

/// *Addition to rust-cuda's API:* something wrong with a PTX module, with the entry and line where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Nothing in the module can be launched.
    #[error(
        "the module has no `.entry`: mark the kernels `#[kernel]`, or `#[unsafe(no_mangle)] pub extern \"ptx-kernel\"`, in \
         the crate that is compiled"
    )]
    NoEntry,
    /// A function is declared, and neither the module nor CUDA's device library defines it.
    #[error(
        "line {line}: function `{function}` is declared but nothing defines it{}; it would fail when the module is loaded",
        called_from(.caller)
    )]
    UndefinedFunction {
        /// The function's name in the PTX.
        function: String,
        /// The line of the declaration.
        line: usize,
        /// The entry or function that calls it first, and the line of that call.
        caller: Option<(String, usize)>,
    },
    /// A variable is declared, and the module does not define it.
    #[error(
        "line {line}: static variable `{variable}` is declared but nothing defines it, because it belongs to a dependency: \
         make it a `const` there"
    )]
    UndefinedVariable {
        /// The variable's name in the PTX.
        variable: String,
        /// The line of the declaration.
        line: usize,
    },
    /// A shared array is declared more than once, so that threads would use different copies.
    #[error(
        "line {line}: {} declares the shared array `{array}` again (first on line {first_line}); the inline assembly that \
         declares it was duplicated",
        within(.entry)
    )]
    SharedDeclaredAgain {
        /// The entry or function that holds the declaration, `None` for the module itself.
        entry: Option<String>,
        /// The array's name.
        array: String,
        /// The line of the declaration too many.
        line: usize,
        /// The line of the first declaration.
        first_line: usize,
    },
    /// A declaration of launch bounds that no header can take.
    #[error(
        "line {line}: the launch bounds `{declared}` {reason}: declare them once, in the body of a kernel, as \
         `.maxntid THREADS` or `.maxntid THREADS .minnctapersm BLOCKS`"
    )]
    LaunchBounds {
        /// What is declared.
        declared: String,
        /// The line of the declaration.
        line: usize,
        /// What is wrong with it: the rest of a sentence.
        reason: &'static str,
    },
}

fn called_from(caller: &Option<(String, usize)>) -> impl fmt::Display {
    caller
        .as_ref()
        .map(|(entry, line)| format!(" (called from `{entry}` on line {line})"))
        .unwrap_or_default()
}

fn within(entry: &Option<String>) -> impl fmt::Display {
    entry
        .as_ref()
        .map_or("the module".to_owned(), |entry| format!("`{entry}`"))
}

/// *Addition to rust-cuda's API:* the names of all kernels (`.entry`) in the PTX, in the order of the text.
pub fn entries(ptx: &str) -> Vec<String> {
    scan::scan(ptx)
        .functions
        .into_iter()
        .filter(|function| function.is_entry)
        .map(|function| function.name)
        .collect()
}

/// *Addition to rust-cuda's API:* each kernel (`.entry`) of the PTX with its instructions in the order of the text: the
/// operation of each, such as `ld.global.b32`, without predicate and operands.
pub fn operations(ptx: &str) -> Vec<(String, Vec<String>)> {
    scan::scan(ptx)
        .functions
        .into_iter()
        .filter(|function| function.is_entry)
        .map(|function| (function.name, function.operations))
        .collect()
}
