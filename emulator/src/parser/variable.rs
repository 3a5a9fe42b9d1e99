//! Variables and their initialisers.

use super::{Parser, Result};
use crate::syntax::{Initial, InitialValue, Operand, Variable};
use crate::types::{Scalar, Space};

/// Attributes that may stand before a variable or function.
#[derive(Default, Clone, Copy)]
pub(super) struct Linkage {
    pub external: bool,
}

impl<'a> Parser<'a> {
    /// `.align 4 .b8 a[16], b[16];` after the state space.
    pub(super) fn variables(
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

    pub(super) fn variable(
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
        let value = self.initial_value(ty)?;
        out.push(Initial {
            line,
            offset: *offset,
            bytes: ty.bytes(),
            value,
        });
        *offset += ty.bytes() as u64;
        Ok(())
    }

    fn initial_value(&mut self, ty: Scalar) -> Result<InitialValue> {
        let line = self.line();
        Ok(match self.operand()? {
            Operand::Integer(mask) if self.accept('(') => {
                let first = self.name("a symbol")?;
                let value = self.symbol(first, mask)?;
                self.expect(')')?;
                value
            }
            Operand::Integer(value) => InitialValue::Bits(value),
            Operand::F32(bits) if ty == Scalar::F64 => {
                InitialValue::Bits(f64::from(f32::from_bits(bits)).to_bits())
            }
            Operand::F32(bits) => InitialValue::Bits(u64::from(bits)),
            Operand::F64(bits) if ty == Scalar::F32 => {
                InitialValue::Bits(u64::from((f64::from_bits(bits) as f32).to_bits()))
            }
            Operand::F64(bits) => InitialValue::Bits(bits),
            Operand::Name(name) => self.symbol(name, u64::MAX)?,
            Operand::Sum { name, offset } => InitialValue::Symbol {
                name,
                offset,
                mask: u64::MAX,
            },
            _ => return self.fail(line, "an initialiser takes numbers and symbols"),
        })
    }

    /// `name`, `generic(name)` or either with an offset, of which the first word is read already.
    fn symbol(&mut self, first: String, mask: u64) -> Result<InitialValue> {
        let name = if first == "generic" && self.accept('(') {
            let name = self.name("a symbol")?;
            self.expect(')')?;
            name
        } else {
            first
        };
        let offset = if self.accept('+') || self.is('-') {
            self.signed_integer("an offset")?
        } else {
            0
        };
        Ok(InitialValue::Symbol { name, offset, mask })
    }
}
