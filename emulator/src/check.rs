//! Whole checks of a launch: by the sanitizers, and by running it in many orders.

use crate::error::{LaunchError, MemoryError};
use crate::finding::{Bytes, Finding, Tool};
use crate::heap::HeapSnapshot;
use crate::kernel::Kernel;
use crate::launch::{DeviceLaunch, Launch, Order};
use crate::memory::Memory;
use crate::observer::{Nothing, Watch};
use crate::observers::{Initcheck, Racecheck, Synccheck};
use crate::run::{launch, launch_scheduled, launch_together};
use crate::types::Space;

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
    let shape = alone(shape);
    let run = |memories: &[&mut Memory], observer: &mut dyn Watch| {
        launch(kernel, &*memories[0], &shape, arguments, observer)
    };
    check_by(&[kernel], &mut [memory], tools, run)
}

/// As [`check`], of launches that run at the same time on several devices: also finds what the devices do to each other.
///
/// # Errors
/// What [`launch_together`] refuses, and a launch that exceeds its limit of steps.
pub fn check_together(
    launches: &[DeviceLaunch<'_>],
    memories: &mut [&mut Memory],
    tools: &[Tool],
) -> Result<Vec<Finding>, LaunchError> {
    let kernels: Vec<&Kernel> = launches.iter().map(|launch| launch.kernel).collect();
    check_by(&kernels, memories, tools, |memories, observer| {
        let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
        launch_together(launches, &memories, Order::Fixed, observer)
    })
}

fn check_by(
    kernels: &[&Kernel],
    memories: &mut [&mut Memory],
    tools: &[Tool],
    run: impl FnOnce(&[&mut Memory], &mut dyn Watch) -> Result<(), LaunchError>,
) -> Result<Vec<Finding>, LaunchError> {
    let wanted = |tool: Tool| tools.contains(&tool);
    let before = Snapshot::of_all(memories)?;
    let initcheck = || {
        let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
        Initcheck::of_devices(&memories)
    };
    let mut observer = (
        wanted(Tool::Racecheck).then(Racecheck::new),
        (
            wanted(Tool::Initcheck).then(initcheck),
            wanted(Tool::Synccheck).then(Synccheck::new),
        ),
    );
    let result = run(memories, &mut observer);
    Snapshot::restore_all(&before, memories)?;
    let mut findings = Vec::new();
    if let Err(error) = result {
        findings.push(trap_finding(error, kernels)?);
    }
    let (racecheck, (initcheck, synccheck)) = observer;
    findings.extend(initcheck.iter().flat_map(|tool| tool.findings_of(kernels)));
    findings.extend(racecheck.iter().flat_map(|tool| tool.findings_of(kernels)));
    findings.extend(synccheck.iter().flat_map(|tool| tool.findings_of(kernels)));
    findings.sort_by_key(|finding| finding.tool);
    Ok(findings)
}

/// The same launch on one host thread: several would start blocks in an order of their own.
fn alone(shape: &Launch) -> Launch {
    Launch {
        threads: 1,
        ..*shape
    }
}

/// The trap as a finding, with the texts of the kernel that has them.
fn trap_finding(error: LaunchError, kernels: &[&Kernel]) -> Result<Finding, LaunchError> {
    let LaunchError::Trap(trap) = error else {
        return Err(error);
    };
    let has_line = |kernel: &&&Kernel| {
        kernel.name() == trap.kernel && kernel.line_text(trap.line as u32) == Some(&trap.text)
    };
    let kernel = kernels.iter().find(has_line).or(kernels.first());
    let finding = kernel.and_then(|kernel| Finding::of_trap(&trap, kernel));
    finding.ok_or(LaunchError::Trap(trap))
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
    let alone = alone(shape);
    compare_by(&[kernel], &mut [memory], orders, |memories, order| {
        let memory = &*memories[0];
        match order {
            Order::Fixed => launch(kernel, memory, &alone, arguments, &mut Nothing),
            Order::Seed(seed) => {
                launch_scheduled(kernel, memory, shape, arguments, seed, &mut Nothing)
            }
        }
    })
}

/// As [`compare_orders`], of launches that run at the same time on several devices.
///
/// # Errors
/// What [`launch_together`] refuses, and a launch that exceeds its limit of steps.
pub fn compare_orders_together(
    launches: &[DeviceLaunch<'_>],
    memories: &mut [&mut Memory],
    orders: impl IntoIterator<Item = Order>,
) -> Result<Option<Finding>, LaunchError> {
    let kernels: Vec<&Kernel> = launches.iter().map(|launch| launch.kernel).collect();
    compare_by(&kernels, memories, orders, |memories, order| {
        let memories: Vec<&Memory> = memories.iter().map(|memory| &**memory).collect();
        launch_together(launches, &memories, order, &mut Nothing)
    })
}

fn compare_by(
    kernels: &[&Kernel],
    memories: &mut [&mut Memory],
    orders: impl IntoIterator<Item = Order>,
    run: impl Fn(&[&mut Memory], Order) -> Result<(), LaunchError>,
) -> Result<Option<Finding>, LaunchError> {
    let before = Snapshot::of_all(memories)?;
    let difference = first_difference(kernels, memories, orders, &before, run);
    Snapshot::restore_all(&before, memories)?;
    difference
}

fn first_difference(
    kernels: &[&Kernel],
    memories: &mut [&mut Memory],
    orders: impl IntoIterator<Item = Order>,
    before: &[Snapshot],
    run: impl Fn(&[&mut Memory], Order) -> Result<(), LaunchError>,
) -> Result<Option<Finding>, LaunchError> {
    let mut first: Option<(Order, Vec<Snapshot>)> = None;
    for order in orders {
        Snapshot::restore_all(before, memories)?;
        if let Err(error) = run(memories, order) {
            let mut finding = trap_finding(error, kernels)?;
            finding.message = format!("{}, under {order}", finding.message);
            return Ok(Some(finding));
        }
        let after = Snapshot::of_all(memories)?;
        let Some((first_order, first)) = &first else {
            first = Some((order, after));
            continue;
        };
        let mut pairs = first.iter().zip(&after);
        let difference = pairs.find_map(|(first, after)| first.difference(after));
        if let Some((address, [one, other])) = difference {
            return Ok(Some(Finding {
                tool: Tool::Schedules,
                kind: "result depends on the schedule",
                message: format!(
                    "{first_order} leaves {one:#x} there, and {order} leaves {other:#x}"
                ),
                kernel: kernels
                    .first()
                    .map_or_else(String::new, |kernel| kernel.name().to_owned()),
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
    fn of_all(memories: &[&mut Memory]) -> Result<Vec<Self>, MemoryError> {
        memories.iter().map(|memory| Self::of(memory)).collect()
    }

    fn restore_all(all: &[Self], memories: &mut [&mut Memory]) -> Result<(), MemoryError> {
        let mut pairs = all.iter().zip(memories);
        pairs.try_for_each(|(snapshot, memory)| snapshot.restore(memory))
    }

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
        let (heap, others) = (self.heap.addresses(), other.heap.addresses());
        let heap = heap.start..heap.end.max(others.end);
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
