//! What the sanitizers say of copies that nobody has waited for.

use crate::common::{Machine, own_slot, shape};
use warpfold_emulator::{Finding, Launch, Order, Tool, check, compare_orders};

/// A kernel of 64 threads that copies each thread's own word of `data`, at `%d30`, to its own in shared memory, at `%r30`.
fn kernel(body: &str) -> String {
    crate::common::entry(&format!(
        "{} ld.param.u64 %d37, [data]; .shared .align 16 .b8 tile[1024];
         mov.u32 %r30, tile; mad.lo.u32 %r30, %r39, 4, %r30; mul.wide.u32 %d30, %r39, 4; add.u64 %d30, %d37, %d30;
         {body}
         st.global.u32 [%d39], %r0;",
        own_slot(4)
    ))
}

fn prepared(body: &str) -> (Machine, Vec<Vec<u8>>, Launch) {
    let mut machine = Machine::new(&kernel(body));
    let arguments = [
        machine.buffer(&[0_u32; 128]),
        machine.buffer(&[5_u32; 1024]),
    ]
    .map(|buffer| buffer.address.to_le_bytes().to_vec());
    (machine, arguments.to_vec(), shape(1, 64))
}

fn findings(body: &str) -> Vec<Finding> {
    let (mut machine, arguments, launch) = prepared(body);
    let kernel = machine.program.kernel("test").unwrap();
    check(
        &kernel,
        &mut machine.memory,
        &launch,
        &arguments,
        &Tool::WATCHING,
    )
    .unwrap()
}

#[track_caller]
fn finds(expected: &[&str], body: &str) {
    let kinds: Vec<&str> = findings(body).iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, expected, "{body}");
}

const COPY: &str = "cp.async.ca.shared.global [%r30], [%d30], 4; cp.async.commit_group;";
const WAIT: &str = "cp.async.wait_group 0;";
const READ: &str = "ld.shared.u32 %r0, [%r30];";
/// Of the other warp.
const READ_OTHER: &str = "xor.b32 %r1, %r39, 32; mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 4, %r2; ld.shared.u32 %r0, [%r2];";

#[test]
fn a_read_before_the_wait() {
    finds(&[], &format!("{COPY} {WAIT} {READ}"));
    let found = findings(&format!("{COPY} {READ} {WAIT}"));
    assert_eq!(
        found.iter().map(|finding| finding.kind).collect::<Vec<_>>(),
        [
            "read of uninitialised memory",
            "read before the copy is complete"
        ]
    );
    let places: Vec<_> = found[1]
        .places
        .iter()
        .map(|place| (place.does, place.thread))
        .collect();
    assert_eq!(places, [("reads", [0, 0, 0]), ("copies", [0, 0, 0])]);
    // A wait for all groups but one is none.
    let kinds = [
        "read of uninitialised memory",
        "read before the copy is complete",
    ];
    finds(&kinds, &format!("{COPY} cp.async.wait_group 1; {READ}"));
    finds(
        &kinds,
        &format!("cp.async.ca.shared.global [%r30], [%d30], 4; {WAIT} {READ}"),
    );
}

#[test]
fn others_need_a_barrier_behind_the_wait() {
    finds(&[], &format!("{COPY} {WAIT} bar.sync 0; {READ_OTHER}"));
    finds(
        &[
            "read of uninitialised memory",
            "read before the copy is complete",
        ],
        &format!("{COPY} bar.sync 0; {READ_OTHER} bar.sync 0; {WAIT}"),
    );
    let kinds: Vec<&str> = findings(&format!("{COPY} {WAIT} {READ_OTHER}"))
        .iter()
        .map(|finding| finding.kind)
        .collect();
    assert!(kinds.contains(&"read after write"), "{kinds:?}");
}

#[test]
fn nobody_writes_meanwhile() {
    finds(
        &["write before the copy is complete"],
        &format!("{COPY} st.shared.u32 [%r30], 3; {WAIT} {READ}"),
    );
    finds(
        &["source written before the copy is complete"],
        &format!("{COPY} st.global.u32 [%d30], 3; {WAIT} {READ}"),
    );
    finds(
        &[],
        &format!("{COPY} {WAIT} st.global.u32 [%d30], 3; st.shared.u32 [%r30], 3; {READ}"),
    );
}

/// Two stages, as a pipeline has them: the next word is on its way while this one is read.
#[test]
fn a_pipeline_is_right() {
    let pipeline = |barrier: &str| {
        format!(
            "{COPY} mov.u32 %r0, 0; mov.u32 %r10, 0;
             next: add.u32 %r11, %r10, 1; and.b32 %r12, %r11, 1; mad.lo.u32 %r13, %r12, 256, %r30; add.u64 %d30, %d30, 256;
             cp.async.ca.shared.global [%r13], [%d30], 4; cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;
             and.b32 %r14, %r10, 1; xor.b32 %r15, %r39, 32; mov.u32 %r16, tile; mad.lo.u32 %r16, %r15, 4, %r16; mad.lo.u32 %r16, %r14, 256, %r16;
             ld.shared.u32 %r17, [%r16]; add.u32 %r0, %r0, %r17; {barrier}
             mov.u32 %r10, %r11; setp.lt.u32 %p1, %r10, 8; @%p1 bra next; cp.async.wait_all;"
        )
    };
    finds(&[], &pipeline("bar.sync 0;"));
    // Without the second barrier the stage that one warp reads is filled anew by the other.
    assert_ne!(findings(&pipeline("")), []);
}

#[test]
fn bulk_copies_end_at_their_mbarrier() {
    let bulk = |wait: &str| {
        format!(
            ".shared .b64 arrived; mov.u32 %r28, arrived; setp.ne.u32 %p1, %r39, 0; mov.u32 %r27, tile;
             @!%p1 mbarrier.init.shared.b64 [%r28], 1; bar.sync 0;
             @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 256;
             @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r27], [%d37], 256, [%r28];
             {wait} {READ}"
        )
    };
    finds(
        &[],
        &bulk("wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;"),
    );
    // The second warp reads before the copy is issued, which is no better.
    let kinds = [
        "read of uninitialised memory",
        "write after read",
        "read before the copy is complete",
    ];
    finds(&kinds, &bulk(""));
}

#[test]
fn an_mbarrier_hands_on_what_was_before_the_issue() {
    let bulk = |before: &str, after: &str, wait: &str| {
        format!(
            ".shared .b64 arrived; mov.u32 %r28, arrived; setp.ne.u32 %p1, %r39, 0; mov.u32 %r27, tile;
             @!%p1 mbarrier.init.shared.b64 [%r28], 1; bar.sync 0;
             @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 256; {before}
             @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r27], [%d37], 256, [%r28];
             {after} {wait} {READ_OTHER} ld.shared.u32 %r1, [%r27+512]; add.u32 %r0, %r0, %r1;"
        )
    };
    let write = "@!%p1 st.shared.u32 [%r27+512], 7;";
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;";
    finds(&[], &bulk(write, "", wait));
    finds(&["read after write"], &bulk("", write, wait));
    finds(&[], &bulk("", &format!("{write} bar.sync 0;"), wait));

    // Only the first thread waits, and the others learn of the copy by a barrier after that, not by one after its issue.
    let one_waits = "@%p1 bra on; wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait; on:";
    finds(&[], &bulk(write, "", &format!("{one_waits} bar.sync 0;")));
    let found = findings(&bulk(write, "bar.sync 0;", one_waits));
    let does: Vec<_> = found[0].places.iter().map(|place| place.does).collect();
    assert_eq!(
        (found[0].kind, &does[..]),
        ("read after write", &["reads", "copies"][..])
    );
}

#[test]
fn only_its_mbarrier_tells_of_a_copy() {
    // The first thread issues the copy, meets the other warp, and waits. Then the other warp's first thread writes the source, and knows of
    // the wait, but not from the mbarrier.
    let body = |write: &str, wait: &str| {
        format!(
            ".shared .b64 arrived; .shared .b32 flag; mov.u32 %r28, arrived; mov.u32 %r27, tile; setp.ne.u32 %p1, %r39, 0; setp.ne.u32 %p3, %r39, 32;
             @!%p1 mbarrier.init.shared.b64 [%r28], 1; mov.u32 %r0, 0; @!%p1 st.shared.u32 [flag], %r0; bar.sync 0;
             @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 16;
             @!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r27], [%r27+512], 16, [%r28];
             bar.sync 0; {wait} @!%p1 st.relaxed.gpu.shared.u32 [flag], 1;
             @%p3 bra out; spin: ld.relaxed.gpu.shared.u32 %r1, [flag]; setp.eq.u32 %p4, %r1, 0; @%p4 bra spin; {write}; out:"
        )
    };
    let prepare = "st.shared.u32 [%r30], 1; st.shared.u32 [%r30+512], 1; fence.proxy.async.shared::cta; bar.sync 0;";
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;";
    let write = "st.shared.u32 [%r27+512], 3";
    finds(&[], &format!("{prepare} {}", body(write, wait)));
    // Only the first thread waits.
    let one_waits = format!("@%p1 bra on; {wait} on:");
    let found = findings(&format!("{prepare} {}", body(write, &one_waits)));
    assert_eq!(
        found.iter().map(|finding| finding.kind).collect::<Vec<_>>(),
        ["write after read"]
    );
    assert_eq!(found[0].places[1].does, "copies");
}

#[test]
fn a_completion_hides_nobodys_read() {
    // While the copy is pending, thread 32 reads its source, and thread 0 learns of that before it waits. Thread 33, which has waited as
    // well, writes the source: it does not know of the read.
    let spin = |flag: &str, label: &str| {
        format!(
            "{label}: ld.relaxed.gpu.shared.u32 %r1, [flags+{flag}]; setp.eq.u32 %p4, %r1, 0; @%p4 bra {label};"
        )
    };
    let wait = |label: &str| {
        format!("{label}: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra {label};")
    };
    let body = format!(
        ".shared .b64 arrived; .shared .align 8 .b8 flags[8]; mov.u32 %r28, arrived; mov.u32 %r27, tile; mov.u32 %r0, 0;
         setp.ne.u32 %p1, %r39, 0; setp.ne.u32 %p3, %r39, 32; setp.ne.u32 %p5, %r39, 33;
         @!%p1 mbarrier.init.shared.b64 [%r28], 1; @!%p1 st.shared.v2.u32 [flags], {{%r0, %r0}}; st.shared.u32 [%r30+512], 1;
         fence.proxy.async.shared::cta; bar.sync 0;
         @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 16;
         @!%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r27], [%r27+512], 16, [%r28];
         bar.sync 0;
         @%p1 bra others; {} fence.acq_rel.gpu; {} st.relaxed.gpu.shared.u32 [flags+4], 1; bra out;
         others: @%p3 bra writer; ld.shared.u32 %r0, [%r27+512]; fence.acq_rel.gpu; st.relaxed.gpu.shared.u32 [flags], 1; bra out;
         writer: @%p5 bra out; {} {} st.shared.u32 [%r27+512], 3; out:",
        spin("0", "read"),
        wait("one"),
        spin("4", "waited"),
        wait("two"),
    );
    let found = findings(&body);
    assert_eq!(found.len(), 1, "{found:?}");
    let places: Vec<_> = found[0]
        .places
        .iter()
        .map(|place| (place.does, place.thread[0]))
        .collect();
    assert_eq!(places, [("writes", 33), ("reads", 32)]);
}

#[test]
fn a_reduction_hands_on_what_was_fenced_before_its_issue() {
    let message = |before: &str, after: &str| {
        format!(
            "setp.ne.u32 %p1, %r39, 0; setp.ne.u32 %p2, %r39, 32; mov.u32 %r27, tile; mov.u32 %r0, 0;
             st.shared.u32 [%r30], 1; fence.proxy.async.shared::cta; bar.sync 0;
             @%p1 bra on; {before}
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d37], [%r27], 16; cp.async.bulk.commit_group;
             {after} cp.async.bulk.wait_group 0; on:
             @%p2 bra out; spin: ld.relaxed.gpu.global.u32 %r0, [%d37]; setp.eq.u32 %p3, %r0, 5; @%p3 bra spin;
             fence.acq_rel.gpu; ld.global.u32 %r1, [%d37+512]; out:"
        )
    };
    let write = "st.global.u32 [%d37+512], 3; fence.acq_rel.gpu;";
    finds(&[], &message(write, ""));
    finds(&["read after write"], &message("", write));
}

/// The first thread of each warp adds the same 256 bytes, which are the threads' own words, to the first of the data.
const REDUCE: &str = "st.shared.u32 [%r30], %r39; fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r27, tile;
    and.b32 %r26, %r39, 31; setp.ne.u32 %p1, %r26, 0;
    @!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d37], [%r27], 256; cp.async.bulk.commit_group;";
const WAIT_FOR_BULK: &str = "cp.async.bulk.wait_group 0;";

#[test]
fn reductions_end_with_their_group() {
    let read = "ld.global.u32 %r0, [%d30];";
    // Both warps' reductions are pending at once, which is no race, nor is an atomic operation beside them.
    finds(&[], &format!("{REDUCE} {WAIT_FOR_BULK} bar.sync 0; {read}"));
    finds(
        &[],
        &format!("{REDUCE} red.global.add.u32 [%d30], 1; {WAIT_FOR_BULK}"),
    );
    let found = findings(&format!("{REDUCE} {read} {WAIT_FOR_BULK}"));
    assert_eq!(found[0].kind, "read before the copy is complete");
    let places: Vec<_> = found[0].places.iter().map(|place| place.does).collect();
    assert_eq!(places, ["reads", "reduces"]);
    let kind = "write before the copy is complete";
    finds(
        &[kind],
        &format!("{REDUCE} st.global.u32 [%d30+4], 3; {WAIT_FOR_BULK}"),
    );
    finds(
        &["source written before the copy is complete"],
        &format!("{REDUCE} st.shared.u32 [%r30], 3; {WAIT_FOR_BULK}"),
    );
    // The other warp's reduction is not waited for.
    let hasty = findings(&format!("{REDUCE} {WAIT_FOR_BULK} {read}"));
    assert!(
        hasty.iter().all(|finding| finding.tool == Tool::Racecheck) && !hasty.is_empty(),
        "{hasty:?}"
    );
}

#[test]
fn reductions_read_what_they_reduce_into() {
    let into_tile = "setp.ne.u32 %p1, %r39, 0; .shared .b64 arrived; mov.u32 %r28, arrived; @!%p1 mbarrier.init.shared.b64 [%r28], 1; bar.sync 0;
        @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 16; mov.u32 %r27, tile; add.u32 %r26, %r27, 512;
        @!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r26], [%r27], 16, [%r28];
        wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait; mov.u32 %r0, 0;";
    let write = "st.shared.u32 [%r30], 1;";
    finds(
        &["read of uninitialised memory"],
        &format!("{write} {into_tile}"),
    );
    finds(
        &[],
        &format!("{write} st.shared.u32 [%r30+512], 1; fence.proxy.async.shared::cta; {into_tile}"),
    );
}

#[test]
fn schedules_show_a_missing_wait() {
    let differs = |body: &str| {
        let (mut machine, arguments, launch) = prepared(body);
        let kernel = machine.program.kernel("test").unwrap();
        let orders = (0..30).map(Order::Seed);
        compare_orders(&kernel, &mut machine.memory, &launch, &arguments, orders)
            .unwrap()
            .is_some()
    };
    let work =
        "mov.u32 %r20, 0; more: add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 50; @%p3 bra more;";
    assert!(differs(&format!("{COPY} {work} {READ} {WAIT}")));
    assert!(!differs(&format!("{COPY} {work} {WAIT} {READ}")));
}

#[test]
fn each_copy_from_a_place_is_watched_by_itself() {
    let body = |store: &str| {
        format!(
            "st.shared.u32 [%r30], 1; bar.sync 0; setp.ne.u32 %p1, %r39, 0; mov.u32 %r27, tile;
             @!%p1 fence.proxy.async.shared::cta;
             @!%p1 cp.async.bulk.global.shared::cta.bulk_group [%d37+2048], [%r27], 256;
             @!%p1 cp.async.bulk.commit_group;
             @!%p1 cp.async.bulk.global.shared::cta.bulk_group [%d37+3072], [%r27], 16;
             @!%p1 cp.async.bulk.commit_group; @!%p1 cp.async.bulk.wait_group 1;
             @!%p1 st.shared.u32 [%r27+{store}], 5; @!%p1 cp.async.bulk.wait_group 0; mov.u32 %r0, 0;"
        )
    };
    // The longer of the two is complete.
    finds(&[], &body("128"));
    finds(&["source written before the copy is complete"], &body("8"));
}

#[test]
fn a_copy_may_end_within_a_word() {
    let body = |byte: u32| {
        format!(
            "setp.ne.u32 %p1, %r39, 0; setp.ne.u32 %p2, %r39, 33;
             @!%p1 cp.async.ca.shared.global [%r30], [%d37], 8, 6; @!%p1 cp.async.wait_all;
             @!%p2 st.global.u8 [%d37+{byte}], 1; mov.u32 %r0, 0;"
        )
    };
    for byte in [1, 4, 5] {
        finds(&["write after read"], &body(byte));
    }
    for byte in [6, 7] {
        finds(&[], &body(byte));
    }
}
