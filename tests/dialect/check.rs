//! Reads one device file, token by token, so that the bodies of macros are read like everything else.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};
use syn::{Expr, ExprLit, ItemUse, Lit, LitStr, MetaNameValue, UseTree};

use crate::names::CudaStdNames;
use crate::rule::{Finding, Rule, WRONG_IN_RUST_CUDA};
use crate::shared_atomics::AtomicParameters;
use crate::tokens::{
    UP_TO_32_BITS, architecture_item, functions_of, generic_names, host_only, import_length,
    is_mark, is_pointer_or_scalar, is_visibly_narrow, is_word, path_names, split_at_commas, text,
};

/// What in the sources of device files does not survive rust-cuda: for each file, in the order of the lines. Code that is
/// compiled for the host alone, or for its tests, is passed over.
///
/// # Errors
/// A text is not even a sequence of Rust's tokens.
pub fn check(sources: &[String]) -> Result<Vec<Vec<Finding>>, LexError> {
    let files = sources
        .iter()
        .map(|source| Ok(source.parse::<TokenStream>()?.into_iter().collect()))
        .collect::<Result<Vec<Vec<TokenTree>>, LexError>>()?;
    let atomics = AtomicParameters::of(&files);
    let check_file = |tokens: &Vec<TokenTree>| {
        let mut checker = Checker {
            names: CudaStdNames::listed(),
            intrinsics: INTRINSICS
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .collect(),
            aliases: HashMap::new(),
            findings: Vec::new(),
            is_for_rustc_alone: false,
        };
        checker.imports(tokens);
        checker.sequence(tokens);
        checker.intrinsics(tokens, &HashSet::new());
        for (at, code) in atomics.on_shared_memory(tokens) {
            checker.report(Rule::SharedAtomic, &at, code);
        }
        checker.findings.sort_by_key(|finding| finding.line);
        checker.findings.dedup();
        checker.findings
    };
    Ok(files.iter().map(check_file).collect())
}

/// A line for each intrinsic that libNVVM knows, its name first; and comments.
const INTRINSICS: &str = include_str!("intrinsics.txt");

struct Checker {
    names: CudaStdNames,
    /// Those that libNVVM knows.
    intrinsics: HashSet<&'static str>,
    /// What the file imports from `cuda_std`: its name here, and the whole path.
    aliases: HashMap<String, String>,
    findings: Vec<Finding>,
    /// Whether rust-cuda does not see what is looked at.
    is_for_rustc_alone: bool,
}

/// Functions that count bits, or are made of ones that do.
const BIT_COUNTS: [&str; 10] = [
    "count_ones",
    "count_zeros",
    "leading_ones",
    "leading_zeros",
    "trailing_ones",
    "trailing_zeros",
    "is_power_of_two",
    "next_power_of_two",
    "checked_next_power_of_two",
    "ilog2",
];

impl Checker {
    fn report(&mut self, rule: Rule, at: &TokenTree, code: impl Into<String>) {
        self.findings.push(Finding {
            rule,
            line: at.span().start().line,
            code: code.into(),
        });
    }

    /// Collects what the file calls the things of `cuda_std`, and checks the imports themselves.
    fn imports(&mut self, tokens: &[TokenTree]) {
        let mut position = 0;
        while position < tokens.len() {
            if let Some(length) = host_only(&tokens[position..]) {
                position += length;
                continue;
            }
            if is_word(&tokens[position], "use")
                && let Some(length) = tokens[position..].iter().position(|t| is_mark(t, ';'))
            {
                let import: TokenStream = tokens[position..=position + length]
                    .iter()
                    .cloned()
                    .collect();
                if let Ok(import) = syn::parse2::<ItemUse>(import) {
                    self.import(&tokens[position], &import.tree, String::new());
                }
            }
            if let TokenTree::Group(group) = &tokens[position] {
                self.imports(&group.stream().into_iter().collect::<Vec<_>>());
            }
            position += 1;
        }
    }

    fn import(&mut self, at: &TokenTree, tree: &UseTree, before: String) {
        let joined = |name: &dyn ToString| match before.as_str() {
            "" => name.to_string(),
            before => format!("{before}::{}", name.to_string()),
        };
        match tree {
            UseTree::Path(step) => self.import(at, &step.tree, joined(&step.ident)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(at, tree, before.clone());
                }
            }
            UseTree::Name(name) if name.ident == "self" => self.imported(at, &before, &before),
            UseTree::Name(name) => self.imported(at, &joined(&name.ident), &name.ident),
            UseTree::Rename(renamed) => {
                self.imported(at, &joined(&renamed.ident), &renamed.rename);
            }
            UseTree::Glob(_) => {
                if before.split("::").next() == Some("cuda_std") {
                    let code = format!("use {before}::*");
                    self.report(Rule::CudaStd(GLOB), at, code);
                }
            }
        }
    }

    fn imported(&mut self, at: &TokenTree, path: &str, name: &dyn ToString) {
        if path.split("::").next() != Some("cuda_std") {
            return;
        }
        self.cuda_std_path(at, path, &format!("use {path}"));
        let name = name.to_string();
        let name = name.rsplit("::").next().unwrap_or_default();
        self.aliases.insert(name.to_owned(), path.to_owned());
    }

    fn sequence(&mut self, tokens: &[TokenTree]) {
        let mut position = 0;
        while position < tokens.len() {
            let rest = &tokens[position..];
            if let Some(length) = host_only(rest).or_else(|| import_length(rest)) {
                position += length;
                continue;
            }
            if !self.is_for_rustc_alone
                && let Some((_, length)) = architecture_item(rest, "sm_")
            {
                self.is_for_rustc_alone = true;
                self.sequence(&rest[2..length]);
                self.is_for_rustc_alone = false;
                position += length;
                continue;
            }
            self.attribute(rest);
            self.assembly(rest);
            self.path(tokens, position);
            self.method(tokens, position);
            if let TokenTree::Group(group) = &tokens[position] {
                self.sequence(&group.stream().into_iter().collect::<Vec<_>>());
            }
            position += 1;
        }
    }

    /// `#[kernel]` and what stands behind it, `#[address_space(shared)]`, `#[link_section = ".shared"]`.
    fn attribute(&mut self, tokens: &[TokenTree]) {
        let [hash, TokenTree::Group(attribute), behind @ ..] = tokens else {
            return;
        };
        if !is_mark(hash, '#') || attribute.delimiter() != Delimiter::Bracket {
            return;
        }
        let inside: Vec<TokenTree> = attribute.stream().into_iter().collect();
        let name = inside
            .iter()
            .take_while(|token| matches!(token, TokenTree::Ident(_)) || is_mark(token, ':'))
            .filter(|token| matches!(token, TokenTree::Ident(_)))
            .last();
        let attribute = text(&inside);
        match name.map(ToString::to_string).as_deref() {
            Some("doc") => {}
            Some("kernel") => self.kernel(behind),
            Some("address_space") => self.report(Rule::SharedStatic, hash, attribute),
            _ if attribute.contains("link_section") && attribute.contains(".shared") => {
                self.report(Rule::SharedStatic, hash, attribute);
            }
            _ => {}
        }
    }

    /// `#[link_name = "llvm.…"]`. `twins` are the functions that rust-cuda has otherwise, where only the other compiler sees these.
    fn intrinsics(&mut self, tokens: &[TokenTree], twins: &HashSet<String>) {
        let mut position = 0;
        while position < tokens.len() {
            let rest = &tokens[position..];
            if let Some(length) = host_only(rest) {
                position += length;
                continue;
            }
            if let Some((architecture, length)) = architecture_item(rest, "sm_") {
                let twins = (0..tokens.len())
                    .filter_map(|start| {
                        let (same, length) = architecture_item(&tokens[start..], "compute_")?;
                        (same == architecture).then(|| functions_of(&tokens[start..start + length]))
                    })
                    .flatten()
                    .collect();
                self.intrinsics(&rest[2..length], &twins);
                position += length;
                continue;
            }
            if let [hash, TokenTree::Group(attribute), ..] = rest
                && is_mark(hash, '#')
                && let Ok(attribute) = syn::parse2::<MetaNameValue>(attribute.stream())
                && attribute.path.is_ident("link_name")
                && let Expr::Lit(ExprLit {
                    lit: Lit::Str(name),
                    ..
                }) = attribute.value
            {
                let name = name.value();
                let is_replaced = || {
                    functions_of(rest)
                        .first()
                        .is_some_and(|it| twins.contains(it))
                };
                if name.starts_with("llvm.") && !self.intrinsics.contains(&*name) && !is_replaced()
                {
                    self.report(Rule::Intrinsic, hash, name);
                }
            }
            if let TokenTree::Group(group) = &tokens[position] {
                self.intrinsics(&group.stream().into_iter().collect::<Vec<_>>(), twins);
            }
            position += 1;
        }
    }

    /// The signature of the function behind `#[kernel]`.
    fn kernel(&mut self, tokens: &[TokenTree]) {
        let Some(keyword) = tokens.iter().position(|token| is_word(token, "fn")) else {
            return;
        };
        // The name may be a macro's: `$name`.
        let mut rest = &tokens[keyword + 1..];
        if rest.first().is_some_and(|token| is_mark(token, '$')) {
            rest = &rest[1..];
        }
        let [name, rest @ ..] = rest else { return };
        let parameters = rest
            .iter()
            .position(|token| matches!(token, TokenTree::Group(_)))
            .unwrap_or(rest.len());
        if generic_names(&rest[..parameters]) {
            self.report(
                Rule::GenericKernel,
                name,
                format!("#[kernel] fn {name}{}", text(&rest[..parameters])),
            );
        }
        let Some(TokenTree::Group(parameters)) = rest.get(parameters) else {
            return;
        };
        self.parameters(parameters.stream());
    }

    /// Parameters of a kernel; in a macro, also those of `$(…)?`.
    fn parameters(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for parameter in split_at_commas(&tokens) {
            if let [dollar, TokenTree::Group(repeated), ..] = parameter
                && is_mark(dollar, '$')
            {
                self.parameters(repeated.stream());
                continue;
            }
            let colon = parameter.iter().position(|token| is_mark(token, ':'));
            let ty = &parameter[colon.map_or(0, |colon| colon + 1)..];
            if !is_pointer_or_scalar(ty) {
                self.report(Rule::KernelParameter, &parameter[0], text(parameter));
            }
        }
    }

    /// `asm!(…)` and its relatives: the instructions in its strings.
    fn assembly(&mut self, tokens: &[TokenTree]) {
        let [name, bang, TokenTree::Group(arguments), ..] = tokens else {
            return;
        };
        let is_assembly = ["asm", "global_asm", "naked_asm"]
            .iter()
            .any(|assembly| is_word(name, assembly));
        if is_assembly && is_mark(bang, '!') {
            self.instructions(arguments.stream());
        }
    }

    fn instructions(&mut self, tokens: TokenStream) {
        for token in tokens {
            match &token {
                TokenTree::Group(group) => self.instructions(group.stream()),
                TokenTree::Literal(_) => {
                    let Ok(template) = syn::parse2::<LitStr>(token.clone().into()) else {
                        continue;
                    };
                    for instruction in template.value().split([';', '{', '}', '\n']) {
                        self.instruction(&token, instruction.trim());
                    }
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, at: &TokenTree, instruction: &str) {
        let mut words = instruction.split_whitespace();
        let operation = words
            .find(|word| !word.starts_with('@'))
            .unwrap_or_default();
        let mut parts = operation.split('.');
        let first = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        // No intrinsic for it can be declared: it would return a pair.
        let has_no_intrinsic = (first, parts.first()) == ("match", Some(&"all"));
        let is_collective =
            matches!(first, "bar" | "barrier" | "activemask") || parts.contains(&"sync");
        if is_collective && !has_no_intrinsic && !self.is_for_rustc_alone {
            self.report(Rule::CollectiveInAssembly, at, instruction);
        } else if matches!(first, "ld" | "st")
            && parts.iter().any(|part| part.starts_with("shared"))
        {
            self.report(Rule::SharedAccessInAssembly, at, instruction);
        }
    }

    /// A path, from its first name on.
    fn path(&mut self, tokens: &[TokenTree], position: usize) {
        let is_first = position
            .checked_sub(1)
            .is_none_or(|before| !is_mark(&tokens[before], ':') && !is_mark(&tokens[before], '.'));
        if !is_first {
            return;
        }
        let (names, length) = path_names(&tokens[position..]);
        let (Some(last), at) = (names.last(), &tokens[position]) else {
            return;
        };
        let code = names.join("::");
        let path = match self.aliases.get(&names[0]) {
            Some(imported) => [&[imported.clone()][..], &names[1..]].concat().join("::"),
            None => code.clone(),
        };
        let is_from_cuda_std = path.split("::").next() == Some("cuda_std");
        // What is imported by its own name has been checked where it is imported.
        if is_from_cuda_std && names.len() > 1 {
            self.cuda_std_path(at, &path, &code);
        }
        let owner = names
            .len()
            .checked_sub(2)
            .map(|owner| names[owner].as_str());
        if BIT_COUNTS.contains(&last.as_str())
            && owner.is_some_and(|owner| !UP_TO_32_BITS.contains(&owner))
        {
            self.report(Rule::BitCount, at, &code);
        }
        if matches!(last.as_str(), "load" | "store")
            && owner.is_some_and(|owner| owner.starts_with("Atomic"))
        {
            self.report(Rule::AtomicLoadOrStore, at, &code);
        }
        let is_called = matches!(tokens.get(position + length), Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis);
        if matches!(last.as_str(), "fence" | "compiler_fence") && is_called {
            self.report(Rule::Fence, at, code);
        }
    }

    /// `.name(…)`.
    fn method(&mut self, tokens: &[TokenTree], position: usize) {
        let [dot, name, TokenTree::Group(arguments), ..] = &tokens[position..] else {
            return;
        };
        if !is_mark(dot, '.') || arguments.delimiter() != Delimiter::Parenthesis {
            return;
        }
        let code = format!(".{name}()");
        let name_text = name.to_string();
        if BIT_COUNTS.contains(&name_text.as_str()) && !is_visibly_narrow(&tokens[..position]) {
            self.report(Rule::BitCount, name, code);
        } else if matches!(name_text.as_str(), "load" | "store") {
            self.report(Rule::AtomicLoadOrStore, name, code);
        }
    }

    fn cuda_std_path(&mut self, at: &TokenTree, path: &str, code: &str) {
        if path == "cuda_std::thread::sync_threads" {
            self.report(Rule::SyncThreads, at, code);
        } else if let Some((_, reason)) =
            WRONG_IN_RUST_CUDA.iter().find(|(wrong, _)| *wrong == path)
        {
            self.report(Rule::CudaStd(reason), at, code);
        } else if !self.names.contain(path) {
            self.report(Rule::CudaStd(UNLISTED), at, code);
        }
    }
}

const UNLISTED: &str = "tests/api/rust-cuda.txt lists no such name as one that both compilers have: do without it, or add \
                        it to the prelude";
const GLOB: &str =
    "what is imported by a star is hidden from this check: import the names that are used";
