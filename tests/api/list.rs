//! `rust-cuda.txt`: the names and signatures that `cuda_std` and `cuda_builder` share with rust-cuda's, and ours beyond them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The list itself; its first lines say how to read it.
pub const FILE: &str = "tests/api/rust-cuda.txt";

const TEXT: &str = include_str!("rust-cuda.txt");

/// Something a crate exports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Export {
    /// The module it is found in: `cuda_std::thread`.
    pub module: String,
    /// What it is, without body and documentation, spaced in one way only.
    pub signature: String,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What the line lists.
    pub export: Export,
    /// Whether rust-cuda has no such thing.
    pub is_addition: bool,
}

/// All lines, in the order of the file.
pub fn listed() -> Vec<Listed> {
    let mut module = None;
    let mut listed = Vec::new();
    for line in TEXT.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix("module ") {
            let name = heading
                .split_whitespace()
                .next()
                .expect("a heading names a module");
            module = Some(name.to_owned());
            continue;
        }
        let (is_addition, signature) = match line.strip_prefix("+ ") {
            Some(signature) => (true, signature),
            None => (false, line),
        };
        let tokens = signature
            .parse()
            .unwrap_or_else(|error| panic!("{FILE}: `{signature}` is no Rust: {error}"));
        let export = Export {
            module: module.clone().expect("a heading comes before its lines"),
            signature: spaced(tokens),
        };
        listed.push(Listed {
            export,
            is_addition,
        });
    }
    listed
}

/// The tokens with one space between any two, however they stood in their file.
pub fn spaced(tokens: TokenStream) -> String {
    let mut words = Vec::new();
    collect_words(tokens, &mut words);
    words.join(" ")
}

fn collect_words(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        let TokenTree::Group(group) = token else {
            words.push(token.to_string());
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        words.push(open.to_owned());
        collect_words(group.stream(), words);
        words.push(close.to_owned());
    }
}
