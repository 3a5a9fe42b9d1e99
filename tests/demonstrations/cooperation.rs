//! Fences that are needed, scopes that are asked for, and barriers that are one instruction.

use crate::launch::Argument::{U64, Words, Zeros};
use crate::launch::{Argument, Ready, lessons_ptx, metric, ptx_of, text_of};
use warpfold_emulator::Tool;
use warpfold_kernels::catalogue::PtxText;
use warpfold_kernels::cooperation::c06b_peterson::{LOCK_WORDS, ROUNDS};
use warpfold_kernels::cooperation::c07_atomics::{TAKES, UPDATES};

const N: usize = 150;
const BLOCK: u32 = 64;
const BLOCKS: u32 = 3;

fn critical_section(ptx: &str) -> Ready {
    let words = [Zeros(4), Zeros(4), Zeros(4), U64(N)];
    let arguments: Vec<Argument> = [Words(vec![1; N])].into_iter().chain(words).collect();
    Ready::linear(ptx, "critical_section", BLOCKS, BLOCK, &arguments)
}

fn fence_publish(ptx: &str) -> Ready {
    let x_y_tickets_seen = [Zeros(4 * N), Zeros(4 * N), Zeros(4), Zeros(4 * N)];
    let arguments: Vec<Argument> = [Words(vec![7; N])]
        .into_iter()
        .chain(x_y_tickets_seen)
        .chain([U64(N)])
        .collect();
    Ready::linear(ptx, "fence_publish", 2 * BLOCKS, BLOCK, &arguments)
}

fn fence_scopes(ptx: &str) -> Ready {
    let half = BLOCK / 2;
    let words = || Zeros(4 * N);
    let arguments = [
        Words(vec![7; N]),
        words(),
        words(),
        words(),
        Zeros(4),
        words(),
        words(),
        U64(N),
    ];
    let blocks = 2 * (N as u32).div_ceil(half);
    Ready::linear(ptx, "fence_scopes", blocks, BLOCK, &arguments)
}

fn peterson(ptx: &str) -> Ready {
    let words = [Zeros(4 * LOCK_WORDS), Zeros(4), Zeros(4), U64(N)];
    let arguments: Vec<Argument> = [Words(vec![1; N])].into_iter().chain(words).collect();
    Ready::linear(ptx, "peterson", 2, BLOCK, &arguments)
}

/// The PTX with one fence of a kernel replaced, counted from 0.
fn with_fence(ptx: &str, kernel: &str, fence: usize, instead: &str) -> String {
    let text = text_of(ptx, kernel);
    let (at, _) = text
        .match_indices("membar.")
        .nth(fence)
        .unwrap_or_else(|| panic!("`{kernel}` has a fence {fence}"));
    let end = at + text[at..].find(';').expect("a fence ends") + 1;
    let changed = format!("{}{instead}{}", &text[..at], &text[end..]);
    ptx.replacen(text, &changed, 1)
}

/// What racecheck finds, each in full.
fn races(mut launch: Ready) -> Vec<String> {
    let findings = launch.findings(Tool::Racecheck);
    findings.iter().map(ToString::to_string).collect()
}

/// The emulator executes accesses in their order, so that the results stay right; the race detector goes by the rules.
#[test]
fn each_fence_is_needed() {
    let ptx = lessons_ptx();
    type Launch = fn(&str) -> Ready;
    let launches: [(&str, Launch); 2] = [
        ("critical_section", critical_section),
        ("fence_publish", fence_publish),
    ];
    for (kernel, launch) in launches {
        assert_eq!(
            text_of(&ptx, kernel).matches("membar.gl;").count(),
            2,
            "{kernel}"
        );
        assert!(
            launch(&ptx).findings(Tool::Racecheck).is_empty(),
            "{kernel}"
        );
        for fence in 0..2 {
            let shown = races(launch(&with_fence(&ptx, kernel, fence, "")));
            assert!(
                shown
                    .iter()
                    .any(|finding| finding.contains("read after write")),
                "{kernel} without fence {fence}: {shown:?}"
            );
        }
    }
}

/// In their order in the PTX: the writer's and the courier's for the block, the courier's and the reader's for the device, and the one for
/// the system, which nobody on the device relies on.
#[test]
fn each_scope_is_needed() {
    let ptx = lessons_ptx();
    let kernel = "fence_scopes";
    let text = text_of(&ptx, kernel);
    let fences: Vec<&str> = text
        .match_indices("membar.")
        .map(|(at, _)| text[at..].split(';').next().expect("it ends"))
        .collect();
    let expected = [
        "membar.cta",
        "membar.cta",
        "membar.gl",
        "membar.gl",
        "membar.sys",
    ];
    assert_eq!(fences, expected);
    assert_eq!(races(fence_scopes(&ptx)), [""; 0]);
    for (fence, instead, is_needed, is_named) in [
        (0, "", true, false),
        // The fence for the device that follows does what this one does.
        (1, "", false, false),
        // What is left is the fence for the block.
        (2, "", true, true),
        (3, "", true, false),
        (4, "", false, false),
        (2, "membar.cta;", true, true),
        (3, "membar.cta;", true, true),
        (4, "membar.cta;", false, false),
    ] {
        let shown = races(fence_scopes(&with_fence(&ptx, kernel, fence, instead)));
        let has = |words: &str| shown.iter().any(|finding| finding.contains(words));
        assert_eq!(
            has("read after write"),
            is_needed,
            "{fence} {instead}: {shown:?}"
        );
        let names = has("counts for its own block only");
        assert_eq!(names, is_named, "{fence} {instead}: {shown:?}");
    }
}

/// The emulator makes stores before later loads, so that the first fence, which is for that, can go unnoticed there.
#[test]
fn peterson_needs_his_fences() {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, "peterson");
    assert_eq!(text.matches("membar.gl;").count(), 3);
    assert!(!text.contains("atom.global"), "{text}");
    assert_eq!(races(peterson(&ptx)), [""; 0]);
    for instead in ["", "membar.cta;"] {
        // In whatever order the compiler has put them.
        let is_missed = |&fence: &usize| {
            let changed = with_fence(&ptx, "peterson", fence, instead);
            !races(peterson(&changed)).is_empty()
        };
        assert_eq!((0..3).filter(is_missed).count(), 2, "{instead}");
    }
}

/// What the pages say under "Cost": of n elements, and of 16 entries.
#[test]
fn fences_cost_what_is_documented() {
    let ptx = lessons_ptx();
    let count =
        |kernel: &str, instruction: &str| text_of(&ptx, kernel).matches(instruction).count();
    assert_eq!(count("fence_scopes", "st.relaxed."), 3);
    assert_eq!(count("fence_scopes", "ld.relaxed."), 2);
    assert_eq!(count("peterson", "st.relaxed.gpu"), 4);
    assert_eq!(count("peterson", "ld.relaxed.gpu"), 2);
    // Five words for each element: the input, X twice, what was seen, and three flags. A flag may be looked at more than once.
    let measured = fence_scopes(&ptx).profile();
    let [stores, loads] =
        ["global_store_bytes", "global_load_bytes"].map(|name| metric(&measured, name));
    assert_eq!(stores, 4.0 * 5.0 * N as f64);
    assert!(loads >= 4.0 * 4.0 * N as f64, "{loads}");
    let measured = peterson(&ptx).profile();
    let entries = f64::from(2 * ROUNDS);
    let bytes = metric(&measured, "global_store_bytes");
    assert_eq!(bytes, 4.0 * (5.0 * entries + 1.0));
}

/// A lock that is not taken is none: the store of one thread, the load of the next.
#[test]
fn the_lock_is_needed() {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, "critical_section");
    let line = text
        .lines()
        .find(|line| line.contains("cas.b32"))
        .expect("the lock is taken by a compare-and-swap");
    let register = line
        .split_whitespace()
        .find(|word| word.starts_with("%r"))
        .and_then(|word| word.strip_suffix(','))
        .expect("it gives the old value");
    let unlocked = text.replacen(line, &format!("\tmov.b32 {register}, 0;"), 1);
    let ptx = ptx.replacen(text, &unlocked, 1);
    assert!(!critical_section(&ptx).findings(Tool::Racecheck).is_empty());
}

#[test]
fn every_operation_is_there_in_every_scope() {
    let ptx = lessons_ptx();
    let text = text_of(&ptx, "atomics");
    for scope in ["cta", "gpu", "sys"] {
        // A take counts its winners by another atomic.
        let count = text.matches(&format!("atom.relaxed.{scope}.")).count();
        assert_eq!(count, UPDATES.len() + 2 * TAKES.len(), "{scope}");
        for name in UPDATES.iter().chain(TAKES) {
            let (operation, element_type) = name.split_once(' ').expect("a name and a type");
            let operation = if operation == "sub" { "add" } else { operation };
            let ty = match (operation, element_type) {
                ("and" | "or" | "xor" | "exch" | "cas", narrow) => narrow.replace(['i', 'u'], "b"),
                (_, "i32") => "s32".to_owned(),
                (_, unsigned) => unsigned.to_owned(),
            };
            let instruction = format!("atom.relaxed.{scope}.{operation}.{ty} ");
            assert!(text.contains(&instruction), "{instruction}");
        }
    }
}

/// What pages 8 to 10 promise under "Observe".
#[test]
fn newer_atomics_are_one_instruction_each() {
    let (kernels, recent) = (lessons_ptx(), ptx_of(PtxText::Recent));
    for (ptx, kernel, instruction) in [
        (
            &kernels,
            "atomics_on_floats",
            "red.relaxed.gpu.global.add.f32 ",
        ),
        (
            &kernels,
            "atomics_on_floats",
            "red.relaxed.gpu.global.add.f64 ",
        ),
        (
            &kernels,
            "atomics_on_floats",
            "atom.relaxed.gpu.global.cas.b32 ",
        ),
        (
            &recent,
            "atomics_on_f16",
            "red.relaxed.gpu.global.add.noftz.f16 ",
        ),
        (
            &recent,
            "atomics_on_f16",
            "red.relaxed.gpu.global.add.noftz.f16x2 ",
        ),
        (
            &recent,
            "atomics_on_f16",
            "atom.relaxed.gpu.global.cas.b16 ",
        ),
        (
            &recent,
            "atomics_on_bf16",
            "red.relaxed.gpu.global.add.noftz.bf16 ",
        ),
        (
            &recent,
            "atomics_on_bf16",
            "red.relaxed.gpu.global.add.noftz.bf16x2 ",
        ),
        (&recent, "wide_swap", "atom.relaxed.gpu.global.cas.b128 "),
    ] {
        let text = text_of(ptx, kernel);
        assert_eq!(
            text.matches(instruction).count(),
            1,
            "{kernel}: {instruction}"
        );
    }
    assert_eq!(text_of(&recent, "wide_swap").matches("mov.b128").count(), 3);
}

/// Atomic operations, of threads that come in their order: with ascending values every maximum takes a swap, with descending ones one.
#[test]
fn swaps_are_as_many_as_it_takes() {
    let ptx = lessons_ptx();
    let atomics = |values: Vec<f32>| {
        let n = values.len();
        let bits = values.iter().map(|value| value.to_bits().cast_signed());
        let greatest = f32::NEG_INFINITY.to_bits().cast_signed();
        let arguments = [
            Words(bits.collect()),
            Zeros(4),
            Zeros(8),
            Words(vec![greatest]),
            U64(n),
        ];
        let measured = Ready::linear(&ptx, "atomics_on_floats", 1, 32, &arguments).profile();
        metric(&measured, "atomics")
    };
    let ascending: Vec<f32> = (0..32_u8).map(f32::from).collect();
    let descending = ascending.iter().rev().copied().collect();
    assert!(atomics(ascending) > 2.0 * 32.0 + 32.0);
    // All lanes have read before the first swaps, and find in their swaps that theirs is less.
    assert_eq!(atomics(descending), 2.0 * 32.0 + 32.0);
    assert_eq!(atomics(vec![f32::NEG_INFINITY; 32]), 2.0 * 32.0);
}

#[test]
fn a_question_is_one_instruction() {
    let ptx = lessons_ptx();
    for (kernel, instruction) in [
        ("barrier_count", "bar.red.popc.u32"),
        ("barrier_and", "bar.red.and.pred"),
        ("barrier_or", "bar.red.or.pred"),
        ("vote_all", "vote.sync.all.pred"),
        ("vote_any", "vote.sync.any.pred"),
        ("ballot", "vote.sync.ballot.b32"),
        ("match_any", "match.any.sync.b32"),
        ("match_all", "match.all.sync.b32"),
        ("active_mask", "activemask.b32"),
    ] {
        assert_eq!(
            text_of(&ptx, kernel).matches(instruction).count(),
            1,
            "{kernel}"
        );
    }
}
