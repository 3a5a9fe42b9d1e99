//! Where an instruction comes from in the source, according to the `.loc` directives of the PTX.

use std::fmt;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file's name as the compiler wrote it, without a `./` before it; empty where `.file` does not name it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// What an instruction was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The line in the kernel's own file; where another line was inlined there, the call, or a line shortly before it.
    pub own: SourcePlace,
    /// The line of another file that was inlined.
    pub inlined: Option<SourcePlace>,
}

/// `kernels/src/kernel.rs:17`.
impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What rustc calls the folder of the language's own library.
const LIBRARY: &str = "/rustc/";

/// `kernels/src/kernel.rs:17 → tree.rs:12`; lines of the language's own library are left out.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.own)?;
        match &self.inlined {
            Some(SourcePlace { file, line }) if !file.starts_with(LIBRARY) => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                write!(f, " → {name}:{line}")
            }
            _ => Ok(()),
        }
    }
}
