//! Debug information.

/// How much debug information the PTX carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DebugInfo {
    /// None.
    None,
    /// `.loc` directives, which tell profilers the source line of each instruction.
    LineTables,
}
