//! What synccheck reports: barriers and warp-wide instructions without the right threads, and traps as findings of their tools.

use crate::{bench, finds, kinds, shape};
use warpfold_emulator::Tool;

#[test]
fn a_warp_has_to_come_to_a_barrier_together() {
    let uneven = |barrier: &str| {
        format!(
            "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;
             {barrier} bra END;
             EVEN: {barrier}
             END:"
        )
    };
    let kinds = kinds(&uneven("bar.sync 0;"), 1, 32);
    assert!(
        kinds.iter().all(|&kind| kind == "divergent barrier"),
        "{kinds:?}"
    );
    assert!(kinds.len() >= 2);
    // The unaligned form is made for this.
    finds(&[], &uneven("barrier.sync 0;"), 1, 32);
    // Whole warps may part.
    finds(
        &[],
        &uneven("bar.sync 0;").replace("and.b32 %r2, %r1, 1;", "and.b32 %r2, %r1, 32;"),
        1,
        64,
    );
}

#[test]
fn shuffles_must_not_read_lanes_that_are_absent() {
    let body = |delta: u32| {
        format!(
            "setp.ge.u32 %p1, %r1, 8; @%p1 bra END;
             shfl.sync.idx.b32 %r2, %r1, {delta}, 31, 255;
             END:"
        )
    };
    finds(&[], &body(7), 1, 32);
    finds(&["shuffle from an absent lane"], &body(8), 1, 32);
}

#[test]
fn masks_that_name_each_other_must_agree() {
    let body = |mask: &str| format!("{mask} vote.sync.ballot.b32 %r3, 1, %r2;");
    finds(&[], &body("mov.u32 %r2, -1;"), 1, 32);
    // Two halves, each with its own.
    finds(
        &[],
        &body("and.b32 %r4, %r1, 16; mov.u32 %r2, 65535; shl.b32 %r2, %r2, %r4;"),
        1,
        32,
    );
    // Lane 0 names everybody, everybody else leaves out lane 0.
    let kinds = kinds(
        &body("mov.u32 %r2, -2; setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r2, -1;"),
        1,
        32,
    );
    assert_eq!(kinds, ["member masks disagree"]);
}

#[test]
fn a_trap_is_a_finding_of_its_tool() {
    for (body, tool, kind) in [
        (
            "ld.global.u32 %r2, [%rd1+4096];",
            Tool::Memcheck,
            "access out of bounds",
        ),
        (
            "ld.global.u32 %r2, [%rd1+2];",
            Tool::Memcheck,
            "misaligned access",
        ),
        ("trap;", Tool::Memcheck, "trap"),
        (
            "shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;",
            Tool::Synccheck,
            "wrong member mask",
        ),
        (
            "setp.lt.u32 %p1, %r1, 32; @%p1 bra END; bar.sync 0; END:",
            Tool::Synccheck,
            "barrier never completed",
        ),
    ] {
        let findings = bench(body).check(shape(1, 64));
        let stopped: Vec<_> = findings
            .iter()
            .filter(|finding| finding.ends_launch)
            .collect();
        assert_eq!(stopped.len(), 1, "{body}");
        assert_eq!((stopped[0].tool, stopped[0].kind), (tool, kind));
    }
}

#[test]
fn whoever_is_missing_at_a_barrier_is_a_place_too() {
    let findings = bench("setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0;").check(shape(1, 64));
    let [waits, exited] = &findings[0].places[..] else {
        panic!("{}", findings[0]);
    };
    assert_eq!((waits.does, waits.thread), ("waits", [0, 0, 0]));
    assert_eq!((exited.does, exited.thread), ("has exited", [32, 0, 0]));
    assert_eq!(
        exited.text,
        "setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0;"
    );
}
