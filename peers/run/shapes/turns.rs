//! Everybody at one problem, in turn.

use super::asked;
use super::ceiling;
use super::contender::Contender;
use super::library::{Library, Task};
use super::ours::{self, Beside, Solved};
use super::problem::{Element, Problem, ProblemShape};
use super::results::{Expected, Words};
use super::spread::Spread;
use super::values::Inputs;
use crate::clock::Clock;
use crate::error::PeersError;
use crate::process::Process;
use crate::shapes_record::{Group, Missing, Point, ShapesRecord, Time};
use std::cell::RefCell;
use std::rc::Rc;
use warpfold::Matrix;
use warpfold::device::{Buffer, Device, Times};

/// A launch that takes longer than this many milliseconds is timed once.
const LONG_MS: f64 = 50.0;

/// Who takes part, and with what.
pub struct Table<'d> {
    /// Where.
    pub device: &'d Device,
    /// What times those of this process.
    pub clock: Clock,
    /// What reads results.
    pub words: Words<'d>,
    /// What everybody reads.
    pub inputs: &'d Inputs,
    /// Those in C++.
    pub libraries: Vec<Rc<Library>>,
    /// Those that are asked.
    pub processes: Vec<Rc<RefCell<Process>>>,
    /// Timed launches.
    pub repeat: usize,
    /// What the last problem had beside the values, which the next may have as well.
    pub beside: Option<(ProblemShape, Offsets)>,
}

/// Offsets or keys, on the host and on the GPU.
pub struct Offsets {
    offsets: Vec<u32>,
    on_device: Buffer<u32>,
    keys: Option<Buffer<u32>>,
}

/// One who takes part, and its times.
struct Entrant<'a> {
    contender: Box<dyn Contender + 'a>,
    elapsed_ms: Vec<f64>,
    is_slow: bool,
    /// The bytes of one of its results, once it has been verified.
    result_bytes: Option<usize>,
}

impl Table<'_> {
    /// Times everybody at a problem, and puts it on record, as well as who fails.
    ///
    /// # Errors
    /// The GPU has failed for good.
    pub fn measure(
        &mut self,
        problem: &Problem,
        record: &mut ShapesRecord,
    ) -> Result<(), PeersError> {
        let prepared = self.prepare_beside(problem.shape);
        let measured = prepared.and_then(|()| self.measure_prepared(problem, record));
        for process in &self.processes {
            // Where it does not answer any more, it has let go of everything.
            let _ = asked::end(process);
        }
        self.processes
            .retain(|process| !process.borrow_mut().is_gone());
        match measured {
            Err(PeersError::Device(error)) if error.is_fault() => Err(error.into()),
            Err(error) => {
                leave_out(record, "everybody", Some(problem), &error.reason());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn measure_prepared(
        &self,
        problem: &Problem,
        record: &mut ShapesRecord,
    ) -> Result<(), PeersError> {
        let is_graph = problem.group == Group::Graphs;
        let beside = match &self.beside {
            Some((_, beside)) => Beside {
                offsets: Some((&beside.offsets, &beside.on_device)),
                keys: beside.keys.as_ref(),
            },
            None => Beside::default(),
        };
        let solved = ours::solve(self.device, self.inputs, beside, problem)?;
        let Solved {
            ours,
            expected,
            bytes_read,
            bytes_written,
        } = solved;
        let is_beside = matches!(
            problem.shape,
            ProblemShape::Segments(..) | ProblemShape::Keys(_)
        );
        // Who reads values and offsets reads as many bytes side by side.
        let read: Buffer<u64> = self
            .device
            .allocate(if is_beside { bytes_read / 8 } else { 0 })?;
        let from = if is_beside {
            read.address()
        } else {
            self.values(problem.element)
        };
        let to = self.inputs.results.address();
        let ceiling = if is_graph {
            let n = bytes_read / size_of::<f32>();
            ceiling::read_all(self.device, &self.inputs.f32.device, n)
        } else {
            let written = bytes_written.min(self.inputs.results.bytes());
            // SAFETY: both are as long, and kept until the end of this function at least.
            unsafe {
                ceiling::read_and_write(self.device, &self.clock, (from, bytes_read), (to, written))
            }
        };
        let mut all = Vec::new();
        for one in [ceiling, Ok(ours)] {
            let one = one.and_then(|one| match is_graph {
                true => one.captured(&self.clock),
                false => Ok(one),
            });
            self.enter(one.map(|one| Box::new(one) as _), problem, record, &mut all)?;
        }
        let runs: Buffer<u64> = self.device.allocate(1)?;
        let keys_of_runs: Buffer<u32> = self.device.allocate(match problem.shape {
            ProblemShape::Keys(_) => expected.count,
            _ => 0,
        })?;
        let task = self.task(problem, &expected, &runs, &keys_of_runs, beside);
        for library in &self.libraries {
            for index in library.contenders(problem) {
                // SAFETY: the task's memory is kept until the end of this function, and the contenders end before.
                let one = unsafe { library.contender(self.device, index, expected.count, task) };
                let one = one.and_then(|one| match is_graph {
                    true if library.can_be_captured(index) => one.captured(&self.clock),
                    _ => Ok(one),
                });
                let one = one.map_err(|error| PeersError::Contender {
                    name: library.name(index),
                    n: 0,
                    message: error.reason(),
                });
                self.enter(one.map(|one| Box::new(one) as _), problem, record, &mut all)?;
            }
        }
        for process in &self.processes {
            match asked::begin(process, problem, is_graph, to) {
                Ok(contenders) => {
                    for one in contenders {
                        self.enter(Ok(Box::new(one)), problem, record, &mut all)?;
                    }
                }
                Err(error) => {
                    let name = process.borrow().name;
                    leave_out(record, name, Some(problem), &error.reason());
                }
            }
        }
        self.take_turns(&mut all, &expected, problem, record)?;
        drop(read);
        let (rows, columns, spread) = match problem.shape {
            ProblemShape::Matrix(Matrix { rows, columns, .. }, _)
            | ProblemShape::Scan(Matrix { rows, columns, .. }) => (rows, columns, None),
            ProblemShape::Segments(spread, mean) => {
                (expected.count, mean, Some(spread.name().to_owned()))
            }
            ProblemShape::Keys(mean) => (expected.count, mean, None),
        };
        record.points.push(Point {
            group: problem.group,
            operator: problem.operator.name().to_owned(),
            element_type: problem.element.name().to_owned(),
            rows,
            columns,
            spread,
            bytes_read,
            bytes_written,
            times: all.into_iter().map(Entrant::into_time).collect(),
        });
        Ok(())
    }

    /// Lets somebody enter, or says why not.
    fn enter<'a>(
        &self,
        one: Result<Box<dyn Contender + 'a>, PeersError>,
        problem: &Problem,
        record: &mut ShapesRecord,
        all: &mut Vec<Entrant<'a>>,
    ) -> Result<(), PeersError> {
        match one {
            Ok(contender) => all.push(Entrant {
                contender,
                elapsed_ms: Vec::new(),
                is_slow: false,
                result_bytes: None,
            }),
            Err(PeersError::Device(error)) if error.is_fault() => return Err(error.into()),
            Err(PeersError::Contender { name, message, .. }) => {
                leave_out(record, &name, Some(problem), &message);
            }
            Err(error) => leave_out(record, "somebody", Some(problem), &error.to_string()),
        }
        Ok(())
    }

    /// Verifies everybody, times all in turn, and verifies them again.
    fn take_turns(
        &self,
        all: &mut Vec<Entrant<'_>>,
        expected: &Expected<'_>,
        problem: &Problem,
        record: &mut ShapesRecord,
    ) -> Result<(), PeersError> {
        each(all, problem, record, |one| {
            // The first launch compiles and allocates.
            one.contender.time_ms(&self.clock)?;
            one.contender.spoil(&self.words, &self.clock)?;
            let elapsed_ms = one.contender.time_ms(&self.clock)?;
            if elapsed_ms > LONG_MS {
                one.is_slow = true;
                one.elapsed_ms.push(elapsed_ms);
            }
            one.result_bytes = self.check(one, expected)?;
            Ok(())
        })?;
        // Whose results are shorter has less to write.
        if let Some(bytes) = problem.operator.result_bytes() {
            all.retain(|one| one.result_bytes.is_none_or(|of_one| of_one == bytes));
        }
        for _ in 0..self.repeat {
            each(all, problem, record, |one| {
                if !one.is_slow {
                    let elapsed_ms = one.contender.time_ms(&self.clock)?;
                    one.elapsed_ms.push(elapsed_ms);
                }
                Ok(())
            })?;
        }
        each(all, problem, record, |one| {
            if one.is_slow {
                return Ok(());
            }
            // Others of this process write to the same memory in between.
            one.contender.spoil(&self.words, &self.clock)?;
            one.contender.time_ms(&self.clock)?;
            self.check(one, expected).map(drop)
        })
    }

    /// Verifies what the last launch has left; the bytes of a result, if it leaves any.
    fn check(
        &self,
        one: &mut Entrant<'_>,
        expected: &Expected<'_>,
    ) -> Result<Option<usize>, PeersError> {
        let Some(results) = one.contender.results()? else {
            return Ok(None);
        };
        // SAFETY: the results of a contender are memory of this process's device as long as it lives.
        let verdict = unsafe { expected.check(&self.words, self.clock.stream(), &results) }?;
        verdict.map_err(|wrong| PeersError::Contender {
            name: one.contender.name().to_owned(),
            n: expected.count,
            message: format!("its results are wrong: {wrong}"),
        })?;
        Ok(Some(results.of.bytes()))
    }

    fn values(&self, element: Element) -> u64 {
        let of_small = |address: Option<u64>| address.unwrap_or_default();
        match element {
            Element::F32 => self.inputs.f32.device.address(),
            Element::Bf16 => of_small(self.inputs.bf16.as_ref().map(|it| it.device.address())),
            Element::I8 => of_small(self.inputs.i8.as_ref().map(|it| it.device.address())),
        }
    }

    fn task(
        &self,
        problem: &Problem,
        expected: &Expected<'_>,
        runs: &Buffer<u64>,
        keys_of_runs: &Buffer<u32>,
        beside: Beside<'_>,
    ) -> Task {
        let (n, rows, columns) = match problem.shape {
            ProblemShape::Matrix(Matrix { rows, columns, .. }, _)
            | ProblemShape::Scan(Matrix { rows, columns, .. }) => (rows * columns, rows, columns),
            ProblemShape::Segments(..) | ProblemShape::Keys(_) => {
                (self.inputs.f32.host.len(), expected.count, 0)
            }
        };
        Task {
            values: self.values(problem.element),
            keys: beside.keys.map_or(0, Buffer::address),
            offsets: beside.offsets.map_or(0, |(_, offsets)| offsets.address()),
            results: self.inputs.results.address(),
            keys_of_runs: keys_of_runs.address(),
            runs: runs.address(),
            n: n as u64,
            rows: rows as u64,
            columns: columns as u64,
            ..Task::default()
        }
    }

    /// Makes the offsets or keys of this shape, unless they are there.
    fn prepare_beside(&mut self, shape: ProblemShape) -> Result<(), PeersError> {
        let n = self.inputs.f32.host.len();
        let (spread, mean, has_keys) = match shape {
            ProblemShape::Segments(spread, mean) => (spread, mean, false),
            ProblemShape::Keys(mean) => (Spread::Uniform, mean, true),
            ProblemShape::Matrix(..) | ProblemShape::Scan(_) => {
                self.beside = None;
                return Ok(());
            }
        };
        if self.beside.as_ref().is_some_and(|(made, _)| *made == shape) {
            return Ok(());
        }
        self.beside = None;
        let offsets = spread.offsets(mean, n);
        let mut keys = vec![0_u32; if has_keys { n } else { 0 }];
        if has_keys {
            for (run, place) in offsets.windows(2).enumerate() {
                keys[place[0] as usize..place[1] as usize].fill(run as u32);
            }
        }
        let on_device = self.device.upload(&offsets)?;
        let keys = match has_keys {
            true => Some(self.device.upload(&keys)?),
            false => None,
        };
        let beside = Offsets {
            offsets,
            on_device,
            keys,
        };
        self.beside = Some((shape, beside));
        Ok(())
    }
}

impl Entrant<'_> {
    fn into_time(self) -> Time {
        let times = Times {
            elapsed_ms: self.elapsed_ms,
        };
        Time {
            maker: self.contender.maker(),
            name: self.contender.name().to_owned(),
            launches: times.elapsed_ms.len(),
            median_ms: times.median_ms(),
            fastest_ms: times.fastest_ms(),
        }
    }
}

/// Has everybody do something. Who fails at it goes, which is put on record, and the others stay.
fn each(
    all: &mut Vec<Entrant<'_>>,
    problem: &Problem,
    record: &mut ShapesRecord,
    mut act: impl FnMut(&mut Entrant<'_>) -> Result<(), PeersError>,
) -> Result<(), PeersError> {
    let mut fault = None;
    all.retain_mut(|one| {
        if fault.is_some() {
            return true;
        }
        match act(one) {
            Ok(()) => true,
            Err(PeersError::Device(error)) if error.is_fault() => {
                leave_out(
                    record,
                    one.contender.name(),
                    Some(problem),
                    &error.to_string(),
                );
                fault = Some(error);
                false
            }
            Err(error) => {
                let name = one.contender.name();
                leave_out(record, name, Some(problem), &error.reason());
                false
            }
        }
    });
    fault.map_or(Ok(()), |error| Err(error.into()))
}

/// Puts it on record that somebody does not take part, once.
pub fn leave_out(record: &mut ShapesRecord, name: &str, at: Option<&Problem>, reason: &str) {
    let missing = Missing {
        name: name.to_owned(),
        at: at.map(Problem::to_string),
        reason: reason.to_owned(),
    };
    if !record.left_out.contains(&missing) {
        record.left_out.push(missing);
    }
}

/// One of our own calls that was left out.
pub fn wrong_of_ours(record: &ShapesRecord) -> Option<&Missing> {
    let is_ours = |missing: &&Missing| missing.name.starts_with("warpfold");
    record.left_out.iter().find(is_ours)
}
