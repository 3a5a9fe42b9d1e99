//! Fences that are needed, scopes that are asked for, and barriers that are one instruction.

use crate::launch::Argument::{U64, Words, Zeros};
use crate::launch::{Argument, Ready, lessons_ptx, text_of};
use warpfold_emulator::Tool;
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

/// The PTX with one fence of a kernel taken out, counted from 0.
fn without_fence(ptx: &str, kernel: &str, fence: usize) -> String {
    const FENCE: &str = "membar.gl;";
    let text = text_of(ptx, kernel);
    let (at, _) = text
        .match_indices(FENCE)
        .nth(fence)
        .unwrap_or_else(|| panic!("`{kernel}` has a fence {fence}"));
    let changed = format!("{}{}", &text[..at], &text[at + FENCE.len()..]);
    ptx.replacen(text, &changed, 1)
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
            let findings = launch(&without_fence(&ptx, kernel, fence)).findings(Tool::Racecheck);
            let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert!(
                shown
                    .iter()
                    .any(|finding| finding.contains("read after write")),
                "{kernel} without fence {fence}: {shown:?}"
            );
        }
    }
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
