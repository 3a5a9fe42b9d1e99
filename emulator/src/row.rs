//! Where an operand is in the register file of a warp.

use crate::types::Scalar;

/// A row of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Narrow(u32),
    Wide(u32),
}

impl Row {
    /// The row of a register or value of this type.
    pub fn of(ty: Scalar, row: u32) -> Self {
        if ty.bytes() == 8 {
            Self::Wide(row)
        } else {
            Self::Narrow(row)
        }
    }
}
