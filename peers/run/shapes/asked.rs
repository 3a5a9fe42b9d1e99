//! Contenders in a process of their own, which opens the same values and leaves its results in memory of this one.
//!
//! Each question and each answer is a line of JSON. `peers/python_shapes.py` is such a process.

use super::contender::Contender;
use super::problem::{Problem, ProblemShape};
use super::results::{ResultType, Results, Words};
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
    name: String,
    n: usize,
    /// The memory for results.
    results: u64,
}

/// Lets a process open memory of this one.
///
/// # Errors
/// It fails at it.
pub fn share(
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
        operator: problem.operator.name(),
        element_type: problem.element.name(),
        rows,
        columns,
        is_graph,
    };
    let opened: Opened = process.borrow_mut().ask(&request)?;
    let contender = |name| Asked {
        process: process.clone(),
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
        Maker::Python
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
