//! Which of the flagship's kernels adds up which input, in how many blocks of how many threads: measured on an H200, and
//! kept as data. [`choose`] looks it up; nothing else decides.

use super::Module;

/// What is added: integers by their width alone, because signed and unsigned ones are added by the same instructions.
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
    /// Whichever is fastest: it may change with the GPU, with the alignment of the input and with this table.
    Any,
    /// One that follows from the number of elements alone.
    Fixed,
}

/// A kernel of the flagship; each exists for several types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Step 12: loads of 16 bytes into registers.
    Vectors,
    /// Step 12b: asynchronous copies into shared memory, from sm_90 on.
    Bulk,
    /// Step 12c: the same order everywhere.
    VirtualBlocks,
}

/// How many blocks a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// One for each tile: the hardware hands them out as earlier ones end.
    EachTile,
    /// So many on each multiprocessor, but no more than there are tiles; they go on through the input.
    PerMultiprocessor(u32),
}

/// One row: for inputs up to so many bytes on GPUs from such a compute capability on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The types it is for.
    pub addends: &'static [Addend],
    /// The order of additions it is for.
    pub order: Order,
    /// The least compute capability it is for.
    pub least_sm: u32,
    /// The most bytes of input it is for.
    pub most_bytes: u64,
    /// The kernel.
    pub kernel: Kernel,
    /// Threads of a block.
    pub block: u32,
    /// Number of blocks.
    pub blocks: Blocks,
}

/// A launch of the flagship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's entry.
    pub entry: &'static str,
    /// Number of blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub block: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// How many partial sums the kernel may write: one for each block, virtual or not.
    pub partials: usize,
}

const ALL: &[Addend] = &[Addend::I32, Addend::I64, Addend::F32, Addend::F64];
const I32: &[Addend] = &[Addend::I32];
const FLOATS: &[Addend] = &[Addend::F32, Addend::F64];

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A row for all types, any order and any GPU; each row states the rest.
const ROW: Choice = Choice {
    addends: ALL,
    order: Order::Any,
    least_sm: 70,
    most_bytes: u64::MAX,
    kernel: Kernel::Vectors,
    block: 512,
    blocks: Blocks::EachTile,
};

/// The choices; the first that fits is taken.
///
/// A block that hands in its sum costs little where the ticket carries it, and so 32-bit integers get as many blocks as they
/// have tiles. Elsewhere it costs two trips to memory: few blocks, and one as long as its multiprocessor keeps up.
pub const CHOICES: &[Choice] = &[
    Choice {
        addends: I32,
        most_bytes: 512 * KIB,
        block: 128,
        ..ROW
    },
    Choice {
        addends: I32,
        most_bytes: 16 * MIB,
        block: 256,
        ..ROW
    },
    Choice {
        addends: I32,
        ..ROW
    },
    Choice {
        most_bytes: 32 * KIB,
        block: 256,
        ..ROW
    },
    Choice {
        most_bytes: 64 * KIB,
        ..ROW
    },
    Choice {
        most_bytes: 4 * MIB,
        block: 256,
        ..ROW
    },
    Choice {
        most_bytes: 512 * MIB,
        blocks: Blocks::PerMultiprocessor(3),
        ..ROW
    },
    Choice {
        least_sm: 90,
        kernel: Kernel::Bulk,
        blocks: Blocks::PerMultiprocessor(2),
        ..ROW
    },
    Choice {
        blocks: Blocks::PerMultiprocessor(3),
        ..ROW
    },
    Choice {
        addends: FLOATS,
        order: Order::Fixed,
        kernel: Kernel::VirtualBlocks,
        block: VIRTUAL_BLOCK,
        ..ROW
    },
];

/// The PTX module that has the kernels.
pub const MODULE: Module = Module::Kernels;

/// Bytes that each thread takes of a tile of [`Kernel::Vectors`] and of [`Kernel::Bulk`].
const VECTORS_BYTES: u64 = 128;
const BULK_BYTES: u64 = 64;

/// Shared memory that [`Kernel::Bulk`] needs for each thread of a block: three tiles.
const BULK_SHARED_BYTES: u32 = 3 * BULK_BYTES as u32;

/// Threads of a block of [`Kernel::VirtualBlocks`], which are a part of its order.
const VIRTUAL_BLOCK: u32 = 256;

/// The most virtual blocks.
const MOST_VIRTUAL_BLOCKS: u64 = 528;

/// How to add up `n` values on a GPU of this compute capability, at least 70, with so many multiprocessors.
pub fn choose(addend: Addend, order: Order, n: usize, sm: u32, multiprocessors: u32) -> Launch {
    let bytes = (n as u64).saturating_mul(addend.bytes());
    // A sum of integers is the same in any order.
    let order = if addend.rounds() { order } else { Order::Any };
    let choice = CHOICES
        .iter()
        .filter(|choice| choice.addends.contains(&addend) && choice.order == order)
        .find(|choice| choice.least_sm <= sm && bytes <= choice.most_bytes)
        .expect("the last row of each order takes any number of bytes, and is for every GPU");
    choice.launch(addend, n, multiprocessors)
}

/// The entries of the flagship for this compute capability.
pub fn entries(sm: u32) -> impl Iterator<Item = &'static str> {
    Kernel::ALL
        .into_iter()
        .filter(move |kernel| kernel.least_sm() <= sm)
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

impl Kernel {
    const ALL: [Self; 3] = [Self::Vectors, Self::Bulk, Self::VirtualBlocks];

    /// The least compute capability that has its instructions.
    const fn least_sm(self) -> u32 {
        match self {
            Self::Vectors | Self::VirtualBlocks => 70,
            Self::Bulk => 90,
        }
    }

    /// Its entry for a type, if there is one.
    const fn entry(self, addend: Addend) -> Option<&'static str> {
        match (self, addend) {
            (Self::Vectors, Addend::I32) => Some("flagship_i32"),
            (Self::Vectors, Addend::I64) => Some("flagship_i64"),
            (Self::Vectors, Addend::F32) => Some("flagship_f32"),
            (Self::Vectors, Addend::F64) => Some("flagship_f64"),
            (Self::Bulk, Addend::I32) => Some("flagship_bulk_i32"),
            (Self::Bulk, Addend::I64) => Some("flagship_bulk_i64"),
            (Self::Bulk, Addend::F32) => Some("flagship_bulk_f32"),
            (Self::Bulk, Addend::F64) => Some("flagship_bulk_f64"),
            (Self::VirtualBlocks, Addend::F32) => Some("deterministic_f32"),
            (Self::VirtualBlocks, Addend::F64) => Some("deterministic_f64"),
            (Self::VirtualBlocks, Addend::I32 | Addend::I64) => None,
        }
    }
}

impl Choice {
    /// The launch by this row for `n` values of one of its types, whether or not they are as many as it is for.
    pub fn launch(&self, addend: Addend, n: usize, multiprocessors: u32) -> Launch {
        let bytes = (n as u64).saturating_mul(addend.bytes());
        let block = u64::from(self.block);
        let tiles = match self.kernel {
            Kernel::Vectors => bytes.div_ceil(VECTORS_BYTES * block),
            Kernel::Bulk => bytes.div_ceil(BULK_BYTES * block),
            Kernel::VirtualBlocks => bytes
                .div_ceil(VECTORS_BYTES * block)
                .min(MOST_VIRTUAL_BLOCKS),
        };
        let most = match self.blocks {
            Blocks::EachTile => u64::MAX,
            Blocks::PerMultiprocessor(blocks) => u64::from(blocks) * u64::from(multiprocessors),
        };
        // The first extent of a grid is a signed number.
        let blocks = tiles.min(most).clamp(1, i32::MAX as u64) as u32;
        Launch {
            entry: self
                .kernel
                .entry(addend)
                .expect("a row has a kernel that exists for each of its types: a test says so"),
            blocks,
            block: self.block,
            dynamic_shared_bytes: match self.kernel {
                Kernel::Bulk => BULK_SHARED_BYTES * self.block,
                Kernel::Vectors | Kernel::VirtualBlocks => 0,
            },
            partials: match self.kernel {
                Kernel::Vectors | Kernel::Bulk => blocks as usize,
                Kernel::VirtualBlocks => tiles as usize,
            },
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
                for sm in [70, 75, 80, 89, 90, 120] {
                    for n in [1, 31, 1 << 10, 1 << 20, 1 << 28, 1 << 34, usize::MAX] {
                        let launch = choose(addend, order, n, sm, 1);
                        assert!(launch.blocks > 0 && launch.partials > 0, "{launch:?}");
                        assert!(entries(sm).any(|entry| entry == launch.entry), "{launch:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_choice_is_for_a_gpu_that_its_kernel_does_not_run_on() {
        for choice in CHOICES {
            assert!(choice.least_sm >= choice.kernel.least_sm(), "{choice:?}");
            assert!(choice.block.is_power_of_two() && (64..=1024).contains(&choice.block));
        }
    }

    #[test]
    fn every_choice_is_taken_by_something() {
        for (i, choice) in CHOICES.iter().enumerate() {
            let taken = choice.addends.iter().any(|addend| {
                let shadowed = CHOICES[..i].iter().any(|before| {
                    before.addends.contains(addend)
                        && before.order == choice.order
                        && before.least_sm <= choice.least_sm
                        && before.most_bytes >= choice.most_bytes
                });
                !shadowed
            });
            assert!(taken, "row {i} is never taken: {choice:?}");
        }
    }

    #[test]
    fn little_takes_one_block_and_much_takes_what_the_gpu_holds() {
        let blocks = |addend, order, n, sm| choose(addend, order, n, sm, 132).blocks;
        for &addend in ALL {
            assert_eq!(blocks(addend, Order::Any, 1, 90), 1);
        }
        assert_eq!(blocks(Addend::F32, Order::Any, 16384, 90), 1);
        assert_eq!(blocks(Addend::F32, Order::Any, 1 << 30, 90), 264);
        assert_eq!(blocks(Addend::I32, Order::Any, 1 << 30, 90), 1 << 16);
        assert_eq!(blocks(Addend::F32, Order::Fixed, 8193, 90), 2);
        assert_eq!(blocks(Addend::F32, Order::Fixed, 1 << 30, 90), 528);
    }

    #[test]
    fn bulk_copies_are_for_gpus_that_have_them_and_for_much() {
        let entry = |n, sm| choose(Addend::F32, Order::Any, n, sm, 132).entry;
        assert_eq!(entry(1 << 28, 90), "flagship_bulk_f32");
        assert_eq!(entry(1 << 28, 80), "flagship_f32");
        assert_eq!(entry(1 << 20, 90), "flagship_f32");
    }

    #[test]
    fn a_fixed_order_is_for_floats_only() {
        let entry = |addend| choose(addend, Order::Fixed, 1000, 90, 132).entry;
        assert_eq!(entry(Addend::I64), "flagship_i64");
        assert_eq!(entry(Addend::F64), "deterministic_f64");
    }

    /// The kernels' own numbers.
    #[cfg(feature = "kernels")]
    #[test]
    fn the_table_knows_the_kernels() {
        use crate::{l12_flagship as vectors, l12b_bulk as bulk, l12c_deterministic as fixed};
        let bytes = vectors::VECTORS * vectors::VECTOR_BYTES;
        assert_eq!(bytes as u64, VECTORS_BYTES);
        assert_eq!(bulk::SHARED_BYTES_PER_THREAD, BULK_SHARED_BYTES);
        assert_eq!(bulk::STAGES * BULK_BYTES as u32, BULK_SHARED_BYTES);
        assert_eq!(fixed::BLOCK, VIRTUAL_BLOCK);
        assert_eq!(fixed::MOST_VIRTUAL_BLOCKS as u64, MOST_VIRTUAL_BLOCKS);
    }
}
