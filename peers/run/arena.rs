//! Where the contenders meet: one input on one GPU, one stream, one way to time.

use crate::answer::Answer;
use crate::clock::Clock;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::record::Finds;
use rayon::prelude::*;
use warpfold::device::{Buffer, Device, DeviceError, Slice, Stream};
use warpfold_course::number::Number;
use warpfold_course::oracle::Oracle;
use warpfold_kernels::catalogue::Operator;

/// Launches before one that finds the GPU idle: after others, also of another process, the host's caches are not what they are for a
/// program that goes on adding up.
const LAUNCHES_BEFORE_IDLE: usize = 3;
/// What the input's bytes are a multiple of: another process that opens something else is given what lies before it as well, or small
/// pages, which are slow to read.
const PAGE_BYTES: usize = 2 << 20;
/// The most elements that a contender may skip.
pub const MOST_SKIPPED: usize = 3;

/// The input and the clock.
pub struct Arena<'d, T: Element> {
    device: &'d Device,
    n: usize,
    /// The input, which every contender reads; after n elements it is 0.
    input: Buffer<T>,
    /// The input for those who overwrite it, from the first of them on.
    working: Option<Buffer<T>>,
    /// The first elements.
    head: Vec<T>,
    oracle: T::Oracle,
    fold: u32,
    clock: Clock,
}

/// What a contender reads.
pub enum Input {
    /// The input without its first `skip` elements, and with as many zeros after it.
    Shared {
        /// [`MOST_SKIPPED`] at most.
        skip: usize,
    },
    /// A copy that is its own until it ends.
    Overwritten,
}

impl<'d, T: Element> Arena<'d, T> {
    /// Puts the values on the GPU.
    pub fn new(device: &'d Device, mut values: Vec<T>) -> Result<Self, PeersError> {
        let n = values.len();
        let oracle = T::Oracle::new(Operator::Sum, &values);
        let fold = fold(&values);
        let head = values[..MOST_SKIPPED.min(n)].to_vec();
        let length = (n + MOST_SKIPPED).next_multiple_of(PAGE_BYTES / size_of::<T>());
        values.resize(length, T::zeroed());
        Ok(Self {
            device,
            n,
            input: device.upload(&values)?,
            working: None,
            head,
            oracle,
            fold,
            clock: Clock::new(device)?,
        })
    }

    /// The number of elements.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The input.
    pub fn input(&self) -> &Buffer<T> {
        &self.input
    }

    /// The first elements, [`MOST_SKIPPED`] of them if there are as many.
    pub fn head(&self) -> &[T] {
        &self.head
    }

    /// The milliseconds of one launch, which `queue` queues on a stream for an input. Who overwrites the input gets it afresh, outside
    /// of the time.
    pub fn time_ms(
        &mut self,
        finds: Finds,
        input: &Input,
        mut queue: impl FnMut(&Stream, Slice<'_, T>) -> Result<(), PeersError>,
    ) -> Result<f64, PeersError> {
        let before = match finds {
            Finds::Warm => 1,
            Finds::Cold => 0,
            Finds::Idle => LAUNCHES_BEFORE_IDLE,
        };
        for _ in 0..before {
            self.refresh(input)?;
            queue(self.clock.stream(), self.slice(input))?;
            if finds == Finds::Idle {
                self.clock.stream().synchronize()?;
            }
        }
        self.refresh(input)?;
        self.clock.prepare(finds)?;
        self.clock
            .elapsed_ms(|stream| queue(stream, self.slice(input)))
    }

    /// Waits for everything that is queued.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.clock.stream().synchronize()
    }

    /// Whether an answer is right.
    pub fn check(&self, name: &str, answer: Answer<T>) -> Result<(), PeersError> {
        let (given, expected): (Number, Number) = match answer {
            // No addition of these values rounds.
            Answer::Sum(given) if self.oracle.accepts(given, 0) => return Ok(()),
            Answer::Sum(given) => (given.into(), self.oracle.expected()),
            Answer::Fold(given) if given == self.fold => return Ok(()),
            Answer::Fold(given) => (given.into(), self.fold.into()),
            Answer::Nothing => return Ok(()),
        };
        Err(PeersError::Wrong {
            name: name.to_owned(),
            element_type: element::name::<T>(),
            n: self.n,
            given,
            expected,
        })
    }

    fn slice(&self, input: &Input) -> Slice<'_, T> {
        match input {
            Input::Overwritten => self.working.as_ref().unwrap_or(&self.input).slice(..self.n),
            Input::Shared { skip } => self.input.slice(*skip..*skip + self.n),
        }
    }

    fn refresh(&mut self, input: &Input) -> Result<(), DeviceError> {
        if matches!(input, Input::Overwritten) {
            let working = match &mut self.working {
                Some(working) => working,
                none => none.insert(self.device.allocate(self.input.len())?),
            };
            self.clock.stream().copy(&self.input, working)?;
        }
        Ok(())
    }
}

/// The exclusive or of all words of 32 bits.
pub fn fold<T: Element>(values: &[T]) -> u32 {
    let words: &[u32] = bytemuck::cast_slice(values);
    words.par_iter().copied().reduce(|| 0, |a, b| a ^ b)
}
