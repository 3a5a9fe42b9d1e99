//! `cp.reduce.async.bulk`: what is there and what comes are combined, element by element.

use crate::common::{
    Machine, block, counters, entry, own_slot, refused, shape, threads_of, trap_of,
};
use bytemuck::Pod;
use warpfold_emulator::Fault;

/// What a reduction of `tile` into `data`, of as many bytes, leaves there: thread 0 makes both.
#[track_caller]
fn reduced<T: Pod>(form: &str, data: &[T], tile: &[T]) -> Vec<T> {
    let bytes = size_of_val(data);
    let body = format!(
        "{} ld.param.u64 %d37, [data]; .shared .align 16 .b8 tile[{bytes}]; mov.u32 %r30, tile; mov.u32 %r1, 0;
         next: cvt.u64.u32 %d1, %r1; add.u64 %d2, %d39, %d1; ld.global.u32 %r2, [%d2]; add.u32 %r3, %r30, %r1; st.shared.u32 [%r3], %r2;
         add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, {bytes}; @%p1 bra next;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.{form} [%d37], [%r30], {bytes};
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        own_slot(4)
    );
    let mut machine = Machine::of(&body);
    let (tile, data) = (machine.buffer(tile), machine.buffer(data));
    machine
        .launch("test", &block(1), &[tile.address, data.address])
        .unwrap_or_else(|error| panic!("{form}: {error}"));
    machine.read(data)
}

#[test]
fn integers() {
    let (old, new) = ([7_u32, u32::MAX, 0, 5], [3_u32, 2, 9, 5]);
    assert_eq!(reduced("add.u32", &old, &new), [10, 1, 9, 10]);
    assert_eq!(reduced("add.s32", &old, &new), [10, 1, 9, 10]);
    assert_eq!(reduced("min.u32", &old, &new), [3, 2, 0, 5]);
    assert_eq!(reduced("max.u32", &old, &new), [7, u32::MAX, 9, 5]);
    assert_eq!(reduced("min.s32", &old, &new), [3, u32::MAX, 0, 5]);
    assert_eq!(reduced("max.s32", &old, &new), [7, 2, 9, 5]);
    assert_eq!(reduced("inc.u32", &old, &new), [0, 0, 1, 0]);
    assert_eq!(reduced("dec.u32", &old, &new), [3, 2, 9, 4]);
    assert_eq!(reduced("and.b32", &old, &new), [3, 2, 0, 5]);
    assert_eq!(reduced("or.b32", &old, &new), [7, u32::MAX, 9, 5]);
    assert_eq!(reduced("xor.b32", &old, &new), [4, u32::MAX - 2, 9, 0]);
    let (old, new) = ([1_u64 << 40, u64::MAX], [1_u64 << 33, 4]);
    assert_eq!(reduced("add.u64", &old, &new), [(1 << 40) + (1 << 33), 3]);
    assert_eq!(reduced("min.u64", &old, &new), [1 << 33, 4]);
    assert_eq!(reduced("max.s64", &old, &new), [1 << 40, 4]);
    assert_eq!(reduced("xor.b64", &old, &new), [(1 << 40) + (1 << 33), !4]);
}

#[test]
fn floats() {
    // As an H200 adds them: with subnormal values, and with one NaN for all.
    let (old, new) = (
        [1.5_f32, -0.0, f32::from_bits(0x0040_0000), f32::NAN],
        [0.25_f32, f32::from_bits(1), f32::from_bits(1), 1.0],
    );
    let bits = reduced("add.f32", &old, &new)
        .iter()
        .map(|value| value.to_bits())
        .collect::<Vec<_>>();
    assert_eq!(bits, [1.75_f32.to_bits(), 1, 0x0040_0001, 0x7fff_ffff]);
    assert_eq!(
        reduced("add.f64", &[0.1, 1e300], &[0.2, -1e300]),
        [0.1 + 0.2, 0.0]
    );
    // 1.0, 2.0 and the least subnormal half; -1.0 and 0.5.
    let (old, new) = (
        [0x3c00_u16, 0x4000, 0x0001, 0xbc00, 0, 0, 0, 0],
        [0x3800_u16, 0xbc00, 0x0001, 0x3c00, 0, 0, 0, 0],
    );
    let first = |form: &str| reduced(form, &old, &new)[..4].to_vec();
    assert_eq!(first("add.noftz.f16"), [0x3e00, 0x3c00, 0x0002, 0]);
    assert_eq!(first("min.f16"), [0x3800, 0xbc00, 0x0001, 0xbc00]);
    assert_eq!(first("max.f16"), [0x3c00, 0x4000, 0x0001, 0x3c00]);
    // 1.0 and 2.0 as bf16.
    let left = reduced("add.noftz.bf16", &[0x3f80_u16; 8], &[0x4000_u16; 8]);
    assert_eq!(left, [0x4040; 8]);
    assert_eq!(
        reduced("max.bf16", &[0x3f80_u16; 8], &[0x4000; 8]),
        [0x4000; 8]
    );
}

#[test]
fn only_the_manuals_forms_exist() {
    let parses = |instruction: &str| {
        let body = format!(".shared .align 16 .b8 tile[64]; .shared .b64 arrived; {instruction}");
        refused(&entry(&body), "test").is_none()
    };
    let types = [
        "b32", "u32", "s32", "b64", "u64", "s64", "f16", "bf16", "f32", "f64",
    ];
    let found = |prefix: &str, operation: &str, operands: &str| {
        types
            .into_iter()
            .filter(|ty| parses(&format!("{prefix}.{operation}.{ty} {operands};")))
            .collect::<Vec<_>>()
    };
    // As ptxas 13.0 has it, for both kinds of memory.
    for (operation, global, shared) in [
        (
            "add",
            &["u32", "s32", "u64", "f32", "f64"][..],
            &["u32", "s32", "u64"][..],
        ),
        (
            "min",
            &["u32", "s32", "u64", "s64", "f16", "bf16"],
            &["u32", "s32"],
        ),
        (
            "max",
            &["u32", "s32", "u64", "s64", "f16", "bf16"],
            &["u32", "s32"],
        ),
        ("inc", &["u32"], &["u32"]),
        ("dec", &["u32"], &["u32"]),
        ("and", &["b32", "b64"], &["b32"]),
        ("or", &["b32", "b64"], &["b32"]),
        ("xor", &["b32", "b64"], &["b32"]),
        ("add.noftz", &["f16", "bf16"], &[]),
        ("min.noftz", &[], &[]),
        ("exch", &[], &[]),
        ("cas", &[], &[]),
    ] {
        let bulk = "cp.reduce.async.bulk";
        let group = format!("{bulk}.global.shared::cta.bulk_group");
        assert_eq!(
            found(&group, operation, "[%d1], [%r1], 16"),
            global,
            "{operation}"
        );
        let hint = format!("{group}.L2::cache_hint");
        assert_eq!(
            found(&hint, operation, "[%d1], [%r1], 16, %d2"),
            global,
            "{operation}"
        );
        let barrier = format!("{bulk}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes");
        assert_eq!(
            found(&barrier, operation, "[%r1], [%r2], 16, [%r3]"),
            shared,
            "{operation}"
        );
    }
    for wrong in [
        "cp.reduce.async.bulk.global.global.bulk_group.add.u32 [%d1], [%d2], 16;",
        "cp.reduce.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.add.u32 [%r1], [%d1], 16, [%r3];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 16, [%r2];",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r2], 16;",
    ] {
        assert!(!parses(wrong), "{wrong}");
    }
}

/// Thread 0 adds the tile of 128 ones to `data`, and reads its last word.
const ADD: &str = ".shared .align 128 .b8 tile[512]; mov.u32 %r30, tile; mad.lo.u32 %r29, %r39, 4, %r30; mov.u32 %r1, 1; st.shared.u32 [%r29], %r1;
     fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r39, 0; mov.u32 %r0, 0;
     @%p1 bra out; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d37], [%r30], 512;";

#[test]
fn a_reduction_is_there_behind_its_group() {
    let run = |wait: &str| {
        let body = format!("{ADD} {wait} ld.global.u32 %r0, [%d37+508]; out:");
        let (left, data) = threads_of(&block(128), &body, &[9; 128]).unwrap();
        assert_eq!(
            data, [10; 128],
            "it is made at the latest when the block ends"
        );
        left[0]
    };
    assert_eq!(run("cp.async.bulk.commit_group;"), 9);
    assert_eq!(run("cp.async.bulk.wait_group 0;"), 9, "not committed");
    assert_eq!(
        run("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
        10
    );
}

#[test]
fn an_mbarrier_may_count_the_bytes_of_a_reduction() {
    let run = |wait: &str| {
        let body = format!(
            ".shared .align 128 .b8 tile[256]; .shared .align 128 .b8 sums[256]; .shared .b64 arrived;
             mov.u32 %r30, tile; mad.lo.u32 %r29, %r39, 4, %r30; st.shared.u32 [%r29], %r39;
             mov.u32 %r27, sums; mad.lo.u32 %r26, %r39, 4, %r27; mov.u32 %r1, 50; st.shared.u32 [%r26], %r1;
             mov.u32 %r28, arrived; setp.ne.u32 %p1, %r39, 0; @!%p1 mbarrier.init.shared.b64 [%r28], 1;
             fence.proxy.async.shared::cta; bar.sync 0;
             @!%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r28], 256;
             @!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.u32 [%r27], [%r30], 256, [%r28];
             {wait} ld.shared.u32 %r0, [%r26]; bar.sync 0;"
        );
        threads_of(&block(64), &body, &[0; 64]).unwrap().0
    };
    assert_eq!(run(""), [50; 64]);
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r28], 0; @!%p2 bra wait;";
    assert_eq!(run(wait), (0..64).map(|i| i.max(50)).collect::<Vec<_>>());
}

#[test]
fn blocks_reduce_into_the_same_array() {
    let body = format!("{ADD} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; out:");
    for threads in [1, 4] {
        let launch = warpfold_emulator::Launch {
            threads,
            ..shape(100, 128)
        };
        let (_, data) = threads_of(&launch, &body, &[9; 128]).unwrap();
        assert_eq!(data, [109; 128]);
    }
}

#[test]
fn faults_are_found_at_the_issue() {
    let fault = |operands: &str| {
        let body = format!(
            ".shared .align 16 .b8 tile[4096]; mov.u32 %r30, tile; mov.u32 %r1, 24;
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 {operands};"
        );
        trap_of(&block(1), &body).fault
    };
    assert_eq!(
        fault("[%d37], [%r30], %r1"),
        Fault::BadOperand("a bulk copy of 24 bytes, which is no multiple of 16".to_owned())
    );
    let misaligned = |operands: &str, expected: &str| {
        let Fault::Misaligned {
            access, bytes: 16, ..
        } = fault(operands)
        else {
            panic!("{operands} is misaligned");
        };
        assert_eq!(access, expected);
    };
    misaligned("[%d37+8], [%r30], 16", "atomic");
    misaligned("[%d37], [%r30+4], 16", "load");
    let Fault::OutOfBounds {
        access: "atomic", ..
    } = fault("[%d37], [%r30], 512")
    else {
        panic!("the data has 256 bytes");
    };
}

#[test]
fn it_counts_as_a_load_and_an_atomic() {
    let body = format!(
        "{} ld.param.u64 %d37, [data]; {ADD} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; out:",
        own_slot(4)
    );
    let mut machine = Machine::of(&body);
    let (out, data) = (machine.buffer(&[0_u32; 128]), machine.buffer(&[0_u32; 128]));
    let counters = counters(
        &machine,
        "test",
        &shape(1, 128),
        &[out.address, data.address],
    );
    let to = counters.global_atomics;
    assert_eq!((to.requests, to.sectors, to.bytes), (1, 16, 512));
    assert_eq!(counters.global_atomic_passes, 16);
    let from = counters.shared_loads;
    assert_eq!((from.requests, from.wavefronts, from.bytes), (1, 4, 512));
    assert_eq!(counters.atomics, 1);
    assert_eq!(counters.global_stores.requests, 0);
}
