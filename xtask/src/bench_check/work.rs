//! What `benches/counted.rs` says of its work, and `bench-check` reads.

use serde::{Deserialize, Serialize};

/// A piece of work.
#[derive(Debug, Serialize, Deserialize)]
pub struct Work {
    /// What was done.
    pub name: String,
    /// How much of it there was.
    pub units: u64,
    /// What there was of it: `warp instruction`.
    pub unit: String,
}
