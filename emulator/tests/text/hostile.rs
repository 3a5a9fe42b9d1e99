//! Texts cut off, mangled and mixed: each is accepted or refused, none panics, hangs or eats the memory. What is accepted also runs
//! for a while, or traps.

use crate::common::HEADER;
use proptest::prelude::*;
use warpfold_emulator::{Launch, Memory, Module, Nothing, Program, launch};

const LADDER: &str = include_str!("../data/ladder.nvcc.sm_80.ptx");

/// Parses, and runs every entry for a moment on arguments of zeros and small numbers.
fn exercise(text: &str) {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    let mut memory = Memory::with_limit(1 << 26);
    let Ok(buffer) = memory.allocate(4096) else {
        return;
    };
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let Ok(program) = Program::load(module, &mut memory) else {
        return;
    };
    for entry in entries {
        let Ok(kernel) = program.kernel(&entry) else {
            continue;
        };
        let shape = Launch {
            grid: [2, 1, 1],
            block: [40, 1, 1],
            dynamic_shared_bytes: 64,
            threads: 1,
            max_steps: 3000,
            ..Launch::default()
        };
        for value in [buffer, 3] {
            let arguments: Vec<Vec<u8>> = kernel
                .parameters()
                .iter()
                .map(|parameter| {
                    let mut bytes = value.to_le_bytes().to_vec();
                    bytes.resize(parameter.bytes, 0);
                    bytes
                })
                .collect();
            let _ = launch(&kernel, &memory, &shape, &arguments, &mut Nothing);
        }
    }
}

/// The start of the ladder's text up to the end of its first entries: enough of every kind of token.
fn sample() -> &'static str {
    let end = LADDER
        .match_indices("\n}\n")
        .nth(2)
        .map_or(LADDER.len(), |(at, _)| at + 3);
    &LADDER[..end]
}

/// The places where words of a text begin and end.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let is_part = c.is_alphanumeric() || "%_$.".contains(c);
        match (start, is_part) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, at));
                start = None;
            }
            _ => {}
        }
        if !is_part && !c.is_whitespace() {
            words.push((at, at + c.len_utf8()));
        }
    }
    words
}

/// What the texts below are made from does run.
#[test]
fn the_sample_is_whole() {
    let module = Module::parse(sample()).unwrap();
    assert!(module.entries().count() >= 2);
    exercise(sample());
}

#[test]
fn cut_off_anywhere() {
    let text = sample();
    for end in (0..text.len()).step_by(29) {
        let _ = Module::parse(&text[..end]);
        let _ = Module::parse(&text[end..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn words_deleted(which in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let mut text = sample().to_owned();
        for index in which {
            let (from, to) = words(&text)[index.index(words(&text).len())];
            text.replace_range(from..to, "");
        }
        exercise(&text);
    }

    #[test]
    fn words_exchanged(pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)) {
        let mut text = sample().to_owned();
        for (to, from) in pairs {
            let all = words(&text);
            let (from, to) = (all[from.index(all.len())], all[to.index(all.len())]);
            let word = text[from.0..from.1].to_owned();
            text.replace_range(to.0..to.1, &word);
        }
        exercise(&text);
    }

    #[test]
    fn numbers_made_extreme(which in any::<prop::sample::Index>(), number in prop::sample::select(vec!["0", "1", "-1", "4294967295", "18446744073709551615", "0xffffffff80000000", "31", "2147483648"])) {
        let mut text = sample().to_owned();
        let numbers: Vec<_> = words(&text).into_iter().filter(|&(from, _)| text.as_bytes()[from].is_ascii_digit()).collect();
        let (from, to) = numbers[which.index(numbers.len())];
        text.replace_range(from..to, number);
        exercise(&text);
    }

    #[test]
    fn statements_in_any_order(lines in prop::collection::vec(any::<prop::sample::Index>(), 1..60)) {
        let statements: Vec<&str> = sample().lines().filter(|line| line.trim_end().ends_with([';', ':'])).collect();
        let body: Vec<&str> = lines.iter().map(|line| statements[line.index(statements.len())]).collect();
        let declarations = ".reg .pred %p<50>; .reg .b16 %rs<50>; .reg .b32 %r<200>; .reg .b64 %rd<100>; .reg .f32 %f<50>;";
        exercise(&format!("{HEADER}.visible .entry e(.param .u64 neighbored_param_0, .param .u64 neighbored_param_1, .param .u64 neighbored_param_2) {{ {declarations}\n{}\n}}", body.join("\n")));
    }

    #[test]
    fn any_text(text in ".{0,200}") {
        exercise(&text);
        exercise(&format!("{HEADER}{text}"));
        exercise(&format!("{HEADER}.entry e() {{ {text} }}"));
    }

    #[test]
    fn any_tokens(tokens in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", "|", "!", "=", "@", "+", "-", ".reg", ".b32", ".pred", ".u64", ".shared", ".local", ".param",
        "%r0", "%r<9>", "%p", "x", "y:", "mov.u32", "add.u32", "setp.eq.u32", "ld.global.u32", "st.shared.v2.b32", "bra", "call", "brx.idx", "bar.sync", "ret;", "0", "1",
        "4294967296", "0f3F800000", ".branchtargets", ".callprototype", ".align", ".entry", ".func", ".global", ".loc", "1 2 3", "\"text\"",
    ]), 0..60)) {
        let text = tokens.join(" ");
        exercise(&format!("{HEADER}{text}"));
        exercise(&format!("{HEADER}.entry e() {{ {text} }}"));
    }
}
