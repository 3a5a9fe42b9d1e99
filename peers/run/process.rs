//! Contenders that have to live in a process of their own: it opens the same input, and times one launch whenever it is asked to.
//!
//! Each question and each answer is a line of JSON. `peers/python_peers.py` and `peers/cubecl/` are such processes.

use crate::answer::Answer;
use crate::arena::Arena;
use crate::contender::Contender;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::record::{Finds, LeftOut, Maker};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

/// What the process can be asked.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Request<'a> {
    /// To open another input of n elements of a type.
    Open {
        handle: &'a [u8],
        n: usize,
        element_type: &'a str,
    },
    /// To time one launch.
    Time { name: &'a str, finds: Finds },
    /// What the last launch of this contender has left.
    Answer { name: &'a str },
    /// To let go of the input.
    Close {},
}

/// What the process says when it starts.
#[derive(Deserialize)]
struct Greeting {
    versions: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
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
pub struct Done {}

/// Who adds up what was opened.
#[derive(Deserialize)]
pub struct Opened {
    /// Their names.
    pub contenders: Vec<String>,
}

/// The time of a launch.
#[derive(Deserialize)]
pub struct Elapsed {
    /// In milliseconds.
    pub ms: f64,
}

#[derive(Deserialize)]
struct Sum<T> {
    sum: T,
}

/// The process.
pub struct Process {
    /// What it runs: `torch and CuPy`.
    pub name: &'static str,
    /// Who wrote its contenders.
    pub maker: Maker,
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it has found.
    pub versions: Vec<String>,
    /// In what it differs from the others.
    pub notes: Vec<String>,
    /// What it has not found.
    pub left_out: Vec<LeftOut>,
}

/// One contender of the process.
pub struct OfProcess {
    process: Rc<RefCell<Process>>,
    maker: Maker,
    name: String,
    spoilt: bool,
}

impl Process {
    /// Starts the process.
    pub fn start(
        name: &'static str,
        maker: Maker,
        mut command: Command,
    ) -> Result<Self, PeersError> {
        let program = command.get_program().display().to_string();
        let failed = |what: &str| PeersError::Process {
            name,
            message: format!("{program} {what}"),
        };
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&format!("does not start: {error}")))?;
        let requests = process.stdin.take().ok_or_else(|| failed("has no input"))?;
        let answers = process
            .stdout
            .take()
            .ok_or_else(|| failed("has no output"))?;
        let mut process = Self {
            name,
            maker,
            process,
            requests,
            answers: BufReader::new(answers),
            versions: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
        };
        let greeting: Greeting = process.receive()?;
        process.versions = greeting.versions;
        process.notes = greeting.notes;
        process.left_out = greeting.left_out;
        Ok(process)
    }

    /// Lets the process open the input of an arena, and answers with those of it that add up such an input.
    pub fn open<T: Element>(
        this: &Rc<RefCell<Self>>,
        arena: &Arena<'_, T>,
    ) -> Result<Vec<OfProcess>, PeersError> {
        let request = Request::Open {
            handle: &arena.input().ipc_handle()?,
            n: arena.n(),
            element_type: element::name::<T>(),
        };
        let opened: Opened = this.borrow_mut().ask(&request)?;
        let contender = |name| OfProcess {
            process: this.clone(),
            maker: this.borrow().maker,
            name,
            spoilt: true,
        };
        Ok(opened.contenders.into_iter().map(contender).collect())
    }

    /// Lets the process let go of the input, which must not be freed before.
    pub fn close(&mut self) -> Result<(), PeersError> {
        self.ask::<Done>(&Request::Close {}).map(drop)
    }

    /// Whether it has ended.
    pub fn is_gone(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Asks the process something, in a line of JSON, and waits for its answer.
    ///
    /// # Errors
    /// It answers that it failed, or something else, or not at all.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T, PeersError> {
        let line = serde_json::to_string(request).map_err(|error| self.failed(error))?;
        writeln!(self.requests, "{line}").map_err(|error| self.failed(error))?;
        match self.receive()? {
            Reply::Done(answer) => Ok(answer),
            Reply::Failed { failed } => Err(self.failed(failed)),
        }
    }

    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, PeersError> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(self.failed("it ended without an answer")),
            Ok(_) => serde_json::from_str(&line).map_err(|error| {
                self.failed(format_args!("{error} in its answer {}", line.trim()))
            }),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, message: impl Display) -> PeersError {
        PeersError::Process {
            name: self.name,
            message: message.to_string(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl<T: Element> Contender<T> for OfProcess {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError> {
        arena.wait()?;
        let request = Request::Time {
            name: &self.name,
            finds,
        };
        let elapsed: Elapsed = self.process.borrow_mut().ask(&request)?;
        self.spoilt = false;
        Ok(elapsed.ms)
    }

    /// Each launch of the process leaves its sum in memory of its own.
    fn spoil(&mut self) -> Result<(), PeersError> {
        self.spoilt = true;
        Ok(())
    }

    fn answer(&self) -> Result<Answer<T>, PeersError> {
        let mut process = self.process.borrow_mut();
        if self.spoilt {
            return Err(process.failed(format_args!("{} was not launched", self.name)));
        }
        let sum: Sum<T> = process.ask(&Request::Answer { name: &self.name })?;
        Ok(Answer::Sum(sum.sum))
    }
}
