//! What the sanitizers report, and what they let pass: small kernels, one question each.

use warpfold_emulator::{
    Fault, Finding, Kernel, Launch, LaunchError, Memory, Module, Nothing, Order, Program, Tool,
    check, compare_orders, launch, launch_scheduled,
};

/// Bytes of the buffer that every kernel here gets, all written by the host.
const DATA_BYTES: usize = 4096;

/// A kernel with its memory, ready to be launched.
struct Bench {
    memory: Memory,
    kernel: std::sync::Arc<Kernel>,
    arguments: Vec<Vec<u8>>,
}

/// A kernel of this body, which finds in `%rd1` the address of the data, in `%rd2` that of the thread's own word of it, in
/// `%r1` the thread's number in its block, and in `%rd3` that of its own word of the shared array `tile`.
fn bench(body: &str) -> Bench {
    let source = format!(
        ".version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data) {{
.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<32>;
.reg .b64 %rd<16>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %rd1, [data];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd2, %rd1, %rd4;
mov.u64 %rd5, tile;
add.s64 %rd3, %rd5, %rd4;
{body}
ret;
}}"
    );
    let mut memory = Memory::new();
    let module = Module::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::load(module, &mut memory).expect("there is room");
    let kernel = program.kernel("k").expect("it compiles");
    let data = memory.allocate(DATA_BYTES).expect("there is room");
    memory.write(data, &[0; DATA_BYTES]).expect("it is there");
    Bench {
        memory,
        kernel,
        arguments: vec![data.to_le_bytes().to_vec()],
    }
}

fn shape(grid: u32, block: u32) -> Launch {
    Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared_bytes: 0,
        nesting: warpfold_emulator::Nesting::default(),
        threads: 0,
        max_steps: 100_000,
        cooperative: false,
    }
}

impl Bench {
    fn check(&mut self, shape: Launch) -> Vec<Finding> {
        let tools = &Tool::WATCHING;
        check(
            &self.kernel,
            &mut self.memory,
            &shape,
            &self.arguments,
            tools,
        )
        .expect("it runs")
    }
}

/// What is found when the body runs in this shape: the kinds, in order.
fn kinds(body: &str, grid: u32, block: u32) -> Vec<&'static str> {
    let findings = bench(body).check(shape(grid, block));
    findings.iter().map(|finding| finding.kind).collect()
}

#[track_caller]
fn finds(expected: &[&str], body: &str, grid: u32, block: u32) {
    assert_eq!(kinds(body, grid, block), expected, "{body}");
}

const STORE_THEN_READ_NEIGHBOUR: [&str; 2] = [
    "st.shared.u32 [%rd3], %r1;",
    "xor.b32 %r2, %r1, 33;
     mul.wide.u32 %rd6, %r2, 4;
     add.s64 %rd6, %rd5, %rd6;
     ld.shared.u32 %r3, [%rd6];",
];

/// The two halves of an exchange through shared memory, with something between.
fn exchange(between: &str) -> String {
    STORE_THEN_READ_NEIGHBOUR.join(&format!("\n{between}\n"))
}

// racecheck ---------------------------------------------------------------------------------------------------------

#[test]
fn a_block_barrier_orders_warps_and_nothing_else_does() {
    finds(&[], &exchange("bar.sync 0;"), 1, 64);
    for between in ["", "bar.warp.sync -1;", "membar.cta;", "fence.acq_rel.gpu;"] {
        let kinds = kinds(&exchange(between), 1, 64);
        assert!(kinds.contains(&"read after write"), "{between}: {kinds:?}");
    }
}

/// One store and one load by all lanes, which look at each other.
fn mirrored(between: &str) -> String {
    format!(
        "st.shared.u32 [%rd3], %r1;
         {between}
         sub.u32 %r2, 31, %r1;
         mul.wide.u32 %rd6, %r2, 4;
         add.s64 %rd6, %rd5, %rd6;
         ld.shared.u32 %r3, [%rd6];"
    )
}

#[test]
fn lanes_need_a_warp_barrier_and_shuffles_or_votes_are_none() {
    finds(&[], &mirrored("bar.warp.sync -1;"), 1, 32);
    finds(&[], &mirrored("bar.sync 0;"), 1, 32);
    for between in [
        "",
        "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;",
        "vote.sync.ballot.b32 %r4, 1, -1;",
        "activemask.b32 %r4;",
    ] {
        finds(&["read after write"], &mirrored(between), 1, 32);
    }
}

#[test]
fn a_warp_barrier_orders_only_the_lanes_that_it_names() {
    // Each half for itself, though both come at the same time.
    let halves =
        "and.b32 %r4, %r1, 16; mov.u32 %r5, 65535; shl.b32 %r5, %r5, %r4; bar.warp.sync %r5;";
    finds(&["read after write"], &mirrored(halves), 1, 32);
    // Neighbours in the lower half look at each other.
    let within = format!(
        "st.shared.u32 [%rd3], %r1; {halves}
         xor.b32 %r2, %r1, 1; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd6, %rd5, %rd6; ld.shared.u32 %r3, [%rd6];"
    );
    finds(&[], &within, 1, 32);
}

#[test]
fn volatile_accesses_race_like_plain_ones() {
    let body = mirrored("")
        .replace("st.shared", "st.volatile.shared")
        .replace("ld.shared", "ld.volatile.shared");
    let findings = bench(&body).check(shape(1, 32));
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].message.contains("volatile orders nothing"),
        "{}",
        findings[0]
    );
}

#[test]
fn named_barriers_order_those_who_take_part() {
    // Warp 0 stores and arrives; warp 1 waits and loads; warp 2 does not take part, and waits for nobody.
    let body = |reader: u32| {
        format!(
            "setp.lt.u32 %p1, %r1, 32;
             @!%p1 bra OTHERS;
             st.shared.u32 [%rd3], %r1;
             bar.arrive 1, 64;
             bra END;
             OTHERS:
             setp.ge.u32 %p2, %r1, 64;
             @%p2 bra THIRD;
             bar.sync 1, 64;
             THIRD:
             shr.u32 %r2, %r1, 5;
             setp.ne.u32 %p3, %r2, {reader};
             @%p3 bra END;
             and.b32 %r3, %r1, 31; mul.wide.u32 %rd6, %r3, 4; add.s64 %rd6, %rd5, %rd6;
             ld.shared.u32 %r4, [%rd6];
             END:"
        )
    };
    finds(&[], &body(1), 1, 96);
    finds(&["read after write"], &body(2), 1, 96);
}

#[test]
fn who_only_arrives_learns_nothing() {
    // Warp 0 arrives and goes on to overwrite what warp 1 reads behind the barrier.
    let body = "
        setp.lt.u32 %p1, %r1, 32;
        @!%p1 bra WAITS;
        bar.arrive 1, 64;
        st.shared.u32 [%rd3+128], %r1;
        bra END;
        WAITS:
        st.shared.u32 [%rd3], %r1;
        bar.sync 1, 64;
        END:";
    let kinds = kinds(body, 1, 64);
    assert!(kinds.contains(&"write after write"), "{kinds:?}");
}

#[test]
fn counts_and_votes_of_barriers_order_too() {
    finds(&[], &exchange("bar.red.popc.u32 %r9, 0, 1;"), 1, 64);
    finds(&[], &exchange("barrier.sync 3, 64;"), 1, 64);
}

#[test]
fn lanes_that_store_to_one_word_at_once_race() {
    finds(&["write after write"], "st.global.u32 [%rd1], %r1;", 1, 32);
    finds(
        &[],
        "setp.eq.u32 %p1, %r1, 5; @%p1 st.global.u32 [%rd1], %r1;",
        1,
        32,
    );
    finds(&[], "red.global.add.u32 [%rd1], %r1;", 4, 64);
}

#[test]
fn blocks_race_on_global_memory_and_not_on_shared() {
    let first_thread = "setp.ne.u32 %p1, %r1, 0; @%p1 bra END;";
    let body = |access: &str| format!("{first_thread} {access} END:");
    finds(
        &["write after write"],
        &body("st.global.u32 [%rd1], %r1;"),
        3,
        32,
    );
    finds(&[], &body("st.shared.u32 [%rd5], %r1;"), 3, 32);
    finds(&[], &body("ld.global.u32 %r2, [%rd1];"), 3, 32);
    finds(
        &["read after write", "write after write"],
        &body("ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], %r2;"),
        3,
        32,
    );
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    finds(
        &[],
        "st.relaxed.gpu.shared.u32 [%rd5], 2; atom.shared.exch.b32 %r2, [%rd5], 1;",
        1,
        1,
    );
    let body = |access: &str| {
        format!(
            "setp.eq.u32 %p1, %r1, 0; @%p1 {access} [%rd1], 0;
             red.global.add.u32 [%rd1], 1;"
        )
    };
    assert!(
        !kinds(&body("st.global.u32"), 1, 64).is_empty(),
        "cleared without a barrier"
    );
    finds(&[], &body("st.relaxed.gpu.global.u32"), 1, 64);
}

#[test]
fn the_clearing_thread_counting_first_hides_nothing() {
    // Thread 0 clears and counts, in that order; the others' additions race with the store all the same.
    let body = "
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra COUNT;
        st.shared.u32 [%rd5], 0;
        red.shared.add.u32 [%rd5], 1;
        COUNT:
        red.shared.add.u32 [%rd5], 1;";
    assert!(kinds(body, 1, 64).contains(&"write after write"));
}

/// Blocks leave a value each and take a ticket; the last one reads all values.
fn tickets(before: &str, after: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
         mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd1, %rd6;
         st.global.u32 [%rd7+64], %r2;
         {before}
         atom.global.add.u32 %r3, [%rd1], 1;
         {after}
         mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r3, %r4; @%p2 bra END;
         mov.u32 %r5, 0;
         LOOP:
         mul.wide.u32 %rd6, %r5, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r6, [%rd7+64];
         add.u32 %r5, %r5, 1; setp.le.u32 %p3, %r5, %r4; @%p3 bra LOOP;
         END:"
    )
}

#[test]
fn a_ticket_orders_with_fences_on_both_sides() {
    finds(&[], &tickets("membar.gl;", "membar.gl;"), 4, 32);
    finds(&[], &tickets("fence.acq_rel.gpu;", "fence.sc.gpu;"), 4, 32);
    finds(&["read after write"], &tickets("", ""), 4, 32);
    finds(&["read after write"], &tickets("", "membar.gl;"), 4, 32);
    finds(&["read after write"], &tickets("membar.gl;", ""), 4, 32);
    let strong = tickets("", "").replace("atom.global", "atom.acq_rel.gpu.global");
    finds(&[], &strong, 4, 32);
}

#[test]
fn a_barrier_behind_the_ticket_passes_it_on_to_the_block() {
    // As in NVIDIA's threadFenceReduction: the first thread takes the ticket, a barrier, and all threads read.
    let body = "
        mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd1, %rd6;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
        st.global.u32 [%rd7+64], %r2;
        membar.gl;
        atom.global.add.u32 %r3, [%rd1], 1;
        st.shared.u32 [%rd5], %r3;
        MEET:
        bar.sync 0;
        ld.shared.u32 %r3, [%rd5];
        mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r3, %r4; @%p2 bra END;
        setp.gt.u32 %p3, %r1, %r4; @%p3 bra END;
        ld.global.u32 %r6, [%rd2+64];
        END:";
    finds(&[], body, 4, 64);
    finds(
        &["read after write"],
        &body.replace("membar.gl;", ""),
        4,
        64,
    );
}

#[test]
fn release_and_acquire_order_a_message() {
    let body = |release: &str, acquire: &str| {
        format!(
            "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra READ;
             st.global.u32 [%rd1+64], 7;
             st.{release}.global.u32 [%rd1], 1;
             bra END;
             READ:
             ld.{acquire}.global.u32 %r3, [%rd1];
             setp.eq.u32 %p2, %r3, 0; @%p2 bra READ;
             ld.global.u32 %r4, [%rd1+64];
             END:"
        )
    };
    finds(&[], &body("release.gpu", "acquire.gpu"), 2, 1);
    finds(
        &["read after write"],
        &body("relaxed.gpu", "acquire.gpu"),
        2,
        1,
    );
    finds(
        &["read after write"],
        &body("release.gpu", "relaxed.gpu"),
        2,
        1,
    );
    finds(
        &["read after write"; 2],
        &body("volatile", "volatile"),
        2,
        1,
    );
}

#[test]
fn bytes_of_one_word_are_apart() {
    let byte = "mul.wide.u32 %rd6, %r1, 1; add.s64 %rd6, %rd5, %rd6; mov.u16 %h1, 7; st.shared.u8 [%rd6], %h1;";
    finds(&[], byte, 1, 32);
    // A word that covers the bytes of four threads.
    let and_words = format!("{byte} ld.shared.u32 %r3, [%rd5];");
    finds(&["read after write"], &and_words, 1, 32);
    let ordered = format!("{byte} bar.sync 0; ld.shared.u32 %r3, [%rd5]; bar.sync 0; {byte}");
    finds(&[], &ordered, 1, 32);
    // Two threads to a byte.
    let halves = byte.replace(
        "mul.wide.u32 %rd6, %r1, 1;",
        "shr.u32 %r2, %r1, 1; cvt.u64.u32 %rd6, %r2;",
    );
    finds(&["write after write"], &halves, 1, 32);
}

#[test]
fn vectors_touch_all_their_words() {
    let body = |between: &str| {
        format!(
            "st.shared.u32 [%rd3], %r1; {between}
             and.b32 %r2, %r1, 7; mul.wide.u32 %rd6, %r2, 16; add.s64 %rd6, %rd5, %rd6;
             ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%rd6];"
        )
    };
    finds(&[], &body("bar.sync 0;"), 1, 32);
    finds(&["read after write"], &body(""), 1, 32);
}

#[test]
fn many_readers_are_all_remembered() {
    // All threads read one word; one of another warp writes it afterwards.
    let body = |between: &str| {
        format!(
            "ld.global.u32 %r2, [%rd1]; {between}
             setp.eq.u32 %p1, %r1, 200; @%p1 st.global.u32 [%rd1], %r1;"
        )
    };
    finds(&[], &body("bar.sync 0;"), 1, 256);
    for between in ["", "bar.warp.sync -1;"] {
        let kinds = kinds(&body(between), 1, 256);
        assert!(kinds.contains(&"write after read"), "{between}: {kinds:?}");
    }
}

#[test]
fn a_race_names_both_threads_and_lines() {
    let findings = bench(&exchange("")).check(shape(1, 64));
    let race = findings
        .iter()
        .find(|finding| finding.kind == "read after write")
        .expect("there is one");
    assert_eq!(race.tool, Tool::Racecheck);
    let [reader, writer] = &race.places[..] else {
        panic!("{race}");
    };
    assert_eq!((reader.does, writer.does), ("reads", "writes"));
    assert_eq!(reader.thread[0] ^ 33, writer.thread[0]);
    assert!(reader.text.starts_with("ld.shared") && writer.text.starts_with("st.shared"));
    assert_eq!(
        race.memory.map(|memory| memory.address),
        Some(4 * u64::from(writer.thread[0]))
    );
    assert!(race.count > 1);
}

#[test]
fn asynchronous_copies_and_the_barriers_they_complete_on_are_clean() {
    let module = Module::parse(include_str!("data/async.nvcc.sm_90.ptx")).expect("it parses");
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).expect("there is room");
    let input = memory.allocate(DATA_BYTES).expect("there is room");
    let sum = memory.allocate(4).expect("there is room");
    for (address, bytes) in [(input, DATA_BYTES), (sum, 4)] {
        memory.write(address, &vec![1; bytes]).expect("it is there");
    }
    let arguments = [
        input.to_le_bytes().to_vec(),
        sum.to_le_bytes().to_vec(),
        (DATA_BYTES as u32 / 4).to_le_bytes().to_vec(),
    ];
    for entry in ["bulk_sum", "async_sum"] {
        let kernel = program.kernel(entry).expect("it compiles");
        let findings = check(
            &kernel,
            &mut memory,
            &shape(2, 128),
            &arguments,
            &Tool::WATCHING,
        );
        assert_eq!(findings, Ok(Vec::new()), "{entry}");
    }
}

// initcheck ---------------------------------------------------------------------------------------------------------

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

// synccheck ---------------------------------------------------------------------------------------------------------

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

// memcheck ----------------------------------------------------------------------------------------------------------

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

// schedules ---------------------------------------------------------------------------------------------------------

/// Threads append their numbers in the order in which they come.
const FIRST_COME: &str = "
    atom.global.add.u32 %r2, [%rd1], 4;
    cvt.u64.u32 %rd6, %r2; add.s64 %rd6, %rd1, %rd6;
    st.global.u32 [%rd6+64], %r1;";

fn left_by(body: &str, order: Order, shape: Launch) -> Vec<u8> {
    let bench = bench(body);
    let Bench {
        memory,
        kernel,
        arguments,
    } = &bench;
    match order {
        Order::Fixed => launch(kernel, memory, &shape, arguments, &mut Nothing),
        Order::Seed(seed) => {
            launch_scheduled(kernel, memory, &shape, arguments, seed, &mut Nothing)
        }
    }
    .expect("it runs");
    let data = u64::from_le_bytes(arguments[0][..].try_into().expect("an address"));
    let mut bytes = vec![0; DATA_BYTES];
    memory.read(data, &mut bytes).expect("it is there");
    bytes
}

#[test]
fn a_seed_gives_one_schedule_and_another_gives_another() {
    let run = |seed| left_by(FIRST_COME, Order::Seed(seed), shape(2, 96));
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn schedules_part_lanes_that_the_program_has_not_parted() {
    // In the fixed order the lanes of a warp come one behind the other, in order.
    let places = |order| {
        let bytes = left_by(FIRST_COME, order, shape(1, 32));
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        (0..32)
            .map(|place| word(64 + 4 * place))
            .collect::<Vec<u32>>()
    };
    assert!(places(Order::Fixed).is_sorted());
    let parted = (0..20).filter(|&seed| !places(Order::Seed(seed)).is_sorted());
    assert!(parted.count() > 5);
}

#[test]
fn barriers_and_collectives_hold_under_every_schedule() {
    // A sum over the block by shuffles and shared memory, and a check of the lanes' order in a warp.
    let body = "
        shfl.sync.down.b32 %r2, %r1, 16, 31, -1; add.u32 %r3, %r1, %r2;
        shfl.sync.down.b32 %r2, %r3, 8, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 4, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 2, 31, -1; add.u32 %r3, %r3, %r2;
        shfl.sync.down.b32 %r2, %r3, 1, 31, -1; add.u32 %r3, %r3, %r2;
        st.shared.u32 [%rd3], %r3;
        bar.sync 0;
        xor.b32 %r4, %r1, 32; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd6, %rd5, %rd6;
        ld.shared.u32 %r5, [%rd6];
        bar.sync 1, 64;
        st.shared.u32 [%rd3], 0;
        st.global.u32 [%rd2], %r5;";
    let expected = left_by(body, Order::Fixed, shape(1, 64));
    for seed in 0..100 {
        assert_eq!(
            left_by(body, Order::Seed(seed), shape(1, 64)),
            expected,
            "seed {seed}"
        );
    }
    // A block whose last warp is not full, at a barrier with a count.
    let counted = "st.shared.u32 [%rd3], %r1; bar.sync 1, 64; ld.shared.u32 %r5, [%rd5+156]; st.global.u32 [%rd2], %r5;";
    let expected = left_by(counted, Order::Fixed, shape(1, 40));
    for seed in 0..100 {
        assert_eq!(
            left_by(counted, Order::Seed(seed), shape(1, 40)),
            expected,
            "seed {seed}"
        );
    }
}

#[test]
fn lanes_may_wait_for_each_other_in_a_loop() {
    // A lock, taken by every lane of a warp in turn.
    let body = "
        TRY:
        atom.global.acquire.gpu.cas.b32 %r2, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r2, 0; @%p1 bra TRY;
        ld.global.u32 %r3, [%rd1+64]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1+64], %r3;
        st.global.release.gpu.u32 [%rd1], 0;";
    let body = body
        .replace("st.global.release.gpu", "st.release.gpu.global")
        .replace("atom.global.acquire.gpu", "atom.acquire.gpu.global");
    let patient = Launch {
        max_steps: 10_000_000,
        ..shape(2, 48)
    };
    for seed in 0..4 {
        let bytes = left_by(&body, Order::Seed(seed), patient);
        assert_eq!(bytes[64], 96, "seed {seed}");
    }
    assert_eq!(bench(&body).check(patient), []);
}

#[test]
fn a_difference_names_two_orders_and_leaves_memory_as_it_was() {
    let mut bench = bench(FIRST_COME);
    let orders = [Order::Seed(0), Order::Seed(1), Order::Seed(2)];
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut bench;
    let finding = compare_orders(kernel, memory, &shape(2, 64), arguments, orders)
        .expect("it runs")
        .expect("it depends on the order");
    assert_eq!(finding.tool, Tool::Schedules);
    assert!(
        finding.message.contains("seed 0") && finding.message.contains("seed 1"),
        "{finding}"
    );
    let data = u64::from_le_bytes(arguments[0][..].try_into().expect("an address"));
    let mut bytes = vec![1; DATA_BYTES];
    memory.read(data, &mut bytes).expect("it is there");
    assert_eq!(bytes, [0; DATA_BYTES]);

    let mut right = self::bench("st.global.u32 [%rd2], %r1;");
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut right;
    let none = compare_orders(
        kernel,
        memory,
        &shape(1, 64),
        arguments,
        (0..50).map(Order::Seed),
    );
    assert_eq!(none, Ok(None));
}

#[test]
fn an_endless_loop_stops_at_the_limit_of_steps() {
    let mut bench = bench("LOOP: bra LOOP;");
    let Bench {
        memory,
        kernel,
        arguments,
    } = &mut bench;
    for orders in [[Order::Fixed], [Order::Seed(0)]] {
        let stopped = compare_orders(kernel, memory, &shape(1, 64), arguments, orders);
        let Err(LaunchError::Trap(trap)) = stopped else {
            panic!("{stopped:?}");
        };
        assert_eq!(trap.fault, Fault::StepLimit(100_000));
    }
}
