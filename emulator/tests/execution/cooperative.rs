//! Cooperative launches: all blocks are resident, and wait for one another at barriers of the grid.

use crate::common::{HEADER, Machine, shape, threads_of};
use warpfold_emulator::{
    DeviceProperties, Launch, LaunchError, Nothing, Order, Racecheck, Tool, check, compare_orders,
    launch, launch_scheduled,
};

/// `grid_total(in, partial, total, n)`: each block leaves a partial sum, `cg::this_grid().sync()`, the first adds them up.
const GRID: &str = include_str!("../data/grid.nvcc.sm_90.ptx");

fn cooperative(blocks: u32, threads: u32) -> Launch {
    Launch {
        cooperative: true,
        ..shape(blocks, threads)
    }
}

/// A barrier of the grid, built of an atomic counter at `data` and a spinning first thread of each block: `round` times `%nctaid.x`
/// must have come. `before` and `after` are what orders the first thread's arrival, and its going on.
fn grid_barrier(round: u32, before: &str, after: &str) -> String {
    format!(
        "bar.sync 0;
         setp.ne.u32 %p1, %r39, 0; @%p1 bra met{round};
         {before}
         atom.relaxed.gpu.global.add.u32 %r10, [%d37], 1;
         mov.u32 %r11, %nctaid.x; mul.lo.u32 %r11, %r11, {round};
         spin{round}: ld.relaxed.gpu.global.u32 %r12, [%d37]; setp.lt.u32 %p2, %r12, %r11; @%p2 bra spin{round};
         {after}
         met{round}: bar.sync 0;"
    )
}

/// Every thread leaves its number plus 1 in its slot, all meet, and then it reads the slot of the thread with its number in the next
/// block, the last block's that of the first; all meet again, and it leaves what it read.
fn exchange_between_blocks(before: &str, after: &str) -> String {
    let (first, second) = (
        grid_barrier(1, before, after),
        grid_barrier(2, before, after),
    );
    format!(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r39; add.u32 %r4, %r3, 1; st.global.u32 [%d39], %r4;
         {first}
         add.u32 %r5, %r1, 1; mov.u32 %r6, %nctaid.x; rem.u32 %r5, %r5, %r6; mad.lo.u32 %r5, %r5, %r2, %r39;
         ld.param.u64 %d10, [out]; mul.wide.u32 %d11, %r5, 4; add.u64 %d10, %d10, %d11; ld.global.u32 %r0, [%d10];
         {second}"
    )
}

/// What [`exchange_between_blocks`] leaves.
fn exchanged(blocks: u32, threads: u32) -> Vec<u32> {
    (0..blocks * threads)
        .map(|thread| (thread + threads) % (blocks * threads) + 1)
        .collect()
}

#[test]
fn blocks_meet_at_a_barrier_of_the_grid() {
    let body = exchange_between_blocks("fence.acq_rel.gpu;", "fence.acq_rel.gpu;");
    for (blocks, threads) in [(1, 32), (2, 1), (7, 96), (16, 1024), (256, 64)] {
        for workers in [1, 3] {
            let launch = Launch {
                threads: workers,
                ..cooperative(blocks, threads)
            };
            let (left, _) =
                threads_of(&launch, &body, &[0]).unwrap_or_else(|trap| panic!("{trap}"));
            assert_eq!(left, exchanged(blocks, threads), "{blocks} × {threads}");
        }
    }
}

/// An entry `k` of one address, around what [`threads_of`] puts around a body.
fn module(body: &str) -> String {
    let slot = crate::common::own_slot(4);
    crate::common::entry(&format!(
        "{slot} ld.param.u64 %d37, [data];\n{body}\nst.global.u32 [%d39], %r0;"
    ))
}

#[test]
fn they_meet_under_any_schedule() {
    let body = module(&exchange_between_blocks("membar.gl;", "membar.gl;"));
    let mut machine = Machine::new(&body);
    let out = machine.buffer(&[0_u32; 40 * 64]);
    for seed in 0..10 {
        let data = machine.buffer(&[0_u32]);
        let arguments = [out.address, data.address].map(|address| address.to_le_bytes().to_vec());
        let kernel = machine.program.kernel("test").unwrap();
        let launch = cooperative(40, 64);
        launch_scheduled(
            &kernel,
            &machine.memory,
            &launch,
            &arguments,
            seed,
            &mut Nothing,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.read::<u32>(out), exchanged(40, 64), "seed {seed}");
    }
}

/// What racecheck says of [`exchange_between_blocks`].
fn races(before: &str, after: &str) -> usize {
    let machine = &mut Machine::new(&module(&exchange_between_blocks(before, after)));
    let out = machine.buffer(&[0_u32; 6 * 64]);
    let data = machine.buffer(&[0_u32]);
    let mut racecheck = Racecheck::new();
    machine
        .launch_observed(
            "test",
            &cooperative(6, 64),
            &[out.address, data.address],
            &mut racecheck,
        )
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = machine.program.kernel("test").unwrap();
    racecheck.findings(&kernel).len()
}

#[test]
fn a_barrier_of_the_grid_orders_what_its_fences_order() {
    assert_eq!(races("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), 0);
    assert_eq!(races("membar.gl;", "membar.gl;"), 0);
    assert_ne!(races("", ""), 0, "no fence at all");
    assert_ne!(races("", "membar.gl;"), 0, "no fence before the arrival");
}

#[test]
fn cooperative_groups_as_nvcc_compiles_them() {
    let n = 100_000_u32;
    let values: Vec<i32> = (0..n as i32).map(|i| i % 1001 - 300).collect();
    let mut machine = Machine::new(GRID);
    let (input, partials) = (machine.buffer(&values), machine.buffer(&[0_i32; 64]));
    let total = machine.buffer(&[0_i32]);
    let arguments = [
        input.address.to_le_bytes().to_vec(),
        partials.address.to_le_bytes().to_vec(),
        total.address.to_le_bytes().to_vec(),
        n.to_le_bytes().to_vec(),
    ];
    let kernel = machine.program.kernel("grid_total").unwrap();
    // Twice: the barrier is fit for the next launch.
    for _ in 0..2 {
        machine.memory.write(total.address, &[0; 4]).unwrap();
        launch(
            &kernel,
            &machine.memory,
            &cooperative(64, 256),
            &arguments,
            &mut Nothing,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.read::<i32>(total), [values.iter().sum::<i32>()]);
    }
    let tools = &Tool::WATCHING;
    let shape_64 = cooperative(64, 256);
    let findings = check(&kernel, &mut machine.memory, &shape_64, &arguments, tools).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let orders = (0..5).map(Order::Seed);
    let difference = compare_orders(&kernel, &mut machine.memory, &shape_64, &arguments, orders);
    assert_eq!(difference.unwrap(), None);
    // A launch that is not cooperative has no workspace, and the compiled code traps.
    let result = launch(
        &kernel,
        &machine.memory,
        &shape(64, 256),
        &arguments,
        &mut Nothing,
    );
    let Err(LaunchError::Trap(trap)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(trap.fault, warpfold_emulator::Fault::Trap);
}

/// Resident blocks per multiprocessor as CUDA's occupancy calculator gives them for compute capability 9.0.
#[test]
fn occupancy() {
    let ptx = format!(
        "{HEADER}.visible .entry none() {{ ret; }}
         .visible .entry some() {{ .shared .b8 s[20480]; .reg .b64 %d; mov.u64 %d, s; ret; }}"
    );
    let machine = Machine::new(&ptx);
    let device = DeviceProperties::EMULATED;
    let resident = |entry: &str, threads: u32, dynamic: u32| {
        let kernel = machine.program.kernel(entry).unwrap();
        device.resident_blocks(&kernel, [threads, 1, 1], dynamic)
    };
    for (threads, blocks) in [
        (1, 32),
        (64, 32),
        (96, 21),
        (128, 16),
        (256, 8),
        (768, 2),
        (1024, 2),
    ] {
        assert_eq!(resident("none", threads, 0), blocks, "{threads} threads");
    }
    // 228 KiB / (20 + 1 KiB), 228 / (20 + 28 + 1), 228 / (227 + 1), and too much.
    assert_eq!(resident("some", 64, 0), 10);
    assert_eq!(resident("some", 64, 28 << 10), 4);
    assert_eq!(resident("none", 64, 227 << 10), 1);
    assert_eq!(resident("none", 64, (227 << 10) + 1), 0);
}

#[test]
fn a_grid_that_does_not_fit_is_refused() {
    let machine = Machine::of("");
    let launch = |blocks, threads| machine.launch("test", &cooperative(blocks, threads), &[0, 0]);
    for (blocks, threads) in [(16, 1024), (256, 32), (64, 256)] {
        launch(blocks, threads).unwrap_or_else(|error| panic!("{error}"));
        let error = launch(blocks + 1, threads).unwrap_err();
        let expected = format!(
            "kernel `test`: a cooperative launch of {} blocks of {threads} threads, where the emulated device holds {blocks} such blocks at a time ({} on each of 8 multiprocessors): launch fewer, and let each do more",
            blocks + 1,
            blocks / 8
        );
        assert_eq!(error.to_string(), expected);
        assert!(matches!(error, LaunchError::Invalid(_)));
        let larger = Launch {
            multiprocessors: 9,
            ..cooperative(blocks + 1, threads)
        };
        machine.launch("test", &larger, &[0, 0]).unwrap();
    }
    let nothing = Launch {
        multiprocessors: 0,
        ..cooperative(1, 32)
    };
    let error = machine.launch("test", &nothing, &[0, 0]).unwrap_err();
    assert!(matches!(error, LaunchError::Invalid(_)), "{error}");
}

#[test]
fn blocks_are_dealt_out_to_multiprocessors() {
    let body = "mov.u32 %r0, %smid; mov.u32 %r1, %nsmid; mad.lo.u32 %r0, %r1, 100, %r0;";
    let (left, _) = threads_of(&shape(20, 1), body, &[0]).unwrap();
    assert!(left.into_iter().eq((0..20).map(|block| 800 + block % 8)));
    let large = Launch {
        multiprocessors: 132,
        ..shape(20, 1)
    };
    let (left, _) = threads_of(&large, body, &[0]).unwrap();
    assert!(left.into_iter().eq((0..20).map(|block| 13_200 + block)));
}

/// Without a cooperative launch a block may still wait for one before it, as a single-pass scan does: blocks begin in order.
#[test]
fn a_block_may_wait_for_the_one_before_it() {
    // Each block adds its number plus 1 to the prefix that the block before it has published, one of 700 flagged words.
    let body = "
        mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 8; add.u64 %d1, %d37, %d1; mov.u32 %r2, 0;
        setp.eq.u32 %p0, %r1, 0; @%p0 bra publish;
        spin: ld.acquire.gpu.global.u32 %r3, [%d1+-8]; setp.eq.u32 %p0, %r3, 0; @%p0 bra spin;
        ld.global.u32 %r2, [%d1+-4];
        publish: add.u32 %r0, %r2, %r1; add.u32 %r0, %r0, 1; st.global.u32 [%d1+4], %r0; st.release.gpu.global.u32 [%d1], 1;";
    for workers in [1, 2, 5] {
        let launch = Launch {
            threads: workers,
            ..shape(700, 1)
        };
        let (left, _) =
            threads_of(&launch, body, &[0; 1400]).unwrap_or_else(|trap| panic!("{trap}"));
        assert!(left.into_iter().eq((1..=700).map(|k| k * (k + 1) / 2)));
    }
}
