//! What the families of instructions share: how a form is spelt, what it is selected to, and which operands it takes.

use rustc_apfloat::Round;

use crate::registers::{Registers, Rows};
use crate::types::Scalar;

/// What an instruction does to the lanes of `mask`. Register rows are in `rows`, immediates in `extra`.
pub(crate) type Execute = fn(&mut Registers, &Rows, extra: u32, mask: u32);

/// One operand of a form, in the order of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// Destination register.
    D(Scalar),
    /// Source register or constant; sources fill rows a, b, c and then `extra`.
    S(Scalar),
    /// Destination predicate `p` or pair `p|q`: row d, and `extra` = q + 1.
    PD,
    /// Source predicate, perhaps negated: `number << 1 | negated` in the next source row.
    PS,
    /// Destination register and predicate `d|p`: row d, and p from [`PREDICATE_SHIFT`] on in `extra`.
    DP(Scalar),
    /// Source predicate as of `PS`, from [`COMBINED_SHIFT`] on in `extra`.
    PI,
    /// Immediate of 8 bits, the lowest of `extra`.
    I,
}

/// Beside an immediate of 8 bits in `extra`: the numbers of a predicate that is written and of one that is read.
pub(crate) const PREDICATE_SHIFT: u32 = 8;
pub(crate) const COMBINED_SHIFT: u32 = 20;
/// As wide as their places.
pub(crate) const PREDICATE_BITS: u32 = 12;

/// A selected form.
pub(crate) struct Alu {
    pub execute: Execute,
    pub args: Vec<Arg>,
    /// Added to `extra`: rounding and the like.
    pub flags: u32,
}

/// An opcode with its types and its other modifiers told apart.
pub(crate) struct Form<'a> {
    pub opcode: &'a str,
    pub types: Vec<Scalar>,
    pub flags: Vec<&'a str>,
    /// Whether the first source is a 64-bit register, which `cvt` allows for narrower types.
    pub wide_source: bool,
}

impl<'a> Form<'a> {
    pub fn new(opcode: &'a str, modifiers: &'a [String]) -> Self {
        let mut form = Self {
            opcode,
            types: Vec::new(),
            flags: Vec::new(),
            wide_source: false,
        };
        for modifier in modifiers {
            match Scalar::parse(modifier) {
                Some(ty) => form.types.push(ty),
                None => form.flags.push(modifier),
            }
        }
        form
    }

    /// Whether the modifier is present.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// `Some` if no modifier but these is present, and as many types as given.
    pub(super) fn only(&self, types: usize, flags: &[&str]) -> Option<()> {
        (self.types.len() == types && self.flags.iter().all(|flag| flags.contains(flag)))
            .then_some(())
    }

    /// The only type.
    pub(super) fn ty(&self) -> Scalar {
        self.types[0]
    }
}

impl Alu {
    pub(super) fn new(execute: Execute, args: &[Arg]) -> Self {
        Self {
            execute,
            args: args.to_vec(),
            flags: 0,
        }
    }

    /// `d = f(a, …)` of N sources on one type.
    pub(super) fn same(execute: Execute, ty: Scalar, sources: usize) -> Self {
        let mut args = vec![Arg::D(ty)];
        args.resize(1 + sources, Arg::S(ty));
        Self {
            execute,
            args,
            flags: 0,
        }
    }

    /// `d = f(a)` on one type.
    pub(super) fn unary(execute: Execute, ty: Scalar) -> Self {
        Self::same(execute, ty, 1)
    }

    /// `d = f(a, b)` on one type.
    pub(super) fn binary(execute: Execute, ty: Scalar) -> Self {
        Self::same(execute, ty, 2)
    }

    /// `d = f(a, b, c)` on one type.
    pub(super) fn ternary(execute: Execute, ty: Scalar) -> Self {
        Self::same(execute, ty, 3)
    }

    pub(super) fn flagged(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }
}

/// The rounding of an instruction, in the two low bits: to nearest even, towards zero, down, up, in the order of `.rn`, `.rz`,
/// `.rm` and `.rp`.
pub(super) fn rounding(bits: u32) -> Round {
    match bits & 3 {
        0 => Round::NearestTiesToEven,
        1 => Round::TowardZero,
        2 => Round::TowardNegative,
        _ => Round::TowardPositive,
    }
}

/// The roundings to a fraction of the destination's precision, and to an integral value, in the order of [`rounding`].
pub(super) const FRACTIONAL: [&str; 4] = ["rn", "rz", "rm", "rp"];
pub(super) const INTEGRAL: [&str; 4] = ["rni", "rzi", "rmi", "rpi"];

/// Picks `$function::<T>` by the scalar type, or returns `None` from the caller.
macro_rules! by_type {
    ($ty:expr, $function:ident: $($scalar:ident),+) => {
        match $ty {
            $(crate::types::Scalar::$scalar => $function::<by_type!(@ $scalar)> as crate::alu::form::Execute,)+
            _ => return None,
        }
    };
    (@ U8) => { u8 };
    (@ S8) => { i8 };
    (@ U16) => { u16 };
    (@ S16) => { i16 };
    (@ U32) => { u32 };
    (@ S32) => { i32 };
    (@ U64) => { u64 };
    (@ S64) => { i64 };
    (@ B16) => { u16 };
    (@ B32) => { u32 };
    (@ B64) => { u64 };
    (@ F32) => { f32 };
    (@ F64) => { f64 };
}
pub(super) use by_type;
