//! Clusters: blocks that are resident together, reach each other's shared memory, and meet at a barrier of the cluster.

use crate::common::{HEADER, Machine, shape};
use warpfold_emulator::{
    Fault, Finding, Launch, LaunchError, Nothing, Order, Tool, check, compare_orders,
    launch_scheduled,
};

const HOPPER: &str = include_str!("../data/hopper.nvcc.sm_90.ptx");

/// An entry `k` of one address, `%d1`, in clusters of this shape, with `%r1` = `%tid.x`, `%r2` the rank in the cluster, and `%r3` and
/// `%d3` the own address of a shared word for each thread, shared and generic.
fn clustered(cluster: &str, body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster {cluster} {{
            .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<8>; .shared .align 16 .b8 tile[512]; .shared .b64 mbarrier;
            ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;
            mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3; cvt.u64.u32 %d2, %r3; cvta.shared.u64 %d3, %d2;
            mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r6, %r4, %r5, %r1; mul.wide.u32 %d4, %r6, 4; add.u64 %d5, %d1, %d4;
            {body}
            ret; }}"
    )
}

/// Each thread leaves 100 · block + thread in shared memory, and then what the thread of its number in the next block of the
/// cluster has left there.
fn exchange(barrier: &str, load: &str) -> String {
    format!(
        "mad.lo.u32 %r7, %r4, 100, %r1; st.shared.u32 [%r3], %r7;
         {barrier}
         add.u32 %r8, %r2, 1; mov.u32 %r9, %cluster_nctarank; rem.u32 %r8, %r8, %r9;
         {load}
         st.global.u32 [%d5], %r10;
         {barrier}"
    )
}

const BARRIER: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
const GENERIC: &str = "mapa.u64 %d6, %d3, %r8; ld.u32 %r10, [%d6];";
const SHARED: &str =
    "mapa.shared::cluster.u32 %r11, %r3, %r8; ld.shared::cluster.u32 %r10, [%r11];";

fn exchanged(blocks: u32, cluster: u32, threads: u32) -> Vec<u32> {
    (0..blocks)
        .flat_map(|block| {
            let next = block / cluster * cluster + (block % cluster + 1) % cluster;
            (0..threads).map(move |thread| 100 * next + thread)
        })
        .collect()
}

#[test]
fn blocks_of_a_cluster_read_each_others_shared_memory() {
    for (cluster, blocks, threads) in [(1, 3, 64), (2, 6, 33), (4, 40, 64), (8, 8, 1), (16, 32, 40)]
    {
        for load in [GENERIC, SHARED] {
            for workers in [1, 3] {
                let mut machine =
                    Machine::new(&clustered(&cluster.to_string(), &exchange(BARRIER, load)));
                let out = machine.buffer(&vec![0_u32; (blocks * threads) as usize]);
                let launch = Launch {
                    threads: workers,
                    ..shape(blocks, threads)
                };
                machine
                    .launch("k", &launch, &[out.address])
                    .unwrap_or_else(|error| panic!("{error}"));
                let left = machine.read::<u32>(out);
                assert_eq!(
                    left,
                    exchanged(blocks, cluster, threads),
                    "{cluster} of {blocks}, {load}"
                );
            }
        }
    }
}

#[test]
fn they_do_so_under_every_schedule() {
    let mut machine = Machine::new(&clustered("4", &exchange(BARRIER, GENERIC)));
    let out = machine.buffer(&[0_u32; 20 * 64]);
    let kernel = machine.program.kernel("k").unwrap();
    let arguments = [out.address.to_le_bytes().to_vec()];
    for seed in 0..20 {
        machine
            .memory
            .write(out.address, &[0; 20 * 64 * 4])
            .unwrap();
        launch_scheduled(
            &kernel,
            &machine.memory,
            &shape(20, 64),
            &arguments,
            seed,
            &mut Nothing,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            machine.read::<u32>(out),
            exchanged(20, 4, 64),
            "seed {seed}"
        );
    }
}

#[test]
fn cooperative_groups_as_nvcc_compiles_them() {
    let values: Vec<i32> = (0..12 * 32).map(|i| i * i % 1009 - 500).collect();
    let mut machine = Machine::new(HOPPER);
    let (input, out) = (machine.buffer(&values), machine.buffer(&[0_i32; 3]));
    machine
        .launch("cluster_sum", &shape(12, 32), &[input.address, out.address])
        .unwrap();
    let sums: Vec<i32> = values.chunks(128).map(|chunk| chunk.iter().sum()).collect();
    assert_eq!(machine.read::<i32>(out), sums);
    let kernel = machine.program.kernel("cluster_sum").unwrap();
    let arguments = [input.address, out.address].map(|address| address.to_le_bytes().to_vec());
    let found = check(
        &kernel,
        &mut machine.memory,
        &shape(12, 32),
        &arguments,
        &Tool::WATCHING,
    )
    .unwrap();
    assert!(found.is_empty(), "{found:?}");
    let orders = (0..10).map(Order::Seed);
    let difference = compare_orders(
        &kernel,
        &mut machine.memory,
        &shape(12, 32),
        &arguments,
        orders,
    );
    assert_eq!(difference.unwrap(), None);
}

#[test]
fn places_in_a_grid_of_clusters() {
    let body = "
        mov.u32 %r10, %cluster_ctaid.x; mov.u32 %r11, %cluster_ctaid.y; mov.u32 %r12, %clusterid.x; mov.u32 %r13, %clusterid.y;
        mov.u32 %r14, %nclusterid.x; mov.u32 %r15, %nclusterid.y; mov.u32 %r16, %cluster_nctaid.x; mov.u32 %r17, %cluster_nctarank;
        mov.u32 %r18, %ctaid.y; mov.u32 %r19, %nctaid.x; mad.lo.u32 %r20, %r18, %r19, %r4; mul.wide.u32 %d6, %r20, 32; add.u64 %d6, %d1, %d6;
        mad.lo.u32 %r10, %r2, 100, %r10; st.global.v4.u32 [%d6], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%d6+16], {%r14, %r15, %r16, %r17};";
    let mut machine = Machine::new(&clustered("2, 3", body));
    let out = machine.buffer(&[0_u32; 4 * 6 * 8]);
    let launch = Launch {
        grid: [4, 6, 1],
        ..shape(1, 1)
    };
    machine.launch("k", &launch, &[out.address]).unwrap();
    let left = machine.read::<u32>(out);
    for (block, left) in (0..).zip(left.chunks(8)) {
        let (x, y): (u32, u32) = (block % 4, block / 4);
        let rank = x % 2 + 2 * (y % 3);
        assert_eq!(left, [100 * rank + x % 2, y % 3, x / 2, y / 3, 2, 2, 2, 6]);
    }
}

fn findings(body: &str) -> Vec<Finding> {
    let mut machine = Machine::new(&clustered("2", body));
    let out = machine.buffer(&[0_u32; 4 * 64]);
    let kernel = machine.program.kernel("k").unwrap();
    let arguments = [out.address.to_le_bytes().to_vec()];
    check(
        &kernel,
        &mut machine.memory,
        &shape(4, 64),
        &arguments,
        &Tool::WATCHING,
    )
    .unwrap()
}

#[test]
fn the_barrier_of_the_cluster_orders_and_nothing_else_does() {
    assert_eq!(findings(&exchange(BARRIER, SHARED)), []);
    let kinds = |body: &str| {
        findings(body)
            .iter()
            .map(|finding| finding.kind)
            .collect::<Vec<_>>()
    };
    let found = kinds(&exchange("bar.sync 0;", SHARED));
    assert!(
        found.iter().any(|kind| [
            "read after write",
            "write after read",
            "use of an ended block's memory"
        ]
        .contains(kind)),
        "{found:?}"
    );
    // Who arrives without waiting knows nothing of the others.
    let hasty = format!(
        "{} {BARRIER}",
        exchange("barrier.cluster.arrive; bar.sync 0;", SHARED)
            .replacen("st.global", "barrier.cluster.wait; st.global", 1)
            .replace("barrier.cluster.arrive; bar.sync 0;\n         st", "st")
    );
    let found = kinds(&hasty);
    assert!(!found.is_empty(), "{found:?}");
}

#[test]
fn memory_of_others_counts_as_written_once_somebody_has_written_it() {
    // Each writes into the next one's memory, which reads it.
    let body = format!(
        "add.u32 %r8, %r2, 1; and.b32 %r8, %r8, 1; mapa.shared::cluster.u32 %r11, %r3, %r8; {BARRIER} st.shared::cluster.u32 [%r11], %r1;
         {BARRIER} ld.shared.u32 %r10, [%r3]; st.global.u32 [%d5], %r10;"
    );
    assert_eq!(findings(&body), []);
    let kinds: Vec<_> =
        findings(&exchange(BARRIER, SHARED).replacen("st.shared.u32 [%r3], %r7;", "", 1))
            .iter()
            .map(|finding| finding.kind)
            .collect();
    assert_eq!(kinds, ["read of uninitialised memory"]);
}

#[test]
fn a_block_may_let_bytes_come_into_anothers_memory() {
    // Block 0 copies its 256 bytes into block 1's memory, and tells block 1's mbarrier.
    let body = format!(
        "mov.u32 %r20, tile; mov.u32 %r21, mbarrier; st.shared.u32 [%r3], %r1; setp.eq.u32 %p1, %r1, 0;
         @%p1 mbarrier.init.shared.b64 [%r21], 1; @%p1 mbarrier.arrive.expect_tx.shared.b64 %d10, [%r21], 256; {BARRIER}
         setp.eq.u32 %p2, %r2, 0; and.pred %p3, %p1, %p2; add.u32 %r24, %r20, 256; mov.u32 %r25, 1;
         mapa.shared::cluster.u32 %r22, %r24, %r25; mapa.shared::cluster.u32 %r23, %r21, %r25;
         @%p3 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22], [%r20], 256, [%r23];
         @%p2 bra out;
         wait: mbarrier.try_wait.parity.shared.b64 %p4, [%r21], 0; @!%p4 bra wait;
         ld.shared.u32 %r10, [%r3+256]; st.global.u32 [%d5], %r10;
         out: {BARRIER}"
    );
    let mut machine = Machine::new(&clustered("2", &body));
    let out = machine.buffer(&[7_u32; 2 * 64]);
    machine
        .launch("k", &shape(2, 64), &[out.address])
        .unwrap_or_else(|error| panic!("{error}"));
    let expected = [7; 64].into_iter().chain(0..64);
    assert!(machine.read::<u32>(out).into_iter().eq(expected));
}

#[track_caller]
fn fault(body: &str) -> Fault {
    let mut machine = Machine::new(&clustered("2", body));
    let out = machine.buffer(&[0_u32; 128]);
    match machine.launch("k", &shape(2, 32), &[out.address]) {
        Err(LaunchError::Trap(trap)) => trap.fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_goes_wrong_in_a_cluster() {
    // Block 1 arrives and waits; block 0 waits at a barrier of its own that its first thread never reaches.
    let stuck = "setp.eq.u32 %p1, %r2, 1; @%p1 barrier.cluster.arrive; @%p1 barrier.cluster.wait; @%p1 exit;
         setp.eq.u32 %p2, %r1, 0; @%p2 barrier.cluster.arrive; @%p2 barrier.cluster.wait; bar.sync 0;";
    let fault_ = fault(stuck);
    assert_eq!(
        fault_,
        Fault::ClusterBarrierNeverCompleted {
            arrived: 33,
            expected: 64
        }
    );
    // Threads that have exited are not waited for.
    let exited =
        "setp.eq.u32 %p1, %r2, 1; @%p1 exit; barrier.cluster.arrive; barrier.cluster.wait; trap;";
    assert_eq!(fault(exited), Fault::Trap);
    let ended = "setp.eq.u32 %p1, %r2, 1; @%p1 exit; mov.u32 %r8, 1; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.u64 %d6, %d3, %r8; ld.u32 %r10, [%d6];";
    assert_eq!(fault(ended), Fault::EndedBlock { rank: 1 });
    let rank = "mov.u32 %r8, 2; mapa.u64 %d6, %d3, %r8;";
    assert_eq!(
        fault(rank),
        Fault::BadOperand("block 2 of a cluster that has 2".to_owned())
    );
    let beyond = "mov.u32 %r8, 1; mapa.shared::cluster.u32 %r10, %r3, %r8; ld.shared::cluster.u32 %r10, [%r10+100000];";
    assert!(matches!(fault(beyond), Fault::OutOfBounds { .. }));
    let twice = "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.arrive;";
    assert!(matches!(fault(twice), Fault::MisusedBarrier(_)));
}

#[test]
fn shared_alone_means_the_blocks_own() {
    let access = |access: &str| {
        let rank =
            "xor.b32 %r8, %r2, 1; mapa.shared::cluster.u32 %r10, %r3, %r8; cvt.u64.u32 %d6, %r1;";
        fault(&format!("{rank} {access};"))
    };
    // An H200 stops at each of the first four with an illegal instruction.
    for (body, kind) in [
        ("ld.shared.u32 %r9, [%r10]", "load"),
        ("ld.shared::cta.u32 %r9, [%r10]", "load"),
        ("st.shared::cta.u32 [%r10], 7", "store"),
        ("atom.shared::cta.add.u32 %r9, [%r10], 7", "atomic"),
        ("mbarrier.init.shared.b64 [%r10], 1", "atomic"),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r10], 16",
            "load",
        ),
    ] {
        let Fault::BadOperand(message) = access(body) else {
            panic!("{body}");
        };
        let expected = format!("{kind} of another block's shared memory by `.shared`");
        assert!(message.starts_with(&expected), "{body}: {message}");
    }
    // It takes the own address in the cluster as well.
    let own = "mapa.shared::cluster.u32 %r10, %r3, %r2; st.shared.u32 [%r10], 7; ld.shared.u32 %r9, [%r3]; setp.eq.u32 %p1, %r9, 7;
         @%p1 trap";
    assert_eq!(access(own), Fault::Trap);
}

#[test]
fn the_grid_is_made_of_whole_clusters() {
    let machine = Machine::new(&clustered("4", ""));
    let error = machine.launch("k", &shape(6, 32), &[0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `k`: a grid of [6, 1, 1] blocks, which is no multiple of its clusters of [4, 1, 1]"
    );
    let error = warpfold_emulator::Module::parse(&clustered("4, 5", "")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a cluster of 20 blocks, where 1 to 16 are allowed"),
        "{error}"
    );
}
