//! Counts against counts by hand.

use crate::common::{Machine, counters, own_slot, shape};
use warpfold_emulator::{Counters, Launch, Module};

#[track_caller]
fn count(launch: &Launch, body: &str) -> Counters {
    let mut machine = Machine::of(body);
    let threads = launch.grid[0] * launch.block[0];
    let out = machine.buffer(&vec![0u64; threads as usize]);
    counters(&machine, "test", launch, &[out.address, out.address])
}

#[test]
fn instructions_of_warps_and_threads() {
    // 40 threads are two warps; `own_slot` has 8 instructions, `ret` is one more.
    let counted = count(&shape(2, 40), &own_slot(4));
    assert_eq!(
        (counted.inst_executed, counted.thread_inst_executed),
        (2 * 2 * 9, 2 * 40 * 9)
    );
    assert_eq!(counted.branch_efficiency(), 1.0);
    // A guard that holds for no lane still costs the warp the instruction.
    let counted = count(
        &shape(1, 32),
        "mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 50; @%p0 add.u32 %r0, %r0, 1; @!%p0 add.u32 %r0, %r0, 2;",
    );
    assert_eq!(
        (counted.inst_executed, counted.thread_inst_executed),
        (5, 5 * 32)
    );
    assert_eq!(counted.thread_inst_executed_pred_on, 4 * 32);
}

#[test]
fn branches_together_and_apart() {
    // Warp 0 is split by the first branch, warp 1 is not; the unconditional one is not counted.
    let body = "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 16; @%p0 bra low; add.u32 %r1, %r0, 1; bra end; low: add.u32 %r1, %r0, 2; end: add.u32 %r1, %r1, 1;";
    let counted = count(&shape(1, 64), body);
    assert_eq!((counted.branches, counted.divergent_branches), (2, 1));
    assert_eq!(counted.branch_efficiency(), 0.5);
    // Warp 0: 3 + 2 + 1 + 2; warp 1: 3 + 2 + 2.
    assert_eq!(counted.inst_executed, 8 + 7);
    assert_eq!(
        counted.thread_inst_executed,
        (32 * 3 + 16 * 2 + 16 + 32 * 2) + 32 * 7
    );
}

#[test]
fn bytes_of_each_space() {
    let body = format!(
        "{} .shared .align 16 .b8 cells[512]; mov.u32 %r1, cells;
        ld.global.u32 %r2, [%d39]; ld.global.v2.u32 {{%r3, %r4}}, [%d39]; st.global.u8 [%d39], %r2; st.shared.v4.u32 [%r1], {{%r2, %r2, %r3, %r4}};
        ld.shared.u16 %h0, [%r1]; mov.u64 %d0, cells; cvta.shared.u64 %d0, %d0; ld.u64 %d1, [%d0]; st.u64 [%d39], %d1;
        red.global.add.u32 [%d39], 1; atom.shared.add.u32 %r5, [%r1], 1; bar.sync 0;",
        own_slot(8)
    );
    let counted = count(&shape(3, 48), &body);
    let threads = 3 * 48;
    let expected = [
        threads * 12,
        threads * 9,
        threads * 10,
        threads * 16,
        threads * 2,
        3 * 2,
    ];
    assert_eq!(
        [
            counted.global_loads.bytes,
            counted.global_stores.bytes,
            counted.shared_loads.bytes,
            counted.shared_stores.bytes,
            counted.atomics,
            counted.barriers
        ],
        expected
    );
}

#[test]
fn a_branch_through_a_table_is_one_branch() {
    let body = "mov.u32 %r0, %tid.x; shr.u32 %r0, %r0, 4; list: .branchtargets a, b, a, a; brx.idx %r0, list; a: add.u32 %r1, %r1, 1; b: add.u32 %r1, %r1, 1;";
    let counted = count(&shape(1, 64), body);
    assert_eq!((counted.branches, counted.divergent_branches), (2, 1));
}

/// nvcc's form of the first rung of the ladder, block 512: per block 16 warps with one bounds check, 9 tests `tid % (2 * stride) == 0` and
/// 9 loop branches each, and one test of `tid == 0` that the assembler turns into a guard, but PTX still spells as a branch.
/// A test splits a warp where some of its lanes work and some do not: strides 1 to 16 in all 16 warps, and from then on the warps that
/// hold a working thread, which are 8, 4, 2 and 1, and then warp 0, which `tid == 0` splits too: 5 * 16 + 8 + 4 + 2 + 1 + 1.
#[test]
fn the_first_rung_of_the_ladder() {
    let source = include_str!("../data/ladder.nvcc.sm_80.ptx");
    let name = "neighbored";
    assert!(
        Module::parse(source)
            .unwrap()
            .entries()
            .any(|entry| entry == name)
    );
    let mut machine = Machine::new(source);
    let blocks = 4;
    let data = machine.buffer(&vec![1i32; 512 * blocks]);
    let partials = machine.buffer(&vec![0i32; blocks]);
    let counted = counters(
        &machine,
        name,
        &shape(blocks as u32, 512),
        &[data.address, partials.address, 512 * blocks as u64],
    );
    assert_eq!(machine.read::<i32>(partials), vec![512; blocks]);
    let blocks = blocks as u64;
    assert_eq!(counted.branches, blocks * 16 * (1 + 9 + 9 + 1));
    assert_eq!(
        counted.divergent_branches,
        blocks * (5 * 16 + 8 + 4 + 2 + 1 + 1)
    );
    assert_eq!(counted.barriers, blocks * 16 * 9);
    assert_eq!(counted.atomics, 0);
}
