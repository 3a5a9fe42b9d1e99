//! A kernel of one side.

use super::kinds::Kinds;
use super::runs::Figures;

/// One kernel as one compiler made it.
pub(super) struct Compiled {
    pub entry: &'static str,
    pub kinds: Kinds,
    /// Registers of a thread, where there is a `ptxas`.
    pub registers: Option<u32>,
    pub figures: Figures,
}
