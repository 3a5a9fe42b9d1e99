//! What reductions of every shape cost: sectors, turns of shared memory, barriers and atomics; and what their results are where inputs are
//! as uneven as they can be.

use crate::launch::Argument::{U64, Words, Zeros};
use crate::launch::{Ready, lessons_ptx, metric, text_of};
use std::collections::HashMap;
use warpfold::Device;
use warpfold::device::{DeviceChoice, Shape};
use warpfold_course::prepared::{PreparedLesson, Verdict};
use warpfold_emulator::{Measurements, Profile, Tool};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Variant, find};

fn emulator() -> Device {
    Device::open(&DeviceChoice::Emulator).expect("there is always an emulator")
}

/// A lesson over `n` elements, which has to be right: what it shows, and what it is measured by.
fn observe(id: &str, block: u32, parameter: u32, n: usize) -> (Verdict, Measurements) {
    let lesson = find(id).unwrap_or_else(|| panic!("{id} is a lesson"));
    let variant = Variant {
        block,
        parameter: Some(parameter),
    };
    let device = emulator();
    let prepared = PreparedLesson::new(lesson, variant, n, 7, device.multiprocessors())
        .unwrap_or_else(|error| panic!("{id}, {variant:?}: {error}"));
    let mut profile = Profile::default();
    let verdict = prepared
        .observe(&device, &mut profile)
        .unwrap_or_else(|error| panic!("{id}, {variant:?}: {error}"));
    assert_eq!(verdict.mistake, None, "{id}, {variant:?}");
    (verdict, profile.total())
}

fn measure(id: &str, block: u32, parameter: u32, n: usize) -> Measurements {
    observe(id, block, parameter, n).1
}

#[test]
fn a_tree_of_pairs_costs_two_words_where_a_sum_costs_one() {
    let ptx = lessons_ptx();
    let count = |words: &str| text_of(&ptx, "argmax").matches(words).count();
    assert_eq!((count("shfl.sync.down.b32"), count("bar.sync")), (20, 1));
    for block in BLOCK_SIZES {
        let (blocks, warps) = (3.0, f64::from(block / 32));
        let n = 3 * 8 * block as usize;
        let measured = measure("argmax", block, 0, n);
        assert_eq!(metric(&measured, "global_load_bytes"), 4.0 * n as f64);
        assert_eq!(metric(&measured, "global_store_bytes"), blocks * 12.0);
        assert_eq!(metric(&measured, "barriers"), blocks * warps);
        assert_eq!(
            metric(&measured, "shared_store_wavefronts"),
            blocks * warps * 2.0
        );
        // Pairs lie two words apart, so that those of 32 warps share banks.
        let turns = if warps > 16.0 { 4.0 } else { 2.0 };
        assert_eq!(metric(&measured, "shared_load_wavefronts"), blocks * turns);
    }
}

/// The variance that a lesson shows, and the exact one.
fn variances(id: &str, offset: u32) -> (f64, f64) {
    let (verdict, _) = observe(id, 256, offset, 1 << 17);
    let facts: HashMap<&str, String> = verdict.facts.into_iter().collect();
    let number = |name: &str| facts[name].parse().expect("it is a number");
    (number("variance"), number("exact variance"))
}

#[test]
fn two_sums_lose_a_variance_that_moments_keep() {
    const FAR: u32 = 100_000_000;
    for (id, offset) in [("sum_of_squares", 0), ("welford", 0), ("welford", FAR)] {
        let (found, exact) = variances(id, offset);
        assert!((found - exact).abs() < 1e-6, "{id}: {found}, {exact}");
    }
    let (found, exact) = variances("sum_of_squares", FAR);
    assert!((found - exact).abs() > 10.0 * exact, "{found}, {exact}");

    let ptx = lessons_ptx();
    let shuffles = |kernel| text_of(&ptx, kernel).matches("shfl.sync.down.b32").count();
    assert_eq!((shuffles("sum_of_squares"), shuffles("welford")), (40, 50));
}

#[test]
fn a_warp_for_each_row_is_as_long_busy_with_four_elements_as_with_many() {
    for block in BLOCK_SIZES {
        let n = 1 << 16;
        for columns in [4_u32, 16, 64, 1024] {
            let measured = measure("rows_by_warps", block, columns, n);
            let rows = f64::from(n as u32 / columns);
            let warps = (rows * 32.0 / f64::from(block)).ceil() * f64::from(block / 32);
            assert_eq!(metric(&measured, "warps_launched"), warps);
            assert_eq!(metric(&measured, "global_load_bytes"), 4.0 * n as f64);
            let sectors = (f64::from(columns) / 8.0).clamp(1.0, 4.0);
            let per_request = metric(&measured, "global_load_sectors_per_request");
            assert_eq!(per_request, sectors, "{columns}");
            assert_eq!(metric(&measured, "barriers"), 0.0);
            assert_eq!(metric(&measured, "shared_requests"), 0.0);
        }
        let instructions = |columns| {
            let measured = measure("rows_by_warps", block, columns, n);
            metric(&measured, "warp_instructions")
        };
        assert!(instructions(4) > 50.0 * instructions(1024));
    }
}

#[test]
fn threads_that_have_a_row_each_want_every_sector_twice_unless_they_transpose() {
    for block in BLOCK_SIZES {
        let n = 1 << 16;
        for columns in [4, 8, 16, 32, 64] {
            let sectors = f64::from(n as u32 / 8);
            let vectors = n as f64 / 4.0;
            let direct = measure("rows_by_threads", block, columns, n);
            let per_request = if columns == 4 { 16.0 } else { 32.0 };
            assert_eq!(
                metric(&direct, "global_load_sectors_per_request"),
                per_request
            );
            let asked_for = sectors * per_request / 16.0;
            assert_eq!(metric(&direct, "global_load_sectors"), asked_for);
            assert_eq!(metric(&direct, "shared_requests"), 0.0);

            let transposed = measure("rows_transposed", block, columns, n);
            let of_transposed = |name| metric(&transposed, name);
            assert_eq!(of_transposed("global_load_sectors_per_request"), 16.0);
            assert_eq!(of_transposed("global_load_sectors"), sectors);
            // Eight vectors a turn, written and read.
            assert_eq!(of_transposed("shared_wavefronts"), 2.0 * vectors / 8.0);
            assert_eq!(of_transposed("shared_wavefronts_excessive"), 0.0);
            assert_eq!(of_transposed("barriers"), 0.0);
        }
    }
    let ptx = lessons_ptx();
    for kernel in ["rows_by_threads", "rows_transposed_512"] {
        assert!(
            text_of(&ptx, kernel).contains("ld.global.v4.b32"),
            "{kernel}"
        );
    }
}

#[test]
fn a_thread_for_each_column_reads_every_sector_once() {
    for block in BLOCK_SIZES {
        let n = 1 << 17;
        let down = measure("columns_by_warps", block, 1024, n);
        assert_eq!(metric(&down, "global_load_sectors_per_request"), 32.0);
        assert_eq!(metric(&down, "global_load_sectors"), n as f64);

        for columns in [16_u32, 1024] {
            let rows = n as u32 / columns;
            let strips = f64::from(columns.div_ceil(32));
            let slices = f64::from(rows.div_ceil(block));
            let across = measure("columns_by_threads", block, columns, n);
            let of_across = |name| metric(&across, name);
            // The partials of a strip are whole sectors.
            let of_partials = 4.0 * strips * slices;
            assert_eq!(
                of_across("global_load_sectors"),
                n as f64 / 8.0 + of_partials,
                "{columns} in blocks of {block}"
            );
            assert_eq!(of_across("atomics"), strips * slices);
            assert_eq!(of_across("shared_wavefronts_excessive"), 0.0);
            // Three for each block, and one more in the last of a strip.
            let of_each = f64::from(block / 32);
            assert_eq!(
                of_across("barriers"),
                of_each * strips * (3.0 * slices + 1.0)
            );
        }
    }
}

/// What racecheck says of a kernel without one of its barriers, for each of them.
fn without_each_barrier(kernel: &str, ready: impl Fn(&str) -> Ready) -> Vec<bool> {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, kernel);
    assert!(ready(&ptx).findings(Tool::Racecheck).is_empty());
    let barriers = text.match_indices("bar.sync \t0;");
    barriers
        .map(|(at, barrier)| {
            let without = format!("{}{}", &text[..at], &text[at + barrier.len()..]);
            let changed = ptx.replacen(text, &without, 1);
            !ready(&changed).findings(Tool::Racecheck).is_empty()
        })
        .collect()
}

#[test]
fn every_barrier_of_columns_is_needed() {
    let (rows, columns, block) = (512_usize, 64_usize, 128_u32);
    let n = rows * columns;
    let found = without_each_barrier("columns_by_threads", |ptx| {
        let arguments = [
            Zeros(4 * n),
            Zeros(4 * columns),
            U64(columns),
            U64(n),
            U64(128),
            Zeros(4 * 32 * 8),
            Zeros(4 * 2),
        ];
        Ready::linear(ptx, "columns_by_threads", 8, block, &arguments)
    });
    assert_eq!(found, [true; 3]);
}

#[test]
fn every_barrier_of_a_merge_path_is_needed() {
    let (n, count) = (2000_usize, 500_usize);
    let places = (0..=count as i32).flat_map(|segment| [4 * segment, 0]);
    let offsets: Vec<i32> = places.collect();
    let steps = n + count;
    let found = without_each_barrier("merge_path_256", |ptx| {
        let arguments = [
            Zeros(4 * n),
            Words(offsets.clone()),
            Zeros(4 * count),
            U64(count),
        ];
        let blocks = steps.div_ceil(7 * 256) as u32;
        Ready::linear(ptx, "merge_path_256", blocks, 256, &arguments)
    });
    assert_eq!(found, [true; 4]);
}

#[test]
fn parts_of_a_path_are_alike_whatever_the_segments_are() {
    for block in BLOCK_SIZES {
        let n = 1 << 16;
        for giant in [0, 50] {
            let (verdict, measured) = observe("merge_path", block, giant, n);
            let facts: HashMap<&str, String> = verdict.facts.into_iter().collect();
            let segments: usize = facts["segments"].parse().expect("it is a number");
            let blocks = (n + segments).div_ceil(7 * block as usize) as f64;
            let warps = blocks * f64::from(block / 32);
            assert_eq!(metric(&measured, "warps_launched"), warps);
            assert_eq!(metric(&measured, "barriers"), 4.0 * warps);
            // One for each block but the last, and one for its first end if it has any.
            let atomics = metric(&measured, "atomics");
            assert!(
                atomics >= blocks - 1.0 && atomics < 2.0 * blocks,
                "{atomics}"
            );
        }
        let by_warps = measure("segments_by_warps", block, 0, n);
        let by_parts = measure("merge_path", block, 0, n);
        let instructions = |measured| metric(measured, "warp_instructions");
        assert!(instructions(&by_warps) > 3.0 * instructions(&by_parts));
        let warps = |measured| metric(measured, "warps_launched");
        assert!(warps(&by_parts) < warps(&by_warps) / 20.0);
    }
}

/// The sums of segments by the two kernels, which have to agree with the CPU.
#[track_caller]
fn check_segments(lengths: &[usize]) {
    let device = emulator();
    let module = device.load(&lessons_ptx()).expect("it loads");
    let n: usize = lengths.iter().sum();
    let values: Vec<i32> = (0..n as i32)
        .map(|index| index.wrapping_mul(77) - 5)
        .collect();
    let mut offsets = vec![0_u64];
    let mut expected = Vec::new();
    for length in lengths {
        let start = *offsets.last().expect("there is one") as usize;
        offsets.push((start + length) as u64);
        let segment = values[start..start + length].iter();
        expected.push(segment.fold(0_i32, |sum, value| sum.wrapping_add(*value)));
    }
    let count = lengths.len();
    let input = device.upload(&values).expect("there is memory");
    let places = device.upload(&offsets).expect("there is memory");
    for block in BLOCK_SIZES {
        for (entry, threads, before) in [
            (format!("merge_path_{block}"), (n + count).div_ceil(7), 0),
            ("segments_by_warps".to_owned(), 32 * count, i32::MIN),
        ] {
            let kernel = module.kernel(&entry).expect("the kernel is there");
            let sums = device
                .upload(&vec![before; count])
                .expect("there is memory");
            let arguments = [
                input.argument(),
                places.argument(),
                sums.argument(),
                count.into(),
            ];
            let blocks = threads.div_ceil(block as usize) as u32;
            // SAFETY: the arguments are the kernel's, with enough threads in whole blocks.
            unsafe { kernel.launch(&Shape::linear(blocks, block), &arguments) }.expect("it runs");
            assert_eq!(sums.read().expect("it is over"), expected, "{entry}");
        }
    }
}

#[test]
fn segments_may_be_empty_or_have_everything() {
    check_segments(&[0; 1000]);
    check_segments(&[1; 1000]);
    check_segments(&[20_000]);
    check_segments(&[0, 20_000, 0]);
    let mut around = vec![0; 500];
    around.extend([3, 9999, 0, 0, 1]);
    around.extend([0; 700]);
    check_segments(&around);
    // Ends that fall on the borders of threads, warps and blocks.
    for length in [6, 7, 8, 31, 32, 33, 223, 224, 447, 448, 449] {
        check_segments(&vec![length; 9000 / length]);
    }
}

#[test]
fn runs_of_a_key_cost_two_atomics_a_block_besides_the_ticket() {
    for block in BLOCK_SIZES {
        let n = 1 << 16;
        let tiles = f64::from(n as u32 / (4 * block));
        for average in [1, 8, 1000] {
            let measured = measure("by_key", block, average, n);
            let atomics = metric(&measured, "atomics");
            // Not every block has a head, and whoever draws the last ticket sets it back.
            assert!(
                atomics <= 3.0 * tiles + 1.0 && atomics >= 2.0 * tiles + 1.0,
                "{atomics}"
            );
            let warps = tiles * f64::from(block / 32);
            assert_eq!(metric(&measured, "barriers"), 6.0 * warps);
        }
    }
}

/// Keys and sums of runs, by launches one after another on the same words.
#[track_caller]
fn check_runs(lengths: &[usize]) {
    let device = emulator();
    let module = device.load(&lessons_ptx()).expect("it loads");
    let kernel = module.kernel("by_key").expect("the kernel is there");
    let mut keys = Vec::new();
    for (run, &length) in lengths.iter().enumerate() {
        // Keys come again, but not in neighbouring runs.
        keys.resize(keys.len() + length, [5, -5, 0][run % 3]);
    }
    let n = keys.len();
    let runs = lengths.len();
    let input = device.upload(&keys).expect("there is memory");
    for block in BLOCK_SIZES {
        let tiles = n.div_ceil(4 * block as usize);
        let published = device.upload(&vec![0_u64; tiles]).expect("there is memory");
        let ticket = device.upload(&[0_u32]).expect("there is memory");
        for launch in 1..=2_u32 {
            let values: Vec<i32> = (0..n as i32).map(|index| index * launch as i32).collect();
            let mut rest = &values[..];
            let mut sum_of = |length: &usize| {
                let (run, after) = rest.split_at(*length);
                rest = after;
                run.iter()
                    .fold(0_i32, |sum, value| sum.wrapping_add(*value))
            };
            let expected: Vec<i32> = lengths.iter().map(&mut sum_of).collect();
            let values = device.upload(&values).expect("there is memory");
            let run_keys = device.allocate::<i32>(runs).expect("there is memory");
            let sums = device.upload(&vec![0_i32; runs]).expect("there is memory");
            let found = device.upload(&[u32::MAX]).expect("there is memory");
            let arguments = [
                input.argument(),
                values.argument(),
                n.into(),
                run_keys.argument(),
                sums.argument(),
                found.argument(),
                published.argument(),
                ticket.argument(),
                launch.into(),
            ];
            // SAFETY: the arguments are the kernel's, with a word for each block and another number for each launch.
            unsafe { kernel.launch(&Shape::linear(tiles as u32, block), &arguments) }
                .expect("it runs");
            assert_eq!(found.read().expect("it is over"), [runs as u32], "{block}");
            assert_eq!(sums.read().expect("it is over"), expected, "{block}");
            let run_keys = run_keys.read().expect("it is over");
            let mut expected = [5, -5, 0].into_iter().cycle();
            assert!(run_keys.iter().all(|&key| Some(key) == expected.next()));
            assert_eq!(ticket.read().expect("it is over"), [0]);
        }
    }
}

#[test]
fn runs_may_be_of_one_element_or_of_all() {
    check_runs(&[1]);
    check_runs(&[1; 3000]);
    check_runs(&[10_001]);
    check_runs(&[1, 9998, 1, 1]);
    // Heads that fall on the borders of threads, warps and tiles.
    for length in [3, 4, 5, 127, 128, 129, 256, 257] {
        check_runs(&vec![length; 6000 / length]);
    }
}
