//! Whole checks of a launch: by the sanitizers, and by running it in many orders.

use std::fmt;

use crate::error::{LaunchError, MemoryError};
use crate::finding::{Bytes, Finding, Tool};
use crate::heap::HeapSnapshot;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::observer::Nothing;
use crate::observers::{Initcheck, Racecheck, Synccheck};
use crate::run::{launch, launch_scheduled};
use crate::types::Space;
use crate::window;

/// In which order blocks, warps and lanes advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of [`launch`]: one block after another, each warp as far as it gets, lanes together.
    Fixed,
    /// The order of [`launch_scheduled`] under this seed.
    Seed(u64),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("the fixed order"),
            Self::Seed(seed) => write!(f, "seed {seed}"),
        }
    }
}

/// Runs a kernel once under these tools, in the fixed order and on one host thread, and returns what they found. Afterwards `memory`
/// is what it was before. A trap ends the launch and is always a finding.
///
/// # Errors
/// What [`launch`] refuses, and a launch that exceeds its limit of steps.
pub fn check(
    kernel: &Kernel,
    memory: &mut Memory,
    shape: &Launch,
    arguments: &[Vec<u8>],
    tools: &[Tool],
) -> Result<Vec<Finding>, LaunchError> {
    let wanted = |tool: Tool| tools.contains(&tool);
    let mut observer = (
        wanted(Tool::Racecheck).then(Racecheck::new),
        (
            wanted(Tool::Initcheck).then(|| Initcheck::new(memory)),
            wanted(Tool::Synccheck).then(Synccheck::new),
        ),
    );
    let shape = Launch {
        threads: 1,
        ..*shape
    };
    let before = Snapshot::of(memory)?;
    let result = launch(kernel, memory, &shape, arguments, &mut observer);
    before.restore(memory)?;
    let mut findings = Vec::new();
    if let Err(error) = result {
        findings.push(trap_finding(error, kernel)?);
    }
    let (racecheck, (initcheck, synccheck)) = observer;
    findings.extend(initcheck.iter().flat_map(|tool| tool.findings(kernel)));
    findings.extend(racecheck.iter().flat_map(|tool| tool.findings(kernel)));
    findings.extend(synccheck.iter().flat_map(|tool| tool.findings(kernel)));
    findings.sort_by_key(|finding| finding.tool);
    Ok(findings)
}

fn trap_finding(error: LaunchError, kernel: &Kernel) -> Result<Finding, LaunchError> {
    match error {
        LaunchError::Trap(trap) => Finding::of_trap(&trap, kernel).ok_or(LaunchError::Trap(trap)),
        other => Err(other),
    }
}

/// Runs a kernel in each of the orders, always from the same contents of `memory`, and compares what each run leaves there with what
/// the first left. Returns the first difference or the first trap. Afterwards `memory` is what it was before.
///
/// # Errors
/// What [`launch`] refuses, and a launch that exceeds its limit of steps.
pub fn compare_orders(
    kernel: &Kernel,
    memory: &mut Memory,
    shape: &Launch,
    arguments: &[Vec<u8>],
    orders: impl IntoIterator<Item = Order>,
) -> Result<Option<Finding>, LaunchError> {
    let before = Snapshot::of(memory)?;
    let difference = first_difference(kernel, memory, shape, arguments, orders, &before);
    before.restore(memory)?;
    difference
}

fn first_difference(
    kernel: &Kernel,
    memory: &mut Memory,
    shape: &Launch,
    arguments: &[Vec<u8>],
    orders: impl IntoIterator<Item = Order>,
    before: &Snapshot,
) -> Result<Option<Finding>, LaunchError> {
    let mut first: Option<(Order, Snapshot)> = None;
    for order in orders {
        before.restore(memory)?;
        let result = match order {
            Order::Fixed => {
                // One worker: several would start blocks in an order of their own.
                let shape = Launch {
                    threads: 1,
                    ..*shape
                };
                launch(kernel, memory, &shape, arguments, &mut Nothing)
            }
            Order::Seed(seed) => {
                launch_scheduled(kernel, memory, shape, arguments, seed, &mut Nothing)
            }
        };
        if let Err(error) = result {
            let mut finding = trap_finding(error, kernel)?;
            finding.message = format!("{}, under {order}", finding.message);
            return Ok(Some(finding));
        }
        let after = Snapshot::of(memory)?;
        let Some((first_order, first)) = &first else {
            first = Some((order, after));
            continue;
        };
        if let Some((address, [one, other])) = first.difference(&after) {
            return Ok(Some(Finding {
                tool: Tool::Schedules,
                kind: "result depends on the schedule",
                message: format!(
                    "{first_order} leaves {one:#x} there, and {order} leaves {other:#x}"
                ),
                kernel: kernel.name().to_owned(),
                places: Vec::new(),
                memory: Some(Bytes {
                    space: Space::Global,
                    address,
                    bytes: 4,
                }),
                count: 1,
                ends_launch: false,
            }));
        }
    }
    Ok(None)
}

/// The contents of every live allocation, and of the heap.
struct Snapshot {
    allocations: Vec<(u64, Vec<u8>)>,
    heap: HeapSnapshot,
}

impl Snapshot {
    fn of(memory: &Memory) -> Result<Self, MemoryError> {
        let read = |(address, bytes): (u64, usize)| {
            let mut contents = vec![0; bytes];
            memory.read(address, &mut contents)?;
            Ok((address, contents))
        };
        Ok(Self {
            allocations: memory.allocations().map(read).collect::<Result<_, _>>()?,
            heap: memory.heap().snapshot(),
        })
    }

    fn restore(&self, memory: &mut Memory) -> Result<(), MemoryError> {
        memory.heap().restore(&self.heap);
        self.allocations
            .iter()
            .try_for_each(|(address, contents)| memory.put(*address, contents))
    }

    /// The address of the first word that differs, and how it reads in each. Two addresses of the heap are no
    /// difference: the thread that calls `malloc` first gets the lower one, and no result depends on that.
    fn difference(&self, other: &Self) -> Option<(u64, [u32; 2])> {
        let heap = window::HEAP..self.heap.end().max(other.heap.end());
        let mut pairs = self.allocations.iter().zip(&other.allocations);
        pairs.find_map(|(one, other)| {
            if one.1 == other.1 {
                return None;
            }
            let word = |chunk: &[u8]| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_le_bytes(word)
            };
            let words = |contents: &'_ [u8]| contents.chunks(4).map(word).collect::<Vec<_>>();
            let (one_words, other_words) = (words(&one.1), words(&other.1));
            let is_pointer = |words: &[u32], i: usize| {
                let pair = words.get(i / 2 * 2..i / 2 * 2 + 2);
                pair.is_some_and(|pair| {
                    heap.contains(&(u64::from(pair[1]) << 32 | u64::from(pair[0])))
                })
            };
            let index = (0..one_words.len()).find(|&i| {
                one_words[i] != other_words[i]
                    && !(is_pointer(&one_words, i) && is_pointer(&other_words, i))
            })?;
            Some((
                one.0 + 4 * index as u64,
                [one_words[index], other_words[index]],
            ))
        })
    }
}
