//! Tokens to the syntax tree (PTX ISA §4 "Syntax" and §11 "Directives").

mod function;
mod module;
mod operand;
mod statement;
mod variable;

use crate::error::PtxError;
use crate::lexer::{Spanned, Token, tokenize};
use crate::syntax::ModuleSyntax;

type Result<T> = std::result::Result<T, PtxError>;

/// How deep operands and scopes may nest: bounds the recursion on hostile input.
const DEPTH_LIMIT: usize = 64;

/// Parses a module. Errors carry their line but not yet its text.
pub(crate) fn parse(source: &str) -> Result<ModuleSyntax> {
    let tokens = tokenize(source)?;
    let last_line = source.lines().count().max(1) as u32;
    Parser {
        tokens,
        at: 0,
        last_line,
        depth: 0,
    }
    .module()
}

/// A place in the tokens, and the small steps from it. The grammar's rules are in the files beside.
struct Parser<'a> {
    tokens: Vec<Spanned<'a>>,
    at: usize,
    last_line: u32,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at).map(|spanned| &spanned.token)
    }

    fn line(&self) -> u32 {
        self.tokens
            .get(self.at)
            .map_or(self.last_line, |spanned| spanned.line)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.tokens.get(self.at)?.token.clone();
        self.at += 1;
        Some(token)
    }

    fn fail<T>(&self, line: u32, message: impl Into<String>) -> Result<T> {
        Err(PtxError {
            line: line as usize,
            text: String::new(),
            message: message.into(),
            unsupported: false,
        })
    }

    fn unsupported<T>(&self, line: u32, message: impl Into<String>) -> Result<T> {
        Err(PtxError {
            line: line as usize,
            text: String::new(),
            message: message.into(),
            unsupported: true,
        })
    }

    /// Fails at the current token, naming what was expected instead.
    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = self.peek().map_or_else(
            || "the text ends".to_owned(),
            |token| format!("found {}", token.show()),
        );
        self.fail(self.line(), format!("expected {what}, but {found}"))
    }

    fn is(&self, c: char) -> bool {
        matches!(self.peek(), Some(Token::Punct(found)) if *found == c)
    }

    fn accept(&mut self, c: char) -> bool {
        let found = self.is(c);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.accept(c) {
            Ok(())
        } else {
            self.expected(&format!("`{c}`"))
        }
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.peek() {
            Some(&Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(&Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// A name of the guest's own: neither a directive nor punctuation.
    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek_word() {
            Some(word) if !word.starts_with('.') => {
                self.at += 1;
                Ok(word.to_owned())
            }
            _ => self.expected(what),
        }
    }

    fn integer(&mut self, what: &str) -> Result<u64> {
        match self.peek() {
            Some(&Token::Integer(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => self.expected(what),
        }
    }

    fn signed_integer(&mut self, what: &str) -> Result<i64> {
        let negative = self.accept('-');
        let value = self.integer(what)? as i64;
        Ok(if negative {
            value.wrapping_neg()
        } else {
            value
        })
    }

    /// Skips the rest of the line on which the token before stands.
    fn skip_line(&mut self, line: u32) {
        while self
            .tokens
            .get(self.at)
            .is_some_and(|spanned| spanned.line == line)
        {
            self.at += 1;
        }
    }

    fn skip_braces(&mut self) -> Result<()> {
        self.skip_nested('{', '}')
    }

    fn skip_parentheses(&mut self) -> Result<()> {
        self.skip_nested('(', ')')
    }

    fn skip_nested(&mut self, open: char, close: char) -> Result<()> {
        let opened = self.line();
        self.expect(open)?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Token::Punct(c)) if c == open => depth += 1,
                Some(Token::Punct(c)) if c == close => depth -= 1,
                Some(_) => {}
                None => return self.fail(opened, format!("this `{open}` is never closed")),
            }
        }
        Ok(())
    }

    fn skip_to_semicolon(&mut self, line: u32) -> Result<()> {
        loop {
            match self.next() {
                Some(Token::Punct(';')) => return Ok(()),
                Some(_) => {}
                None => return self.fail(line, "this directive has no `;`"),
            }
        }
    }

    fn enter(&mut self, line: u32) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return self.fail(
                line,
                format!("braces are nested more than {DEPTH_LIMIT} deep"),
            );
        }
        Ok(())
    }
}
