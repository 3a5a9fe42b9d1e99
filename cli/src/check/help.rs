//! What `--help` says after the options.

use std::fmt::Write;
use warpfold_exhibits::catalogue::EXHIBITS;

const EXAMPLES: &str = "\
Examples:
  warpfold check unroll_warps8
  warpfold check unroll_warps8_sync --schedules 200
  warpfold check interleaved -n 2^20 --block 512 --tool racecheck
  warpfold check missing_barrier
  warpfold check --ptx sum.ptx --kernel block_sum --grid 4 --block 256 \\
      --arg buf:i32:iota:1024 --arg buf:i32:uninit:4 --arg u64:1024

Exit status: 0 nothing found, 1 findings, 2 bad usage or input.";

const TOOLS: &str = "\
Tools:
  memcheck   accesses out of bounds, misaligned, through null or freed pointers, or through
             addresses of another space; frees of what is not allocated; the first one ends the
             launch
  initcheck  reads of global, shared or local memory that nothing has written
  racecheck  two accesses to one byte of shared or global memory, by different threads, one of
             them a write, that no barrier, warp barrier, atomic operation or fence orders; lanes
             of a warp are not in lockstep
             Fences and atomics of .cta or .cluster scope order nothing for other blocks or
             clusters. Not seen: races on paths that no run takes, or that all runs happen to
             order; a fence that is missing between a relaxed read and a barrier; an atomic of
             .cluster scope beside one of .gpu scope in another cluster; which of .acquire and
             .release an atomic is: it counts as both
  synccheck  barriers and shuffles that the wrong threads reach, or that threads reach separately

A finding shows the threads, the lines of the PTX and, where the PTX tells, of the source:
`a.rs:7 → b.rs:3` is line 3 of something that was inlined at line 7 or soon after.

Schedules: a GPU may run blocks, warps and, since Volta, lanes in any order. A seed draws one such
order, the same every time. The random elements of lessons come from seed 42 whatever the order.

Exhibits: wrong kernels, one mistake each (kernels/exhibits), which can stand in place of a lesson:";

/// Shown after the options of `-h`.
pub fn short() -> String {
    format!("{EXAMPLES}\n\n--help explains the tools and lists the exhibits.")
}

/// Shown after the options of `--help`.
pub fn long() -> String {
    let mut text = format!("{TOOLS}\n");
    for exhibit in EXHIBITS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:24}  {}", exhibit.id, exhibit.title);
    }
    format!("{text}\n{EXAMPLES}")
}
