//! What `--help` says about the metrics.

use std::fmt::Write;
use warpfold_emulator::METRICS;

const EXAMPLES: &str = "\
Examples:
  warpfold profile neighbored -n 2^22 --block 512
  warpfold profile neighbored_less interleaved --by line --sort global_sectors_excessive
  warpfold profile neighbored neighbored_less --by step --metrics inst_per_warp
  warpfold profile complete_unroll_shared --block 128 --block 1024 --json -
  warpfold profile --ptx sum.ptx --kernel block_sum --grid 4 --block 256 \\
      --arg buf:i32:iota:1024 --arg buf:i32:zeros:4 --arg u64:1024";

/// Shown after the options of `-h`.
pub fn short() -> String {
    format!("{EXAMPLES}\n\n--help lists the metrics.")
}

/// Shown after the options of `--help`.
pub fn long() -> String {
    let mut text =
        "Metrics (name, what it says; below, the metric of Nsight Compute that counts the same on a GPU):\n".to_owned();
    for metric in METRICS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}\n      {}", metric.name, metric.explanation);
        if let Some(ncu) = metric.ncu {
            let _ = writeln!(text, "      {ncu}");
        }
    }
    format!("{text}\n{EXAMPLES}")
}
