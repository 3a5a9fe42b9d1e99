//! CubeCL as a contender: a process that `peers/run/` starts and asks, a line of JSON for each question and answer. It adds up whole
//! arrays, or, with `shapes` as its argument, reduces the rows and columns of matrices.

mod clock;
mod fastest;
mod memory;
mod peer;
mod shapes;
mod sums;

use clock::Clock;
use cubecl::Runtime;
use cubecl::cuda::{CudaDevice, CudaRuntime};
use peer::{Greeting, answer_all};
use shapes::Shapes;
use std::process::ExitCode;
use sums::Sums;

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
    let argument = std::env::args().nth(1);
    let client = CudaRuntime::client(&CudaDevice::new(0));
    let clock = Clock::new().map_err(|error| error.to_string())?;
    let of_nothing = clock.of_nothing_ms()?;
    let mut greeting = Greeting {
        versions: vec![format!(
            "CubeCL {}, CubeK {}",
            env!("CUBECL"),
            env!("CUBEK")
        )],
        notes: vec![format!(
            "CubeCL reduces a copy of the input in memory of its own, on a stream of its own that it does not hand out; the events around \
                 it are on another, and {of_nothing:.4} ms apart with nothing between them"
        )],
    };
    match argument.as_deref() {
        None => answer_all(
            &greeting,
            Sums {
                client,
                clock,
                input: None,
            },
        ),
        Some("shapes") => {
            greeting.notes.push(shapes::NOTE.to_owned());
            answer_all(&greeting, Shapes::new(client, clock)?)
        }
        Some(other) => Err(format!("it has no {other}, only `shapes`")),
    }
}
