//! initcheck: reads of memory that nothing has written.
//!
//! The emulator's memory begins as zeros; a GPU's holds whatever was there before. Bytes count as written if the host wrote them before
//! the check began, if they belong to a variable of the module, or if a kernel has stored to them since. Atomic operations read before
//! they write.

use super::Map;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use super::cluster::InCluster;

use crate::finding::{Bytes, Finding, Place, Tool};
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::observer::{AccessEvent, AccessKind, BlockEvent, CallEvent, Observer, Wants};
use crate::registers::{LANES, each_lane};
use crate::types::Space;

/// Bytes of a page of global memory, which is 64 words of marks.
const PAGE_BYTES: u64 = 64 * 64;

/// Accesses are aligned to their width up to this one, in bytes.
const BULK_UNIT: u32 = 16;

/// Finds reads of bytes that nothing has written. It may watch several launches after one another: what one has written, the
/// next may read. Each runs on one host thread, so that a store is seen before the load that depends on it.
#[derive(Debug)]
pub struct Initcheck {
    /// Ranges that the host has written: first address and past the last, in ascending order.
    from_host: Arc<[(u64, u64)]>,
    common: Arc<Mutex<Common>>,
    block: BlockMarks,
}

/// What all blocks have in common.
#[derive(Debug, Default)]
struct Common {
    /// A bit for each byte of global memory that a kernel has written, by page.
    global: Map<u64, [u64; 64]>,
    reads: Vec<Read>,
    by_line: Map<(u32, u32, Space), usize>,
}

/// What is written of a block's own memory, a bit for each byte.
#[derive(Debug, Default)]
struct BlockMarks {
    event: BlockEvent,
    /// Where its shared memory is marked, if others reach it: among the marks of global memory.
    in_cluster: Option<InCluster>,
    shared: Marks,
    /// By thread.
    local: Vec<Marks>,
}

/// A read of what nothing has written.
#[derive(Debug)]
struct Read {
    line: u32,
    block: BlockEvent,
    thread: [u32; 3],
    memory: Bytes,
    count: u64,
}

/// A bit for each byte of a memory that begins at 0.
#[derive(Clone, Debug, Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn add(&mut self, address: u64, bytes: u64) {
        let end = (address + bytes).div_ceil(64) as usize;
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        // Accesses are aligned to their width, so that all their bytes are in one word.
        self.0[address as usize / 64] |= bits(address, bytes);
    }

    /// Forgets what is known of these bytes.
    fn clear(&mut self, range: &Range<u64>) {
        for byte in range.clone() {
            if let Some(word) = self.0.get_mut(byte as usize / 64) {
                *word &= !bits(byte, 1);
            }
        }
    }

    fn has(&self, address: u64, bytes: u64) -> bool {
        let word = self.0.get(address as usize / 64).copied().unwrap_or(0);
        !word & bits(address, bytes) == 0
    }
}

/// The bits of an access in its word of marks.
fn bits(address: u64, bytes: u64) -> u64 {
    ((1 << bytes) - 1) << (address % 64)
}

fn lock(common: &Mutex<Common>) -> MutexGuard<'_, Common> {
    common
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Initcheck {
    /// A checker to which everything counts as written that the host has written into the memory so far.
    pub fn new(memory: &Memory) -> Self {
        Self::of_devices(&[memory])
    }

    /// The same of launches that run at the same time in these memories.
    pub fn of_devices(memories: &[&Memory]) -> Self {
        let mut from_host: Vec<_> = memories
            .iter()
            .flat_map(|memory| memory.written())
            .collect();
        from_host.sort_unstable();
        // The constants of several devices are at the same addresses.
        from_host.dedup();
        Self {
            from_host: from_host.into(),
            common: Arc::default(),
            block: BlockMarks::default(),
        }
    }

    /// The reads of unwritten memory that were seen, in the order in which each was first.
    pub fn findings(&self, kernel: &Kernel) -> Vec<Finding> {
        self.findings_of(&[kernel])
    }

    /// The same of launches that have run at the same time, of these kernels.
    pub fn findings_of(&self, kernels: &[&Kernel]) -> Vec<Finding> {
        let common = lock(&self.common);
        let finding = |read: &Read| {
            Finding {
            tool: Tool::Initcheck,
            kind: "read of uninitialised memory",
            message: match read.memory.space {
                Space::Global => "neither the host nor a kernel has written there: the GPU's memory holds anything at all before it is written".to_owned(),
                Space::Local => "nothing has written there since the block, or the call whose variable it is, began: local memory holds anything at all before it is written".to_owned(),
                space => format!("nothing has written there since the block began: {} memory holds anything at all before it is written", space.name()),
            },
            kernel: kernels[read.block.launch as usize % kernels.len()].name().to_owned(),
            places: vec![
                Place::of_block(&read.block, kernels, "reads", read.thread, read.line),
            ],
            memory: Some(read.memory),
            count: read.count,
                ends_launch: false,
        }
        };
        Finding::merged(common.reads.iter().map(finding))
    }

    /// Whether the host has written all of a range.
    fn is_from_host(&self, first: u64, end: u64) -> bool {
        let after = self.from_host.partition_point(|&(from, _)| from <= first);
        after > 0 && end <= self.from_host[after - 1].1
    }

    /// The lanes that read unwritten global memory; marks what is written.
    fn global(&self, event: &AccessEvent<'_>) -> u32 {
        let bytes = u64::from(event.bytes);
        let (mut least, mut greatest) = (u64::MAX, 0);
        each_lane(event.lanes, |lane| {
            least = least.min(event.addresses[lane]);
            greatest = greatest.max(event.addresses[lane]);
        });
        // The common case: all lanes are in one buffer that the host has filled.
        if self.is_from_host(least, greatest + bytes) {
            return 0;
        }
        let mut common = lock(&self.common);
        let mut unwritten = 0;
        each_lane(event.lanes, |lane| {
            let address = event.addresses[lane];
            if self.is_from_host(address, address + bytes) {
                return;
            }
            let page = common.global.entry(address / PAGE_BYTES).or_insert([0; 64]);
            let word = &mut page[(address % PAGE_BYTES / 64) as usize];
            // Bytes that the host has written among others that it has not.
            let mut missing = bits(address, bytes) & !*word;
            if missing != 0 && event.kind != AccessKind::Store {
                for byte in address..address + bytes {
                    if self.is_from_host(byte, byte + 1) {
                        missing &= !bits(byte, 1);
                    }
                }
                unwritten |= u32::from(missing != 0) << lane;
            }
            if event.kind != AccessKind::Load {
                *word |= bits(address, bytes);
            }
        });
        unwritten
    }

    /// The lanes that read unwritten memory of their block or their own; marks what is written.
    fn own(&mut self, event: &AccessEvent<'_>) -> u32 {
        let bytes = u64::from(event.bytes);
        let mut unwritten = 0;
        each_lane(event.lanes, |lane| {
            let marks = match event.space {
                Space::Shared => &mut self.block.shared,
                _ => &mut self.block.local[event.warp as usize * LANES + lane],
            };
            let address = event.addresses[lane];
            if event.kind != AccessKind::Store && !marks.has(address, bytes) {
                unwritten |= 1 << lane;
            }
            if event.kind != AccessKind::Load {
                marks.add(address, bytes);
            }
        });
        unwritten
    }

    fn report(&mut self, event: &AccessEvent<'_>, lanes: u32) {
        let first = lanes.trailing_zeros();
        let [x, y, _] = self.block.event.shape;
        let thread = event.warp * LANES as u32 + first;
        let mut common = lock(&self.common);
        let Common { reads, by_line, .. } = &mut *common;
        let index = *by_line
            .entry((self.block.event.launch, event.line, event.space))
            .or_insert_with(|| {
                reads.push(Read {
                    line: event.line,
                    block: self.block.event,
                    thread: [thread % x, thread / x % y, thread / x / y],
                    memory: Bytes {
                        space: event.space,
                        address: event.addresses[first as usize],
                        bytes: event.bytes,
                    },
                    count: 0,
                });
                reads.len() - 1
            });
        reads[index].count += u64::from(lanes.count_ones());
    }
}

impl Observer for Initcheck {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants {
            in_order: true,
            ..Wants::ACCESSES
        }
    }

    fn fork(&self) -> Self {
        Self {
            from_host: Arc::clone(&self.from_host),
            common: Arc::clone(&self.common),
            block: BlockMarks::default(),
        }
    }

    /// All blocks report to the same place already.
    fn merge(&mut self, _: Self) {}

    fn block(&mut self, event: BlockEvent) {
        let block = &mut self.block;
        block.event = event;
        block.shared.0.clear();
        block.in_cluster = InCluster::of(&event);
        if let Some(in_cluster) = block.in_cluster {
            let mut common = lock(&self.common);
            for page in 0..=event.shared_bytes / PAGE_BYTES {
                common
                    .global
                    .remove(&(in_cluster.own() / PAGE_BYTES + page));
            }
        }
        let threads: u32 = event.shape.iter().product();
        block
            .local
            .resize((threads as usize).next_multiple_of(LANES), Marks::default());
        for marks in &mut block.local {
            marks.0.clear();
        }
    }

    /// The function's memory is what an earlier call may have left, but for the parameters.
    fn call(&mut self, event: CallEvent<'_>) {
        each_lane(event.lanes, |lane| {
            let marks = &mut self.block.local[event.warp as usize * LANES + lane];
            marks.clear(&event.local);
            for byte in event.copies.iter().cloned().flatten() {
                marks.add(byte, 1);
            }
        });
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        if event.bytes > BULK_UNIT {
            // A bulk copy, which is a multiple of this long: piece by piece.
            for offset in (0..event.bytes).step_by(BULK_UNIT as usize) {
                self.access(AccessEvent {
                    bytes: BULK_UNIT.min(event.bytes - offset),
                    addresses: &event
                        .addresses
                        .map(|address| address.wrapping_add(offset.into())),
                    ..event
                });
            }
            return;
        }
        let unwritten = match event.space {
            Space::Global => self.global(&event),
            Space::Shared if let Some(in_cluster) = self.block.in_cluster => {
                let places = in_cluster.places(event.addresses);
                self.global(&AccessEvent {
                    addresses: &places,
                    ..event
                })
            }
            Space::Shared | Space::Local => self.own(&event),
            _ => 0,
        };
        if unwritten != 0 {
            self.report(&event, unwritten);
        }
    }
}
