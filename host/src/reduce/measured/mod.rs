//! What was measured, a file for each GPU, written by `cargo xtask tune`.

mod h100_80gb_hbm3;
mod h200;

use crate::reduce::choice::Tuned;

/// What was measured, by GPUs.
pub const TUNED: &[Tuned] = &[h100_80gb_hbm3::TUNED, h200::TUNED];
