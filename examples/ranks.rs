//! Several processes that reduce an array together, one per GPU: start it by a launcher, as in
//!
//! ```console
//! $ torchrun --no-python --nproc-per-node 2 target/release/examples/ranks 2^28
//! $ mpirun -n 2 target/release/examples/ranks
//! $ srun -n 8 target/release/examples/ranks
//! ```
//!
//! Each rank makes its part of the values, and checks the results, which it knows. If the ranks use NCCL, a reduction is then captured into a
//! graph and launched again and again. Without a launcher there is one rank.
//!
//! A second argument says how they exchange results (best, nccl, sockets), and a third makes a rank fail: `ends:1`, `ends-midway:1` or `sleeps:1`.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use warpfold::device::{DeviceError, Stream};
use warpfold::operator::{ArgMax, Max, Mean, Min, Sum, Variance};
use warpfold::ranks::{By, Options, Place, RankReduction, Ranks};
use warpfold::sum::Mode;
use warpfold::{Device, Matrix};

/// How often a reduction is timed.
const REPEAT: usize = 100;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let n: u64 = match std::env::args().nth(1) {
        Some(text) => match text.strip_prefix("2^") {
            Some(exponent) => 1 << exponent.parse::<u32>()?.min(40),
            None => text.parse()?,
        },
        None => 1 << 20,
    };
    let n = n.next_multiple_of(64);
    let by = std::env::args().nth(2).unwrap_or("best".to_owned());
    // For what becomes of the others: a rank that ends or sleeps, before it begins an operation or when the others are in the middle of it.
    let fault = std::env::args().nth(3).unwrap_or_default();
    let place = match Place::from_environment()? {
        Some(place) => place,
        None => Place::new(0, 1)?,
    };
    let device = Device::open(&place.device_choice())?;
    let options = Options {
        by: by.parse::<By>()?,
        patience: Duration::from_secs(20),
    };
    let start = Instant::now();
    let ranks = Ranks::join(&device, &place, options)?;
    let rank = ranks.rank();
    let say = |text: String| println!("rank {rank} of {}: {text}", ranks.size());
    say(format!(
        "by {} on {}, started by {}, together after {:.0} ms",
        ranks.describe(),
        device.describe(),
        place.launcher(),
        start.elapsed().as_secs_f64() * 1e3
    ));

    // 0, 1, … 63 and again: whole numbers, so that any order gives the same sum.
    let part = ranks.part(n);
    let value = |place: u64| (place % 64) as f32;
    let values: Vec<f32> = part.clone().map(value).collect();
    let values = device.upload(&values)?;
    let expected = (0..n.min(1 << 21)).map(value).map(f64::from).sum::<f64>();
    let mut sum = RankReduction::new(&ranks, Sum)?;
    let total = sum.of(&values)?;
    if n <= 1 << 21 {
        check("sum", f64::from(total), expected)?;
    }
    if fault == format!("ends:{rank}") {
        std::process::abort();
    }
    check(
        "argmax",
        RankReduction::new(&ranks, ArgMax::LAST)?.of(&values)? as f64,
        (n / 64 * 64 - 1) as f64,
    )?;
    check(
        "max",
        RankReduction::new(&ranks, Max)?.of(&values)?.into(),
        63.0,
    )?;
    let mean = RankReduction::new(&ranks, Mean)?
        .with_mode(Mode::Deterministic)
        .of(&values)?;
    let variance = RankReduction::new(&ranks, Variance { ddof: 0 })?.of(&values)?;
    check("mean", (f64::from(mean) * 100.0).round(), 3150.0)?;
    check("variance", f64::from(variance).round(), 341.0)?;
    // One NaN, on the last rank, and a rank without values.
    let some = if rank + 1 == ranks.size() {
        vec![1.0, f32::NAN]
    } else {
        vec![2.0; rank as usize]
    };
    let some = device.upload(&some)?;
    let least = RankReduction::new(&ranks, Min)?.of(&some)?;
    check("min with NaN", f64::from(u8::from(least.is_nan())), 1.0)?;
    // Columns of a matrix whose rows are shared out unequally.
    let rows = 10 * rank as usize;
    let matrix = Matrix::contiguous(rows, 7);
    let ones = device.upload(&vec![1_i32; rows * 7])?;
    let mut columns = RankReduction::new(&ranks, Sum)?;
    let all_rows: u32 = (0..ranks.size()).map(|rank| 10 * rank).sum();
    for (of, results) in [
        ("columns", columns.columns(&ones, matrix)?),
        ("own columns", columns.scatter_columns(&ones, matrix)?),
    ] {
        let right = results
            .iter()
            .filter(|&&result| result == all_rows as i32)
            .count();
        check(of, right as f64, results.len() as f64)?;
    }
    say("all results are right".to_owned());

    let stream = device.stream()?;
    let mut result = device.allocate(1)?;
    sum.prepare(values.len())?;
    if fault == format!("ends-midway:{rank}") {
        std::process::abort();
    } else if fault == format!("sleeps:{rank}") {
        std::thread::sleep(Duration::from_secs(60));
    }
    let queue = |sum: &mut RankReduction<'_, '_, f32, Sum>, stream: &Stream, result: &mut _| {
        sum.queue(stream, &values, result)
    };
    let time = |queue: &mut dyn FnMut() -> Result<(), Box<dyn Error>>| {
        let mut times = Vec::new();
        for _ in 0..REPEAT {
            let start = Instant::now();
            queue()?;
            ranks.wait(&stream)?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        Ok::<f64, Box<dyn Error>>(times[REPEAT / 2])
    };
    let queued = time(&mut || Ok(queue(&mut sum, &stream, &mut result)?))?;
    let mut text = format!("sum of {n} f32, queued and waited for: {queued:.1} us");
    if ranks.describe().starts_with("NCCL") {
        let graph = stream.capture(|stream| {
            let queued = queue(&mut sum, stream, &mut result);
            queued.map_err(|error| DeviceError::Refused(error.to_string()))
        })?;
        let graph = graph.instantiate()?;
        // SAFETY: the values, the result and the reduction stay until the end.
        let launched = time(&mut || Ok(unsafe { graph.launch(&stream) }?))?;
        text += &format!(", as a graph: {launched:.1} us");
        drop(graph);
    }
    check("sum again", result.read()?[0].into(), total.into())?;
    say(text);
    Ok(())
}

fn check(name: &str, found: f64, expected: f64) -> Result<(), Box<dyn Error>> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{name} is {found} and should be {expected}").into())
    }
}
