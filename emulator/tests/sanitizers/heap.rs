//! What is found wrong with memory from `malloc`, and what is not.

use crate::common::{free, malloc};
use crate::{bench, finds, shape};
use warpfold_emulator::{Finding, Memory, Module, Order, Program, Tool, check, compare_orders};

/// What is found in one block of 64 threads, and the texts of the places.
#[track_caller]
fn found_on_heap(body: &str) -> (Finding, Vec<String>) {
    let findings = bench(body).check(shape(1, 64));
    let [finding] = &findings[..] else {
        panic!("{body}: {findings:?}")
    };
    assert_eq!(finding.tool, Tool::Memcheck);
    let texts = finding
        .places
        .iter()
        .map(|place| format!("{} {:?} {}", place.does, place.thread, place.text));
    (finding.clone(), texts.collect())
}

#[test]
fn use_of_freed_heap_memory_names_both_threads() {
    // Thread 0 publishes what it has freed.
    let body = format!(
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
         {} st.global.u64 [%rd1], %rd6; {}
         WAIT: bar.sync 0; ld.global.u64 %rd7, [%rd1];
         setp.ne.u32 %p1, %r1, 40; @%p1 bra END;
         st.u32 [%rd7+20], %r1;
         END:",
        malloc("%rd6", "24"),
        free("%rd6"),
    );
    let (finding, places) = found_on_heap(&body);
    assert_eq!(finding.kind, "use of freed memory");
    assert_eq!(
        places,
        [
            "writes [40, 0, 0] st.u32 [%rd7+20], %r1;",
            "has freed it [0, 0, 0] call.uni free, (given); }"
        ]
    );
    assert!(
        finding.message.contains("in an allocation of 24 bytes"),
        "{finding}"
    );
    let clean = body.replace("st.u32 [%rd7+20], %r1;", "");
    assert_eq!(bench(&clean).check(shape(1, 64)), []);
}

#[test]
fn memory_is_freed_once_and_only_what_was_allocated() {
    let alone = "setp.ne.u32 %p1, %r1, 0; @%p1 bra END;";
    let body = format!(
        "{alone} {}\n{}\n{}\nEND:",
        malloc("%rd6", "24"),
        free("%rd6"),
        free("%rd6"),
    );
    let (finding, places) = found_on_heap(&body);
    assert_eq!(finding.kind, "double free");
    assert_eq!(places.len(), 2);
    assert!(
        places[0].starts_with("frees") && places[1].starts_with("has freed it"),
        "{places:?}"
    );
    assert_ne!(finding.places[0].line, finding.places[1].line);

    let wrong = [
        format!("{} add.u64 %rd6, %rd6, 16;", malloc("%rd6", "24")),
        "mov.u64 %rd6, %rd1;".to_owned(),
        "mov.u64 %rd6, 77;".to_owned(),
        "cvta.shared.u64 %rd6, %rd5;".to_owned(),
    ];
    for address in wrong {
        let (finding, places) = found_on_heap(&format!("{alone} {address} {} END:", free("%rd6")));
        assert_eq!(finding.kind, "free of what was not allocated");
        assert_eq!(places.len(), 1);
    }
    let (finding, _) = found_on_heap(&format!("{alone} mov.u64 %rd6, 77; {} END:", free("%rd6")));
    assert!(
        finding
            .message
            .starts_with("free of 0x4d, where no live allocation of `malloc` begins")
    );
    finds(&[], &format!("mov.u64 %rd6, 0; {}", free("%rd6")), 1, 64);
}

#[test]
fn bounds_and_first_writes_of_heap_memory() {
    let of = |access: &str| format!("{} {access} {}", malloc("%rd6", "24"), free("%rd6"));
    finds(
        &[],
        &of("st.u64 [%rd6+16], %rd1; ld.u64 %rd7, [%rd6+16];"),
        2,
        64,
    );
    finds(
        &["access out of bounds"],
        &of("st.u64 [%rd6+24], %rd1;"),
        1,
        1,
    );
    finds(
        &["access out of bounds"],
        &of("st.u64 [%rd6+-8], %rd1;"),
        1,
        1,
    );
    finds(&["misaligned access"], &of("st.u64 [%rd6+4], %rd1;"), 1, 1);
    finds(
        &["read of uninitialised memory"],
        &of("ld.u64 %rd7, [%rd6+8];"),
        1,
        64,
    );
    // What was there before has no bearing on a new piece.
    let twice = format!(
        "{} {}",
        of("st.u64 [%rd6], %rd1;"),
        of("ld.u64 %rd7, [%rd6];")
    );
    finds(&["read of uninitialised memory"], &twice, 1, 1);
}

#[test]
fn a_check_leaves_the_heap_as_it_was() {
    let keeps = format!("{} st.u64 [%rd6], %rd6;", malloc("%rd6", "524288"));
    let mut bench = bench(&keeps);
    // Half of the heap each time.
    for _ in 0..5 {
        assert_eq!(bench.check(shape(1, 8)), []);
    }
}

/// Threads that hand each other pieces, with a barrier between or without.
#[test]
fn races_on_pieces() {
    let hand_over = |between: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
             {} st.global.u64 [%rd1], %rd6; st.u32 [%rd6], %r1;
             WAIT: bar.sync 0; ld.global.u64 %rd7, [%rd1];
             setp.ne.u32 %p1, %r1, 32; @%p1 bra MEET; st.u32 [%rd7], %r1;
             MEET: {between}
             setp.ne.u32 %p1, %r1, 0; @%p1 bra END; ld.u32 %r3, [%rd7];
             END:",
            malloc("%rd6", "16")
        )
    };
    finds(&[], &hand_over("bar.sync 0;"), 1, 64);
    let findings = bench(&hand_over("")).check(shape(1, 64));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].tool, Tool::Racecheck);
    assert_eq!(findings[0].places.len(), 2);
}

/// Where a piece lies depends on who comes first; that is no result.
#[test]
fn addresses_of_pieces_may_depend_on_the_schedule() {
    let orders = || [Order::Fixed].into_iter().chain((0..20).map(Order::Seed));
    let differs = |body: &str| {
        let mut bench = bench(body);
        let shape = shape(2, 96);
        let arguments = &bench.arguments;
        compare_orders(
            &bench.kernel,
            &mut bench.memory,
            &shape,
            arguments,
            orders(),
        )
        .expect("it runs")
    };
    let own = "mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 96, %r1;
               mul.wide.u32 %rd7, %r3, 8; add.s64 %rd7, %rd1, %rd7;";
    let keeps = format!("{own} {} st.global.u64 [%rd7], %rd6;", malloc("%rd6", "16"));
    assert_eq!(differs(&keeps), None);
    // Half of them get nothing, and who does is a result.
    let large = format!(
        "{own} {} st.global.u64 [%rd7], %rd6;",
        malloc("%rd6", "87381")
    );
    assert!(differs(&large).is_some());
}

/// What nvcc makes of right kernels is clean.
#[test]
fn compiled_kernels() {
    let module = Module::parse(include_str!("../data/heap.nvcc.sm_90.ptx")).expect("it parses");
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).expect("there is room");
    let out = memory.allocate(4096).expect("there is room");
    let cases = [
        ("lists", 5u64, 2, 64),
        ("exhaust", 1 << 16, 1, 1),
        ("keep", 100, 3, 64),
    ];
    for (entry, second, grid, block) in cases {
        let kernel = program.kernel(entry).expect("it compiles");
        let bytes = kernel.parameters().iter().map(|parameter| parameter.bytes);
        let arguments: Vec<Vec<u8>> = [out, second]
            .iter()
            .zip(bytes)
            .map(|(value, bytes)| value.to_le_bytes()[..bytes].to_vec())
            .collect();
        let found = check(
            &kernel,
            &mut memory,
            &shape(grid, block),
            &arguments,
            &Tool::WATCHING,
        );
        assert_eq!(found, Ok(Vec::new()), "{entry}");
    }
}

#[test]
fn what_a_copy_still_uses_is_not_freed() {
    let body = |wait: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
             {} st.u32 [%rd6], 7; mov.u32 %r2, tile;
             cp.async.ca.shared.global [%r2], [%rd6], 4; {wait}
             {} cp.async.wait_all; END:",
            malloc("%rd6", "32"),
            free("%rd6"),
        )
    };
    assert_eq!(bench(&body("cp.async.wait_all;")).check(shape(1, 64)), []);
    let (finding, _) = found_on_heap(&body(""));
    assert!(
        finding
            .message
            .contains("which the asynchronous copy of line"),
        "{finding}"
    );
}
