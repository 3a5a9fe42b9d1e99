//! What comes asynchronously from other blocks of the cluster: `st.async`, `red.async`, reductions and multicasts.

use crate::common::{Buffer, HEADER, Machine, counters, refused, shape};
use warpfold_emulator::{Fault, Finding, Launch, LaunchError, Order, Tool, check, compare_orders};

/// An entry `k` of two addresses, `%d1` and `%d2`, in clusters of two blocks, with `%r1` = `%tid.x`, `%r2` the rank, `%r3` the tile of 512
/// bytes, `%r4` the own word in it, and `%r5` the mbarrier, which is told to expect `bytes` bytes; `%r6` to `%r8` are the same three in the
/// other block. `%d5` is the own word of the first address.
fn pair(bytes: u32, body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 out, .param .u64 data) .explicitcluster .reqnctapercluster 2 {{
            .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .f32 %f<4>; .reg .pred %p<8>;
            .shared .align 128 .b8 tile[512]; .shared .b64 arrived;
            ld.param.u64 %d1, [out]; ld.param.u64 %d2, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;
            mov.u32 %r3, tile; mad.lo.u32 %r4, %r1, 4, %r3; mov.u32 %r5, arrived; xor.b32 %r9, %r2, 1;
            mapa.shared::cluster.u32 %r6, %r3, %r9; mapa.shared::cluster.u32 %r7, %r4, %r9; mapa.shared::cluster.u32 %r8, %r5, %r9;
            mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mad.lo.u32 %r12, %r10, %r11, %r1; mul.wide.u32 %d4, %r12, 4; add.u64 %d5, %d1, %d4;
            mov.u32 %r13, 1000; st.shared.u32 [%r4], %r13; st.shared.u32 [%r4+256], %r13;
            setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r5], 1; @%p1 mbarrier.arrive.expect_tx.shared.b64 %d6, [%r5], {bytes};
            barrier.cluster.arrive; barrier.cluster.wait;
            {body}
            barrier.cluster.arrive; barrier.cluster.wait;
            ret; }}"
    )
}

const WAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %p4, [%r5], 0; @!%p4 bra wait;";
const READ: &str = "ld.shared.u32 %r20, [%r4]; st.global.u32 [%d5], %r20;";
const MECHANISM: &str = "mbarrier::complete_tx::bytes";

fn prepared(bytes: u32, body: &str) -> (Machine, Buffer, Buffer) {
    let mut machine = Machine::new(&pair(bytes, body));
    let out = machine.buffer(&[0_u32; 128]);
    let data = machine.buffer(&(100..228).collect::<Vec<u32>>());
    (machine, out, data)
}

/// What the 64 threads of each of the two blocks leave.
#[track_caller]
fn leaves(bytes: u32, body: &str) -> Vec<u32> {
    let (machine, out, data) = prepared(bytes, body);
    for threads in [1, 2] {
        let launch = Launch {
            threads,
            ..shape(2, 64)
        };
        machine
            .launch("k", &launch, &[out.address, data.address])
            .unwrap_or_else(|error| panic!("{error}\n{body}"));
    }
    machine.read(out)
}

#[track_caller]
fn findings(bytes: u32, body: &str) -> Vec<Finding> {
    let (mut machine, out, data) = prepared(bytes, body);
    let kernel = machine.program.kernel("k").unwrap();
    let arguments = [out, data].map(|buffer| buffer.address.to_le_bytes().to_vec());
    let found = check(
        &kernel,
        &mut machine.memory,
        &shape(2, 64),
        &arguments,
        &Tool::WATCHING,
    )
    .unwrap();
    if found.is_empty() {
        let orders = (0..10).map(Order::Seed);
        let launch = shape(2, 64);
        let difference =
            compare_orders(&kernel, &mut machine.memory, &launch, &arguments, orders).unwrap();
        assert_eq!(difference, None, "{body}");
    }
    found
}

/// Each thread's number and 100 times its block's in `%r21`, the same as a float, and in 64 bits.
const VALUE: &str =
    "mad.lo.u32 %r21, %r2, 100, %r1; cvt.rn.f32.u32 %f1, %r21; cvt.u64.u32 %d7, %r21;";

fn from_the_other(value: impl Fn(u32) -> u32) -> Vec<u32> {
    let block = |rank: u32| (0..64).map(move |thread| 100 * (1 - rank) + thread);
    block(0).chain(block(1)).map(value).collect()
}

#[test]
fn stores_go_into_the_other_block() {
    for store in [
        format!("st.async.weak.shared::cluster.{MECHANISM}.b32 [%r7], %r21, [%r8];"),
        format!("st.async.shared::cluster.{MECHANISM}.u32 [%r7], %r21, [%r8];"),
        format!(
            "cvt.u64.u32 %d8, %r4; cvta.shared.u64 %d8, %d8; mapa.u64 %d8, %d8, %r9; cvt.u64.u32 %d9, %r5; cvta.shared.u64 %d9, %d9; mapa.u64 %d9, %d9, %r9;
             st.async.weak.{MECHANISM}.s32 [%d8], %r21, [%d9];"
        ),
    ] {
        let body = format!("{VALUE} {store} {WAIT} {READ}");
        assert_eq!(leaves(256, &body), from_the_other(|value| value), "{store}");
        assert_eq!(findings(256, &body), [], "{store}");
    }
}

#[test]
fn stores_may_be_vectors() {
    // Every fourth thread stores for four, every other for two.
    for (store, each) in [
        ("v4.b32 [%r7], {%r21, %r22, %r23, %r24}, [%r8]", 4),
        ("v2.b32 [%r7], {%r21, %r22}, [%r8]", 2),
        ("v2.b64 [%r7], {%d8, %d9}, [%r8]", 4),
        ("u64 [%r7], %d8, [%r8]", 2),
    ] {
        let body = format!(
            "{VALUE} add.u32 %r22, %r21, 1; add.u32 %r23, %r21, 2; add.u32 %r24, %r21, 3; mov.b64 %d8, {{%r21, %r22}}; mov.b64 %d9, {{%r23, %r24}};
             and.b32 %r25, %r1, {}; setp.eq.u32 %p2, %r25, 0; @%p2 st.async.shared::cluster.{MECHANISM}.{store};
             {WAIT} {READ}",
            each - 1
        );
        assert_eq!(leaves(256, &body), from_the_other(|value| value), "{store}");
        assert_eq!(findings(256, &body), [], "{store}");
    }
    let body = format!(
        "{VALUE} st.async.shared::cluster.{MECHANISM}.f32 [%r7], %f1, [%r8]; {WAIT} {READ}"
    );
    let as_floats = from_the_other(|value| (value as f32).to_bits());
    assert_eq!(leaves(256, &body), as_floats);
}

#[test]
fn reductions_go_into_the_other_block() {
    for (form, combined) in [
        ("add.u32", (|value| 1000 + value) as fn(u32) -> u32),
        ("max.s32", |_| 1000),
        ("min.u32", |value| value),
        ("xor.b32", |value| 1000 ^ value),
        ("or.b32", |value| 1000 | value),
        ("and.b32", |value| 1000 & value),
        ("inc.u32", |_| 0),
        ("dec.u32", |value| value),
    ] {
        let body = format!(
            "{VALUE} red.async.relaxed.cluster.shared::cluster.{MECHANISM}.{form} [%r7], %r21, [%r8]; {WAIT} {READ}"
        );
        assert_eq!(leaves(256, &body), from_the_other(combined), "{form}");
        assert_eq!(findings(256, &body), [], "{form}");
    }
    // All threads into one word, of 64 bits: 1000 in both halves, and the sum.
    let body = format!(
        "{VALUE} red.async.relaxed.cluster.shared::cluster.{MECHANISM}.add.u64 [%r6], %d7, [%r8]; {WAIT} {READ}"
    );
    let left = leaves(512, &body);
    assert_eq!((left[0], left[1]), (1000 + 6400 + 2016, 1000));
    assert_eq!((left[64], left[65]), (1000 + 2016, 1000));
    assert_eq!(findings(512, &body), []);
}

#[test]
fn tiles_are_reduced_into_the_other_block() {
    let body = format!(
        "{VALUE} st.shared.u32 [%r4+256], %r21; fence.proxy.async.shared::cta; bar.sync 0; add.u32 %r22, %r3, 256;
         @%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.{MECHANISM}.add.u32 [%r6], [%r22], 256, [%r8]; {WAIT} {READ}"
    );
    assert_eq!(leaves(256, &body), from_the_other(|value| 1000 + value));
    assert_eq!(findings(256, &body), []);
}

#[test]
fn who_reads_without_waiting_is_found() {
    for operation in [
        format!("st.async.shared::cluster.{MECHANISM}.b32 [%r7], %r21, [%r8];"),
        format!(
            "red.async.relaxed.cluster.shared::cluster.{MECHANISM}.add.u32 [%r7], %r21, [%r8];"
        ),
    ] {
        let found = findings(256, &format!("{VALUE} {operation} {READ} {WAIT}"));
        let races: Vec<_> = found
            .iter()
            .filter(|finding| finding.tool == Tool::Racecheck)
            .map(|finding| finding.kind)
            .collect();
        assert!(
            !races.is_empty()
                && races
                    .iter()
                    .all(|kind| ["read after write", "write after read"].contains(kind)),
            "{operation}: {races:?}"
        );
    }
}

/// Block 0 copies 256 bytes of the data to both blocks.
const MULTICAST: &str = "setp.eq.u32 %p2, %r2, 0; and.pred %p2, %p1, %p2; mov.u16 %h1, 3;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d2], 256, [%r5], %h1;";

#[test]
fn a_multicast_goes_to_all_blocks_of_its_mask() {
    let both: Vec<u32> = (100..164).chain(100..164).collect();
    let body = format!("{MULTICAST} {WAIT} {READ}");
    assert_eq!(leaves(256, &body), both);
    assert_eq!(findings(256, &body), []);
    // With a cache policy, and the mask as a number; the destination's rank in the address does not matter.
    let hinted = MULTICAST
        .replace("::cluster [%r3]", "::cluster.L2::cache_hint [%r6]")
        .replace("[%r5], %h1", "[%r8], 3, %d8");
    let policy = "createpolicy.fractional.L2::evict_last.b64 %d8;";
    assert_eq!(
        leaves(256, &format!("{policy} {hinted} {WAIT} {READ}")),
        both
    );
    // To the other block alone: the own mbarrier hears nothing, and is not waited for.
    let other = MULTICAST.replace("%h1, 3", "%h1, 2");
    let body = format!("{other} setp.eq.u32 %p3, %r2, 0; @%p3 bra read; {WAIT} read: {READ}");
    let expected: Vec<u32> = [1000; 64].into_iter().chain(100..164).collect();
    assert_eq!(leaves(256, &body), expected);
}

#[test]
fn a_multicast_reads_once() {
    let (machine, out, data) = prepared(256, &format!("{MULTICAST} {WAIT}"));
    let arguments = [out.address, data.address];
    let with = counters(&machine, "k", &shape(2, 64), &arguments);
    let loads = with.global_loads;
    assert_eq!((loads.requests, loads.sectors, loads.bytes), (1, 8, 256));
    let (machine, out, data) = prepared(256, "");
    let arguments = [out.address, data.address];
    let without = counters(&machine, "k", &shape(2, 64), &arguments);
    let stored = |of: warpfold_emulator::Counters| of.shared_stores.bytes;
    assert_eq!(stored(with) - stored(without), 2 * 256);
}

#[test]
fn a_multicast_that_nobody_waits_for_is_found() {
    let kinds: Vec<_> = findings(256, &format!("{MULTICAST} {READ} {WAIT}"))
        .iter()
        .map(|finding| finding.kind)
        .collect();
    assert!(
        kinds.contains(&"read before the copy is complete"),
        "{kinds:?}"
    );
}

#[track_caller]
fn fault(body: &str) -> Fault {
    let (machine, out, data) = prepared(0, body);
    match machine.launch("k", &shape(2, 64), &[out.address, data.address]) {
        Err(LaunchError::Trap(trap)) => trap.fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_goes_wrong() {
    let store =
        |operands: &str| fault(&format!("st.async.shared::cluster.{MECHANISM}.{operands};"));
    let message = |text: &str| Fault::BadOperand(text.to_owned());
    assert_eq!(
        store("b32 [%r4], %r1, [%r5]"),
        message(
            "an asynchronous store to the block's own shared memory, where it must be to another block's in the cluster"
        )
    );
    assert_eq!(
        store("b32 [%r7], %r1, [%r5]"),
        message(
            "an asynchronous store to one block's shared memory with an mbarrier in another's: both must be in the same"
        )
    );
    let generic = format!("st.async.{MECHANISM}.b32 [%d5], %r1, [%d1];");
    assert_eq!(
        fault(&generic),
        message(
            "an asynchronous store to global memory, where it must be to another block's shared memory in the cluster"
        )
    );
    assert!(matches!(
        store("v2.b32 [%r7], {%r1, %r1}, [%r8]"),
        Fault::Misaligned { bytes: 8, .. }
    ));
    assert!(matches!(
        store("b32 [%r6+100000], %r1, [%r8]"),
        Fault::OutOfBounds { .. }
    ));
    assert!(matches!(
        store("b32 [%r7], %r1, [%r8+4]"),
        Fault::Misaligned { bytes: 8, .. }
    ));
    assert_eq!(
        fault(&MULTICAST.replace("%h1, 3", "%h1, 5")),
        message("a multicast to block 2 of a cluster that has 2 blocks")
    );
    // Block 1 has ended.
    let ended = "setp.eq.u32 %p3, %r2, 1; @%p3 barrier.cluster.arrive; @%p3 barrier.cluster.wait; @%p3 exit;
         barrier.cluster.arrive; barrier.cluster.wait; wait: nanosleep.u32 10; add.u32 %r20, %r20, 1; setp.lt.u32 %p4, %r20, 100; @%p4 bra wait;";
    assert_eq!(
        fault(&format!("{ended} {MULTICAST}")),
        Fault::EndedBlock { rank: 1 }
    );
}

#[test]
fn only_the_manuals_forms_exist() {
    let parses = |instruction: &str| refused(&pair(0, instruction), "k").is_none();
    let types = [
        "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64", "b16", "b128",
    ];
    let value = |ty: &str| match ty {
        "b64" | "u64" | "s64" | "f64" => "%d7",
        "f32" => "%f1",
        "b16" => "%h1",
        _ => "%r1",
    };
    // As ptxas 13.0 has it.
    for (vector, expected) in [
        (1, &types[..8]),
        (2, &types[..8]),
        (4, &["b32", "u32", "s32", "f32"]),
    ] {
        let found: Vec<_> = types
            .into_iter()
            .filter(|ty| {
                let (name, values) = match vector {
                    1 => (String::new(), value(ty).to_owned()),
                    _ => (format!(".v{vector}"), format!("{{{}}}", vec![value(ty); vector].join(", "))),
                };
                // A register of doubles is one of 64 bits.
                let values = if *ty == "f64" { values.replace("%d7", "%g1") } else { values };
                parses(&format!(".reg .f64 %g<4>; st.async.shared::cluster.{MECHANISM}{name}.{ty} [%r7], {values}, [%r8];"))
            })
            .collect();
        assert_eq!(found, expected, "vectors of {vector}");
    }
    for wrong in [
        "st.async.shared::cluster.b32 [%r7], %r1, [%r8];",
        "st.async.shared::cta.mbarrier::complete_tx::bytes.b32 [%r7], %r1, [%r8];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r7], %r1;",
        "red.async.relaxed.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r1, [%r8];",
        "red.async.relaxed.gpu.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r1, [%r8];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r7], %f1, [%r8];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.exch.b32 [%r7], %r1, [%r8];",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d2], 16, [%r5], %h1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d2], 16, [%r5];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d2], 16, [%r5], %r1;",
    ] {
        assert!(!parses(wrong), "{wrong}");
    }
}

#[test]
fn who_waits_for_a_part_of_a_multicast_may_write_its_source() {
    let body = format!(
        "setp.eq.u32 %p2, %r1, 0; setp.eq.and.u32 %p2, %r2, 1, %p2; mov.b16 %h1, 3;
         @%p2 cp.async.bulk.shared::cluster.global.{MECHANISM}.multicast::cluster [%r3], [%d2], 256, [%r5], %h1;
         {WAIT} @%p2 st.global.u32 [%d2], 5; {READ}"
    );
    assert_eq!(findings(256, &body), []);
}
