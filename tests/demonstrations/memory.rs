//! Sectors against offset and stride, wavefronts against stride: by formulae, by address, and as a GPU counted them.

use crate::launch::Argument::{U32, U64, Words, Zeros};
use crate::launch::{Argument, Ready, lessons_ptx, metric, text_of};
use std::collections::{HashMap, HashSet};
use warpfold_emulator::METRICS;
use warpfold_kernels::catalogue::BLOCK_SIZES;

/// Lengths of every awkward kind for a block size.
fn lengths(block: u32) -> [usize; 8] {
    let block = block as usize;
    [1, 31, 33, block - 1, block, block + 1, 8 * block + 1, 4099]
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A copy of `n` elements, by as many threads as the lesson launches.
fn copy(ptx: &str, kernel: &str, block: u32, n: usize, parameter: u32) -> Ready {
    let threads = match kernel {
        "copy_offset" => n - parameter as usize,
        _ => n.div_ceil(parameter as usize),
    };
    let grid = threads.div_ceil(block as usize).max(1) as u32;
    let arguments = [Zeros(4 * n), Zeros(4 * n), U64(n), U32(parameter)];
    Ready::linear(ptx, kernel, grid, block, &arguments)
}

/// The sectors that the warps of a copy touch, from the indices of their lanes; buffers begin with a sector.
fn sectors(n: usize, index_of_thread: impl Fn(usize) -> usize) -> usize {
    let indices: Vec<usize> = (0..)
        .map(index_of_thread)
        .take_while(|&index| index < n)
        .collect();
    let of_warp = |warp: &[usize]| {
        let sectors: HashSet<usize> = warp.iter().map(|index| index * 4 / 32).collect();
        sectors.len()
    };
    indices.chunks(32).map(of_warp).sum()
}

#[test]
fn a_misaligned_copy_takes_five_sectors_for_four() {
    let ptx = lessons_ptx();
    for offset in 0..=32 {
        let whole_warps = 4096 + offset as usize;
        let measured = copy(&ptx, "copy_offset", 256, whole_warps, offset).profile();
        let expected = if offset % 8 == 0 { 4.0 } else { 5.0 };
        for name in [
            "global_load_sectors_per_request",
            "global_store_sectors_per_request",
        ] {
            assert_eq!(metric(&measured, name), expected, "{name}, offset {offset}");
        }
    }
}

#[test]
fn a_copy_with_gaps_takes_a_sector_for_ever_fewer_words() {
    let ptx = lessons_ptx();
    for stride in 1..=32 {
        let measured = copy(&ptx, "copy_stride", 256, 4096 * stride as usize, stride).profile();
        let expected = f64::from((4 * stride).min(32));
        for name in [
            "global_load_sectors_per_request",
            "global_store_sectors_per_request",
        ] {
            assert_eq!(metric(&measured, name), expected, "{name}, stride {stride}");
        }
        let useful = metric(&measured, "global_useful_bytes_per_sector");
        assert_eq!(useful, 128.0 / expected, "stride {stride}");
    }
}

#[test]
fn the_sectors_of_any_length_are_those_of_the_addresses() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        for n in lengths(block) {
            for parameter in [0, 1, 7, 8, 9, 31, 32] {
                if (parameter as usize) < n {
                    let measured = copy(&ptx, "copy_offset", block, n, parameter).profile();
                    let expected = sectors(n, |thread| thread + parameter as usize);
                    for name in ["global_load_sectors", "global_store_sectors"] {
                        assert_eq!(
                            metric(&measured, name),
                            expected as f64,
                            "{n} from {parameter}"
                        );
                    }
                }
                if parameter > 0 {
                    let measured = copy(&ptx, "copy_stride", block, n, parameter).profile();
                    let expected = sectors(n, |thread| thread * parameter as usize);
                    assert_eq!(metric(&measured, "global_sectors"), 2.0 * expected as f64);
                }
            }
        }
    }
}

/// Shared accesses with a stride, over whole blocks.
fn bank_stride(ptx: &str, grid: u32, block: u32, stride: u32) -> Ready {
    let n = (grid * block) as usize;
    let arguments = [Zeros(4 * n), U64(n), U32(stride)];
    Ready::linear(ptx, "bank_stride", grid, block, &arguments)
}

#[test]
fn bank_conflicts_of_a_stride() {
    let ptx = lessons_ptx();
    let mut conflicts = Vec::new();
    for stride in 1..=32 {
        let wavefronts = gcd(stride, 32);
        for block in BLOCK_SIZES {
            let measured = bank_stride(&ptx, 3, block, stride).profile();
            // Each warp stores once and loads once.
            let requests = 2 * 3 * block / 32;
            assert_eq!(metric(&measured, "shared_requests"), f64::from(requests));
            let total = metric(&measured, "shared_wavefronts");
            assert_eq!(
                total,
                f64::from(requests * wavefronts),
                "stride {stride}, block {block}"
            );
            let excessive = metric(&measured, "shared_wavefronts_excessive");
            assert_eq!(excessive, f64::from(requests * (wavefronts - 1)));
        }
        conflicts.push(wavefronts - 1);
    }
    assert_eq!(conflicts[..8], [0, 1, 0, 3, 0, 1, 0, 7]);
    assert!(conflicts.iter().step_by(2).all(|&conflicts| conflicts == 0));
    assert_eq!(conflicts[31], 31);
}

#[test]
fn a_mirrored_warp_has_no_conflict() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let n = 3 * block as usize;
        for kernel in [
            format!("reverse_static_{block}"),
            "reverse_dynamic".to_owned(),
        ] {
            let measured =
                Ready::linear(&ptx, &kernel, 3, block, &[Zeros(4 * n), U64(n)]).profile();
            assert_eq!(
                metric(&measured, "shared_wavefronts"),
                f64::from(2 * 3 * block / 32)
            );
            assert_eq!(metric(&measured, "shared_wavefronts_excessive"), 0.0);
            assert_eq!(metric(&measured, "global_sectors_excessive"), 0.0);
        }
    }
}

/// The sum of two matrices of this many columns and whole rows.
fn matrix_add(ptx: &str, columns: usize, rows: usize, block: u32) -> Ready {
    let n = columns * rows;
    let height = block / 32;
    let grid = [
        columns.div_ceil(32) as u32,
        rows.div_ceil(height as usize) as u32,
        1,
    ];
    let buffers = [Zeros(4 * n), Zeros(4 * n), Zeros(4 * n)];
    let arguments: Vec<Argument> = buffers.into_iter().chain([U64(columns), U64(n)]).collect();
    Ready::new(ptx, "matrix_add", grid, [32, height, 1], &arguments)
}

#[test]
fn rows_that_begin_anywhere_cost_a_sector() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let aligned = matrix_add(&ptx, 64, 70, block).profile();
        assert_eq!(metric(&aligned, "global_load_sectors_per_request"), 4.0);
        assert_eq!(metric(&aligned, "global_sectors_excessive"), 0.0);
        // A row of 65 has two whole warps and one of a single lane; row r begins r words into a sector.
        let rows = 72;
        let misaligned = matrix_add(&ptx, 65, rows, block).profile();
        let of_row = |row: usize| {
            if row.is_multiple_of(8) {
                4 + 4 + 1
            } else {
                5 + 5 + 1
            }
        };
        let expected: usize = (0..rows).map(of_row).sum();
        assert_eq!(metric(&misaligned, "global_store_sectors"), expected as f64);
        assert_eq!(
            metric(&misaligned, "global_load_sectors"),
            2.0 * expected as f64
        );
    }
}

/// What a GPU counted for the same accesses by kernels in CUDA C++ (`peers/memory.cu`): metrics by kernel and parameter.
fn counted_by_a_gpu() -> HashMap<(&'static str, u32), HashMap<&'static str, f64>> {
    let text = include_str!("../../emulator/tests/data/ncu.h200.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let figures = names.iter().zip(&cells).skip(3);
            let figures = figures.filter_map(|(name, cell)| Some((*name, cell.parse().ok()?)));
            Some(((cells[0], cells[1].parse().ok()?), figures.collect()))
        })
        .collect()
}

#[test]
fn a_gpu_counts_the_same_for_cuda_c() {
    const GLOBAL: [&str; 6] = [
        "global_load_requests",
        "global_load_sectors",
        "global_store_requests",
        "global_store_sectors",
        "global_sectors",
        "global_sectors_ideal",
    ];
    const SHARED: [&str; 4] = [
        "shared_load_wavefronts",
        "shared_store_wavefronts",
        "shared_wavefronts",
        "shared_wavefronts_ideal",
    ];
    let ptx = lessons_ptx();
    let mut compared = 0;
    for ((kernel, parameter), figures) in counted_by_a_gpu() {
        // The threads of peers/memory.cu: 4 blocks of 256 for a copy, one of 64 for the banks.
        let (ready, names) = match kernel {
            "copy_offset" => (
                copy(&ptx, kernel, 256, 1024 + parameter as usize, parameter),
                &GLOBAL[..],
            ),
            "copy_stride" => (
                copy(&ptx, kernel, 256, 1024 * parameter as usize, parameter),
                &GLOBAL[..],
            ),
            "bank_stride_4" => (bank_stride(&ptx, 1, 64, parameter), &SHARED[..]),
            _ => continue,
        };
        let measured = ready.profile();
        for name in names {
            let ncu = METRICS
                .iter()
                .find(|metric| metric.name == *name)
                .and_then(|metric| metric.ncu);
            let counted = figures[ncu.expect("it has a name in Nsight Compute")];
            assert_eq!(
                metric(&measured, name),
                counted,
                "{kernel} {parameter}: {name}"
            );
        }
        compared += 1;
    }
    assert_eq!(compared, 33 + 32 + 32);
}

#[test]
fn a_table_is_read_by_read_only_loads() {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, "read_only");
    for instruction in ["ld.global.nc.b32", "ld.global.b32", "st.global.b32"] {
        assert_eq!(text.matches(instruction).count(), 1, "{instruction}");
    }
    // Each lane of a warp in a sector of its own, one lane of it in the next warp's.
    let n = 256;
    let indices: Vec<i32> = (0..n).map(|index| 8 * index).collect();
    let arguments = [
        Zeros(4 * 8 * n as usize),
        Words(indices),
        Zeros(4 * n as usize),
        U64(n as usize),
    ];
    let measured = Ready::linear(&ptx, "read_only", 1, n as u32, &arguments).profile();
    let warps = f64::from(n) / 32.0;
    assert_eq!(metric(&measured, "global_load_requests"), 2.0 * warps);
    assert_eq!(
        metric(&measured, "global_load_sectors"),
        (4.0 + 32.0) * warps
    );
    assert_eq!(
        metric(&measured, "global_load_bytes"),
        2.0 * 4.0 * f64::from(n)
    );
    assert_eq!(metric(&measured, "global_store_bytes"), 4.0 * f64::from(n));
}

/// What page 8 says under "Cost", of whole blocks.
#[test]
fn constant_memory_costs_a_turn_for_each_word() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        let n = 2 * block as usize;
        let warps = n as f64 / 32.0;
        // The last elements have fewer neighbours: that many loads are not made.
        let cut = f64::from((0..16).sum::<u32>());
        for (kernel, requests, words, loads) in [
            (
                "constant_uniform",
                16.0 * warps,
                16.0 * warps,
                16.0 * n as f64 - cut,
            ),
            ("constant_scattered", warps, 16.0 * warps, n as f64),
        ] {
            let text = text_of(&ptx, kernel);
            assert_eq!(
                text.matches(".const .align 4 .b32 weights[16] = {").count(),
                1,
                "{kernel}"
            );
            assert!(text.contains("ld.const.b32"), "{kernel}");
            let arguments = [Zeros(4 * n), Zeros(4 * n), U64(n)];
            let measured = Ready::linear(&ptx, kernel, 2, block, &arguments).profile();
            assert_eq!(
                metric(&measured, "constant_loads"),
                requests,
                "{kernel}, {block}"
            );
            assert_eq!(
                metric(&measured, "constant_words"),
                words,
                "{kernel}, {block}"
            );
            assert_eq!(
                metric(&measured, "global_load_bytes"),
                4.0 * loads,
                "{kernel}, {block}"
            );
            assert_eq!(
                metric(&measured, "global_store_bytes"),
                4.0 * n as f64,
                "{kernel}, {block}"
            );
        }
    }
}

#[test]
fn launch_bounds_are_in_the_header() {
    let ptx = lessons_ptx();
    for block in BLOCK_SIZES {
        for (kernel, bounds) in [
            ("in_flight", format!(".maxntid {block}\n{{")),
            (
                "in_flight_bounded",
                format!(".maxntid {block} .minnctapersm {}\n{{", 1024 / block),
            ),
        ] {
            let text = text_of(&ptx, &format!("{kernel}_{block}"));
            assert!(text.contains(&bounds), "{text}");
        }
    }
    assert!(text_of(&ptx, "shared_held_48").contains(".b8 tile[49152]"));
    assert!(
        !ptx.contains("launch_bounds:"),
        "a declaration is left in a body"
    );
}
