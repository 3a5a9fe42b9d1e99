//! The limits of a launch that all GPUs have in common.

/// The most blocks of a grid along x, y and z.
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// The most threads of a block along x, y and z.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// The most threads of a block.
pub const MAX_BLOCK_THREADS: u64 = 1024;

/// The most shared memory that a kernel declares, and that a block has unless the host has asked for more, in bytes.
pub const SHARED_BYTES_WITHOUT_ASKING: u32 = 48 << 10;

/// Whether a grid and a block keep to these limits.
///
/// # Errors
/// The first that they do not, in words that follow the name of the kernel.
pub fn check_extents(grid: [u32; 3], block: [u32; 3]) -> Result<(), String> {
    for (axis, label) in ["x", "y", "z"].into_iter().enumerate() {
        check("blocks", label, grid[axis], MAX_GRID[axis])?;
        check("threads", label, block[axis], MAX_BLOCK[axis])?;
    }
    let threads = block.into_iter().map(u64::from).product();
    check_threads(threads, MAX_BLOCK_THREADS)
}

/// Whether a block has at most `most` threads.
pub(crate) fn check_threads(threads: u64, most: u64) -> Result<(), String> {
    if threads > most {
        return Err(format!(
            "{threads} threads in a block, where at most {most} are allowed"
        ));
    }
    Ok(())
}

fn check(of: &str, label: &str, extent: u32, most: u32) -> Result<(), String> {
    if extent == 0 || extent > most {
        return Err(format!(
            "{extent} {of} along {label}, where 1 to {most} are allowed"
        ));
    }
    Ok(())
}
