//! Barriers of a block (PTX ISA §9.7.13.1): who waits for whom, and what is said when somebody waits for ever.

use crate::common::{block, threads_of, trap_of};

#[track_caller]
fn run(threads: u32, body: &str) -> Vec<u32> {
    threads_of(&block(threads), body, &[0; 64])
        .unwrap_or_else(|trap| panic!("{trap}"))
        .0
}

#[test]
fn everybody_sees_what_was_written_before() {
    for threads in [1, 31, 33, 256, 1000, 1024] {
        let body = "
            .shared .align 4 .b8 cells[4096]; .reg .b32 a; shl.b32 a, %r39, 2; mov.u32 %r1, cells; add.u32 %r1, %r1, a; st.shared.u32 [%r1], %r39;
            bar.sync 0;
            mov.u32 %r2, %ntid.x; sub.u32 %r2, %r2, 1; sub.u32 %r2, %r2, %r39; shl.b32 %r2, %r2, 2; mov.u32 %r1, cells; add.u32 %r1, %r1, %r2;
            ld.shared.u32 %r0, [%r1];";
        assert_eq!(run(threads, body), (0..threads).rev().collect::<Vec<_>>());
    }
}

#[test]
fn reducing_barriers() {
    // The last warp is not full: its missing lanes count neither for nor against.
    for threads in [64, 75] {
        let body = "setp.lt.u32 %p0, %r39, 40; bar.red.popc.u32 %r0, 0, %p0;";
        assert_eq!(run(threads, body), vec![40; threads as usize]);
        for (operation, bound, expected) in [
            ("and", 999, 1),
            ("and", 70, u32::from(threads <= 70)),
            ("or", 1, 1),
            ("or", 0, 0),
        ] {
            let body = format!(
                "setp.lt.u32 %p0, %r39, {bound}; bar.red.{operation}.pred %p1, 0, %p0; selp.u32 %r0, 1, 0, %p1;"
            );
            assert_eq!(
                run(threads, &body),
                vec![expected; threads as usize],
                "{operation} of {bound}"
            );
        }
        let body = "setp.lt.u32 %p0, %r39, 40; barrier.cta.red.popc.aligned.u32 %r0, 3, !%p0;";
        assert_eq!(run(threads, body), vec![threads - 40; threads as usize]);
    }
}

/// With a count, each half of the block has a barrier of its own.
#[test]
fn named_barriers_with_counts() {
    let body = "
        .shared .align 4 .b32 cell[2]; shr.u32 %r1, %r39, 6; add.u32 %r2, %r1, 1; shl.b32 %r3, %r1, 2; mov.u32 %r4, cell; add.u32 %r4, %r4, %r3;
        and.b32 %r5, %r39, 63; setp.eq.u32 %p0, %r5, 63; add.u32 %r6, %r1, 70; @%p0 st.shared.u32 [%r4], %r6;
        bar.sync %r2, 64; ld.shared.u32 %r0, [%r4];";
    assert_eq!(run(128, body), [vec![70; 64], vec![71; 64]].concat());
    // The last warp has 8 threads and counts as 32; a reduction sees 72 threads.
    let body = "setp.lt.u32 %p0, %r39, 999; bar.red.popc.u32 %r0, 2, 96, %p0; bar.red.and.pred %p1, 3, 96, %p0; @!%p1 mov.u32 %r0, 0;";
    assert_eq!(run(72, body), vec![72; 72]);
}

/// Producers arrive and go on; consumers wait for them. Twice, since a barrier can be used again.
#[test]
fn producers_and_consumers() {
    let body = "
        .shared .align 4 .b32 cell; mov.u32 %r0, 0; mov.u32 %r1, 0; setp.lt.u32 %p0, %r39, 32; @%p0 bra consume;
        produce: setp.eq.u32 %p1, %r39, 32; add.u32 %r2, %r1, 50; @%p1 st.shared.u32 [cell], %r2;
            bar.arrive 1, 64; bar.sync 2, 64;
            add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 2; @%p2 bra produce; bra end;
        consume: bar.sync 1, 64; ld.shared.u32 %r3, [cell]; mad.lo.u32 %r0, %r0, 1000, %r3; bar.arrive 2, 64;
            add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 2; @%p2 bra consume;
        end:";
    assert_eq!(run(64, body), [vec![50_051; 32], vec![0; 32]].concat());
}

#[test]
fn a_barrier_that_a_part_of_the_block_never_reaches() {
    let body = "setp.ge.u32 %p0, %r39, 64; @%p0 bra other;
        bar.sync 0;
        bra end;
        other: bar.sync 1;
        end: mov.u32 %r0, 0;";
    let trap = trap_of(&block(96), body);
    assert_eq!(
        trap.to_string(),
        "barrier 0 is never completed: 64 of 96 threads wait and thread (64, 0, 0) waits at line 11, in kernel `test`, \
         block (0, 0, 0), thread (0, 0, 0), PTX line 9: `bar.sync 0;`"
    );
}

#[test]
fn a_return_before_a_barrier() {
    let body = "setp.eq.u32 %p0, %r39, 33;
        @%p0 ret;
        bar.sync 0; mov.u32 %r0, 0;";
    let trap = trap_of(&block(64), body);
    assert_eq!(
        trap.to_string(),
        "barrier 0 is never completed: 63 of 64 threads wait and thread (33, 0, 0) has exited (its warp last exited at line 9), \
         in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 10: `bar.sync 0; mov.u32 %r0, 0;`"
    );
}

#[test]
fn a_barrier_in_a_branch_that_a_part_of_a_warp_takes() {
    let body = "setp.lt.u32 %p0, %r39, 16; @!%p0 bra end;
        bar.sync 0;
        end: mov.u32 %r0, 0; st.global.u32 [%d39], %r0;";
    let trap = trap_of(&block(32), body);
    assert_eq!(
        trap.to_string(),
        "barrier 0 is never completed: 16 of 32 threads wait and thread (16, 0, 0) has exited (its warp last exited at line 12), \
         in kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 9: `bar.sync 0;`"
    );
}

#[test]
fn two_barriers_of_one_warp() {
    let body = "setp.lt.u32 %p0, %r39, 16; @!%p0 bra other;
        bar.sync 0;
        bra end;
        other: bar.sync 0;
        end: mov.u32 %r0, 0;";
    let trap = trap_of(&block(32), body);
    let message = trap.to_string();
    assert!(
        message.starts_with("barrier 0 was reached by one warp at two places, this one and line "),
        "{message}"
    );
    // `barrier.sync` without `.aligned` allows just this.
    assert_eq!(
        run(32, &body.replace("bar.sync", "barrier.sync")),
        vec![0; 32]
    );
}

#[test]
fn operands_that_no_barrier_has() {
    let cases = [
        ("bar.sync 16;", "barrier 16 of a block that has 16"),
        (
            "bar.sync %r39;",
            "barrier numbers that differ inside a warp",
        ),
        (
            "bar.sync 0, 40;",
            "a barrier for 40 threads, which is no multiple of the warp size",
        ),
        (
            "bar.sync 0, 0;",
            "a barrier for 0 threads, which is no multiple of the warp size",
        ),
        (
            "bar.arrive 1, 64; bar.arrive 1, 64;",
            "barrier 1 for 64 threads is reached by more, or twice by one thread",
        ),
    ];
    for (barrier, message) in cases {
        let trap = trap_of(&block(32), &format!("{barrier} mov.u32 %r0, 0;"));
        assert_eq!(trap.fault.to_string(), message);
    }
    let body =
        "setp.lt.u32 %p0, %r39, 32; @%p0 bar.sync 0, 64; @!%p0 bar.sync 0, 96; mov.u32 %r0, 0;";
    let trap = trap_of(&block(96), body);
    assert_eq!(
        trap.fault.to_string(),
        "barrier 0 for 96 threads, while others wait at it for 64"
    );
}
