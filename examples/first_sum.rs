//! How long the first sum of a process takes on a GPU: `CUDA_CACHE_DISABLE=1 cargo run --release --example first_sum`.
//!
//! Without that variable the driver finds on disk what it has compiled before. What comes first is the driver's own start, which is no
//! part of a sum; then the first sum, with the memory it takes, the upload of its values and the compilation of its kernel; then the same
//! again. `-- N` gives the number of values.

use std::time::Instant;
use warpfold::{Device, DeviceChoice, sum};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: usize = match std::env::args().nth(1) {
        Some(n) => n.parse()?,
        None => 1 << 20,
    };
    let values: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
    let expected: f32 = values.iter().map(|&value| f64::from(value)).sum::<f64>() as f32;

    let start = Instant::now();
    let device = match Device::open(&DeviceChoice::Gpu(0)) {
        Ok(device) => device,
        Err(reason) => {
            println!("There is no GPU to add up on: {reason}.");
            return Ok(());
        }
    };
    println!("{}", device.describe());
    let report = |what: &str, start: Instant| {
        println!("{what:<19} {:9.3} ms", start.elapsed().as_secs_f64() * 1e3);
    };
    report("start of the driver", start);
    for what in ["first sum", "second sum"] {
        let start = Instant::now();
        assert_eq!(sum(&device, &values)?, expected);
        report(what, start);
    }
    Ok(())
}
