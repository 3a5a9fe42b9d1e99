//! What memcheck reports: addresses by their kind.

use crate::{Bench, bench, finds, shape};
use warpfold_emulator::{Fault, Finding, LaunchError, Nothing, Tool, launch};

/// The fault of one thread that runs this.
fn fault(body: &str, prepare: impl FnOnce(&mut Bench)) -> Fault {
    let mut bench = bench(body);
    prepare(&mut bench);
    match launch(
        &bench.kernel,
        &bench.memory,
        &shape(1, 1),
        &bench.arguments,
        &mut Nothing,
    ) {
        Err(LaunchError::Trap(trap)) => trap.fault,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn freed_memory_is_called_so() {
    let fault = fault("ld.global.u32 %r2, [%rd1+16];", |bench| {
        let buffer = bench.memory.allocate(64).expect("there is room");
        bench.memory.free(buffer).expect("it is there");
        bench.arguments = vec![buffer.to_le_bytes().to_vec()];
    });
    assert!(
        matches!(fault, Fault::Freed { allocated: 64, .. }),
        "{fault}"
    );
    assert!(
        fault.to_string().ends_with("that has been freed"),
        "{fault}"
    );
}

#[test]
fn addresses_of_the_wrong_kind_are_told_apart() {
    let of = |body: &str| fault(body, |_| {});
    let is = |body: &str, expected: fn(&Fault) -> bool| {
        let fault = of(body);
        assert!(expected(&fault), "{body}: {fault}");
    };
    is("mov.u64 %rd6, 0; ld.global.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("mov.u64 %rd6, 0; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::Null { .. })
    });
    is("st.u32 [%rd3+16], %r1;", |fault| {
        matches!(fault, Fault::SharedOffset { address: 16, .. })
    });
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.shared.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is(
        "cvta.shared.u64 %rd6, %rd3; ld.global.u32 %r2, [%rd6];",
        |fault| matches!(fault, Fault::WrongSpace { .. }),
    );
    is("st.shared.u32 [%rd1], %r1;", |fault| {
        matches!(fault, Fault::WrongSpace { .. })
    });
    is("mov.u64 %rd6, 123456789012; ld.u32 %r2, [%rd6];", |fault| {
        matches!(fault, Fault::NoSpace { .. })
    });
    is("ld.u32 %r2, [%rd1+5000];", |fault| {
        matches!(fault, Fault::OutOfBounds { .. })
    });
}

/// `malloc` of so many bytes into a register, and `free` of one.
fn malloc(register: &str, bytes: u32) -> String {
    format!(
        "{{ .param .b64 size; .param .b64 got; st.param.b64 [size], {bytes};
         call.uni (got), malloc, (size); ld.param.b64 {register}, [got]; }}"
    )
}

fn free(register: &str) -> String {
    format!(
        "{{ .param .b64 given; st.param.b64 [given], {register};
         call.uni free, (given); }}"
    )
}

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
        malloc("%rd6", 24),
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
        malloc("%rd6", 24),
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
        format!("{} add.u64 %rd6, %rd6, 16;", malloc("%rd6", 24)),
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
            .starts_with("free of 0x4d, which `malloc` did not return")
    );
    finds(&[], &format!("mov.u64 %rd6, 0; {}", free("%rd6")), 1, 64);
}

#[test]
fn bounds_and_first_writes_of_heap_memory() {
    let of = |access: &str| format!("{} {access} {}", malloc("%rd6", 24), free("%rd6"));
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
    let keeps = format!("{} st.u64 [%rd6], %rd6;", malloc("%rd6", 1 << 19));
    let mut bench = bench(&keeps);
    // Half of the heap each time.
    for _ in 0..5 {
        assert_eq!(bench.check(shape(1, 8)), []);
    }
}
