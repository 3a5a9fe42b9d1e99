//! How long this computer's processor takes.

use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use warpfold_course::histogram::{Histogram, Image};

/// How often it counts; the median is shown.
pub const RUNS: usize = 5;

/// What the processor took for an image that is in memory.
#[derive(Debug, Serialize)]
pub struct CpuFigures {
    /// How many cores counted.
    pub cores: usize,
    /// The median time.
    pub elapsed_ms: f64,
    /// Bytes of the pixels divided by that time, in 10^9 per second.
    pub gigabytes_per_second: f64,
    /// Whether the counts are those of the oracle.
    pub is_right: bool,
}

impl CpuFigures {
    /// On one core and, where there are more, on all.
    pub fn measure(image: &Image, expected: &Histogram) -> Vec<Self> {
        let all = Histogram::cores();
        let one: (usize, fn(&Image) -> Histogram) = (1, Histogram::on_one_core);
        let mut ways = vec![one];
        if all > 1 {
            ways.push((all, Histogram::of));
        }
        let figures = ways.into_iter().map(|(cores, count)| {
            // The first brings the image into the caches, as the launch before the timed ones does on a GPU.
            let is_right = count(image) == *expected;
            let mut times_ms = [0.0; RUNS].map(|_: f64| {
                let start = Instant::now();
                black_box(count(black_box(image)));
                start.elapsed().as_secs_f64() * 1e3
            });
            times_ms.sort_by(f64::total_cmp);
            let elapsed_ms = times_ms[RUNS / 2];
            Self {
                cores,
                elapsed_ms,
                gigabytes_per_second: 3.0 * image.pixels() as f64 / (elapsed_ms * 1e6),
                is_right,
            }
        });
        figures.collect()
    }

    /// Its name in tables.
    pub fn name(&self) -> String {
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("CPU, {} core{plural}", self.cores)
    }
}
