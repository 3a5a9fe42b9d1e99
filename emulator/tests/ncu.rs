//! The counters against those that Nsight Compute read on a GPU, for the same kernels: `data/ncu.h200.csv`, whose origin is in
//! `data/README.md`.

use std::collections::HashMap;

use warpfold_emulator::{Launch, Measurements, Memory, Metric, Module, Profile, Program, launch};

const FIGURES: &str = include_str!("data/ncu.h200.csv");
const MEMORY_PTX: &str = include_str!("data/memory.nvcc.sm_80.ptx");
const LADDER_PTX: &str = include_str!("data/ladder.nvcc.sm_80.ptx");

/// The index that keeps a lane out of an access.
const NONE: i32 = -1;

/// One launch that was measured.
struct Row {
    kernel: &'static str,
    /// What sets the launch apart from others of the kernel: an offset, a stride, a number of elements, a pattern.
    parameter: &'static str,
    /// For each lane, the index it uses; empty for kernels that do not take any.
    indices: Vec<i32>,
    /// The metrics by their names.
    figures: HashMap<&'static str, f64>,
}

fn rows() -> Vec<Row> {
    let mut lines = FIGURES.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split(',').collect();
        let figures = names.iter().zip(&cells).skip(3);
        Row {
            kernel: cells[0],
            parameter: cells[1],
            indices: cells[2]
                .split_whitespace()
                .map(|index| index.parse().expect("an index"))
                .collect(),
            figures: figures
                .filter(|(_, cell)| !cell.is_empty())
                .map(|(&name, cell)| (name, cell.parse().expect("a number")))
                .collect(),
        }
    };
    lines.map(row).collect()
}

impl Row {
    fn number(&self) -> u32 {
        self.parameter.parse().expect("a number")
    }

    /// A metric under the name it has here; a sum of two where the table says so.
    fn figure(&self, name: &str) -> f64 {
        let metric = Metric::find(name);
        let ncu = metric
            .and_then(|metric| metric.ncu)
            .unwrap_or_else(|| panic!("{name} has a name in Nsight Compute"));
        let measured = |name| *self.figures.get(name).unwrap_or_else(|| panic!("{name}"));
        ncu.split(" + ").map(measured).sum()
    }

    #[track_caller]
    fn check(&self, measured: &Measurements, times: f64, names: &[&str]) {
        for name in names {
            let metric = Metric::find(name);
            let counted = metric.and_then(|metric| metric.value(measured));
            assert_eq!(
                counted.map(|counted| counted * times),
                Some(self.figure(name)),
                "{name} of {} {}, {:?}",
                self.kernel,
                self.parameter,
                self.indices
            );
        }
    }
}

/// A launch argument.
enum Argument {
    Zeros(usize),
    Words(Vec<i32>),
    Scalar(u32),
    Wide(u64),
}

fn profile(ptx: &str, kernel: &str, grid: u32, block: u32, arguments: &[Argument]) -> Measurements {
    let mut memory = Memory::new();
    let arguments: Vec<Vec<u8>> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Zeros(bytes) => memory.allocate(*bytes).unwrap().to_le_bytes().to_vec(),
            Argument::Words(words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let address = memory.allocate(bytes.len()).unwrap();
                memory.write(address, &bytes).unwrap();
                address.to_le_bytes().to_vec()
            }
            Argument::Scalar(value) => value.to_le_bytes().to_vec(),
            Argument::Wide(value) => value.to_le_bytes().to_vec(),
        })
        .collect();
    let program = Program::load(Module::parse(ptx).unwrap(), &mut memory).unwrap();
    let shape = Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        threads: 1,
        ..Launch::default()
    };
    let kernel = program.kernel(kernel).unwrap();
    let mut profile = Profile::default();
    launch(&kernel, &memory, &shape, &arguments, &mut profile).unwrap();
    profile.total()
}

/// Metrics of global memory that have to be the same to the last digit.
const GLOBAL: [&str; 6] = [
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "global_sectors",
    "global_sectors_ideal",
];
/// The same of shared memory: what the hardware counted, and what Nsight Compute works out from the addresses.
const SHARED: [&str; 5] = [
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "shared_atomic_wavefronts",
    "shared_wavefronts",
    "shared_wavefronts_ideal",
];
/// Of these, the hardware's.
const SHARED_HARDWARE: &[&str] = &[SHARED[0], SHARED[1], SHARED[2]];
/// Of these, Nsight Compute's own.
const SHARED_BY_ADDRESS: &[&str] = &[SHARED[3], SHARED[4]];

#[test]
fn sectors_of_copies_with_an_offset_or_a_stride() {
    const N: u32 = 4 * 256 * 32;
    let mut checked = 0;
    for row in rows() {
        if row.kernel == "copy_offset" || row.kernel == "copy_stride" {
            let buffer = || Argument::Zeros(4 * N as usize);
            let scalars = [Argument::Scalar(N), Argument::Scalar(row.number())];
            let arguments: Vec<Argument> =
                [buffer(), buffer()].into_iter().chain(scalars).collect();
            row.check(
                &profile(MEMORY_PTX, row.kernel, 4, 256, &arguments),
                1.0,
                &GLOBAL,
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 33 + 32);
}

#[test]
fn wavefronts_of_strides_through_the_banks() {
    let mut checked = 0;
    for row in rows() {
        if row.kernel.starts_with("bank_stride") {
            let arguments = [Argument::Zeros(64 * 16), Argument::Scalar(row.number())];
            row.check(
                &profile(MEMORY_PTX, row.kernel, 1, 64, &arguments),
                1.0,
                &SHARED,
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 3 * 32);
}

#[test]
fn any_pattern_of_indices() {
    let (mut checked, mut contradictions) = (0, 0);
    for row in rows() {
        let (shared, atomic) = (
            row.kernel.starts_with("shared"),
            row.kernel.contains("atomic"),
        );
        let buffer = || Argument::Zeros(1024 * 16);
        let mut arguments = vec![Argument::Words(row.indices.clone())];
        let mut names = GLOBAL.to_vec();
        match row.kernel {
            _ if row.indices.is_empty() => continue,
            "global_reduction_indexed" => arguments.push(buffer()),
            _ if shared => arguments.push(buffer()),
            _ => arguments.extend([buffer(), buffer()]),
        }
        if shared {
            let by_hardware: f64 = SHARED_HARDWARE.iter().map(|name| row.figure(name)).sum();
            if by_hardware == row.figure("shared_wavefronts") {
                names.extend(SHARED);
            } else {
                // Nsight Compute works out one wavefront more than the hardware takes: the hardware is right.
                assert!(row.indices.contains(&NONE), "{}", row.parameter);
                contradictions += 1;
                names.extend(SHARED_HARDWARE);
            }
        } else if atomic || row.kernel == "global_reduction_indexed" {
            names.extend(["global_atomic_requests", "global_atomic_passes"]);
        }
        assert!(row.indices.iter().any(|&index| index != NONE));
        row.check(
            &profile(MEMORY_PTX, row.kernel, 1, 32, &arguments),
            1.0,
            &names,
        );
        checked += 1;
    }
    assert!(checked >= 9 * 44, "{checked} patterns");
    assert_eq!(contradictions, 6);
}

#[test]
fn the_ladder_by_nvcc() {
    // All blocks do the same: a few, times what is missing.
    const BLOCKS: u32 = 4;
    let mut checked = 0;
    for row in rows() {
        let Some(per_thread) = elements_per_thread(row.kernel) else {
            continue;
        };
        let n = row.number();
        let times = n / (per_thread * 512 * BLOCKS);
        let elements = BLOCKS * per_thread * 512;
        let arguments = [
            Argument::Zeros(4 * elements as usize),
            Argument::Zeros(4 * BLOCKS as usize),
            Argument::Wide(elements.into()),
        ];
        let measured = profile(LADDER_PTX, row.kernel, BLOCKS, 512, &arguments);
        row.check(&measured, times.into(), &GLOBAL);
        row.check(&measured, times.into(), SHARED_BY_ADDRESS);
        checked += 1;
    }
    assert_eq!(checked, 12);
}

/// How many elements a thread of a ladder kernel takes; `None` for other kernels.
fn elements_per_thread(kernel: &str) -> Option<u32> {
    match kernel {
        "neighbored" | "neighbored_less" | "interleaved" => Some(1),
        "unroll2" => Some(2),
        "unroll4" => Some(4),
        _ if kernel.starts_with("unroll") => Some(8),
        _ if kernel.starts_with("complete_unroll") || kernel == "shuffle_512" => Some(8),
        _ => None,
    }
}
