//! PTX text to tokens (PTX ISA §4 "Syntax"). Lines are counted from 1 and carried by every token.

use crate::error::PtxError;

/// The smallest unit of the text. Names and opcodes keep their dots, so that `ld.global.u32` and `%tid.x` are one token each;
/// a word that starts with a dot ends before the next one, so that `.reg.b32` is `.reg` and `.b32`, as it is with a space between.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    Integer(u64),
    F32(u32),
    F64(u64),
    Text(&'a str),
    Punct(char),
}

impl Token<'_> {
    /// How the token is named in messages.
    pub fn show(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Integer(value) => format!("`{value}`"),
            Self::F32(bits) => format!("`0f{bits:08X}`"),
            Self::F64(bits) => format!("`0d{bits:016X}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Punct(c) => format!("`{c}`"),
        }
    }
}

/// A token and its line.
#[derive(Clone, Debug)]
pub(crate) struct Spanned<'a> {
    pub token: Token<'a>,
    pub line: u32,
}

fn is_word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

fn is_word_part(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

/// Splits a whole text.
pub(crate) fn tokenize(source: &str) -> Result<Vec<Spanned<'_>>, PtxError> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let mut at = 0;
    let mut line = 1u32;
    let error = |line: u32, message: String| PtxError {
        line: line as usize,
        text: String::new(),
        message,
        unsupported: false,
    };
    while let Some(&c) = bytes.get(at) {
        let start = at;
        match c {
            b'\n' => {
                line += 1;
                at += 1;
            }
            _ if c.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while bytes.get(at).is_some_and(|&c| c != b'\n') {
                    at += 1;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let opened = line;
                at += 2;
                loop {
                    match bytes.get(at) {
                        None => return Err(error(opened, "this comment is never closed".into())),
                        Some(b'*') if bytes.get(at + 1) == Some(&b'/') => break,
                        Some(b'\n') => line += 1,
                        Some(_) => {}
                    }
                    at += 1;
                }
                at += 2;
            }
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|&c| c != b'"' && c != b'\n') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if bytes.get(at) != Some(&b'"') {
                    return Err(error(line, "this string is never closed".into()));
                }
                tokens.push(Spanned {
                    token: Token::Text(&source[start + 1..at]),
                    line,
                });
                at += 1;
            }
            _ if c.is_ascii_digit() => {
                while bytes
                    .get(at)
                    .is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'.')
                    || (matches!(bytes.get(at), Some(b'+' | b'-'))
                        && is_decimal_exponent(&source[start..at]))
                {
                    at += 1;
                }
                let word = &source[start..at];
                let token = number(word).ok_or_else(|| {
                    error(line, format!("`{word}` is not a number that PTX knows"))
                })?;
                tokens.push(Spanned { token, line });
            }
            _ if is_word_start(c) => {
                let ends_word = |next: u8| c == b'.' && matches!(next, b'.' | b'%');
                at += 1;
                while bytes
                    .get(at)
                    .is_some_and(|&next| is_word_part(next) && !ends_word(next))
                    || (bytes[at..].starts_with(b"::")
                        && bytes.get(at + 2).is_some_and(|&c| is_word_part(c)))
                {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
                tokens.push(Spanned {
                    token: Token::Word(&source[start..at]),
                    line,
                });
            }
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'|'
            | b'!' | b'=' | b'@' | b'+' | b'-' | b'*' => {
                tokens.push(Spanned {
                    token: Token::Punct(c as char),
                    line,
                });
                at += 1;
            }
            _ => {
                let c = source[at..].chars().next().unwrap_or('?');
                return Err(error(
                    line,
                    format!("the character {c:?} has no place in PTX"),
                ));
            }
        }
    }
    Ok(tokens)
}

/// Whether `word` is the start of a decimal float that ends in its exponent's `e`, so that a sign may follow.
fn is_decimal_exponent(word: &str) -> bool {
    word.ends_with(['e', 'E']) && word.contains('.') && !word.starts_with("0x")
}

/// PTX ISA §4.5 "Constants": hexadecimal, octal, binary and decimal integers, exact floats, decimal floats.
fn number(word: &str) -> Option<Token<'static>> {
    let lower = word.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f").filter(|hex| hex.len() == 8) {
        return u32::from_str_radix(hex, 16).ok().map(Token::F32);
    }
    if let Some(hex) = lower.strip_prefix("0d").filter(|hex| hex.len() == 16) {
        return u64::from_str_radix(hex, 16).ok().map(Token::F64);
    }
    if lower.contains('.') || (lower.contains('e') && !lower.starts_with("0x")) {
        return lower
            .parse::<f64>()
            .ok()
            .map(|value| Token::F64(value.to_bits()));
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    let (digits, radix) = if let Some(hex) = digits.strip_prefix("0x") {
        (hex, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        (binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (&digits[1..], 8)
    } else {
        (digits, 10)
    };
    u64::from_str_radix(digits, radix).ok().map(Token::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &str) -> Vec<Token<'_>> {
        tokenize(source)
            .unwrap()
            .into_iter()
            .map(|spanned| spanned.token)
            .collect()
    }

    #[test]
    fn words_keep_their_dots() {
        assert_eq!(
            all("ld.global.L2::128B.u32 %r1,[%rd1+4];"),
            [
                Token::Word("ld.global.L2::128B.u32"),
                Token::Word("%r1"),
                Token::Punct(','),
                Token::Punct('['),
                Token::Word("%rd1"),
                Token::Punct('+'),
                Token::Integer(4),
                Token::Punct(']'),
                Token::Punct(';')
            ]
        );
    }

    #[test]
    fn directives_need_no_space_between_them() {
        let spaced = all(".visible .shared .align 4 .v2 .b32 a; .reg .b32 %b;");
        assert_eq!(spaced.len(), 12);
        assert_eq!(all(".visible.shared.align 4 .v2.b32 a;.reg.b32%b;"), spaced);
    }

    #[test]
    fn numbers_of_every_kind() {
        assert_eq!(
            all("10 0x1F 017 0b101 7U 0f3F800000 0d3FF0000000000000 1.5 2.0e-1"),
            [
                Token::Integer(10),
                Token::Integer(31),
                Token::Integer(15),
                Token::Integer(5),
                Token::Integer(7),
                Token::F32(0x3f80_0000),
                Token::F64(1.0f64.to_bits()),
                Token::F64(1.5f64.to_bits()),
                Token::F64(0.2f64.to_bits())
            ]
        );
    }

    #[test]
    fn labels_and_comments() {
        assert_eq!(
            all("$L_1: // x\n/* y */ ret;"),
            [
                Token::Word("$L_1"),
                Token::Punct(':'),
                Token::Word("ret"),
                Token::Punct(';')
            ]
        );
    }

    #[test]
    fn broken_text_names_its_line() {
        assert_eq!(tokenize("\n\n/* open").unwrap_err().line, 3);
        assert_eq!(tokenize("\n\"open").unwrap_err().line, 2);
        assert_eq!(
            tokenize("0xZZ").unwrap_err().message,
            "`0xZZ` is not a number that PTX knows"
        );
        assert_eq!(
            tokenize("a ~ b").unwrap_err().message,
            "the character '~' has no place in PTX"
        );
    }
}
