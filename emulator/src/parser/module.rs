//! Directives at module scope.

use super::variable::Linkage;
use super::{Parser, Result};
use crate::lexer::Token;
use crate::syntax::ModuleSyntax;
use crate::types::Space;

impl<'a> Parser<'a> {
    pub(super) fn module(mut self) -> Result<ModuleSyntax> {
        let mut module = ModuleSyntax::default();
        if self.peek_word() != Some(".version") {
            return self.expected("`.version` at the start of a PTX module");
        }
        let mut linkage = Linkage::default();
        while self.at < self.tokens.len() {
            let line = self.line();
            let word = self.word("a directive")?;
            match word {
                ".version" => {
                    if !matches!(self.next(), Some(Token::F64(_) | Token::Integer(_))) {
                        return self.fail(line, "`.version` needs a number such as 7.0");
                    }
                }
                ".target" => module.target_sm = self.target(line)?,
                ".address_size" => {
                    if self.integer("an address size")? != 64 {
                        return self.unsupported(
                            line,
                            "only 64-bit addresses are supported, not this `.address_size`",
                        );
                    }
                }
                ".visible" | ".weak" | ".common" => {}
                ".extern" => linkage.external = true,
                ".file" => {
                    let number = self.integer("a file number")?;
                    if let Some(Token::Text(text)) = self.next() {
                        module.files.push((number, text.to_owned()));
                    }
                    self.skip_line(line);
                }
                ".loc" => self.skip_line(line),
                ".section" => {
                    self.word("a section name")?;
                    while self.peek_word().is_some() {
                        self.at += 1;
                    }
                    self.skip_braces()?;
                }
                ".pragma" => self.skip_to_semicolon(line)?,
                ".alias" => {
                    let name = self.name("an alias")?;
                    self.expect(',')?;
                    let target = self.name("a function")?;
                    self.expect(';')?;
                    module.aliases.push((name, target));
                }
                ".entry" | ".func" => {
                    let function = self.function(line, word == ".entry")?;
                    module.functions.push(function);
                    linkage = Linkage::default();
                }
                ".global" | ".const" | ".shared" => {
                    let space = Space::parse(&word[1..]).unwrap_or(Space::Global);
                    self.variables(line, space, linkage, &mut |variable| {
                        module.variables.push(variable)
                    })?;
                    linkage = Linkage::default();
                }
                _ => {
                    return self.fail(
                        line,
                        format!("the directive `{word}` is not known at module scope"),
                    );
                }
            }
        }
        if module.target_sm == 0 {
            return self.fail(1, "the module has no `.target`");
        }
        Ok(module)
    }

    fn target(&mut self, line: u32) -> Result<u32> {
        let mut sm = 0;
        loop {
            let word = self.word("a target such as sm_80")?;
            if let Some(number) = word.strip_prefix("sm_") {
                let digits = number.trim_end_matches(['a', 'f']);
                sm = match digits.parse() {
                    Ok(sm) => sm,
                    Err(_) => {
                        return self.fail(line, format!("`{word}` is not a target such as sm_80"));
                    }
                };
            }
            if !self.accept(',') {
                return Ok(sm);
            }
        }
    }
}
