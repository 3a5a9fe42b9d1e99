//! What a run of tokens says, looked at from its beginning or its end.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Integers whose bits may be counted.
pub const UP_TO_32_BITS: [&str; 6] = ["i8", "i16", "i32", "u8", "u16", "u32"];
/// What a kernel may take beside raw pointers.
const SCALARS: [&str; 13] = [
    "bool", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize",
];

/// How many tokens at the beginning are an item for the host or its tests alone, with its attributes.
pub fn host_only(tokens: &[TokenTree]) -> Option<usize> {
    let [hash, TokenTree::Group(attribute), behind @ ..] = tokens else {
        return None;
    };
    let condition: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let condition = text(&condition).replace(' ', "");
    let is_host_only = ["cfg(test)", "cfg(not(target_arch=\"nvptx64\"))"].contains(&&*condition);
    if !is_mark(hash, '#') || !is_host_only {
        return None;
    }
    Some(2 + item_length(behind))
}

/// The architecture that an item at the beginning is for, by `#[cfg(target_feature = "sm_80")]` where `prefix` is `sm_`, and how many
/// tokens are the item with that attribute. rustc's own backend sets these names, rust-cuda those with `compute_`.
pub fn architecture_item(tokens: &[TokenTree], prefix: &str) -> Option<(String, usize)> {
    let [hash, TokenTree::Group(attribute), behind @ ..] = tokens else {
        return None;
    };
    let condition: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let condition = text(&condition).replace(' ', "");
    let architecture = condition
        .strip_prefix("cfg(target_feature=\"")?
        .strip_suffix("\")")?
        .strip_prefix(prefix)?;
    is_mark(hash, '#').then(|| (architecture.to_owned(), 2 + item_length(behind)))
}

/// The names of the functions in the tokens, in their order.
pub fn functions_of(tokens: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        match (token, tokens.get(position + 1)) {
            (TokenTree::Group(group), _) => {
                names.extend(functions_of(
                    &group.stream().into_iter().collect::<Vec<_>>(),
                ));
            }
            (_, Some(TokenTree::Ident(name))) if is_word(token, "fn") => {
                names.push(name.to_string())
            }
            _ => {}
        }
    }
    names
}

/// How many tokens at the beginning are an item: up to a semicolon or a body.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| {
        is_mark(token, ';')
            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    });
    end.map_or(tokens.len(), |end| end + 1)
}

/// How many tokens at the beginning are a `use` item.
pub fn import_length(tokens: &[TokenTree]) -> Option<usize> {
    if !is_word(tokens.first()?, "use") {
        return None;
    }
    let end = tokens.iter().position(|token| is_mark(token, ';'))?;
    Some(end + 1)
}

/// The names of the path at the beginning, and how many tokens it takes.
pub fn path_names(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut position = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(position) {
        names.push(name.to_string());
        position += 1;
        let is_separator = |at: usize| tokens.get(at).is_some_and(|token| is_mark(token, ':'));
        if !(is_joint(tokens.get(position)) && is_separator(position) && is_separator(position + 1))
        {
            break;
        }
        position += 2;
    }
    (names, position)
}

/// Whether what stands before the dot of a method call shows that it has 32 bits or fewer: `(… as u32)` or `7_u32`.
pub fn is_visibly_narrow(before: &[TokenTree]) -> bool {
    match before.last() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            let inside: Vec<String> = group.stream().into_iter().map(|t| t.to_string()).collect();
            // A call's arguments say nothing about what it returns.
            let is_call = matches!(before.iter().rev().nth(1), Some(TokenTree::Ident(_)));
            !is_call
                && matches!(&inside[..], [.., word, ty] if word == "as" && UP_TO_32_BITS.contains(&ty.as_str()))
        }
        Some(TokenTree::Literal(literal)) => {
            let literal = literal.to_string();
            UP_TO_32_BITS.iter().any(|ty| literal.ends_with(ty))
        }
        _ => false,
    }
}

/// Whether generics, as they stand between a function's name and its parameters, have more than lifetimes.
pub fn generic_names(generics: &[TokenTree]) -> bool {
    generics.iter().enumerate().any(|(position, token)| {
        let is_lifetime = position
            .checked_sub(1)
            .is_some_and(|before| is_mark(&generics[before], '\''));
        matches!(token, TokenTree::Ident(_)) && !is_lifetime
    })
}

/// `*const T`, `*mut T`, a scalar, or a macro's variable, whose value is not to be seen here.
pub fn is_pointer_or_scalar(ty: &[TokenTree]) -> bool {
    match ty {
        [star, mutability, pointee, ..] if is_mark(star, '*') => {
            let is_raw = is_word(mutability, "const") || is_word(mutability, "mut");
            let is_wide = matches!(pointee, TokenTree::Group(_))
                || is_word(pointee, "str")
                || is_word(pointee, "dyn");
            is_raw && !is_wide
        }
        [TokenTree::Ident(name)] => SCALARS.iter().any(|scalar| name == scalar),
        [dollar, TokenTree::Ident(_)] => is_mark(dollar, '$'),
        _ => false,
    }
}

/// The parts between commas that stand outside angle brackets; none is empty.
pub fn split_at_commas(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            depth += i32::from(is_mark(token, '<')) - i32::from(is_mark(token, '>'));
            depth == 0 && is_mark(token, ',')
        })
        .filter(|part| !part.is_empty())
        .collect()
}

/// Whether the token is this identifier or keyword.
pub fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// Whether the token is this punctuation mark.
pub fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Whether the token is a mark with another one right behind it.
fn is_joint(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint)
}

/// The tokens as text.
pub fn text(tokens: &[TokenTree]) -> String {
    tokens.iter().cloned().collect::<TokenStream>().to_string()
}
