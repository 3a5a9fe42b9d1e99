//! Where a pointer into shared memory comes to an atomic of `core`: in the function that has it, or in one that it is handed to.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, Pat, Stmt};

use crate::tokens::{host_only, is_mark, is_word, path_names, split_at_commas, text};

/// The parameters that end in an atomic of `core`, each as its function and its position. Functions go by their names alone; the
/// name of a method begins with a dot.
#[derive(Default)]
pub struct AtomicParameters(HashSet<(String, usize)>);

/// Stands for the pointer that `shared_array!` gives, before it has a name.
const SHARED_ARRAY: &str = "shared_array!";

/// A function as far as it counts here.
struct Function {
    name: String,
    parameters: Vec<String>,
    body: Vec<TokenTree>,
}

impl AtomicParameters {
    /// Those of all functions in these files.
    pub fn of(files: &[Vec<TokenTree>]) -> Self {
        let functions: Vec<Function> = files.iter().flat_map(|file| functions(file)).collect();
        let mut all = Self::default();
        loop {
            let before = all.0.len();
            for function in &functions {
                for (position, parameter) in function.parameters.iter().enumerate() {
                    let pointers = all.derived(&function.body, [parameter.clone()].into());
                    if !all.atomics(&function.body, &pointers).is_empty() {
                        all.0.insert((function.name.clone(), position));
                    }
                }
            }
            if all.0.len() == before {
                return all;
            }
        }
    }

    /// Each place in a file where a pointer that `shared_array!` gave or `assume_shared` has seen comes to an atomic, and what
    /// stands there.
    pub fn on_shared_memory(&self, file: &[TokenTree]) -> Vec<(TokenTree, String)> {
        functions(file)
            .iter()
            .flat_map(|function| {
                let shared = self.derived(&function.body, [SHARED_ARRAY.to_owned()].into());
                self.atomics(&function.body, &shared)
            })
            .collect()
    }

    /// The names of pointers that come from these, or are assumed to be shared where these are.
    fn derived(&self, body: &[TokenTree], mut pointers: HashSet<String>) -> HashSet<String> {
        let with_assumed = pointers.contains(SHARED_ARRAY);
        loop {
            let before = pointers.len();
            walk(body, &mut |tokens, position| {
                if is_word(&tokens[position], "let") {
                    pointers.extend(bound(&tokens[position..], &pointers));
                }
                if let Some((name, arguments)) = call(tokens, position)
                    && with_assumed
                    && name == "assume_shared"
                {
                    pointers.extend(arguments.first().and_then(|argument| base_of(argument)));
                }
            });
            if pointers.len() == before {
                return pointers;
            }
        }
    }

    /// Where one of the pointers is made an atomic, or handed to a function that does so.
    fn atomics(&self, body: &[TokenTree], pointers: &HashSet<String>) -> Vec<(TokenTree, String)> {
        let is_one =
            |tokens: &[TokenTree]| base_of(tokens).is_some_and(|base| pointers.contains(&base));
        let mut found = Vec::new();
        walk(body, &mut |tokens, position| {
            let mut report =
                |code: &[TokenTree]| found.push((tokens[position].clone(), text(code)));
            if let Some((name, arguments)) = call(tokens, position) {
                let offset = usize::from(name.starts_with('.'));
                let methods_name = format!(".{}", name.trim_start_matches('.'));
                for (index, argument) in arguments.iter().enumerate() {
                    let key = |name: &str| (name.to_owned(), index + offset);
                    let is_atomic = name == "from_ptr"
                        || self.0.contains(&key(&name))
                        || self.0.contains(&key(&methods_name));
                    if is_atomic && is_one(argument) {
                        report(argument);
                    }
                }
            }
            if let Some(pointer) = cast_to_atomic(tokens, position)
                && is_one(pointer)
            {
                report(pointer);
            }
            if let [name, bang, TokenTree::Group(array), ..] = &tokens[position..]
                && is_word(name, "shared_array")
                && is_mark(bang, '!')
                && pointers.contains(SHARED_ARRAY)
                && has_atomic(&inside(array))
            {
                report(&inside(array));
            }
        });
        found
    }
}

/// All functions that have a body, those in bodies and in macros among them.
fn functions(file: &[TokenTree]) -> Vec<Function> {
    let mut functions = Vec::new();
    walk(file, &mut |tokens, position| {
        if !is_word(&tokens[position], "fn") {
            return;
        }
        let signature = &tokens[position + 1..];
        let Some(name) = signature.iter().find(|token| !is_mark(token, '$')) else {
            return;
        };
        let mut groups = signature
            .iter()
            .take_while(|token| !is_mark(token, ';'))
            .filter_map(|token| match token {
                TokenTree::Group(group) => Some(group),
                _ => None,
            });
        let parameters = groups.find(|group| group.delimiter() == Delimiter::Parenthesis);
        let body = groups.find(|group| group.delimiter() == Delimiter::Brace);
        let (Some(parameters), Some(body)) = (parameters, body) else {
            return;
        };
        let parameters: Vec<String> = split_at_commas(&inside(parameters))
            .into_iter()
            .map(|parameter| {
                let end = parameter.iter().position(|token| is_mark(token, ':'));
                let name = parameter[..end.unwrap_or(parameter.len())].last();
                name.map(ToString::to_string).unwrap_or_default()
            })
            .collect();
        let is_method = parameters.first().is_some_and(|name| name == "self");
        functions.push(Function {
            name: format!("{}{name}", if is_method { "." } else { "" }),
            parameters,
            body: inside(body),
        });
    });
    functions
}

/// Calls `visit` at every position of the tokens and of the groups among them; what is for hosts is passed over.
fn walk(tokens: &[TokenTree], visit: &mut impl FnMut(&[TokenTree], usize)) {
    let mut position = 0;
    while position < tokens.len() {
        if let Some(length) = host_only(&tokens[position..]) {
            position += length;
            continue;
        }
        visit(tokens, position);
        if let TokenTree::Group(group) = &tokens[position] {
            walk(&inside(group), visit);
        }
        position += 1;
    }
}

fn inside(group: &proc_macro2::Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

/// The last name of a path that is called here, or `.name` of a method, and the arguments.
fn call(tokens: &[TokenTree], position: usize) -> Option<(String, Vec<Vec<TokenTree>>)> {
    let before = position.checked_sub(1).map(|before| &tokens[before]);
    if before.is_some_and(|token| is_mark(token, ':')) {
        return None;
    }
    let (names, length) = path_names(&tokens[position..]);
    let name = names.last()?;
    let mut rest = &tokens[position + length..];
    if rest.first().is_some_and(|token| is_mark(token, '<')) {
        let mut depth = 0_i32;
        let end = rest.iter().position(|token| {
            depth += i32::from(is_mark(token, '<')) - i32::from(is_mark(token, '>'));
            depth == 0
        })?;
        rest = &rest[end + 1..];
    }
    let Some(TokenTree::Group(arguments)) = rest.first() else {
        return None;
    };
    let is_method = before.is_some_and(|token| is_mark(token, '.'));
    let arguments_of = |group| {
        let arguments = inside(group);
        split_at_commas(&arguments)
            .into_iter()
            .map(<[TokenTree]>::to_vec)
            .collect()
    };
    (arguments.delimiter() == Delimiter::Parenthesis).then(|| {
        (
            format!("{}{name}", if is_method { "." } else { "" }),
            arguments_of(arguments),
        )
    })
}

/// The name that a `let` at the beginning gives to one of the pointers.
fn bound(tokens: &[TokenTree], pointers: &HashSet<String>) -> Option<String> {
    let end = tokens.iter().position(|token| is_mark(token, ';'))?;
    let Ok(Stmt::Local(local)) = syn::parse2(without_dollars(&tokens[..=end])) else {
        return None;
    };
    let base = base(&local.init?.expr)?;
    let pattern = match local.pat {
        Pat::Type(typed) => *typed.pat,
        pattern => pattern,
    };
    match pattern {
        Pat::Ident(name) if pointers.contains(&base) => Some(name.ident.to_string()),
        _ => None,
    }
}

/// The pointer that is cast at this position, by `.cast::<Atomic…>()` or `as *mut Atomic…`.
fn cast_to_atomic(tokens: &[TokenTree], position: usize) -> Option<&[TokenTree]> {
    let end = match &tokens[position] {
        token if is_word(token, "cast") => position.checked_sub(1)?,
        token if is_word(token, "as") => position,
        _ => return None,
    };
    let target = tokens[position + 1..]
        .iter()
        .take_while(|token| !matches!(token, TokenTree::Group(_)) && !is_mark(token, '.'));
    if !has_atomic(&target.cloned().collect::<Vec<_>>()) {
        return None;
    }
    let start = tokens[..end].iter().rposition(|token| {
        [';', ',', '=', '*', '&']
            .iter()
            .any(|&mark| is_mark(token, mark))
    });
    Some(&tokens[start.map_or(0, |start| start + 1)..end])
}

fn has_atomic(tokens: &[TokenTree]) -> bool {
    tokens.iter().any(|token| match token {
        TokenTree::Ident(name) => name.to_string().starts_with("Atomic"),
        TokenTree::Group(group) => has_atomic(&inside(group)),
        _ => false,
    })
}

/// The tokens without the marks of a macro's variables.
fn without_dollars(tokens: &[TokenTree]) -> TokenStream {
    let kept = tokens.iter().filter(|token| !is_mark(token, '$'));
    kept.cloned().collect()
}

fn base_of(tokens: &[TokenTree]) -> Option<String> {
    base(&syn::parse2(without_dollars(tokens)).ok()?)
}

/// The name of the pointer that an expression moves about in: `sums` for `sums.add(1).cast()`.
fn base(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Macro(call) => {
            let name = &call.mac.path.segments.last()?.ident;
            (name == "shared_array").then(|| SHARED_ARRAY.to_owned())
        }
        Expr::MethodCall(call) => base(&call.receiver),
        Expr::Cast(cast) => base(&cast.expr),
        Expr::Paren(inner) => base(&inner.expr),
        Expr::Reference(reference) => base_of_place(&reference.expr),
        Expr::RawAddr(address) => base_of_place(&address.expr),
        Expr::Unsafe(unsafe_block) => base_of_last(&unsafe_block.block),
        Expr::Block(block) => base_of_last(&block.block),
        _ => None,
    }
}

fn base_of_last(block: &syn::Block) -> Option<String> {
    match block.stmts.last()? {
        Stmt::Expr(expression, None) => base(expression),
        _ => None,
    }
}

/// The pointer in whose memory a place lies: `sums` for `(*sums).first`.
fn base_of_place(place: &Expr) -> Option<String> {
    match place {
        Expr::Unary(dereference) => base(&dereference.expr),
        Expr::Field(field) => base_of_place(&field.base),
        Expr::Index(index) => base_of_place(&index.expr),
        Expr::Paren(inner) => base_of_place(&inner.expr),
        _ => None,
    }
}
