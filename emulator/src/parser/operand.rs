//! Operands of instructions.

use super::{Parser, Result};
use crate::lexer::Token;
use crate::syntax::Operand;

impl<'a> Parser<'a> {
    pub(super) fn operands(&mut self) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.accept(';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if self.accept(';') {
                return Ok(operands);
            }
            if !self.accept(',') {
                return self.expected("`,` or `;` after an operand");
            }
        }
    }

    pub(super) fn operand(&mut self) -> Result<Operand> {
        let first = self.simple_operand()?;
        if self.accept('|') {
            return Ok(Operand::Pair(
                Box::new(first),
                Box::new(self.simple_operand()?),
            ));
        }
        Ok(first)
    }

    fn simple_operand(&mut self) -> Result<Operand> {
        let line = self.line();
        if self.accept('[') {
            return self.address(line);
        }
        if self.accept('{') {
            return Ok(Operand::Vector(self.operand_list(line, '}')?));
        }
        if self.accept('(') {
            return Ok(Operand::List(self.operand_list(line, ')')?));
        }
        if self.accept('!') {
            return Ok(Operand::Negated(self.name("a predicate")?));
        }
        if self.accept('-') {
            let negated = match self.peek() {
                Some(&Token::Integer(value)) => Operand::Integer(value.wrapping_neg()),
                Some(&Token::F32(bits)) => Operand::F32(bits ^ 1 << 31),
                Some(&Token::F64(bits)) => Operand::F64(bits ^ 1 << 63),
                Some(Token::Word(word)) if !word.starts_with('.') => {
                    Operand::Minus((*word).to_owned())
                }
                _ => return self.expected("a number or a register after `-`"),
            };
            self.at += 1;
            return Ok(negated);
        }
        match self.peek().cloned() {
            Some(Token::Integer(value)) => {
                self.at += 1;
                Ok(Operand::Integer(value))
            }
            Some(Token::F32(bits)) => {
                self.at += 1;
                Ok(Operand::F32(bits))
            }
            Some(Token::F64(bits)) => {
                self.at += 1;
                Ok(Operand::F64(bits))
            }
            Some(Token::Word(word)) if !word.starts_with('.') => {
                self.at += 1;
                if self.accept('+') || self.is('-') {
                    return Ok(Operand::Sum {
                        name: word.to_owned(),
                        offset: self.signed_integer("an offset")?,
                    });
                }
                Ok(Operand::Name(word.to_owned()))
            }
            _ => self.expected("an operand"),
        }
    }

    fn operand_list(&mut self, line: u32, close: char) -> Result<Vec<Operand>> {
        self.enter(line)?;
        let mut operands = Vec::new();
        while !self.accept(close) {
            operands.push(self.operand()?);
            if !self.accept(',') && !self.is(close) {
                return self.expected(&format!("`,` or `{close}` after an operand"));
            }
        }
        self.depth -= 1;
        Ok(operands)
    }

    fn address(&mut self, line: u32) -> Result<Operand> {
        self.enter(line)?;
        let operand = match self.simple_operand()? {
            Operand::Sum { name, offset } => Operand::Address {
                base: Box::new(Operand::Name(name)),
                offset,
            },
            base @ (Operand::Name(_) | Operand::Integer(_)) => Operand::Address {
                base: Box::new(base),
                offset: 0,
            },
            _ => {
                return self.fail(
                    line,
                    "an address is a register, a symbol or a number, with an offset or without",
                );
            }
        };
        self.depth -= 1;
        self.expect(']')?;
        Ok(operand)
    }
}
