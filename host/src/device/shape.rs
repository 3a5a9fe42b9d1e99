//! The shape of a launch.

use super::DeviceError;
use warpfold_emulator::Nesting;

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
        check_extent(
            entry,
            "grid",
            "blocks",
            self.grid,
            [i32::MAX as u32, 65_535, 65_535],
        )?;
        check_extent(entry, "block", "threads", self.block, [1024, 1024, 64])?;
        let threads: u64 = self.block.iter().map(|&extent| u64::from(extent)).product();
        if threads > 1024 {
            return Err(DeviceError::InvalidLaunch {
                entry: entry.to_owned(),
                reason: format!("a block of {threads} threads is too large: 1024 is the most"),
            });
        }
        Ok(())
    }
}

fn check_extent(
    entry: &str,
    of: &str,
    unit: &str,
    extent: [u32; 3],
    most: [u32; 3],
) -> Result<(), DeviceError> {
    for ((extent, most), axis) in extent.into_iter().zip(most).zip(["x", "y", "z"]) {
        if extent == 0 || extent > most {
            return Err(DeviceError::InvalidLaunch {
                entry: entry.to_owned(),
                reason: format!(
                    "the {of} has {extent} {unit} in {axis}, which must be 1 to {most}"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(grid: [u32; 3], block: [u32; 3]) -> String {
        let shape = Shape {
            grid,
            block,
            dynamic_shared_bytes: 0,
            cooperative: false,
            pending_grids: 0,
        };
        shape
            .check("k")
            .expect_err("this shape is out of bounds")
            .to_string()
    }

    #[test]
    fn the_largest_shapes_pass() {
        assert!(Shape::linear(i32::MAX as u32, 1024).check("k").is_ok());
        let deep = Shape {
            grid: [1, 65_535, 65_535],
            block: [4, 4, 64],
            dynamic_shared_bytes: 0,
            cooperative: false,
            pending_grids: 0,
        };
        assert!(deep.check("k").is_ok());
    }

    #[test]
    fn each_bad_extent_is_named() {
        assert_eq!(
            sentence([0, 1, 1], [64, 1, 1]),
            "kernel 'k' cannot be launched: the grid has 0 blocks in x, which must be 1 to 2147483647"
        );
        assert_eq!(
            sentence([1, 1, 65_536], [64, 1, 1]),
            "kernel 'k' cannot be launched: the grid has 65536 blocks in z, which must be 1 to 65535"
        );
        assert_eq!(
            sentence([1, 1, 1], [64, 0, 1]),
            "kernel 'k' cannot be launched: the block has 0 threads in y, which must be 1 to 1024"
        );
        assert_eq!(
            sentence([1, 1, 1], [64, 32, 1]),
            "kernel 'k' cannot be launched: a block of 2048 threads is too large: 1024 is the most"
        );
    }
}
