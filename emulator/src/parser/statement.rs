//! What stands in the body of a function.

use super::variable::Linkage;
use super::{Parser, Result};
use crate::syntax::{Guard, Instruction, Location, RegisterNames, Statement};
use crate::types::{Scalar, Space};

impl<'a> Parser<'a> {
    /// Statements up to and including the closing brace.
    pub(super) fn statements(&mut self, opened: u32) -> Result<Vec<Statement>> {
        self.enter(opened)?;
        let mut statements = Vec::new();
        loop {
            let line = self.line();
            if self.accept('}') {
                self.depth -= 1;
                return Ok(statements);
            }
            if self.accept('{') {
                statements.push(Statement::Scope(self.statements(line)?));
                continue;
            }
            if self.accept(';') {
                continue;
            }
            let guard = if self.accept('@') {
                let negated = self.accept('!');
                Some(Guard {
                    predicate: self.name("a predicate")?,
                    negated,
                })
            } else {
                None
            };
            let word = match self.peek_word() {
                Some(word) => word,
                None if self.peek().is_none() => {
                    return self.fail(
                        self.last_line,
                        format!("the text ends inside the `{{` opened on line {opened}"),
                    );
                }
                None => return self.expected("a statement"),
            };
            self.at += 1;
            if word.starts_with('.') {
                if guard.is_some() {
                    return self.fail(
                        line,
                        format!("the directive `{word}` cannot be guarded by a predicate"),
                    );
                }
                self.directive(line, word, &mut statements)?;
            } else if guard.is_none() && self.accept(':') {
                self.label(line, word, &mut statements)?;
            } else {
                let mut parts = word.split('.').map(str::to_owned);
                let opcode = parts.next().unwrap_or_default();
                let modifiers = parts.collect();
                let operands = self.operands()?;
                statements.push(Statement::Instruction(Instruction {
                    line,
                    guard,
                    opcode,
                    modifiers,
                    operands,
                }));
            }
        }
    }

    fn label(&mut self, line: u32, name: &str, statements: &mut Vec<Statement>) -> Result<()> {
        let name = name.to_owned();
        match self.peek_word() {
            Some(".branchtargets") => {
                self.at += 1;
                let mut labels = vec![self.name("a label")?];
                while self.accept(',') {
                    labels.push(self.name("a label")?);
                }
                self.expect(';')?;
                statements.push(Statement::BranchTargets { name, labels });
            }
            Some(".callprototype") => {
                self.skip_to_semicolon(line)?;
                statements.push(Statement::CallPrototype { name });
            }
            Some(".calltargets") => self.skip_to_semicolon(line)?,
            _ => statements.push(Statement::Label { line, name }),
        }
        Ok(())
    }

    fn directive(&mut self, line: u32, word: &str, statements: &mut Vec<Statement>) -> Result<()> {
        match word {
            ".reg" => self.registers(line, statements)?,
            ".shared" | ".local" | ".param" | ".global" | ".const" => {
                let space = Space::parse(&word[1..]).unwrap_or(Space::Local);
                self.variables(line, space, Linkage::default(), &mut |variable| {
                    statements.push(Statement::Variable(variable))
                })?;
            }
            ".loc" => {
                let file = self.integer("a file number")?;
                let source_line = self.integer("a line number")? as u32;
                self.skip_line(line);
                statements.push(Statement::Location(Location {
                    file,
                    line: source_line,
                }));
            }
            ".pragma" => self.skip_to_semicolon(line)?,
            _ => {
                return self.fail(
                    line,
                    format!("the directive `{word}` is not known inside a function"),
                );
            }
        }
        Ok(())
    }

    /// `.b32 %r<7>, %t;` after `.reg`
    fn registers(&mut self, line: u32, statements: &mut Vec<Statement>) -> Result<()> {
        let word = self.word("a register type")?;
        let Some(ty) = word.strip_prefix('.').and_then(Scalar::parse) else {
            let message = format!("registers of type `{word}` are not supported");
            statements.push(Statement::Unsupported { line, message });
            return self.skip_to_semicolon(line);
        };
        let mut names = Vec::new();
        loop {
            let name = self.name("the name of a register")?;
            if self.accept('<') {
                let count = self.integer("a number of registers")?;
                self.expect('>')?;
                names.push(RegisterNames::Numbered {
                    prefix: name,
                    count,
                });
            } else {
                names.push(RegisterNames::One(name));
            }
            if !self.accept(',') {
                break;
            }
        }
        self.expect(';')?;
        statements.push(Statement::Registers { line, ty, names });
        Ok(())
    }
}
