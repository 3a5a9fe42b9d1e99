//! Instructions that only read and write registers: each form of the PTX manual is selected once, when a kernel is compiled,
//! and is then one function over the lanes of a warp. One file per family of PTX ISA §9.7.

mod carry;
mod compare;
mod convert;
mod float;
mod form;
mod fused;
mod half;
mod integer;
mod logic;
mod packed;
mod tensor;
mod tiny;
mod video;

pub(crate) use float::{canonical, extremum_of_singles, flush};
pub(crate) use form::{Alu, Arg, COMBINED_SHIFT, Execute, Form, PREDICATE_BITS, PREDICATE_SHIFT};
pub(crate) use half::{HalfOperation, combine_halves};
pub(crate) use video::Video;

/// Finds the form, or `None` where the emulator does not know it.
pub(crate) fn select(form: &Form<'_>) -> Option<Alu> {
    integer::select(form)
        .or_else(|| carry::select(form))
        .or_else(|| logic::select(form))
        .or_else(|| compare::select(form))
        .or_else(|| float::select(form))
        .or_else(|| half::select(form))
        .or_else(|| tensor::select(form))
        .or_else(|| packed::select(form))
        .or_else(|| convert::select(form))
}
