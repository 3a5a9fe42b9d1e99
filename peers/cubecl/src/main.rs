//! CubeCL's sums as contenders: a process that `peers/run/process.rs` starts and asks, a line of JSON for each question and answer.

mod clock;
mod sums;

use clock::{Clock, Finds};
use cubecl::Runtime;
use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::prelude::ComputeClient;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use sums::{Input, Way};

/// What is asked.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    Open {
        handle: Vec<u8>,
        n: usize,
        element_type: String,
    },
    Time {
        name: String,
        finds: Finds,
    },
    Answer {
        name: String,
    },
    Close {},
}

/// What is answered.
#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Opened { contenders: Vec<&'static str> },
    Elapsed { ms: f64 },
    Sum { sum: serde_json::Value },
    Closed {},
    Failed { failed: String },
}

/// What is said first.
#[derive(Serialize)]
struct Greeting {
    versions: Vec<String>,
    notes: Vec<String>,
}

struct Peer {
    client: ComputeClient<CudaRuntime>,
    clock: Clock,
    input: Option<Input>,
}

impl Peer {
    fn reply(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Open {
                handle,
                n,
                element_type,
            } => {
                let input = Input::new(&self.client, &self.clock, &handle, n, &element_type)?;
                let contenders = input.ways().iter().map(|way| way.name()).collect();
                self.input = Some(input);
                Ok(Reply::Opened { contenders })
            }
            Request::Time { name, finds } => {
                let (input, way) = self.contender(&name)?;
                let ms = input.time_ms(&self.clock, way, finds)?;
                Ok(Reply::Elapsed { ms })
            }
            Request::Answer { name } => {
                let (input, way) = self.contender(&name)?;
                let sum = input.sum(way)?;
                Ok(Reply::Sum { sum })
            }
            Request::Close {} => {
                self.input = None;
                self.client.memory_cleanup();
                sums::wait(&self.client)?;
                Ok(Reply::Closed {})
            }
        }
    }

    fn contender(&self, name: &str) -> Result<(&Input, Way), String> {
        let input = self.input.as_ref().ok_or("no input is open")?;
        let way = input.ways().iter().find(|way| way.name() == name);
        Ok((
            input,
            *way.ok_or_else(|| format!("there is no {name} here"))?,
        ))
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let client = CudaRuntime::client(&CudaDevice::new(0));
    let clock = Clock::new().map_err(|error| error.to_string())?;
    let of_nothing = clock.of_nothing_ms()?;
    let mut peer = Peer {
        client,
        clock,
        input: None,
    };
    say(&Greeting {
        versions: vec![format!(
            "CubeCL {}, CubeK {}",
            env!("CUBECL"),
            env!("CUBEK")
        )],
        notes: vec![format!(
            "CubeCL adds up a copy of the input in memory of its own, on a stream of its own that it does not hand out; the events around \
                 it are on another, and {of_nothing:.4} ms apart with nothing between them"
        )],
    })?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let reply = serde_json::from_str(&line)
            .map_err(|error| format!("{error} in {line}"))
            .and_then(|request| peer.reply(request));
        say(&reply.unwrap_or_else(|failed| Reply::Failed { failed }))?;
    }
    Ok(())
}

fn say(what: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(what).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}
