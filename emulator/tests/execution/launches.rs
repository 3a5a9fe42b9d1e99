//! Shapes, arguments and limits of launches.

use crate::common::{HEADER, Machine, block, counters, shape, threads_of};
use warpfold_emulator::{Counters, Launch, LaunchError, Nothing, launch};

const KERNELS: &str = "
.visible .entry plain(.param .u64 out, .param .u32 n) { ret; }
.visible .entry small() .maxntid 64, 2 { ret; }
.visible .entry exact() .reqntid 32, 4, 1 { ret; }
.visible .entry shared() { .shared .align 4 .b8 a[40000]; .reg .b32 %r<2>; ld.shared.u32 %r0, [a]; ret; }
.visible .entry forever() { again: bra again; }";

fn machine() -> Machine {
    Machine::new(&format!("{HEADER}{KERNELS}"))
}

#[test]
fn shapes_that_no_device_takes() {
    let machine = machine();
    let cases = [
        (
            "small",
            [0, 1, 1],
            [1, 1, 1],
            0,
            "kernel `small`: 0 blocks along x, where 1 to 2147483647 are allowed",
        ),
        (
            "small",
            [1, 65536, 1],
            [1, 1, 1],
            0,
            "kernel `small`: 65536 blocks along y, where 1 to 65535 are allowed",
        ),
        (
            "small",
            [1, 1, 70000],
            [1, 1, 1],
            0,
            "kernel `small`: 70000 blocks along z, where 1 to 65535 are allowed",
        ),
        (
            "small",
            [1 << 31, 1, 1],
            [1, 1, 1],
            0,
            "kernel `small`: 2147483648 blocks along x, where 1 to 2147483647 are allowed",
        ),
        (
            "small",
            [1, 1, 1],
            [1, 0, 1],
            0,
            "kernel `small`: 0 threads along y, where 1 to 1024 are allowed",
        ),
        (
            "small",
            [1, 1, 1],
            [2000, 1, 1],
            0,
            "kernel `small`: 2000 threads along x, where 1 to 1024 are allowed",
        ),
        (
            "small",
            [1, 1, 1],
            [1, 1, 65],
            0,
            "kernel `small`: 65 threads along z, where 1 to 64 are allowed",
        ),
        (
            "shared",
            [1, 1, 1],
            [32, 32, 2],
            0,
            "kernel `shared`: 2048 threads in a block, where at most 1024 are allowed",
        ),
        (
            "small",
            [1, 1, 1],
            [129, 1, 1],
            0,
            "kernel `small`: 129 threads in a block, where at most 128 are allowed",
        ),
        (
            "exact",
            [1, 1, 1],
            [128, 1, 1],
            0,
            "kernel `exact`: a block of [128, 1, 1] threads, where `.reqntid` asks for [32, 4, 1]",
        ),
        (
            "shared",
            [1, 1, 1],
            [1, 1, 1],
            200_000,
            "kernel `shared`: 240000 bytes of shared memory, where at most 232448 are allowed",
        ),
    ];
    for (entry, grid, block, dynamic_shared_bytes, message) in cases {
        let shape = Launch {
            grid,
            block,
            dynamic_shared_bytes,
            threads: 1,
            ..Launch::default()
        };
        let error = machine.launch(entry, &shape, &[]).expect_err(message);
        assert!(matches!(error, LaunchError::Invalid(_)));
        assert_eq!(error.to_string(), message);
    }
    machine
        .launch(
            "exact",
            &Launch {
                block: [32, 4, 1],
                ..block(1)
            },
            &[],
        )
        .unwrap();
    machine
        .launch(
            "small",
            &Launch {
                block: [64, 2, 1],
                ..block(1)
            },
            &[],
        )
        .unwrap();
}

#[test]
fn arguments_that_do_not_fit() {
    let machine = machine();
    let kernel = machine.program.kernel("plain").unwrap();
    let run = |arguments: &[Vec<u8>]| {
        launch(&kernel, &machine.memory, &block(1), arguments, &mut Nothing)
    };
    let message = |arguments: &[Vec<u8>]| run(arguments).expect_err("invalid").to_string();
    assert_eq!(message(&[]), "kernel `plain` takes 2 arguments, not 0");
    assert_eq!(
        message(&[vec![0; 8], vec![0; 4], vec![0; 4]]),
        "kernel `plain` takes 2 arguments, not 3"
    );
    assert_eq!(
        message(&[vec![0; 8], vec![0; 8]]),
        "argument 1 of kernel `plain` has 8 bytes, but its parameter `n` has 4"
    );
    run(&[vec![0; 8], vec![0; 4]]).unwrap();
}

#[test]
fn entries_that_are_not_there() {
    let machine = machine();
    assert_eq!(
        machine
            .program
            .kernel("plane")
            .expect_err("no entry")
            .to_string(),
        "the module has no entry `plane`; it has plain, small, exact, shared, forever"
    );
    assert_eq!(
        Machine::new(HEADER)
            .program
            .kernel("x")
            .expect_err("no entry")
            .to_string(),
        "the module has no entry `x`; it has none at all"
    );
}

#[test]
fn a_limit_ends_an_endless_loop() {
    let machine = machine();
    let limited = |blocks, threads| Launch {
        max_steps: 10_000,
        threads,
        ..shape(blocks, 40)
    };
    assert_eq!(
        machine
            .launch("forever", &limited(1, 1), &[])
            .expect_err("a limit")
            .to_string(),
        "stopped after 10000 warp instructions, the limit of this launch, in kernel `forever`, block (0, 0, 0), thread (0, 0, 0), \
         PTX line 9: `.visible .entry forever() { again: bra again; }`"
    );
    for threads in [1, 2] {
        assert!(
            machine
                .launch("forever", &limited(1000, threads), &[])
                .is_err()
        );
    }
    // A limit that suffices is none.
    let exact = Launch {
        max_steps: 100,
        ..shape(100, 32)
    };
    machine.launch("small", &exact, &[]).unwrap();
    assert!(
        machine
            .launch(
                "small",
                &Launch {
                    max_steps: 99,
                    ..exact
                },
                &[]
            )
            .is_err()
    );
}

#[test]
fn blocks_of_every_size() {
    for threads in [1, 31, 32, 33, 63, 65, 500, 1024] {
        let (seen, _) = threads_of(
            &shape(3, threads),
            "mov.u32 %r0, %ctaid.x; mad.lo.u32 %r0, %r0, 10000, %r39;",
            &[0],
        )
        .unwrap();
        let expected: Vec<u32> = (0..3)
            .flat_map(|block| (0..threads).map(move |thread| block * 10_000 + thread))
            .collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn results_and_counts_do_not_depend_on_the_host_threads() {
    let body = "
        mov.u32 %r0, 0; and.b32 %r1, %r39, 7; mov.u32 %r2, %ctaid.x; add.u32 %r1, %r1, %r2;
        again: setp.eq.u32 %p0, %r1, 0; @%p0 bra done; add.u32 %r0, %r0, %r1; sub.u32 %r1, %r1, 1; bra again;
        done: bar.sync 0;";
    let text = format!(
        "{} {body} st.global.u32 [%d39], %r0;",
        crate::common::own_slot(4)
    );
    let mut machine = Machine::of(&text);
    let out = machine.buffer(&vec![0u32; 50 * 96]);
    let run = |threads| {
        let counted = counters(
            &machine,
            "test",
            &Launch {
                threads,
                ..shape(50, 96)
            },
            &[out.address, 0],
        );
        (counted, machine.read::<u32>(out))
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(0));
}

/// Of several blocks that trap, the first is named, whoever was quicker; and the trap ends blocks that wait for the one that trapped.
#[test]
fn the_first_block_that_traps() {
    for threads in [1, 2] {
        let body = "mov.u32 %r1, %ctaid.x; mov.u32 %r0, 0; setp.eq.u32 %p0, %r1, 20; mov.u32 %r2, 5000; @%p0 bra slow; mov.u32 %r2, 1;
            slow: sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra slow; setp.lt.u32 %p2, %r1, 20; @%p2 bra end; trap; end:";
        let trap = *threads_of(
            &Launch {
                threads,
                ..shape(100, 32)
            },
            body,
            &[0],
        )
        .expect_err("a trap");
        assert_eq!(trap.block, [20, 0, 0]);
        let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 3; @%p0 trap; wait: ld.volatile.global.u32 %r0, [%d37]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;";
        let endless = Launch {
            threads,
            max_steps: 0,
            ..shape(4, 32)
        };
        let trap = *threads_of(&endless, body, &[0]).expect_err("a trap");
        assert_eq!(trap.block, [3, 0, 0]);
    }
}

#[test]
fn nothing_is_counted_that_did_not_run() {
    let machine = machine();
    let empty = counters(&machine, "small", &shape(5, 64), &[]);
    assert_eq!(
        empty,
        Counters {
            inst_executed: 10,
            thread_inst_executed: 320,
            thread_inst_executed_pred_on: 320,
            ..Counters::default()
        }
    );
}
