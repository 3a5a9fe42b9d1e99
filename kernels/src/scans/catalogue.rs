//! Sums of all that comes before: the neighbour of the reduction.

use crate::lesson::{Demonstration, Entries, Lesson, Parameter, Part, Scan, Task, pages};

pages! { "scans":
    WARP_SCAN_PAGE "1" "A scan by shuffles" "s01_warp_scan";
    BLOCK_SCAN_PAGE "2" "A scan of a block" "s02_block_scan";
    LOOK_BACK_PAGE "3" "Any length in one pass" "s03_look_back";
}

const fn scan(scan: Scan) -> Task {
    Task::Demonstration(Demonstration::Scan(scan))
}

/// What the lessons of this part have in common; each row states the rest.
const SCAN: Lesson = Lesson {
    id: "",
    part: Part::Scans,
    module: Part::Scans.module(),
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 32,
    parameter: None,
    task: scan(Scan::Array),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "warp_scan",
        title: "a scan by shuffles",
        change: "shuffles up give every lane the sum of all before it, within a warp or within sections of one",
        needs: &["warp_shuffle_xor"],
        entries: Entries::PerParameter(&[
            (2, "warp_scan_2"),
            (4, "warp_scan_4"),
            (8, "warp_scan_8"),
            (16, "warp_scan_16"),
            (32, "warp_scan_32"),
        ]),
        parameter: Some(Parameter {
            name: "width",
            meaning: "lanes of a section",
            values: &[2, 4, 8, 16, 32],
            usual: 32,
        }),
        task: scan(Scan::Warp),
        ..SCAN.on(&WARP_SCAN_PAGE)
    },
    Lesson {
        id: "block_scan",
        title: "a scan of a block",
        change: "a scan of the warps' sums says what comes before each warp",
        needs: &["warp_scan"],
        entries: Entries::AnyBlock("block_scan"),
        task: scan(Scan::Block),
        ..SCAN.on(&BLOCK_SCAN_PAGE)
    },
    Lesson {
        id: "look_back",
        title: "any length in one pass",
        change: "each block looks back at what those before it have published, so that the input is read once",
        needs: &["block_scan", "fence_publish"],
        entries: Entries::AnyBlock("look_back"),
        task: scan(Scan::Array),
        ..SCAN.on(&LOOK_BACK_PAGE)
    },
];
