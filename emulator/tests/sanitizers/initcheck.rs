//! What initcheck reports: reads of what nothing has written.

use crate::{bench, finds, shape};
use warpfold_emulator::{Memory, Module, Program, Tool, check};

#[test]
fn reads_of_unwritten_memory_are_found_in_every_space() {
    let unwritten = "read of uninitialised memory";
    finds(&[unwritten], "ld.shared.u32 %r2, [%rd3];", 1, 32);
    finds(
        &[],
        "st.shared.u32 [%rd3], 0; ld.shared.u32 %r2, [%rd3];",
        1,
        32,
    );
    finds(
        &[unwritten],
        ".local .align 8 .b8 own[16]; ld.local.u32 %r2, [own+8];",
        1,
        32,
    );
    finds(
        &[],
        ".local .align 8 .b8 own[16]; st.local.u32 [own+8], 1; ld.local.u32 %r2, [own+8];",
        1,
        32,
    );
    finds(&[], "ld.global.u32 %r2, [%rd2];", 1, 32);
    finds(&[unwritten], "atom.shared.add.u32 %r2, [%rd3], 1;", 1, 32);
    finds(
        &[],
        ".shared .align 4 .b8 other[4]; ld.param.u64 %rd6, [data];",
        1,
        32,
    );
}

#[test]
fn global_memory_counts_as_written_where_the_host_or_a_kernel_wrote() {
    let mut bench = bench("ld.global.u32 %r2, [%rd2];");
    let fresh = bench.memory.allocate(256).expect("there is room");
    bench.arguments = vec![fresh.to_le_bytes().to_vec()];
    let all = bench.check(shape(1, 32));
    assert_eq!(all[0].count, 32);
    bench.memory.write(fresh + 8, &[1; 6]).expect("it is there");
    // Thread 2 has its whole word, thread 3 half of it.
    let rest = bench.check(shape(1, 32));
    assert_eq!(rest[0].count, 31);
    bench.memory.write(fresh, &[1; 256]).expect("it is there");
    assert!(bench.check(shape(1, 32)).is_empty());

    let mut writes_first = self::bench(
        "st.global.u16 [%rd2], %h1; ld.global.u16 %h2, [%rd2];\nld.global.u32 %r2, [%rd2];",
    );
    let fresh = writes_first.memory.allocate(256).expect("there is room");
    writes_first.arguments = vec![fresh.to_le_bytes().to_vec()];
    let findings = writes_first.check(shape(1, 32));
    assert_eq!(findings.len(), 1, "only the word, half of which is written");
    assert!(findings[0].places[0].text.starts_with("ld.global.u32"));
}

#[test]
fn variables_of_a_module_begin_as_zeros() {
    let source = ".version 7.8
.target sm_90
.address_size 64
.global .align 4 .u32 total;
.visible .entry k() {
.reg .b32 %r<4>;
ld.global.u32 %r1, [total];
ret;
}";
    let mut memory = Memory::new();
    let program = Program::load(Module::parse(source).expect("it parses"), &mut memory)
        .expect("there is room");
    let kernel = program.kernel("k").expect("it compiles");
    let findings = check(&kernel, &mut memory, &shape(1, 1), &[], &[Tool::Initcheck]);
    assert_eq!(findings, Ok(Vec::new()));
}
