//! Contenders in a process of their own, which opens the same values and leaves its results in memory of this one.
//!
//! Each question and each answer is a line of JSON. `peers/python_shapes.py` is such a process, and `peers/cubecl/` another.

use super::contender::Contender;
use super::problem::{Problem, ProblemShape};
use super::results::{ResultType, Results, Words};
use super::values::Inputs;
use crate::clock::Clock;
use crate::error::PeersError;
use crate::process::{Done, Elapsed, Opened, Process};
use crate::record::Maker;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use warpfold::{Along, Matrix};

/// What the process can be asked.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Request<'a> {
    /// To open memory: the values of a type, or `results`, where it leaves its own.
    Share {
        what: &'a str,
        handle: &'a [u8],
        bytes: usize,
    },
    /// Who solves this problem.
    Begin {
        kind: &'static str,
        operator: &'static str,
        element_type: &'static str,
        rows: usize,
        columns: usize,
        is_graph: bool,
    },
    /// To forget what the last launch of a contender has left.
    Spoil { name: &'a str },
    /// To time one launch.
    Time { name: &'a str },
    /// To leave what the last launch has left in the memory for results.
    Leave { name: &'a str },
    /// To let go of the problem.
    End {},
}

#[derive(Deserialize)]
struct Left {
    of: String,
    count: usize,
}

/// One contender of a process.
pub struct Asked {
    process: Rc<RefCell<Process>>,
    maker: Maker,
    name: String,
    n: usize,
    /// The memory for results.
    results: u64,
}

/// Lets a process open what it reads and where it leaves its results.
///
/// # Errors
/// It fails at it, or the system has no handles for other processes.
pub fn share(process: &Rc<RefCell<Process>>, inputs: &Inputs) -> Result<(), PeersError> {
    let f32 = &inputs.f32.device;
    share_memory(process, "f32", &f32.ipc_handle()?, f32.bytes())?;
    if let Some(bf16) = &inputs.bf16 {
        let bf16 = &bf16.device;
        share_memory(process, "bf16", &bf16.ipc_handle()?, bf16.bytes())?;
    }
    if let Some(i8) = &inputs.i8 {
        let i8 = &i8.device;
        share_memory(process, "i8", &i8.ipc_handle()?, i8.bytes())?;
    }
    let results = &inputs.results;
    share_memory(process, "results", &results.ipc_handle()?, results.bytes())
}

fn share_memory(
    process: &Rc<RefCell<Process>>,
    what: &str,
    handle: &[u8],
    bytes: usize,
) -> Result<(), PeersError> {
    let request = Request::Share {
        what,
        handle,
        bytes,
    };
    process.borrow_mut().ask::<Done>(&request).map(drop)
}

/// Those of the process that solve this problem, and leave results at this address.
///
/// # Errors
/// It fails at it.
pub fn begin(
    process: &Rc<RefCell<Process>>,
    problem: &Problem,
    is_graph: bool,
    results: u64,
) -> Result<Vec<Asked>, PeersError> {
    let (kind, matrix) = match problem.shape {
        ProblemShape::Matrix(matrix, Along::Rows) => ("rows", matrix),
        ProblemShape::Matrix(matrix, Along::Columns) => ("columns", matrix),
        ProblemShape::Scan(matrix) => ("scan", matrix),
        ProblemShape::Segments(..) | ProblemShape::Keys(_) => return Ok(Vec::new()),
    };
    let Matrix { rows, columns, .. } = matrix;
    let request = Request::Begin {
        kind,
        operator: problem.operator.asked(),
        element_type: problem.element.name(),
        rows,
        columns,
        is_graph,
    };
    let opened: Opened = process.borrow_mut().ask(&request)?;
    let maker = process.borrow().maker;
    let contender = |name| Asked {
        process: process.clone(),
        maker,
        name,
        n: rows * columns,
        results,
    };
    Ok(opened.contenders.into_iter().map(contender).collect())
}

/// Lets the process let go of the problem.
///
/// # Errors
/// It fails at it.
pub fn end(process: &Rc<RefCell<Process>>) -> Result<(), PeersError> {
    process.borrow_mut().ask::<Done>(&Request::End {}).map(drop)
}

impl Asked {
    fn ask<T: serde::de::DeserializeOwned>(&self, request: &Request<'_>) -> Result<T, PeersError> {
        self.process.borrow_mut().ask(request)
    }
}

impl Contender for Asked {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn spoil(&mut self, _: &Words<'_>, clock: &Clock) -> Result<(), PeersError> {
        clock.stream().synchronize()?;
        self.ask::<Done>(&Request::Spoil { name: &self.name })
            .map(drop)
    }

    fn time_ms(&mut self, clock: &Clock) -> Result<f64, PeersError> {
        clock.stream().synchronize()?;
        let elapsed: Elapsed = self.ask(&Request::Time { name: &self.name })?;
        Ok(elapsed.ms)
    }

    fn results(&mut self) -> Result<Option<Results>, PeersError> {
        let left: Left = self.ask(&Request::Leave { name: &self.name })?;
        let of = ResultType::of_name(&left.of).ok_or_else(|| PeersError::Contender {
            name: self.name.clone(),
            n: self.n,
            message: format!(
                "its results are `{}`, which this program does not know",
                left.of
            ),
        })?;
        Ok(Some(Results {
            address: self.results,
            count: left.count,
            of,
        }))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::shapes::problem::{Element, Operator};
    use crate::shapes_record::Group;
    use std::process::Command;
    use warpfold::Device;
    use warpfold::device::DeviceChoice;

    /// A process that says this, a line for each question after the first, which it says unasked.
    fn process(lines: &[&str]) -> Rc<RefCell<Process>> {
        let script =
            format!("echo '{}'", lines.join("'; read question; echo '")) + "; read question";
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let process = Process::start("CubeCL", Maker::Rust, command).expect("it greets");
        Rc::new(RefCell::new(process))
    }

    const ROWS: Problem = Problem {
        group: Group::Rows,
        operator: Operator::ArgMax,
        element: Element::F32,
        shape: ProblemShape::Matrix(Matrix::contiguous(4, 8), Along::Rows),
    };

    #[test]
    fn contenders_are_by_the_maker_of_their_process_and_their_results_here() {
        let process = process(&[
            r#"{"versions":["CubeCL 1.0.0"]}"#,
            r#"{"contenders":["cubek_reduce::reduce"]}"#,
            r#"{"ms":1.5}"#,
            r#"{"of":"u32","count":4}"#,
            r#"{"of":"u128","count":4}"#,
            r#"{"failed":"it broke"}"#,
        ]);
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let clock = Clock::new(&device).expect("the kernels are PTX");
        let mut contenders = begin(&process, &ROWS, false, 4096).expect("it answers");
        let [one] = &mut contenders[..] else {
            panic!("there is one contender");
        };
        assert_eq!(
            (one.maker(), one.name()),
            (Maker::Rust, "cubek_reduce::reduce")
        );
        assert_eq!(one.time_ms(&clock).ok(), Some(1.5));
        let results = Results {
            address: 4096,
            count: 4,
            of: ResultType::U32,
        };
        assert_eq!(one.results().ok(), Some(Some(results)));
        let unknown = one
            .results()
            .expect_err("there is no such type")
            .to_string();
        assert!(unknown.contains("u128"), "{unknown}");
        let failed = one.results().expect_err("it says so").to_string();
        assert!(failed.contains("it broke"), "{failed}");
    }

    #[test]
    fn nobody_is_asked_for_segments() {
        let process = process(&[r#"{"versions":["CubeCL 1.0.0"]}"#]);
        let segments = Problem {
            shape: ProblemShape::Keys(4),
            ..ROWS
        };
        assert!(
            begin(&process, &segments, false, 0)
                .expect("nothing is asked")
                .is_empty()
        );
    }
}
