//! The fastest ways that were measured.

use super::choice::Choice::{Lanes, Packed, Shared, Whole};
use super::choice::{Measured, Work};

/// For each work and each number of bytes of a value.
pub const MEASURED: &[Measured] = &[
    Measured {
        work: Work::Little,
        value_bytes: 4,
        rows: &[
            (
                0,
                Packed {
                    block: 256,
                    blocks: 1056,
                },
            ),
            (
                4,
                Lanes {
                    lanes: 1,
                    blocks: 4224,
                },
            ),
            (
                6,
                Lanes {
                    lanes: 1,
                    blocks: u32::MAX,
                },
            ),
            (14, Whole { block: 128 }),
            (
                22,
                Shared {
                    block: 256,
                    blocks: 2112,
                },
            ),
        ],
        single: &[(0, 512, 1), (16, 512, 66), (24, 256, 792)],
    },
    Measured {
        work: Work::Much,
        value_bytes: 4,
        rows: &[
            (
                0,
                Packed {
                    block: 256,
                    blocks: 1056,
                },
            ),
            (
                4,
                Lanes {
                    lanes: 1,
                    blocks: 4224,
                },
            ),
            (
                6,
                Lanes {
                    lanes: 1,
                    blocks: u32::MAX,
                },
            ),
            (16, Whole { block: 256 }),
            (
                22,
                Shared {
                    block: 1024,
                    blocks: 132,
                },
            ),
        ],
        single: &[(0, 512, 1), (16, 512, 66), (24, 1024, 132)],
    },
];
