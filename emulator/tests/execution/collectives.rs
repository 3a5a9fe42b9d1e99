//! What the lanes of a member mask do together (PTX ISA §9.7.9.6 `shfl.sync`, §9.7.13 votes, matches, reductions).

use crate::common::{block, lanes, threads_of, trap_of};

fn each(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

/// The manual's description of `shfl`: the lane that is read, and whether it is in range.
fn source(mode: &str, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, mask) = (b & 31, c & 31, c >> 8 & 31);
    let (lane, b) = (lane as i32, b as i32);
    let max = (lane & mask as i32) | (clamp & !mask) as i32;
    let min = lane & mask as i32;
    let (from, in_range) = match mode {
        "up" => (lane - b, lane - b >= max),
        "down" => (lane + b, lane + b <= max),
        "bfly" => (lane ^ b, lane ^ b <= max),
        _ => (min | (b & !mask as i32), min | (b & !mask as i32) <= max),
    };
    if in_range {
        (from as u32, true)
    } else {
        (lane as u32, false)
    }
}

#[test]
fn shuffles_of_every_mode_and_width() {
    for mode in ["up", "down", "bfly", "idx"] {
        for width in [2u32, 4, 8, 16, 32] {
            // As `__shfl_*_sync` passes its width; for `up` the lower edge is 0.
            let c = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
            for b in [0, 1, 2, 5, 15, 16, 31, 33] {
                let body = format!(
                    "mul.lo.u32 %r1, %r39, 3; shfl.sync.{mode}.b32 %r0|%p0, %r1, {b}, {c}, -1; @%p0 add.u32 %r0, %r0, 1000;"
                );
                let expected = each(|lane| match source(mode, lane, b, c) {
                    (from, true) => 3 * from + 1000,
                    (from, false) => 3 * from,
                });
                assert_eq!(lanes(&body), expected, "{mode}, width {width}, by {b}");
            }
        }
    }
}

#[test]
fn a_shuffle_to_another_place_in_every_lane() {
    let body = "mul.lo.u32 %r1, %r39, 7; add.u32 %r1, %r1, 3; mul.lo.u32 %r2, %r39, 100; shfl.sync.idx.b32 %r0, %r2, %r1, 31, -1;";
    assert_eq!(lanes(body), each(|lane| (lane * 7 + 3) % 32 * 100));
}

#[test]
fn sums_by_shuffles() {
    let down = "mov.u32 %r0, %r39;
        shfl.sync.down.b32 %r1, %r0, 16, 31, -1; add.u32 %r0, %r0, %r1; shfl.sync.down.b32 %r1, %r0, 8, 31, -1; add.u32 %r0, %r0, %r1;
        shfl.sync.down.b32 %r1, %r0, 4, 31, -1; add.u32 %r0, %r0, %r1; shfl.sync.down.b32 %r1, %r0, 2, 31, -1; add.u32 %r0, %r0, %r1;
        shfl.sync.down.b32 %r1, %r0, 1, 31, -1; add.u32 %r0, %r0, %r1;";
    assert_eq!(lanes(down)[0], 496);
    assert_eq!(lanes(&down.replace("down", "bfly")), vec![496; 32]);
}

/// Halves of a warp shuffle among themselves, in the two branches of an `if`.
#[test]
fn parts_of_a_warp() {
    let body = "
        setp.lt.u32 %p0, %r39, 16; @%p0 bra low;
        shfl.sync.bfly.b32 %r0, %r39, 1, 31, 0xffff0000; add.u32 %r0, %r0, 100; bra end;
        low: shfl.sync.bfly.b32 %r0, %r39, 2, 31, 0x0000ffff;
        end:";
    assert_eq!(
        lanes(body),
        each(|lane| if lane < 16 {
            lane ^ 2
        } else {
            (lane ^ 1) + 100
        })
    );
}

#[test]
fn votes() {
    let body = |what: &str| format!("setp.gt.u32 %p0, %r39, 4; {what}");
    assert_eq!(
        lanes(&body("vote.sync.ballot.b32 %r0, %p0, -1;")),
        vec![0xffff_ffe0; 32]
    );
    assert_eq!(
        lanes(&body("vote.sync.ballot.b32 %r0, !%p0, -1;")),
        vec![0x1f; 32]
    );
    for (vote, always, sometimes, never) in [("all", 1, 0, 0), ("any", 1, 1, 0), ("uni", 1, 0, 1)] {
        for (bound, expected) in [(0, always), (5, sometimes), (40, never)] {
            let body = format!(
                "setp.ge.u32 %p0, %r39, {bound}; vote.sync.{vote}.pred %p1, %p0, -1; selp.u32 %r0, 1, 0, %p1;"
            );
            assert_eq!(
                lanes(&body),
                vec![expected; 32],
                "{vote} of lanes from {bound}"
            );
        }
    }
    // Only the members are asked.
    let body = "setp.lt.u32 %p0, %r39, 8; setp.ge.u32 %p1, %r39, 8; @%p1 bra end;
        vote.sync.all.pred %p2, %p0, 0xff; selp.u32 %r0, 1, 0, %p2; ret; end: mov.u32 %r0, 5;";
    assert_eq!(lanes(body)[8], 5);
}

#[test]
fn matches() {
    let body = "and.b32 %r1, %r39, 3; match.any.sync.b32 %r0, %r1, -1;";
    assert_eq!(lanes(body), each(|lane| 0x1111_1111 << (lane & 3)));
    let body = "shr.u32 %r1, %r39, 4; cvt.u64.u32 %d0, %r1; shl.b64 %d0, %d0, 40; match.any.sync.b64 %r0, %d0, -1;";
    assert_eq!(
        lanes(body),
        each(|lane| if lane < 16 { 0xffff } else { 0xffff_0000 })
    );
    let body = |value: &str| {
        format!(
            "mov.u32 %r1, {value}; match.all.sync.b32 %r0|%p0, %r1, -1; @%p0 xor.b32 %r0, %r0, 1;"
        )
    };
    assert_eq!(lanes(&body("7")), vec![0xffff_fffe; 32]);
    assert_eq!(lanes(&body("%r39")), vec![0; 32]);
}

#[test]
fn reductions_in_one_instruction() {
    let cases = [
        ("add.u32", 496 - 320),
        ("add.s32", 496 - 320),
        ("min.s32", -10i32 as u32),
        ("max.s32", 21),
        ("min.u32", 0),
        ("max.u32", u32::MAX),
        ("and.b32", 0),
        ("or.b32", u32::MAX),
        (
            "xor.b32",
            (0..32u32).fold(0, |x, lane| x ^ lane.wrapping_sub(10)),
        ),
    ];
    for (form, expected) in cases {
        let body = format!("sub.s32 %r1, %r39, 10; redux.sync.{form} %r0, %r1, -1;");
        assert_eq!(lanes(&body), vec![expected; 32], "{form}");
    }
    let body = "setp.lt.u32 %p0, %r39, 4; mov.u32 %r0, 9; @%p0 redux.sync.add.u32 %r0, %r39, 0xf;";
    assert_eq!(lanes(body), each(|lane| if lane < 4 { 6 } else { 9 }));
}

/// Lane 3 brings NaN, the others their number less 25.
#[test]
fn extrema_of_floats_in_one_instruction() {
    let nan = 0x7fff_ffff;
    for (form, expected) in [
        ("min", (-25f32).to_bits()),
        ("max", 6f32.to_bits()),
        ("min.abs", 0f32.to_bits()),
        ("max.abs", 25f32.to_bits()),
        ("min.NaN", nan),
        ("max.abs.NaN", nan),
    ] {
        let body = format!(
            "sub.s32 %r1, %r39, 25; cvt.rn.f32.s32 %f1, %r1; setp.eq.u32 %p1, %r39, 3; @%p1 mov.b32 %f1, 0xffc00001;
             redux.sync.{form}.f32 %r0, %f1, -1;"
        );
        assert_eq!(lanes(&body), vec![expected; 32], "{form}");
    }
    // Nothing but NaN gives the one NaN; -0 is below +0.
    let body = "mov.b32 %f1, 0xffc00001; redux.sync.min.f32 %r0, %f1, -1;";
    assert_eq!(lanes(body), vec![nan; 32]);
    let body = "and.b32 %r1, %r39, 1; shl.b32 %r1, %r1, 31; mov.b32 %f1, %r1; redux.sync.min.f32 %r0, %f1, -1;";
    assert_eq!(lanes(body), vec![0x8000_0000; 32]);
}

#[test]
fn active_lanes_and_their_leader() {
    let body = "setp.ge.u32 %p0, %r39, 6; mov.u32 %r0, 0; @!%p0 bra end;
        activemask.b32 %r1; elect.sync %r2|%p1, %r1; selp.u32 %r3, 100, 0, %p1; add.u32 %r0, %r2, %r3;
        end:";
    assert_eq!(
        lanes(body),
        each(|lane| match lane {
            0..6 => 0,
            6 => 106,
            _ => 6,
        })
    );
}

/// Members come one by one from both sides of a branch, at the same instruction of a function.
#[test]
fn members_gather() {
    let body = "
        mov.u32 %r1, 0; setp.lt.u32 %p0, %r39, 10; @%p0 bra slow; bra together;
        slow: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 50; @%p1 bra slow;
        and.b32 %r2, %r39, 1; setp.eq.u32 %p2, %r2, 1; @%p2 bra together; add.u32 %r1, %r1, 7;
        together: vote.sync.ballot.b32 %r0, 1, -1;";
    assert_eq!(lanes(body), vec![u32::MAX; 32]);
}

#[test]
fn a_warp_barrier_at_different_places() {
    let body = "
        .shared .align 4 .b32 cell; setp.eq.u32 %p0, %r39, 0; @%p0 bra first;
        bar.warp.sync -1; ld.shared.u32 %r0, [cell]; bra end;
        first: st.shared.u32 [cell], 11; bar.warp.sync -1; mov.u32 %r0, 3;
        end:";
    assert_eq!(lanes(body), each(|lane| if lane == 0 { 3 } else { 11 }));
}

#[test]
fn lanes_that_have_exited_are_not_waited_for() {
    let body = "st.global.u32 [%d39], %r39; setp.gt.u32 %p0, %r39, 20; @%p0 exit; vote.sync.ballot.b32 %r0, 1, -1;";
    assert_eq!(
        lanes(body),
        each(|lane| if lane > 20 { lane } else { 0x1f_ffff })
    );
    // Nor are those of a warp that is not full.
    let (seen, _) = threads_of(&block(40), "vote.sync.ballot.b32 %r0, 1, -1;", &[0]).unwrap();
    assert_eq!(seen[32..], [0xff; 8]);
}

#[test]
fn a_lane_outside_its_own_mask() {
    let trap = trap_of(&block(32), "\nshfl.sync.idx.b32 %r0, %r39, 0, 31, 0x7;");
    assert_eq!(
        trap.to_string(),
        "lane 3 is not in its own member mask 0x00000007, in kernel `test`, block (0, 0, 0), thread (3, 0, 0), PTX line 9: \
         `shfl.sync.idx.b32 %r0, %r39, 0, 31, 0x7;`"
    );
}

#[test]
fn members_that_never_come() {
    let body = "mov.u32 %r0, 0; setp.eq.u32 %p0, %r39, 9; @%p0 bra other;
        vote.sync.ballot.b32 %r0, 1, -1;
        bra end;
        other: bar.sync 1;
        end:";
    let trap = trap_of(&block(64), body);
    assert_eq!(
        trap.to_string(),
        "lanes 0x00000200 of the mask 0xffffffff never arrive: thread (9, 0, 0) waits at line 11, in kernel `test`, \
         block (0, 0, 0), thread (0, 0, 0), PTX line 9: `vote.sync.ballot.b32 %r0, 1, -1;`"
    );
}
