//! The one list of exhibits, with the launch that shows each mistake.

/// A wrong kernel and how to launch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit {
    /// What the user types, and the kernel's entry: `warpfold check <id>`.
    pub id: &'static str,
    /// The mistake, in a few words.
    pub title: &'static str,
    /// The source file, relative to the repository root.
    pub file: &'static str,
    /// The tool that finds it.
    pub tool: &'static str,
    /// Blocks of the launch.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// The kernel's arguments, as `warpfold check --arg` takes them.
    pub arguments: &'static [&'static str],
}

/// The exhibit of that id.
pub fn find(id: &str) -> Option<&'static Exhibit> {
    EXHIBITS.iter().find(|exhibit| exhibit.id == id)
}

/// All exhibits in reading order.
pub const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        id: "missing_barrier",
        title: "a missing barrier",
        file: "kernels/exhibits/src/e01_missing_barrier.rs",
        tool: "racecheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:64", "buf:i32:uninit:64"],
    },
    Exhibit {
        id: "buffer_reused_too_soon",
        title: "a buffer reused too soon",
        file: "kernels/exhibits/src/e02_buffer_reused_too_soon.rs",
        tool: "racecheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:192", "buf:i32:uninit:192", "u32:3"],
    },
    Exhibit {
        id: "volatile_last_warp",
        title: "the volatile last warp",
        file: "kernels/exhibits/src/e03_volatile_last_warp.rs",
        tool: "racecheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:64", "buf:i32:uninit:1"],
    },
    Exhibit {
        id: "warp_barrier_too_narrow",
        title: "a warp barrier for half the warp",
        file: "kernels/exhibits/src/e04_warp_barrier_too_narrow.rs",
        tool: "racecheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:32", "buf:i32:uninit:32"],
    },
    Exhibit {
        id: "lost_update",
        title: "a lost update",
        file: "kernels/exhibits/src/e05_lost_update.rs",
        tool: "racecheck",
        grid: 4,
        block: 32,
        arguments: &["buf:i32:iota:4", "buf:i32:zeros:1"],
    },
    Exhibit {
        id: "all_lanes_one_word",
        title: "all lanes store to one word",
        file: "kernels/exhibits/src/e06_all_lanes_one_word.rs",
        tool: "racecheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:32", "buf:u32:uninit:1", "i32:20"],
    },
    Exhibit {
        id: "neighbour_block",
        title: "the neighbour block's element",
        file: "kernels/exhibits/src/e07_neighbour_block.rs",
        tool: "racecheck",
        grid: 2,
        block: 64,
        arguments: &["buf:i32:iota:128", "u32:128"],
    },
    Exhibit {
        id: "ticket_without_fence",
        title: "a ticket without a fence",
        file: "kernels/exhibits/src/e08_ticket_without_fence.rs",
        tool: "racecheck",
        grid: 4,
        block: 32,
        arguments: &[
            "buf:i32:iota:4",
            "buf:i32:uninit:4",
            "buf:u32:zeros:1",
            "buf:i32:uninit:1",
        ],
    },
    Exhibit {
        id: "cleared_too_late",
        title: "counters cleared too late",
        file: "kernels/exhibits/src/e09_cleared_too_late.rs",
        tool: "racecheck",
        grid: 1,
        block: 64,
        arguments: &["buf:u32:iota:64", "buf:u32:uninit:8"],
    },
    Exhibit {
        id: "barrier_in_a_branch",
        title: "a barrier in a branch",
        file: "kernels/exhibits/src/e10_barrier_in_a_branch.rs",
        tool: "synccheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:64"],
    },
    Exhibit {
        id: "return_before_barrier",
        title: "return before a barrier",
        file: "kernels/exhibits/src/e11_return_before_barrier.rs",
        tool: "synccheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:50", "u32:50"],
    },
    Exhibit {
        id: "two_barriers",
        title: "one barrier, two places",
        file: "kernels/exhibits/src/e12_two_barriers.rs",
        tool: "synccheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:32", "buf:i32:uninit:32"],
    },
    Exhibit {
        id: "lane_not_in_mask",
        title: "a lane outside its own mask",
        file: "kernels/exhibits/src/e13_lane_not_in_mask.rs",
        tool: "synccheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:32"],
    },
    Exhibit {
        id: "shuffle_from_absent_lane",
        title: "a shuffle from an absent lane",
        file: "kernels/exhibits/src/e14_shuffle_from_absent_lane.rs",
        tool: "synccheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:16", "buf:i32:uninit:1"],
    },
    Exhibit {
        id: "full_mask_in_a_branch",
        title: "the full mask in a branch",
        file: "kernels/exhibits/src/e15_full_mask_in_a_branch.rs",
        tool: "synccheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:32"],
    },
    Exhibit {
        id: "off_by_one",
        title: "off by one at the tail",
        file: "kernels/exhibits/src/e16_off_by_one.rs",
        tool: "memcheck",
        grid: 2,
        block: 64,
        arguments: &["buf:i32:iota:100", "u32:100"],
    },
    Exhibit {
        id: "misaligned_vector",
        title: "a misaligned vector load",
        file: "kernels/exhibits/src/e17_misaligned_vector.rs",
        tool: "memcheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:129", "buf:i32:uninit:32"],
    },
    Exhibit {
        id: "shared_overrun",
        title: "past the end of a shared array",
        file: "kernels/exhibits/src/e18_shared_overrun.rs",
        tool: "memcheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:64"],
    },
    Exhibit {
        id: "null_output",
        title: "a null pointer",
        file: "kernels/exhibits/src/e19_null_output.rs",
        tool: "memcheck",
        grid: 1,
        block: 32,
        arguments: &["buf:i32:iota:2", "buf:i32:uninit:1", "u64:0"],
    },
    Exhibit {
        id: "raw_shared_offset",
        title: "a shared offset as a pointer",
        file: "kernels/exhibits/src/e20_raw_shared_offset.rs",
        tool: "memcheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:64"],
    },
    Exhibit {
        id: "uninitialised_shared",
        title: "shared memory read before it is written",
        file: "kernels/exhibits/src/e21_uninitialised_shared.rs",
        tool: "initcheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:50", "buf:i32:uninit:1", "u32:50"],
    },
    Exhibit {
        id: "uninitialised_output",
        title: "added to what was never written",
        file: "kernels/exhibits/src/e22_uninitialised_output.rs",
        tool: "initcheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:50", "buf:i32:uninit:50", "u32:50"],
    },
    Exhibit {
        id: "first_come",
        title: "first come, first served",
        file: "kernels/exhibits/src/e23_first_come.rs",
        tool: "schedules",
        grid: 2,
        block: 64,
        arguments: &[
            "buf:i32:iota:128",
            "buf:i32:zeros:128",
            "buf:u32:zeros:1",
            "u32:128",
        ],
    },
    Exhibit {
        id: "peterson_without_fences",
        title: "Peterson's lock without fences",
        file: "kernels/exhibits/src/e24_peterson_without_fences.rs",
        tool: "racecheck",
        grid: 2,
        block: 32,
        arguments: &["buf:i32:iota:2", "buf:u32:zeros:3", "buf:i32:zeros:1"],
    },
    Exhibit {
        id: "fence_too_narrow",
        title: "a fence for the wrong audience",
        file: "kernels/exhibits/src/e25_fence_too_narrow.rs",
        tool: "racecheck",
        grid: 2,
        block: 32,
        arguments: &[
            "buf:i32:iota:1",
            "buf:i32:uninit:1",
            "buf:u32:zeros:1",
            "buf:u32:zeros:1",
            "buf:i32:uninit:1",
        ],
    },
    Exhibit {
        id: "read_only_but_written",
        title: "read-only, but written",
        file: "kernels/exhibits/src/e26_read_only_but_written.rs",
        tool: "racecheck",
        grid: 1,
        block: 64,
        arguments: &["buf:i32:iota:64", "buf:i32:uninit:64"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exhibit_is_in_the_file_of_its_name() {
        for (index, exhibit) in EXHIBITS.iter().enumerate() {
            let name = exhibit
                .file
                .strip_prefix("kernels/exhibits/src/e")
                .and_then(|name| name.strip_suffix(".rs"))
                .and_then(|name| name.split_once('_'))
                .unwrap();
            assert_eq!(name.0.parse(), Ok(index + 1), "{}", exhibit.file);
            assert_eq!(name.1, exhibit.id);
        }
    }
}
