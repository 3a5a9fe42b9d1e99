//! Comparison and selection (PTX ISA §9.7.6 "Comparison and Selection Instructions").

use core::num::FpCategory;

use super::float::Flushed;
use super::form::{Alu, Arg, Execute, Form, by_type};
use crate::registers::{Lane, Registers, Rows, blend, each_lane, map3, test1, test2};
use crate::types::Scalar;

/// A comparison of the manual, ordered or (on floats) unordered.
trait Comparison {
    fn holds<T: PartialOrd>(a: T, b: T) -> bool;
}

macro_rules! comparisons {
    ($($name:ident = |$a:ident, $b:ident| $test:expr;)*) => {$(
        struct $name;
        impl Comparison for $name {
            #[inline(always)]
            #[allow(
                clippy::neg_cmp_op_on_partial_ord, clippy::eq_op, clippy::double_comparisons,
                reason = "an ordered comparison does not hold for NaN, an unordered one does"
            )]
            fn holds<T: PartialOrd>($a: T, $b: T) -> bool { $test }
        }
    )*};
}

comparisons! {
    Eq = |a, b| a == b;
    Ne = |a, b| a < b || a > b;
    Lt = |a, b| a < b;
    Le = |a, b| a <= b;
    Gt = |a, b| a > b;
    Ge = |a, b| a >= b;
    Equ = |a, b| !(a < b || a > b);
    Neu = |a, b| !(a == b);
    Ltu = |a, b| !(a >= b);
    Leu = |a, b| !(a > b);
    Gtu = |a, b| !(a <= b);
    Geu = |a, b| !(a < b);
    Num = |a, b| a == a && b == b;
    Nan = |a, b| !(a == a && b == b);
}

/// How the result is combined with a further predicate; above the second destination's 16 bits in `extra`.
const COMBINE_SHIFT: u32 = 16;
const AND: u32 = 1;
const OR: u32 = 2;
const XOR: u32 = 3;
/// What `set` leaves where the comparison holds: 1.0 of a float, all bits of an integer. Numbered in the low bits of `extra`,
/// where `setp` has its second destination.
const TRUTHS: [(&[Scalar], u32); 5] = [
    (&[Scalar::U32, Scalar::S32], u32::MAX),
    (&[Scalar::U16, Scalar::S16], 0xffff),
    (&[Scalar::F32], 0x3f80_0000),
    (&[Scalar::F16], 0x3c00),
    (&[Scalar::Bf16], 0x3f80),
];

/// The number of what `set` leaves in a destination of this type.
pub(super) fn truth_number(to: Scalar) -> Option<u32> {
    TRUTHS
        .iter()
        .position(|(types, _)| types.contains(&to))
        .map(|number| number as u32)
}
pub(super) fn truth(extra: u32) -> u32 {
    TRUTHS[(extra & 7) as usize].1
}

pub(super) fn combine(r: &Registers, o: &Rows, extra: u32, bits: u32) -> u32 {
    match extra >> COMBINE_SHIFT & 3 {
        AND => bits & r.predicate(o.c),
        OR => bits | r.predicate(o.c),
        XOR => bits ^ r.predicate(o.c),
        _ => bits,
    }
}

fn setp<T: Lane + PartialOrd, C: Comparison>(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    let bits = test2::<T, T>(r, o, C::holds);
    let (first, second) = (combine(r, o, extra, bits), combine(r, o, extra, !bits));
    let d = &mut r.predicates[o.d as usize];
    *d = blend(*d, first, mask);
    let q = extra & 0xffff;
    if q != 0 {
        let d = &mut r.predicates[q as usize - 1];
        *d = blend(*d, second, mask);
    }
}

fn set<T: Lane + PartialOrd, C: Comparison>(r: &mut Registers, o: &Rows, extra: u32, mask: u32) {
    let bits = combine(r, o, extra, test2::<T, T>(r, o, C::holds));
    let yes = truth(extra);
    each_lane(mask, |lane| {
        r.narrow[o.d as usize][lane] = if bits >> lane & 1 == 1 { yes } else { 0 }
    });
}

/// Of a comparison's modifiers: the operator, how its result is combined as flags say it, and whether subnormal operands count
/// as zero.
pub(super) fn combination<'a>(form: &Form<'a>) -> Option<(&'a str, u32, bool)> {
    let mut flags = form.flags.clone();
    flags.retain(|&flag| flag != "ftz");
    let (operator, combination) = match flags[..] {
        [operator] => (operator, 0),
        [operator, "and"] => (operator, AND),
        [operator, "or"] => (operator, OR),
        [operator, "xor"] => (operator, XOR),
        _ => return None,
    };
    Some((operator, combination << COMBINE_SHIFT, form.has("ftz")))
}

/// Picks the comparison for a type that has all of them (floats) or only the ordered ones (integers).
fn comparison<T: Lane + PartialOrd>(
    operator: &str,
    floats: bool,
    to_predicate: bool,
) -> Option<Execute> {
    macro_rules! pick {
        ($($spelling:literal => $name:ident),* $(,)?) => {
            match operator {
                $($spelling => if to_predicate { setp::<T, $name> as Execute } else { set::<T, $name> as Execute },)*
                _ => return None,
            }
        };
    }
    Some(if floats {
        pick! {
            "eq" => Eq, "ne" => Ne, "lt" => Lt, "le" => Le, "gt" => Gt, "ge" => Ge, "equ" => Equ, "neu" => Neu,
            "ltu" => Ltu, "leu" => Leu, "gtu" => Gtu, "geu" => Geu, "num" => Num, "nan" => Nan,
        }
    } else {
        pick! {
            "eq" => Eq, "ne" => Ne, "lt" => Lt, "le" => Le, "gt" => Gt, "ge" => Ge,
            "lo" => Lt, "ls" => Le, "hi" => Gt, "hs" => Ge,
        }
    })
}

fn slct<T: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(r, o, mask, |a: T, b: T, c: i32| if c >= 0 { a } else { b });
}
fn slct_float<T: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(
        r,
        o,
        mask,
        |a: T, b: T, c: f32| if c >= 0.0 { a } else { b },
    );
}

fn slct_flushed<T: Lane>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
    map3(
        r,
        o,
        mask,
        |a: T, b: T, c: Flushed| if c >= Flushed::ZERO { a } else { b },
    );
}

fn testp(r: &mut Registers, o: &Rows, bits: u32, mask: u32) {
    let d = &mut r.predicates[o.d as usize];
    *d = blend(*d, bits, mask);
}
macro_rules! test_property {
    ($($name:ident, $spelling:literal, $test:expr;)*) => {
        $(
            fn $name<T: Lane + Into<f64> + Classify>(r: &mut Registers, o: &Rows, _: u32, mask: u32) {
                let test: fn(T) -> bool = $test;
                let bits = test1::<T>(r, o.a, test);
                testp(r, o, bits, mask);
            }
        )*
        fn property(name: &str, ty: Scalar) -> Option<Execute> {
            Some(match name {
                $($spelling => by_type!(ty, $name: F32, F64),)*
                _ => return None,
            })
        }
    };
}
test_property! {
    finite, "finite", |a| a.into().is_finite();
    infinite, "infinite", |a| a.into().is_infinite();
    number, "number", |a| !a.into().is_nan();
    not_a_number, "notanumber", |a| a.into().is_nan();
    normal, "normal", |a| matches!(a.class(), FpCategory::Normal | FpCategory::Zero);
    subnormal, "subnormal", |a| a.class() == FpCategory::Subnormal;
}
/// Classification in the value's own width: a subnormal f32 is a normal f64.
trait Classify: Copy {
    fn class(self) -> FpCategory;
}
impl Classify for f32 {
    fn class(self) -> FpCategory {
        self.classify()
    }
}
impl Classify for f64 {
    fn class(self) -> FpCategory {
        self.classify()
    }
}

pub(super) fn select(form: &Form<'_>) -> Option<Alu> {
    use Arg::{D, PD, PS, S};
    match form.opcode {
        "setp" | "set" => {
            let to_predicate = form.opcode == "setp";
            let source = *form.types.last()?;
            if form.types.len() != if to_predicate { 1 } else { 2 } {
                return None;
            }
            let (operator, combination, flush) = combination(form)?;
            let integers = |ty| match ty {
                Scalar::B16 | Scalar::U16 => comparison::<u16>(operator, false, to_predicate),
                Scalar::B32 | Scalar::U32 => comparison::<u32>(operator, false, to_predicate),
                Scalar::B64 | Scalar::U64 => comparison::<u64>(operator, false, to_predicate),
                Scalar::S16 => comparison::<i16>(operator, false, to_predicate),
                Scalar::S32 => comparison::<i32>(operator, false, to_predicate),
                Scalar::S64 => comparison::<i64>(operator, false, to_predicate),
                _ => None,
            };
            let execute = match source {
                Scalar::F32 if flush => comparison::<Flushed>(operator, true, to_predicate)?,
                _ if flush => return None,
                Scalar::F32 => comparison::<f32>(operator, true, to_predicate)?,
                Scalar::F64 => comparison::<f64>(operator, true, to_predicate)?,
                other => integers(other)?,
            };
            let mut args = if to_predicate {
                vec![PD]
            } else {
                vec![D(form.types[0])]
            };
            args.extend([S(source), S(source)]);
            if combination != 0 {
                args.push(PS);
            }
            let result = match form.types[0] {
                _ if to_predicate => 0,
                Scalar::U16 | Scalar::S16 => return None,
                to => truth_number(to)?,
            };
            Some(Alu {
                execute,
                args,
                flags: combination | result,
            })
        }
        "slct" => {
            form.only(2, &["ftz"])?;
            let [ty, chooser] = form.types[..] else {
                return None;
            };
            let execute: Execute = match chooser {
                Scalar::S32 => {
                    by_type!(ty, slct: B16, U16, S16, B32, U32, S32, F32, B64, U64, S64, F64)
                }
                Scalar::F32 if form.has("ftz") => {
                    by_type!(ty, slct_flushed: B16, U16, S16, B32, U32, S32, F32, B64, U64, S64, F64)
                }
                Scalar::F32 => {
                    by_type!(ty, slct_float: B16, U16, S16, B32, U32, S32, F32, B64, U64, S64, F64)
                }
                _ => return None,
            };
            Some(Alu::new(execute, &[D(ty), S(ty), S(ty), S(chooser)]))
        }
        "testp" => {
            let [name] = form.flags[..] else { return None };
            let ty = *form.types.first()?;
            Some(Alu::new(property(name, ty)?, &[PD, S(ty)]))
        }
        _ => None,
    }
}
