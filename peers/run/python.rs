//! torch and CuPy: a Python process that opens the same input and times one launch whenever it is asked to.

use crate::arena::{Answer, Arena};
use crate::contender::Contender;
use crate::error::PeersError;
use crate::record::{Cache, LeftOut, Maker};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

const SCRIPT: &str = include_str!("../python_peers.py");

/// What the process can be asked.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Request<'a> {
    /// To open another input.
    Open { handle: &'a [u8], n: usize },
    /// To time one launch.
    Time { name: &'a str, cache: Cache },
    /// What the last launch of this contender has left.
    Answer { name: &'a str },
    /// To let go of the input.
    Close {},
}

/// What the process says when it starts.
#[derive(Deserialize)]
struct Greeting {
    versions: Vec<String>,
    contenders: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// What it says to a request.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply<T> {
    Failed { failed: String },
    Done(T),
}

/// Nothing to tell.
#[derive(Deserialize)]
struct Done {}

#[derive(Deserialize)]
struct Elapsed {
    ms: f64,
}

#[derive(Deserialize)]
struct Sum {
    sum: i32,
}

/// The process.
pub struct Python {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it has found.
    pub versions: Vec<String>,
    contenders: Vec<String>,
    /// What it has not.
    pub left_out: Vec<LeftOut>,
}

/// One contender of the process.
pub struct OfPython {
    python: Rc<RefCell<Python>>,
    name: String,
    spoilt: bool,
}

impl Python {
    /// Starts the process.
    pub fn start(interpreter: &Path) -> Result<Self, PeersError> {
        let failed = |what: &str| PeersError::Python(format!("{} {what}", interpreter.display()));
        let mut process = Command::new(interpreter)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&format!("does not start: {error}")))?;
        let requests = process.stdin.take().ok_or_else(|| failed("has no input"))?;
        let answers = process
            .stdout
            .take()
            .ok_or_else(|| failed("has no output"))?;
        let mut python = Self {
            process,
            requests,
            answers: BufReader::new(answers),
            versions: Vec::new(),
            contenders: Vec::new(),
            left_out: Vec::new(),
        };
        let greeting: Greeting = python.receive()?;
        python.versions = greeting.versions;
        python.contenders = greeting.contenders;
        python.left_out = greeting.left_out;
        Ok(python)
    }

    /// Lets the process open the input of an arena.
    pub fn open(&mut self, arena: &Arena) -> Result<(), PeersError> {
        let request = Request::Open {
            handle: &arena.input().ipc_handle()?,
            n: arena.n(),
        };
        self.ask::<Done>(&request).map(drop)
    }

    /// Lets the process let go of the input, which must not be freed before.
    pub fn close(&mut self) -> Result<(), PeersError> {
        self.ask::<Done>(&Request::Close {}).map(drop)
    }

    /// Its contenders.
    pub fn contenders(this: &Rc<RefCell<Self>>) -> Vec<OfPython> {
        let contender = |name: &String| OfPython {
            python: this.clone(),
            name: name.clone(),
            spoilt: true,
        };
        this.borrow().contenders.iter().map(contender).collect()
    }

    /// What could have taken part.
    pub fn names(&self) -> &[String] {
        &self.contenders
    }

    fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        request: &Request<'_>,
    ) -> Result<T, PeersError> {
        let failed = |error: &dyn std::fmt::Display| PeersError::Python(error.to_string());
        let line = serde_json::to_string(request).map_err(|error| failed(&error))?;
        writeln!(self.requests, "{line}").map_err(|error| failed(&error))?;
        match self.receive()? {
            Reply::Done(answer) => Ok(answer),
            Reply::Failed { failed } => Err(PeersError::Python(failed)),
        }
    }

    fn receive<T: for<'de> Deserialize<'de>>(&mut self) -> Result<T, PeersError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(PeersError::Python("it ended without an answer".to_owned())),
            Ok(_) => serde_json::from_str(&line).map_err(|error| {
                PeersError::Python(format!("{error} in its answer {}", line.trim()))
            }),
            Err(error) => Err(PeersError::Python(error.to_string())),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Contender for OfPython {
    fn maker(&self) -> Maker {
        Maker::Python
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena, cache: Cache) -> Result<f64, PeersError> {
        arena.wait()?;
        let request = Request::Time {
            name: &self.name,
            cache,
        };
        let elapsed: Elapsed = self.python.borrow_mut().ask(&request)?;
        self.spoilt = false;
        Ok(elapsed.ms)
    }

    /// Each launch of Python's leaves its sum in memory of its own.
    fn spoil(&mut self) -> Result<(), PeersError> {
        self.spoilt = true;
        Ok(())
    }

    fn answer(&self) -> Result<Answer, PeersError> {
        if self.spoilt {
            return Err(PeersError::Python(format!(
                "{} was not launched",
                self.name
            )));
        }
        let sum: Sum = self
            .python
            .borrow_mut()
            .ask(&Request::Answer { name: &self.name })?;
        Ok(Answer::Sum(sum.sum))
    }
}
