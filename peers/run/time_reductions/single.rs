//! One row, or the pairs of two, by any launch.

use super::expected::Expected;
use super::values::{Made, Outcome};
use std::error::Error;
use warpfold::device::{Argument, Buffer, Kernel, Pod, Shape, Slice, Stream};
use warpfold::operator::Operator;
use warpfold::reduce::table::{Launch, Problem};
use warpfold::reduce::{BuiltIn, Reducible};
use warpfold::{Along, DotProduct, Matrix, Reduction};

/// One row, or the pairs of two, reduced by any launch.
pub trait Single {
    fn problem(&self) -> Problem;
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error>;
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>>;
    /// The kernel of a launch that has been made before, its shape and its arguments.
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>);
}

pub struct SingleRow<'a, 'd, T: Pod, O: Operator<T, Output: Pod>> {
    pub reduction: &'a mut Reduction<'d, T, O>,
    pub input: Slice<'a, T>,
    pub result: Buffer<O::Output>,
    pub expected: Expected<O::Output>,
}

impl<T: Made, O: BuiltIn<T, Output: Outcome>> Single for SingleRow<'_, '_, T, O> {
    fn problem(&self) -> Problem {
        let matrix = Matrix::contiguous(1, self.input.len());
        self.reduction.problem(Along::Rows, matrix)
    }
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error> {
        let matrix = Matrix::contiguous(1, self.input.len());
        // SAFETY: a launch for this row.
        unsafe {
            self.reduction
                .launch_by(stream, self.input, matrix, &mut self.result, launch)
        }
    }
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>> {
        self.expected.verify(&self.result.read()?, launch)
    }
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>) {
        let matrix = Matrix::contiguous(1, self.input.len());
        self.reduction
            .arguments(self.input, matrix, &self.result, launch)
    }
}

pub struct Pairs<'a, 'd, T: Reducible> {
    pub product: &'a mut DotProduct<'d, T>,
    pub pair: (Slice<'a, T>, Slice<'a, T>),
    pub result: Buffer<T::Wide>,
    pub expected: Expected<T::Wide>,
}

impl<T: Made<Wide: Outcome>> Single for Pairs<'_, '_, T> {
    fn problem(&self) -> Problem {
        self.product.problem(self.pair.0.len())
    }
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error> {
        // SAFETY: a launch for pairs.
        unsafe {
            self.product
                .launch_by(stream, self.pair, &mut self.result, launch)
        }
    }
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>> {
        self.expected.verify(&self.result.read()?, launch)
    }
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>) {
        let (kernel, arguments) = self.product.arguments(self.pair, &self.result, launch);
        let shape = Shape::linear(launch.blocks, launch.block);
        (kernel, shape, arguments)
    }
}
