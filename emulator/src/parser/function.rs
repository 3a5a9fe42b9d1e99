//! Entries and functions up to their body.

use super::variable::Linkage;
use super::{Parser, Result};
use crate::syntax::{Function, Parameter};
use crate::types::Space;
use crate::window::MOST_CLUSTER_BLOCKS;

impl<'a> Parser<'a> {
    pub(super) fn function(&mut self, line: u32, is_entry: bool) -> Result<Function> {
        if self.peek_word() == Some(".attribute") {
            self.at += 1;
            self.skip_parentheses()?;
        }
        let mut unsupported = None;
        let returns = if !is_entry && self.is('(') {
            self.parameters(&mut unsupported)?
        } else {
            Vec::new()
        };
        let name = self.name("the name of a function")?;
        let parameters = if self.is('(') {
            self.parameters(&mut unsupported)?
        } else {
            Vec::new()
        };
        let mut function = Function {
            line,
            last_line: line,
            name,
            is_entry,
            returns,
            parameters,
            required_block: None,
            cluster: [1; 3],
            max_threads: None,
            unsupported,
            body: None,
        };
        loop {
            let line = self.line();
            if self.accept(';') {
                return Ok(function);
            }
            if self.is('{') {
                self.at += 1;
                function.body = Some(self.statements(line)?);
                function.last_line = self.tokens[self.at - 1].line;
                return Ok(function);
            }
            let word = match self.peek_word() {
                Some(word) => word,
                None => return self.expected(&format!("the body of `{}`", function.name)),
            };
            self.at += 1;
            match word {
                ".maxntid" => {
                    function.max_threads =
                        Some(self.extents()?.iter().fold(1, |product: u64, &extent| {
                            product.saturating_mul(extent.into())
                        }))
                }
                ".reqntid" => function.required_block = Some(self.extents()?),
                ".minnctapersm"
                | ".maxnctapersm"
                | ".maxnreg"
                | ".maxclusterrank"
                | ".abi_preserve"
                | ".abi_preserve_control" => {
                    self.integer("a number")?;
                }
                ".reqnctapercluster" => {
                    function.cluster = self.extents()?;
                    let blocks = function.cluster.iter().fold(1, |blocks: u64, &extent| {
                        blocks.saturating_mul(extent.into())
                    });
                    if !(1..=u64::from(MOST_CLUSTER_BLOCKS)).contains(&blocks) {
                        return self.fail(
                            line,
                            format!(
                                "a cluster of {blocks} blocks, where 1 to {MOST_CLUSTER_BLOCKS} are allowed"
                            ),
                        );
                    }
                }
                ".noreturn" | ".explicitcluster" | ".blocksareclusters" | ".unified" => {}
                ".pragma" => self.skip_to_semicolon(line)?,
                ".attribute" => self.skip_parentheses()?,
                _ => {
                    return self.fail(
                        line,
                        format!("`{word}` is not known before the body of a function"),
                    );
                }
            }
        }
    }

    /// `512` or `16, 16` or `8, 8, 8`
    fn extents(&mut self) -> Result<[u32; 3]> {
        let mut extents = [1; 3];
        for extent in &mut extents {
            let line = self.line();
            let value = self.integer("a number of threads")?;
            *extent = match u32::try_from(value) {
                Ok(value) => value,
                Err(_) => {
                    return self.fail(line, format!("{value} is too large a number of threads"));
                }
            };
            if !self.accept(',') {
                break;
            }
        }
        Ok(extents)
    }

    /// What the emulator cannot honour among them goes into `unsupported`.
    fn parameters(&mut self, unsupported: &mut Option<(u32, String)>) -> Result<Vec<Parameter>> {
        self.expect('(')?;
        let mut parameters = Vec::new();
        while !self.accept(')') {
            let line = self.line();
            match self.word("`.param`")? {
                ".param" => {}
                ".reg" => {
                    *unsupported = Some((
                        line,
                        "function parameters in registers are not supported, only `.param`"
                            .to_owned(),
                    ));
                }
                other => {
                    return self.fail(line, format!("expected a `.param`, but found `{other}`"));
                }
            }
            let (variable, _) = self.variable(line, Space::Param, Linkage::default())?;
            parameters.push(Parameter {
                name: variable.name,
                bytes: variable.bytes as usize,
                align: variable.align as usize,
            });
            if !self.accept(',') && !self.is(')') {
                return self.expected("`,` or `)` after a parameter");
            }
        }
        Ok(parameters)
    }
}
