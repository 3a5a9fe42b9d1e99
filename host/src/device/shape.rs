//! The shape of a launch.

use super::DeviceError;
use warpfold_emulator::Nesting;
use warpfold_emulator::limits::{MAX_GRID, check_extents};

/// How many blocks of how many threads a launch has, in x, y, z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamically sized shared memory of each block, on top of what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Whether all blocks have to run at once, because they wait for one another.
    pub cooperative: bool,
    /// The most grids launched by kernels that wait or run at a time. The device makes room for them; there is always room for 2048.
    pub pending_grids: u64,
}

impl Shape {
    /// The most blocks of a row.
    pub const MAX_BLOCKS: u32 = MAX_GRID[0];

    /// A row of `grid` blocks of `block` threads without dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Self {
        Self {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
            cooperative: false,
            pending_grids: 0,
        }
    }

    /// The same with this much dynamic shared memory for each block.
    #[must_use]
    pub fn with_dynamic_shared_bytes(self, bytes: u32) -> Self {
        Self {
            dynamic_shared_bytes: bytes,
            ..self
        }
    }

    /// The same as a cooperative launch, or not as one.
    #[must_use]
    pub fn with_cooperative(self, cooperative: bool) -> Self {
        Self {
            cooperative,
            ..self
        }
    }

    /// The same with room for this many grids launched by kernels.
    #[must_use]
    pub fn with_pending_grids(self, pending_grids: u64) -> Self {
        Self {
            pending_grids,
            ..self
        }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// What the emulator allows kernels that launch grids.
    pub fn nesting(&self) -> Nesting {
        let usual = Nesting::default();
        Nesting {
            pending: usual.pending.max(self.pending_grids),
            ..usual
        }
    }

    /// Checks the shape against the limits that every supported GPU and the emulator share.
    pub(super) fn check(&self, entry: &str) -> Result<(), DeviceError> {
        check_extents(self.grid, self.block).map_err(|reason| DeviceError::InvalidLaunch {
            entry: entry.to_owned(),
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(grid: [u32; 3], block: [u32; 3]) -> String {
        let shape = Shape {
            grid,
            block,
            ..Shape::linear(1, 1)
        };
        shape
            .check("k")
            .expect_err("this shape is out of bounds")
            .to_string()
    }

    #[test]
    fn the_largest_shapes_pass() {
        assert!(Shape::linear(Shape::MAX_BLOCKS, 1024).check("k").is_ok());
        let deep = Shape {
            grid: [1, 65_535, 65_535],
            block: [4, 4, 64],
            ..Shape::linear(1, 1)
        };
        assert!(deep.check("k").is_ok());
    }

    #[test]
    fn each_bad_extent_is_named() {
        assert_eq!(
            sentence([0, 1, 1], [64, 1, 1]),
            "kernel 'k' cannot be launched: 0 blocks along x, where 1 to 2147483647 are allowed"
        );
        assert_eq!(
            sentence([1, 1, 65_536], [64, 1, 1]),
            "kernel 'k' cannot be launched: 65536 blocks along z, where 1 to 65535 are allowed"
        );
        assert_eq!(
            sentence([1, 1, 1], [64, 0, 1]),
            "kernel 'k' cannot be launched: 0 threads along y, where 1 to 1024 are allowed"
        );
        assert_eq!(
            sentence([1, 1, 1], [64, 32, 1]),
            "kernel 'k' cannot be launched: 2048 threads in a block, where at most 1024 are allowed"
        );
    }
}
