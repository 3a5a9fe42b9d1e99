//! Tokens to the syntax tree (PTX ISA §4 "Syntax" and §11 "Directives").

use crate::error::PtxError;
use crate::lexer::{Spanned, Token, tokenize};
use crate::syntax::*;
use crate::types::{Scalar, Space};

type Result<T> = std::result::Result<T, PtxError>;

/// How deep operands and scopes may nest: bounds the recursion on hostile input.
const DEPTH_LIMIT: usize = 64;
/// The most registers one function may declare.
const REGISTER_LIMIT: u64 = 1 << 20;

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

struct Parser<'a> {
    tokens: Vec<Spanned<'a>>,
    at: usize,
    last_line: u32,
    depth: usize,
}

/// Attributes that may stand before a variable or function.
#[derive(Default, Clone, Copy)]
struct Linkage {
    external: bool,
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
        let opened = self.line();
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Token::Punct('{')) => depth += 1,
                Some(Token::Punct('}')) => depth -= 1,
                Some(_) => {}
                None => return self.fail(opened, "this `{` is never closed"),
            }
        }
        Ok(())
    }

    fn module(mut self) -> Result<ModuleSyntax> {
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

    fn skip_to_semicolon(&mut self, line: u32) -> Result<()> {
        loop {
            match self.next() {
                Some(Token::Punct(';')) => return Ok(()),
                Some(_) => {}
                None => return self.fail(line, "this directive has no `;`"),
            }
        }
    }

    fn function(&mut self, line: u32, is_entry: bool) -> Result<Function> {
        if self.peek_word() == Some(".attribute") {
            self.at += 1;
            self.skip_parentheses()?;
        }
        let returns = if !is_entry && self.is('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.name("the name of a function")?;
        let parameters = if self.is('(') {
            self.parameters()?
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
            max_threads: None,
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
                    function.max_threads = Some(
                        self.extents()?
                            .iter()
                            .map(|&extent| u64::from(extent))
                            .product(),
                    )
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
                    if self.extents()?.iter().any(|&extent| extent != 1) {
                        return self.unsupported(
                            line,
                            "clusters of more than one block are not supported",
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

    fn skip_parentheses(&mut self) -> Result<()> {
        let line = self.line();
        self.expect('(')?;
        while !self.accept(')') {
            if self.next().is_none() {
                return self.fail(line, "this `(` is never closed");
            }
        }
        Ok(())
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

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        self.expect('(')?;
        let mut parameters = Vec::new();
        while !self.accept(')') {
            let line = self.line();
            match self.word("`.param`")? {
                ".param" => {}
                ".reg" => {
                    return self.unsupported(
                        line,
                        "function parameters in registers are not supported, only `.param`",
                    );
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

    /// `.align 4 .b8 a[16], b[16];` after the state space.
    fn variables(
        &mut self,
        line: u32,
        space: Space,
        linkage: Linkage,
        push: &mut dyn FnMut(Variable),
    ) -> Result<()> {
        let (first, kind) = self.variable(line, space, linkage)?;
        push(first);
        while self.accept(',') {
            push(self.declarator(self.line(), space, linkage, kind)?);
        }
        self.expect(';')
    }

    fn variable(
        &mut self,
        line: u32,
        space: Space,
        linkage: Linkage,
    ) -> Result<(Variable, (Scalar, u64, u64))> {
        let mut align = None;
        let mut vector = 1;
        let ty = loop {
            let at = self.line();
            let word = self.word("a type")?;
            match word {
                ".align" => {
                    let value = self.integer("an alignment")?;
                    if !value.is_power_of_two() || value > 4096 {
                        return self.fail(
                            at,
                            format!("an alignment of {value} is not a power of two up to 4096"),
                        );
                    }
                    align = Some(value);
                }
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                ".attribute" => self.skip_parentheses()?,
                _ => match word.strip_prefix('.').and_then(Scalar::parse) {
                    Some(Scalar::Pred) | None => {
                        return self.fail(
                            at,
                            format!(
                                "`{word}` is not a type that a variable in {} memory can have",
                                space.name()
                            ),
                        );
                    }
                    Some(ty) => break ty,
                },
            }
        };
        // The hints of a pointer parameter: `.ptr .global .align 4`.
        if self.peek_word() == Some(".ptr") {
            self.at += 1;
            if matches!(
                self.peek_word(),
                Some(".global" | ".shared" | ".const" | ".local")
            ) {
                self.at += 1;
            }
            if self.peek_word() == Some(".align") {
                self.at += 1;
                self.integer("an alignment")?;
            }
        }
        let kind = (ty, vector, align.unwrap_or(ty.bytes() as u64 * vector));
        Ok((self.declarator(line, space, linkage, kind)?, kind))
    }

    fn declarator(
        &mut self,
        line: u32,
        space: Space,
        linkage: Linkage,
        (ty, vector, align): (Scalar, u64, u64),
    ) -> Result<Variable> {
        let name = self.name("the name of a variable")?;
        let mut bytes = ty.bytes() as u64 * vector;
        let mut unsized_array = false;
        while self.accept('[') {
            if self.accept(']') {
                unsized_array = true;
                continue;
            }
            let length = self.integer("the length of an array")?;
            bytes = match bytes.checked_mul(length).filter(|&bytes| bytes < 1 << 40) {
                Some(bytes) => bytes,
                None => return self.fail(line, format!("the array `{name}` is too large")),
            };
            self.expect(']')?;
        }
        let mut initial = Vec::new();
        if self.accept('=') {
            let mut offset = 0;
            self.initialiser(ty, &mut offset, &mut initial)?;
            if unsized_array {
                bytes = offset;
                unsized_array = false;
            } else if offset > bytes {
                return self.fail(
                    line,
                    format!(
                        "the initialiser of `{name}` has {offset} bytes, but the variable {bytes}"
                    ),
                );
            }
        }
        if unsized_array {
            bytes = 0;
        }
        Ok(Variable {
            line,
            space,
            name,
            align,
            bytes,
            unsized_array,
            external: linkage.external,
            initial,
        })
    }

    fn initialiser(&mut self, ty: Scalar, offset: &mut u64, out: &mut Vec<Initial>) -> Result<()> {
        let line = self.line();
        if self.accept('{') {
            self.enter(line)?;
            while !self.accept('}') {
                self.initialiser(ty, offset, out)?;
                if !self.accept(',') && !self.is('}') {
                    return self.expected("`,` or `}` in an initialiser");
                }
            }
            self.depth -= 1;
            return Ok(());
        }
        let value = match self.operand()? {
            Operand::Integer(value) => InitialValue::Bits(value),
            Operand::F32(bits) => InitialValue::Bits(if ty == Scalar::F64 {
                f64::from(f32::from_bits(bits)).to_bits()
            } else {
                u64::from(bits)
            }),
            Operand::F64(bits) => InitialValue::Bits(if ty == Scalar::F32 {
                u64::from((f64::from_bits(bits) as f32).to_bits())
            } else {
                bits
            }),
            Operand::Name(name) if name == "generic" && self.accept('(') => {
                let name = self.name("a symbol")?;
                self.expect(')')?;
                let offset = if self.accept('+') {
                    self.signed_integer("an offset")?
                } else {
                    0
                };
                InitialValue::Symbol { name, offset }
            }
            Operand::Name(name) => InitialValue::Symbol { name, offset: 0 },
            Operand::Sum { name, offset } => InitialValue::Symbol { name, offset },
            _ => return self.fail(line, "an initialiser takes numbers and symbols"),
        };
        out.push(Initial {
            line,
            offset: *offset,
            bytes: ty.bytes(),
            value,
        });
        *offset += ty.bytes() as u64;
        Ok(())
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

    /// Statements up to and including the closing brace.
    fn statements(&mut self, opened: u32) -> Result<Vec<Statement>> {
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
            ".reg" => {
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
                        if count > REGISTER_LIMIT {
                            return self.fail(line, format!("{count} registers are more than the {REGISTER_LIMIT} that one declaration may have"));
                        }
                        self.expect('>')?;
                        names.push(RegisterNames::Numbered {
                            prefix: name,
                            count: count as u32,
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
            }
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

    fn operands(&mut self) -> Result<Vec<Operand>> {
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

    fn operand(&mut self) -> Result<Operand> {
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
                _ => return self.expected("a number after `-`"),
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
