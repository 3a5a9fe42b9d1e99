//! Lanes, warps and blocks that wait for one another: everybody gets on, whoever runs first.

use crate::common::{Machine, block, lanes, shape, threads_of};
use warpfold_emulator::Launch;

/// A lock by compare-and-swap around a counter that is not atomic: right only if the lock is.
const LOCKED_COUNTER: &str = "
    spin: atom.global.acquire.gpu.cas.b32 %r1, [%d37], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra spin;
    ld.global.u32 %r2, [%d37+4]; add.u32 %r2, %r2, 1; st.global.u32 [%d37+4], %r2;
    st.release.gpu.global.u32 [%d37], 0;
    mov.u32 %r0, %r2;";

#[track_caller]
fn counts_to(launch: &Launch, threads: u32) {
    let (mut seen, data) =
        threads_of(launch, LOCKED_COUNTER, &[0, 0]).unwrap_or_else(|trap| panic!("{trap}"));
    assert_eq!(data, [0, threads]);
    seen.sort_unstable();
    assert!(seen.into_iter().eq(1..=threads));
}

#[test]
fn a_lock_between_lanes() {
    counts_to(&block(32), 32);
}

#[test]
fn a_lock_between_warps() {
    counts_to(&block(1024), 1024);
}

#[test]
fn a_lock_between_blocks() {
    counts_to(&shape(40, 32), 1280);
    counts_to(
        &Launch {
            threads: 2,
            ..shape(40, 64)
        },
        2560,
    );
}

/// The other usual form: the work and the release are inside the loop.
#[test]
fn a_lock_that_is_released_inside_its_loop() {
    let body = "
        mov.u32 %r3, 0;
        try: setp.ne.u32 %p1, %r3, 0; @%p1 bra out;
        atom.global.cas.b32 %r1, [%d37], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra try;
        ld.volatile.global.u32 %r0, [%d37+4]; add.u32 %r0, %r0, 1; st.volatile.global.u32 [%d37+4], %r0; mov.u32 %r3, 1;
        membar.gl; atom.global.exch.b32 %r2, [%d37], 0; bra try;
        out:";
    let (_, data) = threads_of(&block(256), body, &[0, 0]).unwrap();
    assert_eq!(data, [0, 256]);
}

/// Lane 0 spins until lane 1 has written, though lane 1 comes after it in every order; then they meet.
#[test]
fn a_lane_that_waits_for_another() {
    let body = "
        .shared .align 4 .b32 flag; mov.u32 %r0, 0; st.shared.u32 [flag], 0; bar.warp.sync -1;
        setp.ne.u32 %p0, %r39, 0; @%p0 bra writer;
        wait: ld.volatile.shared.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait; bra meet;
        writer: setp.eq.u32 %p2, %r39, 1; @%p2 st.volatile.shared.u32 [flag], 42;
        meet: activemask.b32 %r2; setp.ne.u32 %p3, %r2, -1; @%p3 add.u32 %r0, %r0, 1000;";
    let mut expected = vec![0; 32];
    expected[0] = 42;
    assert_eq!(lanes(body), expected);
}

/// Here the writer writes only after the place where all would meet: it must be let past.
#[test]
fn a_lane_that_waits_for_what_comes_behind_the_meeting() {
    for wait in [
        "wait: ld.volatile.shared.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;",
        "wait: nanosleep.u32 20; ld.shared.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;",
        "wait: ld.relaxed.cta.shared.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;",
        "wait: atom.shared.or.b32 %r0, [flag], 0; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;",
        // Nothing says that this waits for anybody.
        "wait: ld.shared.u32 %r0, [flag]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;",
    ] {
        let body = format!(
            ".shared .align 4 .b32 flag; mov.u32 %r0, 0; st.shared.u32 [flag], 0; bar.warp.sync -1;
            setp.ne.u32 %p0, %r39, 0; @%p0 bra meet;
            {wait}
            meet: setp.eq.u32 %p2, %r39, 31; @%p2 st.volatile.shared.u32 [flag], 7;"
        );
        let mut expected = vec![0; 32];
        expected[0] = 7;
        assert_eq!(lanes(&body), expected, "{wait}");
    }
}

/// The spinning loop calls a function: its lanes must not keep the others from running.
#[test]
fn a_spin_through_a_function() {
    let ptx = format!(
        "{}.func (.param .b32 got) look(.param .b64 at) {{
            .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.b64 %d0, [at]; ld.volatile.global.u32 %r0, [%d0]; st.param.b32 [got], %r0; ret; }}
        .visible .entry test(.param .u64 flag) {{
            .reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p<4>;
            ld.param.u64 %d0, [flag]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 5; @%p0 bra set;
            wait: {{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d0; call (b), look, (a); ld.param.b32 %r1, [b]; }}
            setp.eq.u32 %p1, %r1, 0; @%p1 bra wait; bra end;
            set: st.volatile.global.u32 [%d0], 1;
            end: ret; }}",
        crate::common::HEADER
    );
    let mut machine = Machine::new(&ptx);
    let flag = machine.buffer(&[0u32]);
    machine.launch("test", &block(32), &[flag.address]).unwrap();
    assert_eq!(machine.read::<u32>(flag), [1]);
}

/// Warps hand a token round: every warp waits for the one before it.
#[test]
fn warps_in_a_ring() {
    let body = "
        .shared .align 4 .b32 turn; mov.u32 %r1, %warpid; mov.u32 %r2, %nwarpid; setp.eq.u32 %p0, %r39, 0; @%p0 st.shared.u32 [turn], 0; bar.sync 0;
        mov.u32 %r0, 0;
        round: wait: ld.volatile.shared.u32 %r3, [turn]; rem.u32 %r4, %r3, %r2; setp.ne.u32 %p1, %r4, %r1; @%p1 bra wait;
        bar.warp.sync -1; and.b32 %r5, %r39, 31; setp.eq.u32 %p2, %r5, 0; add.u32 %r3, %r3, 1; @%p2 st.volatile.shared.u32 [turn], %r3;
        bar.warp.sync -1; add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 20; @%p3 bra round;
        bar.sync 0; ld.shared.u32 %r0, [turn];";
    // Launched from the last warp's point of view too: the first to run is never the only one that can.
    let (seen, _) = threads_of(&block(256), body, &[0]).unwrap();
    assert_eq!(seen, vec![8 * 20; 256]);
}

/// All blocks wait until all blocks have come, more of them than any worker runs at once.
#[test]
fn a_barrier_of_the_whole_grid() {
    let body = "
        setp.ne.u32 %p0, %r39, 0; @%p0 bra wait_block;
        atom.global.add.u32 %r1, [%d37], 1; mov.u32 %r2, %nctaid.x;
        wait: ld.acquire.gpu.global.u32 %r3, [%d37]; setp.lt.u32 %p1, %r3, %r2; @%p1 bra wait;
        wait_block: bar.sync 0; ld.global.u32 %r0, [%d37];";
    for threads in [1, 2] {
        let (seen, _) = threads_of(
            &Launch {
                threads,
                ..shape(200, 64)
            },
            body,
            &[0],
        )
        .unwrap();
        assert_eq!(seen, vec![200; 200 * 64]);
    }
}

/// Lanes that wait at a meeting do not keep a collective instruction, or a barrier per thread, from its members.
#[test]
fn meetings_hold_nobody_back() {
    let body = "
        mov.u32 %r0, 0; setp.lt.u32 %p0, %r39, 16; @!%p0 bra meet;
        bar.warp.sync -1; mov.u32 %r0, 1;
        meet: setp.lt.u32 %p1, %r39, 16; @%p1 bra end; bar.warp.sync -1; mov.u32 %r0, 2;
        end:";
    assert_eq!(lanes(body), [vec![1; 16], vec![2; 16]].concat());
    let body = "
        mov.u32 %r0, 0; setp.lt.u32 %p0, %r39, 16; @!%p0 bra meet;
        barrier.sync 1; mov.u32 %r0, 1;
        meet: setp.lt.u32 %p1, %r39, 16; @%p1 bra end; barrier.sync 1; mov.u32 %r0, 2;
        end:";
    assert_eq!(lanes(body), [vec![1; 16], vec![2; 16]].concat());
}
