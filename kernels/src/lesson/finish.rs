//! What reductions leave, and so which parameters their kernels have, in which order.

/// What a reduction leaves, and how it becomes one value. It decides the kernel's parameters: see [`Finish::roles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// One partial result per block, in block order, which the host combines.
    PartialPerBlock,
    /// Every block adds its result atomically to one word, which holds the identity before.
    Total,
    /// As `Total`, and the launch writes the identity to the total of the next launch.
    TotalInTurns,
    /// One partial result per block, which the kernel itself combines.
    OneLaunch,
    /// As `PartialPerBlock`, by blocks that launch grids.
    Nested {
        /// Whether every block launches grids of its own, or one block launches them for all.
        by_every_block: bool,
    },
}

/// What a parameter of a reduction's kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A pointer to the values.
    Input,
    /// A pointer to one partial result per block.
    Partials,
    /// A pointer to the result.
    Total,
    /// A pointer to the total of the next launch.
    NextTotal,
    /// The number of values, a `usize`.
    Count,
    /// A pointer to a `u64`, of which a kernel may use the lower half alone: 0 before and after.
    Counter,
    /// The number of elements of a block of the host's launch, a `u32`.
    Tile,
    /// A pointer to a `u32`: 0 before, and afterwards 0 or the error of a launch that the device has refused.
    Status,
}

impl Finish {
    /// The kernel's parameters in their order.
    pub const fn roles(self) -> &'static [Role] {
        use Role::{Count, Counter, Input, NextTotal, Partials, Status, Tile, Total};
        match self {
            Self::PartialPerBlock => &[Input, Partials, Count],
            Self::Total => &[Input, Total, Count],
            Self::TotalInTurns => &[Input, Total, Count, NextTotal],
            Self::OneLaunch => &[Input, Partials, Count, Total, Counter],
            Self::Nested { .. } => &[Input, Partials, Count, Tile, Status],
        }
    }

    /// The place of a parameter.
    ///
    /// # Panics
    /// Kernels that finish like this have no such parameter.
    pub fn place(self, role: Role) -> usize {
        let place = self.roles().iter().position(|&other| other == role);
        place.unwrap_or_else(|| panic!("no kernel that finishes by {self:?} takes a {role:?}"))
    }
}

impl Role {
    /// The size of the parameter in bytes; pointers have 64 bits.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Tile => 4,
            _ => 8,
        }
    }
}
