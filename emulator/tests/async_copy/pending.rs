//! A copy is pending until it is waited for: until then its destination holds what it held.

use crate::common::{Machine, block, counters, lanes, own_slot, shape, threads_of, trap_of};
use warpfold_emulator::{Counters, Fault};

/// Each thread's own 16 bytes of shared memory, at `%r30`, begin as four words 7; `%d30` is where its 16 bytes of `data` are.
const SETUP: &str = "
    .shared .align 16 .b8 tile[4096];
    mov.u32 %r30, tile; mad.lo.u32 %r30, %r39, 16, %r30; mov.u32 %r29, 7; st.shared.v4.u32 [%r30], {%r29, %r29, %r29, %r29};
    mul.wide.u32 %d30, %r39, 16; add.u64 %d30, %d37, %d30;";

/// What the first four threads leave, where `data` holds 100, 101, ….
#[track_caller]
fn leave(body: &str) -> Vec<u32> {
    let data: Vec<u32> = (100..228).collect();
    let text = format!("{SETUP}\n{body}");
    let (left, _) = threads_of(&block(4), &text, &data).unwrap_or_else(|trap| panic!("{trap}"));
    left
}

#[test]
fn until_the_wait_the_old_values_are_there() {
    let copy = "cp.async.ca.shared.global [%r30], [%d30], 4; cp.async.commit_group;";
    let read = "ld.shared.u32 %r0, [%r30];";
    assert_eq!(leave(&format!("{copy} {read}")), [7; 4]);
    assert_eq!(
        leave(&format!("{copy} cp.async.wait_group 0; {read}")),
        [100, 104, 108, 112]
    );
    assert_eq!(
        leave(&format!("{copy} cp.async.wait_group 1; {read}")),
        [7; 4]
    );
    assert_eq!(
        leave(&format!("{copy} cp.async.wait_all; {read}")),
        [100, 104, 108, 112]
    );
}

#[test]
fn groups_are_complete_in_their_order() {
    // Words 0, 1 and 2 in a group each, an empty group, and word 3 in none.
    let copies = "
        cp.async.ca.shared.global [%r30], [%d30], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r30+4], [%d30+4], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r30+8], [%d30+8], 4; cp.async.commit_group; cp.async.commit_group;
        cp.async.ca.shared.global [%r30+12], [%d30+12], 4;";
    let there = |wait: &str| {
        // A bit for each word that is there.
        leave(&format!(
            "{copies} {wait} ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%r30];
             setp.ne.u32 %p1, %r1, 7; setp.ne.u32 %p2, %r2, 7; setp.ne.u32 %p3, %r3, 7; setp.ne.u32 %p4, %r4, 7;
             mov.u32 %r0, 0; @%p1 or.b32 %r0, %r0, 1; @%p2 or.b32 %r0, %r0, 2; @%p3 or.b32 %r0, %r0, 4; @%p4 or.b32 %r0, %r0, 8;"
        ))[3]
    };
    assert_eq!(there("cp.async.wait_group 4;"), 0b0000);
    assert_eq!(there("cp.async.wait_group 3;"), 0b0001);
    assert_eq!(there("cp.async.wait_group 2;"), 0b0011);
    assert_eq!(there("cp.async.wait_group 1;"), 0b0111);
    assert_eq!(
        there("cp.async.wait_group 0;"),
        0b0111,
        "the last is not committed"
    );
    assert_eq!(there("cp.async.wait_all;"), 0b1111);
}

#[test]
fn each_thread_waits_for_its_own() {
    let body = "
        cp.async.ca.shared.global [%r30], [%d30], 4; cp.async.commit_group;
        setp.lt.u32 %p1, %r39, 2; @%p1 cp.async.wait_group 0;
        ld.shared.u32 %r0, [%r30];";
    assert_eq!(leave(body), [100, 104, 7, 7]);
}

/// Where the predicate holds, nothing is read, not even from an address that does not exist.
#[test]
fn an_ignored_source_is_zeros() {
    for (predicate, expected) in [("%p1", [0, 0, 108, 112]), ("!%p2", [0, 0, 108, 112])] {
        let body = format!(
            "setp.lt.u32 %p1, %r39, 2; setp.ge.u32 %p2, %r39, 2; @%p1 mov.u64 %d30, 16;
             cp.async.ca.shared.global.L2::cache_hint [%r30], [%d30], 4, {predicate}, %d37; cp.async.wait_all;
             ld.shared.u32 %r0, [%r30];"
        );
        assert_eq!(leave(&body), expected);
    }
    let trap = trap_of(
        &block(4),
        &format!(
            "{SETUP} setp.eq.u32 %p1, %r39, 9; mov.u64 %d30, 16;
             cp.async.ca.shared.global [%r30], [%d30], 4, %p1; mov.u32 %r0, 0;"
        ),
    );
    assert!(
        trap.to_string()
            .starts_with("load of 4 bytes through a null pointer"),
        "{trap}"
    );
}

#[test]
fn what_the_source_lacks_is_zeros() {
    let data = [0x0403_0201_u32, 0x0807_0605, 0x0c0b_0a09, 0x100f_0e0d];
    for (there, expected) in [
        (16, data),
        (0, [0; 4]),
        (4, [data[0], 0, 0, 0]),
        (7, [data[0], 0x0007_0605, 0, 0]),
    ] {
        let body = format!(
            "{SETUP} cp.async.cg.shared.global [%r30], [%d37], 16, {there}; cp.async.wait_all;
             ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%r30]; st.global.v4.u32 [%d37], {{%r1, %r2, %r3, %r4}}; mov.u32 %r0, 0;"
        );
        let (_, left) = threads_of(&block(1), &body, &data).unwrap();
        assert_eq!(left, expected, "{there} bytes");
    }
}

/// Thread 0 lets 512 bytes come from `data`; the mbarrier is after the tile.
const BULK: &str = "
    .shared .align 128 .b8 tile[512]; .shared .b64 arrived;
    mov.u32 %r30, tile; mad.lo.u32 %r29, %r39, 4, %r30; mov.u32 %r28, arrived; st.shared.u32 [%r29], 7;
    setp.ne.u32 %p1, %r39, 0;
    @!%p1 mbarrier.init.shared.b64 [%r28], 1; bar.sync 0;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 512;
    @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r30], [%d37], 512, [%r28];";

#[test]
fn a_bulk_copy_is_there_when_its_mbarrier_says_so() {
    let data: Vec<u32> = (100..228).collect();
    let run = |wait: &str| {
        let body = format!("{BULK} {wait} ld.shared.u32 %r0, [%r29]; bar.sync 0;");
        threads_of(&block(128), &body, &data)
            .unwrap_or_else(|trap| panic!("{trap}"))
            .0
    };
    assert_eq!(run(""), [7; 128]);
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;";
    assert_eq!(run(wait), data);
}

#[test]
fn an_mbarrier_may_have_a_generic_address() {
    let data: Vec<u32> = (100..228).collect();
    let bulk = BULK
        .replace(
            "mov.u32 %r28, arrived;",
            "mov.u64 %d28, arrived; cvta.shared.u64 %d27, %d28;",
        )
        .replace("init.shared.b64 [%r28]", "init.b64 [%d27]")
        .replace(
            "expect_tx.shared.b64 %d10, [%r28]",
            "expect_tx.b64 %d10, [%d27]",
        )
        .replace("[%r28]", "[%d28]");
    let wait = "wait: mbarrier.try_wait.parity.b64 %p2, [%d27], 0; @!%p2 bra wait;";
    let body = format!("{bulk} {wait} ld.shared.u32 %r0, [%r29]; bar.sync 0;");
    let (left, _) = threads_of(&block(128), &body, &data).unwrap_or_else(|trap| panic!("{trap}"));
    assert_eq!(left, data);
    let trap = threads_of(&block(1), "mbarrier.init.b64 [%d37], 1;", &data).unwrap_err();
    assert_eq!(
        trap.fault,
        Fault::BadOperand(
            "an mbarrier in global memory, where it must be in shared memory".to_owned()
        )
    );
}

#[test]
fn a_bulk_copy_to_global_memory_is_there_behind_its_group() {
    // Thread 0 lets the tile go to `data`, and reads the last word of it.
    let run = |wait: &str| {
        let body = format!(
            ".shared .align 128 .b8 tile[512]; mov.u32 %r30, tile; mad.lo.u32 %r29, %r39, 4, %r30; st.shared.u32 [%r29], %r39; bar.sync 0;
             fence.proxy.async.shared::cta; setp.ne.u32 %p1, %r39, 0; mov.u32 %r0, 0; @%p1 bra out;
             cp.async.bulk.global.shared::cta.bulk_group [%d37], [%r30], 512;
             {wait} ld.global.u32 %r0, [%d37+508];
             out:"
        );
        let (left, data) = threads_of(&block(128), &body, &[9; 128]).unwrap();
        assert!(
            data.into_iter().eq(0..128),
            "the copy is made at the latest when the block ends"
        );
        left[0]
    };
    assert_eq!(run("cp.async.bulk.commit_group;"), 9);
    assert_eq!(run("cp.async.bulk.wait_group 0;"), 9, "not committed");
    assert_eq!(
        run("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
        127
    );
    assert_eq!(
        run("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"),
        127
    );
}

#[test]
fn an_mbarrier_may_wait_for_small_copies() {
    for arrive in [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r28];",
        "cp.async.mbarrier.arrive.shared.b64 [%r28]; mbarrier.arrive.shared.b64 %d10, [%r28];",
    ] {
        let body = format!(
            "{SETUP} .shared .b64 arrived; mov.u32 %r28, arrived; setp.eq.u32 %p1, %r39, 0; @%p1 mbarrier.init.shared.b64 [%r28], 4; bar.sync 0;
             cp.async.ca.shared.global [%r30], [%d30], 4; {arrive}
             wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;
             xor.b32 %r1, %r39, 1; mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 16, %r2; ld.shared.u32 %r0, [%r2];"
        );
        let (left, _) = threads_of(&block(4), &body, &(100..228).collect::<Vec<_>>()).unwrap();
        assert_eq!(left, [104, 100, 112, 108], "{arrive}");
    }
}

#[test]
fn faults_are_found_at_the_issue() {
    let fault = |copy: &str| trap_of(&block(1), &format!("{SETUP} {copy}")).fault;
    let Fault::Misaligned { bytes: 16, .. } =
        fault("cp.async.cg.shared.global [%r30+4], [%d37], 16;")
    else {
        panic!("misaligned");
    };
    // The data has 256 bytes: of 16 from 248, 8 are outside.
    let bulk = "mov.u32 %r1, 512; cp.async.bulk.global.shared::cta.bulk_group [%d37], [%r30], %r1;";
    let Fault::OutOfBounds {
        address,
        access: "store",
        ..
    } = fault(bulk)
    else {
        panic!("out of bounds");
    };
    assert_eq!(address % 256, 0, "the first word after the data");
    assert_eq!(
        fault("mov.u32 %r1, 24; cp.async.bulk.global.shared::cta.bulk_group [%d37], [%r30], %r1;"),
        Fault::BadOperand("a bulk copy of 24 bytes, which is no multiple of 16".to_owned())
    );
}

fn counted(threads: u32, body: &str) -> Counters {
    let mut machine = Machine::of(&format!(
        "{} ld.param.u64 %d37, [data]; {SETUP} {body}",
        own_slot(4)
    ));
    let (out, data) = (
        machine.buffer(&[0_u32; 64]),
        machine.buffer(&vec![0_u32; 4096]),
    );
    counters(
        &machine,
        "test",
        &shape(1, threads),
        &[out.address, data.address],
    )
}

#[test]
fn a_warps_copy_is_one_request() {
    let base = counted(64, "");
    let with = counted(
        64,
        "cp.async.cg.shared.global [%r30], [%d30], 16; cp.async.wait_all;",
    );
    let loads = with.global_loads;
    assert_eq!(
        (
            loads.requests,
            loads.sectors,
            loads.ideal_sectors,
            loads.bytes
        ),
        (2, 32, 32, 1024)
    );
    assert_eq!(with.shared_stores.requests - base.shared_stores.requests, 2);
    assert_eq!(
        with.shared_stores.wavefronts - base.shared_stores.wavefronts,
        8
    );
    // Lanes whose source is empty read nothing.
    let half = "setp.lt.u32 %p1, %r39, 16; selp.b32 %r1, 16, 0, %p1; cp.async.cg.shared.global [%r30], [%d30], 16, %r1; cp.async.wait_all;";
    let loads = counted(32, half).global_loads;
    assert_eq!((loads.requests, loads.sectors, loads.bytes), (1, 8, 256));
}

#[test]
fn lanes_are_not_needed_together() {
    let _ = lanes("mov.u32 %r0, 0; cp.async.commit_group; cp.async.wait_group 0;");
}
