//! Which kernel of the flagship adds up which input, and with how many blocks and threads: measured on an H200, and kept as
//! data. The choice does not depend on where the input begins: step 12 peels off the head, and step 12c loads value by
//! value. [`choose`] looks it up; nothing else decides.

use crate::lesson::{Finish, PtxText};

/// The type of the values. Unsigned integers count as signed ones of the same width, because the same instructions add
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the Rust type of that name")]
pub enum Addend {
    I32,
    I64,
    F32,
    F64,
}

/// The order of additions, which decides the last bits of a sum of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The fastest one; it may differ from launch to launch.
    Any,
    /// One that follows from the number of elements alone.
    Fixed,
}

/// A kernel of the flagship; each exists for several types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumKernel {
    /// Step 12, with this many loads of 16 bytes in flight per thread.
    Loads(u32),
    /// Step 12 for small inputs: every block has one tile, and every warp adds its own sum to the total.
    Little,
    /// Step 12c: the same order everywhere.
    VirtualBlocks,
}

/// One row: for inputs up to a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The types it is for.
    pub addends: &'static [Addend],
    /// The order of additions it is for.
    pub order: Order,
    /// The most bytes of input it is for.
    pub most_bytes: u64,
    /// The kernel.
    pub kernel: SumKernel,
    /// Threads of a block.
    pub block: u32,
    /// Tiles that a block takes, one grid apart, if there are enough.
    pub tiles: u32,
}

/// A launch of the flagship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumLaunch {
    /// The kernel's entry.
    pub entry: &'static str,
    /// Number of blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub block: u32,
    /// How the launch finishes, and so the kernel's parameters: [`Finish::TotalInTurns`], whose totals of `f32` values are
    /// `f64`, or [`Finish::OneLaunch`].
    pub finish: Finish,
    /// How many partial sums the kernel writes: 0 unless the launch finishes by [`Finish::OneLaunch`].
    pub partials: usize,
}

const BITS_32: &[Addend] = &[Addend::I32, Addend::F32];
const BITS_64: &[Addend] = &[Addend::I64, Addend::F64];
const FLOATS: &[Addend] = &[Addend::F32, Addend::F64];
const ALL: &[Addend] = &[Addend::I32, Addend::I64, Addend::F32, Addend::F64];

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A row for all types and any number of bytes.
const ROW: Choice = Choice {
    addends: ALL,
    order: Order::Any,
    most_bytes: u64::MAX,
    kernel: SumKernel::Loads(8),
    block: 512,
    tiles: 1,
};

/// Rows for smaller inputs: two loads of four values or four loads of two.
const BITS_32_ROW: Choice = Choice {
    addends: BITS_32,
    kernel: SumKernel::Loads(2),
    ..ROW
};
const BITS_64_ROW: Choice = Choice {
    addends: BITS_64,
    kernel: SumKernel::Loads(4),
    ..ROW
};

/// The choices; the first that fits is taken.
///
/// Up to a few mebibytes the grid has as many small blocks as possible, to give every multiprocessor work. Beyond that,
/// starting and ending a block costs less per byte if each block takes two tiles or more. For the largest inputs, each
/// thread has eight loads in flight.
pub const CHOICES: &[Choice] = &[
    Choice {
        most_bytes: 256 * KIB,
        kernel: SumKernel::Little,
        block: 128,
        ..ROW
    },
    Choice {
        most_bytes: 4 * MIB,
        block: 256,
        ..BITS_32_ROW
    },
    Choice {
        most_bytes: 128 * MIB,
        tiles: 2,
        ..BITS_32_ROW
    },
    Choice {
        most_bytes: 512 * MIB,
        tiles: 4,
        ..BITS_32_ROW
    },
    Choice {
        most_bytes: 8 * MIB,
        block: 256,
        ..BITS_64_ROW
    },
    Choice {
        most_bytes: 512 * MIB,
        block: 256,
        tiles: 2,
        ..BITS_64_ROW
    },
    ROW,
    Choice {
        addends: FLOATS,
        order: Order::Fixed,
        kernel: SumKernel::VirtualBlocks,
        block: VIRTUAL_BLOCK,
        ..ROW
    },
];

/// The least compute capability that the kernels run on.
pub const LEAST_SM: u32 = 70;

/// The PTX text that has the kernels.
pub const MODULE: PtxText = PtxText::Kernels;

/// Bytes that a load brings.
const LOAD_BYTES: u64 = 16;

/// Loads of a thread of [`SumKernel::Little`].
const LITTLE_LOADS: u32 = 2;

/// Threads of a block of [`SumKernel::VirtualBlocks`], and its loads in flight per thread; both are part of its order.
const VIRTUAL_BLOCK: u32 = 512;
const VIRTUAL_LOADS: u32 = 2;

/// The most virtual blocks.
const MOST_VIRTUAL_BLOCKS: u64 = 528;

/// How to add up `n` values.
pub fn choose(addend: Addend, order: Order, n: usize) -> SumLaunch {
    let bytes = (n as u64).saturating_mul(addend.bytes());
    // A sum of integers is the same in any order.
    let order = if addend.rounds() { order } else { Order::Any };
    let choice = CHOICES
        .iter()
        .filter(|choice| choice.addends.contains(&addend) && choice.order == order)
        .find(|choice| bytes <= choice.most_bytes)
        .expect("the last row of each order takes any number of bytes");
    choice.launch(addend, n)
}

/// The entries of the flagship.
pub fn entries() -> impl Iterator<Item = &'static str> {
    SumKernel::ALL
        .into_iter()
        .flat_map(|kernel| ALL.iter().filter_map(move |&addend| kernel.entry(addend)))
}

impl Addend {
    /// Bytes of one value.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether additions round, so that their order matters.
    pub const fn rounds(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl SumKernel {
    const ALL: [Self; 5] = [
        Self::Little,
        Self::Loads(2),
        Self::Loads(4),
        Self::Loads(8),
        Self::VirtualBlocks,
    ];

    /// Its entry for a type, if there is one.
    const fn entry(self, addend: Addend) -> Option<&'static str> {
        match (self, addend) {
            (Self::Little, Addend::I32) => Some("flagship_little_i32"),
            (Self::Little, Addend::F32) => Some("flagship_little_f32"),
            (Self::Little, Addend::I64) => Some("flagship_little_i64"),
            (Self::Little, Addend::F64) => Some("flagship_little_f64"),
            (Self::Loads(2), Addend::I32) => Some("flagship_2_i32"),
            (Self::Loads(2), Addend::F32) => Some("flagship_2_f32"),
            (Self::Loads(4), Addend::I64) => Some("flagship_4_i64"),
            (Self::Loads(4), Addend::F64) => Some("flagship_4_f64"),
            (Self::Loads(8), Addend::I32) => Some("flagship_8_i32"),
            (Self::Loads(8), Addend::F32) => Some("flagship_8_f32"),
            (Self::Loads(8), Addend::I64) => Some("flagship_8_i64"),
            (Self::Loads(8), Addend::F64) => Some("flagship_8_f64"),
            (Self::VirtualBlocks, Addend::F32) => Some("deterministic_f32"),
            (Self::VirtualBlocks, Addend::F64) => Some("deterministic_f64"),
            _ => None,
        }
    }
}

impl Choice {
    /// The launch by this row for `n` values of one of its types, whether or not the row is meant for that many.
    pub fn launch(&self, addend: Addend, n: usize) -> SumLaunch {
        let bytes = (n as u64).saturating_mul(addend.bytes());
        let loads = match self.kernel {
            SumKernel::Loads(loads) => loads,
            SumKernel::Little => LITTLE_LOADS,
            SumKernel::VirtualBlocks => VIRTUAL_LOADS,
        };
        let tile_bytes = LOAD_BYTES * u64::from(loads) * u64::from(self.block);
        let blocks = bytes.div_ceil(tile_bytes).div_ceil(u64::from(self.tiles));
        let virtual_blocks = blocks.min(MOST_VIRTUAL_BLOCKS);
        let (blocks, finish, partials) = match self.kernel {
            SumKernel::Loads(_) | SumKernel::Little => (blocks, Finish::TotalInTurns, 0),
            SumKernel::VirtualBlocks => {
                (virtual_blocks, Finish::OneLaunch, virtual_blocks as usize)
            }
        };
        SumLaunch {
            entry: self
                .kernel
                .entry(addend)
                .expect("a row has a kernel that exists for each of its types: a test says so"),
            // The first extent of a grid is a signed number; if it is not enough, blocks take more tiles.
            blocks: blocks.clamp(1, i32::MAX as u64) as u32,
            block: self.block,
            finish,
            partials,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_choice_for_everything() {
        for &addend in ALL {
            for order in [Order::Any, Order::Fixed] {
                for n in [1, 31, 1 << 10, 1 << 20, 1 << 28, 1 << 34, usize::MAX] {
                    let launch = choose(addend, order, n);
                    assert!(launch.blocks > 0, "{launch:?}");
                    assert!(entries().any(|entry| entry == launch.entry), "{launch:?}");
                }
            }
        }
    }

    #[test]
    fn every_row_has_a_kernel_for_each_of_its_types() {
        for choice in CHOICES {
            for &addend in choice.addends {
                assert!(choice.kernel.entry(addend).is_some(), "{choice:?}");
            }
            assert!(choice.block.is_power_of_two() && (64..=1024).contains(&choice.block));
            assert!(choice.kernel != SumKernel::Little || choice.tiles == 1);
        }
    }

    #[test]
    fn every_choice_is_taken_by_something() {
        for (i, choice) in CHOICES.iter().enumerate() {
            let taken = choice.addends.iter().any(|addend| {
                let shadowed = CHOICES[..i].iter().any(|before| {
                    before.addends.contains(addend)
                        && before.order == choice.order
                        && before.most_bytes >= choice.most_bytes
                });
                !shadowed
            });
            assert!(taken, "row {i} is never taken: {choice:?}");
        }
    }

    #[test]
    fn little_takes_one_block_and_much_a_block_for_every_tile() {
        let blocks = |addend, order, n| choose(addend, order, n).blocks;
        for &addend in ALL {
            assert_eq!(blocks(addend, Order::Any, 1), 1);
        }
        assert_eq!(blocks(Addend::F32, Order::Any, 1024), 1);
        assert_eq!(blocks(Addend::F32, Order::Any, 1025), 2);
        assert_eq!(blocks(Addend::I32, Order::Any, 1 << 30), 1 << 16);
        assert_eq!(blocks(Addend::I64, Order::Any, 1 << 30), 1 << 17);
        assert_eq!(blocks(Addend::F32, Order::Fixed, 4097), 2);
        assert_eq!(blocks(Addend::F32, Order::Fixed, 1 << 30), 528);
    }

    #[test]
    fn a_fixed_order_is_for_floats_only() {
        let entry = |addend| choose(addend, Order::Fixed, 1000).entry;
        assert_eq!(entry(Addend::I64), "flagship_little_i64");
        assert_eq!(entry(Addend::F64), "deterministic_f64");
    }

    /// The kernels' own numbers.
    #[test]
    fn the_table_knows_the_kernels() {
        use crate::{ladder::l12_flagship as vectors, ladder::l12c_deterministic as fixed};
        assert_eq!(vectors::VECTOR_BYTES as u64, LOAD_BYTES);
        assert_eq!(vectors::LITTLE_LOADS, LITTLE_LOADS as usize);
        assert_eq!(fixed::BLOCK, VIRTUAL_BLOCK);
        assert_eq!(fixed::LOADS, VIRTUAL_LOADS as usize);
        assert_eq!(fixed::MOST_VIRTUAL_BLOCKS as u64, MOST_VIRTUAL_BLOCKS);
    }
}
