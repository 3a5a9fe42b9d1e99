//! Operands in memory: `[base + offset]` in a state space.

use crate::row::Row;
use crate::types::Space;

/// The operand `[base + offset]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub place: Where,
    pub base: Row,
    pub offset: i64,
}

/// Which memory an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Generic,
    Global,
    Const,
    /// The block's own shared memory.
    Shared,
    /// The shared memory of any block of the cluster.
    ClusterShared,
    Local,
    /// The launch's parameters.
    EntryParameter,
    /// The frame's parameter memory.
    FrameParameter,
}

impl Where {
    /// The state space for messages.
    pub fn space(self) -> Space {
        match self {
            Self::Generic => Space::Generic,
            Self::Global => Space::Global,
            Self::Const => Space::Const,
            Self::Shared | Self::ClusterShared => Space::Shared,
            Self::Local => Space::Local,
            Self::EntryParameter | Self::FrameParameter => Space::Param,
        }
    }
}
