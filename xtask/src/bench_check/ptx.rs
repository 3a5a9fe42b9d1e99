//! How much PTX the compiler makes of the kernels: what a build, and the driver that compiles the PTX for a GPU, have to do.

use std::fs;
use std::path::Path;

use cuda_builder::ptx;
use warpfold_kernels::catalogue::PtxText;

use super::baseline::Row;
use super::error::BenchCheckError;
use crate::failure::io;

/// The newest architecture that PTX is built for.
const SM: u32 = 90;

/// Instructions and bytes of each module, for each of its kernels.
pub fn count(repository: &Path) -> Result<Vec<Row>, BenchCheckError> {
    let mut rows = Vec::new();
    for module in PtxText::ALL {
        let name = format!("{}.sm_{SM}.ptx", module.name());
        let path = repository.join("kernels/ptx").join(&name);
        let text = fs::read_to_string(&path).map_err(io(format!("read {}", path.display())))?;
        let kernels = ptx::operations(&text);
        let instructions: usize = kernels.iter().map(|(_, operations)| operations.len()).sum();
        for (count, counted) in [(instructions, "PTX instructions"), (text.len(), "bytes")] {
            rows.push(Row {
                name: name.clone(),
                count: count as u64,
                counted: counted.to_owned(),
                units: kernels.len() as u64,
                unit: "kernel".to_owned(),
            });
        }
    }
    Ok(rows)
}
