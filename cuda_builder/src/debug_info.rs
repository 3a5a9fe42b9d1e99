//! Debug information.

/// How much debug information the PTX carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DebugInfo {
    /// None.
    None,
    /// `.loc` directives alone, which say the source line of each instruction and change nothing else: `.target` does not ask for
    /// debugging.
    ///
    /// *Addition to rust-cuda's API:* there, line tables come for debuggers alone.
    LineDirectives,
    /// Line tables with the functions that were inlined, for debuggers. `.target` then ends with `debug`.
    LineTables,
}
