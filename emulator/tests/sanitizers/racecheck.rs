//! What racecheck reports, and what it lets pass: what orders accesses, and what does not.

use crate::{DATA_BYTES, bench, exchange, finds, kinds, shape};
use warpfold_emulator::{Memory, Module, Program, Tool, check};

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
    // Warp 0 arrives and goes on to overwrite what warp 1 reads after the barrier.
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

/// All threads of each block leave a value, fence and meet; the first thread takes a ticket for all of them.
fn ticket_for_the_block(before: &str, meet: &str, behind: &str, after: &str) -> String {
    format!(
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r2, %r2, %r3, %r1;
         mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd1, %rd6;
         st.global.u32 [%rd7+64], %r2;
         {before} {meet} {behind}
         setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
         atom.global.add.u32 %r3, [%rd1], 1;
         {after}
         mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r3, %r4; @%p2 bra END;
         mov.u32 %r4, %nctaid.x; mov.u32 %r5, %ntid.x; mul.lo.u32 %r4, %r4, %r5; mov.u32 %r5, 0;
         LOOP:
         mul.wide.u32 %rd6, %r5, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r6, [%rd7+64];
         add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r4; @%p3 bra LOOP;
         END:"
    )
}

#[test]
fn a_barrier_carries_fences_to_the_thread_that_takes_the_ticket() {
    let barrier = "bar.sync 0;";
    for (before, behind, after) in [
        ("membar.gl;", "", "membar.gl;"),
        ("fence.sc.gpu;", "", "fence.sc.gpu;"),
        ("", "membar.gl;", "membar.gl;"),
        ("", "fence.acq_rel.gpu;", "fence.acq_rel.gpu;"),
    ] {
        let body = ticket_for_the_block(before, barrier, behind, after);
        finds(&[], &body, 2, 64);
    }
    // Each warp for itself.
    let body = ticket_for_the_block("membar.gl;", "bar.warp.sync -1;", "", "membar.gl;");
    finds(&[], &body, 3, 32);
    assert!(kinds(&body, 2, 64).contains(&"read after write"));
    for (before, meet, behind, after) in [
        ("", barrier, "", "membar.gl;"),
        ("membar.gl;", "", "", "membar.gl;"),
        ("membar.gl;", barrier, "", ""),
        // Only sequential fences have an order that a barrier may come into.
        ("fence.acq_rel.gpu;", barrier, "", "fence.acq_rel.gpu;"),
        ("membar.cta;", barrier, "", "membar.gl;"),
        ("membar.gl;", barrier, "", "membar.cta;"),
        ("", barrier, "membar.cta;", "membar.gl;"),
    ] {
        let body = ticket_for_the_block(before, meet, behind, after);
        let kinds = kinds(&body, 2, 64);
        assert!(
            kinds.contains(&"read after write"),
            "{before} {behind} {after}: {kinds:?}"
        );
    }
}

#[test]
fn what_is_for_the_block_is_nothing_for_others() {
    for (before, after) in [
        ("membar.cta;", "membar.cta;"),
        ("membar.cta;", "membar.gl;"),
        ("membar.gl;", "fence.acq_rel.cta;"),
        ("fence.sc.cluster;", "fence.sc.cluster;"),
    ] {
        finds(&["read after write"], &tickets(before, after), 4, 32);
    }
    // The ticket itself.
    let of_block =
        tickets("membar.gl;", "membar.gl;").replace("atom.global", "atom.relaxed.cta.global");
    let kinds = kinds(&of_block, 4, 32);
    assert!(kinds.contains(&"write after write"), "{kinds:?}");
    assert!(kinds.contains(&"read after write"), "{kinds:?}");
    let message = |scope: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra READ;
             st.shared.u32 [%rd5+128], 7; membar.{scope}; st.relaxed.{scope}.shared.u32 [%rd5], 1;
             bra END;
             READ:
             setp.ne.u32 %p1, %r1, 32; @%p1 bra END;
             AGAIN:
             ld.relaxed.{scope}.shared.u32 %r3, [%rd5]; setp.eq.u32 %p2, %r3, 0; @%p2 bra AGAIN;
             membar.{scope}; ld.shared.u32 %r4, [%rd5+128];
             END:"
        )
    };
    for scope in ["cta", "gpu"] {
        let scope = message(scope).replace("membar.gpu", "membar.gl");
        finds(&[], &scope, 1, 64);
    }
}

/// Where wider scopes would have ordered the two accesses, the finding says so, also of threads that learn by a barrier; where there
/// is no fence at all, it does not.
#[test]
fn a_scope_that_is_too_narrow_is_named() {
    let named = |body: &str, is_named: bool| {
        let findings = bench(body).check(shape(4, 64));
        let messages: Vec<&str> = findings.iter().map(|finding| &*finding.message).collect();
        let reads = findings
            .iter()
            .filter(|finding| finding.kind == "read after write");
        assert!(reads.clone().count() > 0, "{body}");
        for finding in reads {
            let says = finding.message.contains("counts for its own block only");
            assert_eq!(says, is_named, "{body}: {messages:?}");
        }
    };
    for (before, after) in [
        ("membar.cta;", "membar.cta;"),
        ("membar.cta;", "membar.gl;"),
        ("membar.gl;", "membar.cta;"),
        ("fence.acq_rel.cluster;", "fence.acq_rel.cluster;"),
    ] {
        named(&tickets(before, after), true);
    }
    for (before, after) in [("", ""), ("", "membar.gl;"), ("membar.gl;", "")] {
        named(&tickets(before, after), false);
    }
    let narrow_ticket =
        tickets("membar.gl;", "membar.gl;").replace("atom.global", "atom.relaxed.cta.global");
    named(&narrow_ticket, true);
    let body = ticket_for_the_block("membar.cta;", "bar.sync 0;", "", "membar.gl;");
    named(&body, true);
}

/// A read-only load promises that nobody writes as long as the grid runs, in whatever order.
#[test]
fn read_only_loads_of_what_is_written_are_found() {
    let kind = "read-only load of what is written";
    let own = "st.global.u32 [%rd2], %r1; ld.global.nc.u32 %r3, [%rd2];";
    finds(&[kind], own, 1, 32);
    finds(&[], &own.replace(".nc", ""), 1, 32);
    let later = "ld.global.nc.u32 %r3, [%rd2]; bar.sync 0; st.global.u32 [%rd2], %r1;";
    finds(&[kind], later, 1, 64);
    finds(&[], &later.replace(".nc", ""), 1, 64);
    // Many lanes read one word, which an atomic operation changes after a barrier; the other way round.
    let atomic = "red.global.add.u32 [%rd1], 1;";
    let load = "ld.global.nc.u32 %r3, [%rd1];";
    finds(&[kind], &format!("{load} bar.sync 0; {atomic}"), 1, 64);
    finds(&[kind], &format!("{atomic} bar.sync 0; {load}"), 1, 64);
    finds(&[], &format!("{load} bar.sync 0; {load}"), 2, 64);
    finds(&[], &format!("{load} st.global.u32 [%rd2+64], %r1;"), 1, 32);
    let findings = bench(own).check(shape(1, 32));
    assert!(
        findings[0].message.contains("use an ordinary load"),
        "{}",
        findings[0]
    );
}

#[test]
fn atomics_of_the_block_race_with_those_of_others() {
    let add = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [%rd1], 1;");
    finds(&[], &add("cta"), 1, 64);
    finds(&[], &add("gpu"), 2, 64);
    finds(&["write after write"], &add("cta"), 2, 64);
    finds(&["write after write"], &add("cluster"), 2, 64);
    // One that is for all does not help others that are not.
    let mixed = "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0;
         @%p1 red.relaxed.cta.global.add.u32 [%rd1], 1;
         @!%p1 red.relaxed.gpu.global.add.u32 [%rd1], 1;";
    finds(&["write after write"], mixed, 2, 64);
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
    let module = Module::parse(include_str!("../data/async.nvcc.sm_90.ptx")).expect("it parses");
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
