//! Launches for every shape on every GPU.

use super::*;
use warpfold_device::operator::Sum;
use warpfold_device::rows::PACKED_BLOCK;

/// What the kernels' contracts ask of a launch for rows or columns.
fn is_sound(problem: &Problem, launch: Launch) -> bool {
    let Matrix {
        rows,
        columns,
        stride,
    } = problem.matrix;
    let bytes = columns * problem.value_bytes;
    let of_way = match launch.way {
        Way::Blocks(parts) => (1..=1024).contains(&launch.block) && parts >= 1,
        Way::Large(kept) => {
            rows == 1 && (1..=1024).contains(&launch.block) && (1..16).contains(&kept)
        }
        Way::Aligned => {
            launch.blocks as usize == rows
                && (1..=1024).contains(&launch.block)
                && launch.block.is_multiple_of(32)
        }
        Way::Lanes(lanes) => {
            lanes.is_power_of_two() && lanes <= 32 && launch.block.is_multiple_of(32)
        }
        Way::Packed => {
            stride == columns
                && problem.matrices == 1
                && (1..=PACKED_BYTES).contains(&bytes)
                && launch.block.is_multiple_of(32)
                && launch.block <= PACKED_BLOCK
        }
        Way::Columns(layout) => {
            let Layout {
                width,
                fold,
                slices,
            } = layout;
            let is_folded = stride == columns
                && fold as usize * columns == width as usize * problem.lanes
                && layout.strips(problem.lanes, columns) == 1;
            let at_once = (launch.block / width.max(1) * fold.max(1)) as usize;
            // With a line that begins before the first row.
            let turns = rows.div_ceil(at_once * slices.max(1) as usize) + 1;
            let is_of_all = launch.blocks == u32::MAX
                || (launch.blocks as usize).is_multiple_of(problem.matrices * slices as usize);
            (1..=launch.block).contains(&width)
                && (is_of_all || rows <= LOADS)
                && turns * at_once <= problem.limits.rows
                && (32..=problem.limits.threads).contains(&launch.block)
                && slices >= 1
                && (fold == 1 || fold > 1 && is_folded)
        }
        Way::FixedBlocks => launch.block == fixed::BLOCK,
        Way::FixedLanes(lanes) => {
            columns <= fixed::SHORT
                && lanes.is_power_of_two()
                && lanes <= 32
                && launch.block.is_multiple_of(32)
        }
        Way::FixedColumns(strips) => launch.block == fixed::BLOCK && strips == Strips::new(columns),
        Way::Whole(_) | Way::Segments | Way::FixedSegments => false,
    };
    let is_along = match launch.way {
        Way::Columns(_) | Way::FixedColumns(_) => problem.along == Along::Columns,
        _ => problem.along == Along::Rows,
    };
    let most = match launch.way {
        // A block for each strip, however many there are; if they are of too many matrices, these are taken by several launches.
        Way::Columns(_) if problem.matrices == 1 => i32::MAX as usize,
        Way::Columns(_) => u32::MAX as usize,
        _ => MOST_BLOCKS,
    };
    of_way && is_along && (1..=most).contains(&(launch.blocks as usize)) && rows > 0
}

/// GPUs of all sizes: the emulator's two multiprocessors, a laptop's, a desktop's, those of the measurements and twice as many.
#[test]
fn every_gpu_gets_a_sound_launch_for_every_shape() {
    for (multiprocessors, bytes_per_second) in [
        (1, None),
        (2, None),
        (20, Some(2e11)),
        (84, Some(9e11)),
        (132, Some(3.4e12)),
        (132, Some(4.9e12)),
        (264, Some(1e13)),
    ] {
        for (value_bytes, work) in [
            (1, Work::Little),
            (1, Work::Place),
            (2, Work::Little),
            (2, Work::Much),
            (4, Work::Little),
            (4, Work::Place),
            (8, Work::Little),
            (8, Work::Much),
            (16, Work::Little),
        ] {
            for columns in [
                0,
                1,
                2,
                3,
                4,
                5,
                31,
                32,
                100,
                128,
                1000,
                4096,
                5000,
                1 << 16,
                1 << 20,
                1 << 28,
            ] {
                for rows in [1, 2, 3, 31, 132, 1000, 1 << 16, 1 << 26] {
                    for (gap, along, mode, most_threads, matrices) in [
                        (0, Along::Rows, Mode::Fast, 256, 1),
                        (3, Along::Rows, Mode::Fast, 256, 1),
                        (0, Along::Rows, Mode::Deterministic, 256, 1),
                        (0, Along::Rows, Mode::Fast, 256, 3),
                        (3, Along::Rows, Mode::Fast, 256, 70_000),
                        (3, Along::Rows, Mode::Deterministic, 256, 3),
                        (0, Along::Columns, Mode::Fast, 256, 1),
                        (3, Along::Columns, Mode::Fast, 128, 1),
                        (0, Along::Columns, Mode::Fast, 1024, 1),
                        (3, Along::Columns, Mode::Deterministic, 256, 1),
                        (0, Along::Columns, Mode::Fast, 256, 3),
                        (3, Along::Columns, Mode::Fast, 128, 70_000),
                        (3, Along::Columns, Mode::Deterministic, 256, 3),
                    ] {
                        // Of no columns there are no results.
                        if along == Along::Columns && columns == 0 {
                            continue;
                        }
                        let problem = Problem {
                            matrices,
                            matrix: Matrix {
                                rows,
                                columns,
                                stride: columns + gap,
                            },
                            along,
                            mode,
                            value_bytes,
                            work,
                            lanes: 16 / value_bytes,
                            limits: Limits {
                                threads: most_threads,
                                rows: if work == Work::Place {
                                    u16::MAX.into()
                                } else {
                                    usize::MAX
                                },
                                ..OF_F32
                            },
                            gpu: Gpu {
                                multiprocessors,
                                bytes_per_second,
                            },
                            l2_bytes: u64::from(multiprocessors) << 19,
                        };
                        for are_aligned in [false, true] {
                            let are_aligned = are_aligned && matrices == 1;
                            let launch = problem.choose().of_rows(rows, are_aligned);
                            assert!(is_sound(&problem, launch), "{problem:?}: {launch:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_block_for_each_row_is_that_of_the_kernel_for_such_rows() {
    let of = |way, blocks, block| Launch { way, blocks, block };
    let (whole, any) = (of(Way::Whole(256), 100, 512), of(Way::Blocks(1), 100, 256));
    assert_eq!(whole.of_rows(100, true), of(Way::Aligned, 100, 512));
    assert_eq!(whole.of_rows(100, false), any);
    // No block of the kernel for aligned rows takes a second one.
    assert_eq!(whole.of_rows(101, true), any);
    assert_eq!(any.of_rows(100, true), any);
}

#[test]
fn rows_that_run_at_once_have_as_many_threads_as_aligned_ones() {
    let problem = |rows| Problem {
        matrix: Matrix::contiguous(rows, 1 << 14),
        ..of_f32(84)
    };
    assert_eq!(problem(84).block_of_any(1024), 1024);
    assert_eq!(problem(85).block_of_any(1024), 512);
    assert_eq!(problem(168).block_of_any(512), 512);
    assert_eq!(problem(1 << 14).block_of_any(512), 256);
    assert_eq!(problem(1 << 20).block_of_any(64), 64);
}

const OF_F32: Limits = Limits {
    threads: 256,
    rows: usize::MAX,
    resident: 3,
};

/// A row of no values of `f32`, on a desktop GPU with this many multiprocessors.
fn of_f32(multiprocessors: u32) -> Problem {
    Problem {
        matrix: Matrix::contiguous(1, 0),
        matrices: 1,
        along: Along::Rows,
        mode: Mode::Fast,
        value_bytes: 4,
        work: Work::Little,
        lanes: 4,
        limits: OF_F32,
        gpu: Gpu {
            multiprocessors,
            bytes_per_second: Some(9e11),
        },
        l2_bytes: 64 << 20,
    }
}

/// Rows of other lengths than powers of two get what was measured for the nearest of 3/2 · 2^n bytes; sums of rows of whole vectors do not.
#[test]
fn odd_rows_are_shared_as_the_nearest_that_was_measured() {
    let of = |work, bytes: usize| {
        let problem = Problem {
            matrix: Matrix::contiguous((1 << 28) / bytes, bytes),
            value_bytes: 1,
            work,
            lanes: 16,
            ..of_f32(132)
        };
        problem.choose().way
    };
    let measured = |work, exponent: usize| {
        let table = of_shape(TUNED, (work, 1), |of| of.odd_rows, 1 << 28, of_f32(132).gpu);
        match line_of(table, 1 << exponent, |line| line.0).1 {
            Choice::Packed { .. } => Way::Packed,
            Choice::Lanes { lanes, .. } => Way::Lanes(lanes),
            choice => unreachable!("{choice:?} is none for short rows"),
        }
    };
    for work in [Work::Little, Work::Place] {
        assert_ne!(measured(work, 6), measured(work, 7));
        for (bytes, exponent) in [(97, 6), (129, 6), (135, 6), (137, 7), (193, 7)] {
            assert_eq!(of(work, bytes), measured(work, exponent), "{bytes}");
        }
    }
    assert_eq!(of(Work::Little, 400), Way::Lanes(4));
}

/// Columns have strips and blocks as measured, and half as many blocks on half as many multiprocessors. Each thread has vectors to load at
/// once, and smaller blocks are more.
#[test]
fn columns_are_shared_as_measured() {
    let of = |multiprocessors, rows, columns, most_threads| {
        let problem = Problem {
            matrix: Matrix::contiguous(rows, columns),
            along: Along::Columns,
            limits: Limits {
                threads: most_threads,
                ..OF_F32
            },
            ..of_f32(multiprocessors)
        };
        match problem.choose().way {
            Way::Columns(layout) => layout,
            way => unreachable!("columns have no way like {way:?}"),
        }
    };
    let layout = |width, fold, slices| Layout {
        width,
        fold,
        slices,
    };
    let table = of_shape(
        TUNED,
        (Work::Little, 4),
        |of| of.columns,
        1 << 30,
        of_f32(132).gpu,
    );
    let (_, choice) = line_of(table, 1 << 14, |line| line.0);
    let Choice::Columns { width, blocks } = choice else {
        unreachable!("{choice:?} is none for columns");
    };
    let strips = (1 << 12) / 4 / width;
    assert_eq!(
        of(132, 1 << 16, 1 << 12, 256),
        layout(width, 1, blocks / strips)
    );
    assert_eq!(
        of(66, 1 << 15, 1 << 12, 256),
        layout(width, 1, blocks / strips / 2)
    );
    assert_eq!(
        of(132, 1 << 16, 1 << 12, 128),
        layout(width, 1, 2 * blocks / strips)
    );
    // Four vectors for each thread of the blocks that share the 256 rows.
    let of_few_columns = of(132, 1 << 8, 1 << 7, 256);
    let Layout { width, slices, .. } = of_few_columns;
    assert_eq!(256 / width * slices * 4, 256, "{of_few_columns:?}");
    // Rows side by side are as wide as the strip, and few rows have blocks of one row of threads.
    assert_eq!(of(132, 1 << 20, 1, 256).fold, 1024);
    assert_eq!(of(132, 3, 1 << 22, 256), layout(256, 1, 1));
    assert_eq!(of(132, 4, 1 << 16, 256), layout(32, 1, 1));
}

/// Of many rows.
#[test]
fn strips_run_all_at_once_or_are_at_least_twice_as_many() {
    let vectors = (1..64).map(|step| step << 9);
    let problems = vectors.flat_map(|vectors| {
        [20, 46, 84, 132].map(|multiprocessors| Problem {
            matrix: Matrix::contiguous(1 << 12, 4 * vectors),
            along: Along::Columns,
            ..of_f32(multiprocessors)
        })
    });
    for problem in problems {
        let Way::Columns(layout) = problem.choose().way else {
            unreachable!("columns have a layout");
        };
        let strips = layout.strips(4, problem.matrix.columns);
        let at_once = 3 * problem.gpu.multiprocessors as usize;
        assert!(
            strips <= at_once || strips >= 2 * at_once || 2 * layout.width > 256,
            "{} strips of {} columns, of which {at_once} run at once",
            strips,
            problem.matrix.columns
        );
    }
}

/// What stays in the L2 cache of a desktop GPU: all of what it holds, half a cache full of more, and nothing in particular of much more.
#[test]
fn half_the_l2_cache_keeps_a_part_of_an_array_that_it_does_not_hold() {
    let way = |rows, mib: usize| {
        let matrix = Matrix::contiguous(rows, mib << 18);
        Problem {
            matrix,
            ..of_f32(84)
        }
        .choose()
        .way
    };
    let is_as_ever = |way| matches!(way, Way::Blocks(_));
    assert!(is_as_ever(way(1, 48)));
    assert_eq!(way(1, 49), Way::Large(10));
    assert_eq!(way(1, 64), Way::Large(8));
    assert_eq!(way(1, 100), Way::Large(5));
    assert_eq!(way(1, 512), Way::Large(1));
    assert!(is_as_ever(way(1, 513)));
    assert!(!matches!(way(2, 64), Way::Large(_)));
    let matrix = Matrix::contiguous(1, 64 << 18);
    let part = Problem {
        matrix,
        ..of_f32(84)
    };
    assert!(is_as_ever(choose_for_part(&part).way));
}

#[test]
fn an_array_that_the_l2_cache_does_not_hold_has_few_large_blocks() {
    let of = |blocks, block| {
        let launch = Launch {
            way: Way::Blocks(blocks),
            blocks,
            block,
        };
        let Launch { way, blocks, block } = of_f32(100).of_large(Kept(7), launch);
        assert_eq!(way, Way::Large(7));
        (blocks, block)
    };
    assert_eq!(of(400, 256), (200, 512));
    assert_eq!(of(800, 256), (200, 512));
    assert_eq!(of(800, 512), (200, 512));
    assert_eq!(of(98, 1024), (98, 1024));
    assert_eq!(of(101, 1024), (100, 1024));
    assert_eq!(of(1, 32), (1, 512));
}

/// Where there is work for all multiprocessors, no launch leaves most of them without any.
#[test]
fn a_desktop_gpu_is_filled() {
    for columns in [4, 64, 1024, 1 << 14, 1 << 20, 1 << 26] {
        let problem = Problem {
            matrix: Matrix::contiguous((1 << 26) / columns, columns),
            ..of_f32(84)
        };
        let launch = problem.choose();
        assert!(
            launch.blocks * launch.block >= 84 * 512,
            "{columns} columns: {launch:?}"
        );
    }
}

const FORM: FormOfSegments = FormOfSegments {
    tile: segments::tile::<f32>(),
    most_warps: 24,
    bytes: segments::bytes::<f32, Sum>(),
};

fn for_segments(work: (usize, usize), shared_kib: u32) -> (usize, usize) {
    let room = Room {
        multiprocessors: 132,
        shared_bytes: shared_kib << 10,
    };
    let launch = choose_for_segments(Mode::Fast, work, FORM, room);
    assert_eq!((launch.way, launch.block % 32), (Way::Segments, 0));
    (launch.blocks as usize, launch.block as usize / 32)
}

/// An end of a segment is the fewest steps that it is on the kernel's path, so that segments without values are work for the whole GPU, too.
#[test]
fn ends_of_segments_count_as_on_the_path() {
    let warps = |count, values| {
        let (blocks, of_block) = for_segments((count, values), 227);
        blocks * of_block
    };
    let steps = 100_000 * segments::FEWEST_STEPS_OF_END;
    assert!(warps(100_000, 0) >= steps / FORM.tile);
    // As many steps are as many warps, whatever they are.
    assert_eq!(warps(100_000, 0), warps(0, steps));
    assert_eq!(for_segments((1, 0), 227), (1, 4));
    assert_eq!(for_segments((1 << 26, 0), 227), (132, 24));
    assert_eq!(for_segments((usize::MAX, usize::MAX), 227), (132, 24));
}

#[test]
fn a_block_for_segments_has_as_many_warps_as_there_is_shared_memory_for() {
    for kib in [48, 64, 99, 163, 227] {
        let (_, warps) = for_segments((0, 1 << 28), kib);
        let (of_block, of_warp) = FORM.bytes;
        let bytes = |warps: usize| of_block + of_warp * warps as u32;
        assert!(bytes(warps) <= kib << 10, "{kib} KiB");
        assert!(warps == 24 || bytes(warps + 1) > kib << 10, "{kib} KiB");
    }
}
