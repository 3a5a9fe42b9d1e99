//! What is looked up in a record, and how it is written.

use super::record::{Cache, Maker, Measurement, Record};

/// Bytes of an element: those of every record are `i32`.
const BYTES: usize = size_of::<i32>();

/// What our library launches, and what other libraries are compared with.
pub const LIBRARY: &str = "warpfold::sum";

/// The sizes, from small to large.
pub fn sizes(record: &Record) -> Vec<usize> {
    let mut sizes: Vec<usize> = record
        .measurements
        .iter()
        .map(|measurement| measurement.n)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Who takes part, in the order of the record.
pub fn contenders(record: &Record) -> Vec<(Maker, &str)> {
    let mut all = Vec::new();
    for measurement in &record.measurements {
        let one = (measurement.maker, measurement.name.as_str());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The names of our kernels.
pub fn ours(record: &Record) -> Vec<&str> {
    let all = contenders(record).into_iter();
    all.filter(|(maker, _)| *maker == Maker::Warpfold)
        .map(|(_, name)| name)
        .collect()
}

/// One contender's time.
pub fn find<'r>(
    record: &'r Record,
    maker: Maker,
    name: &str,
    n: usize,
    cache: Cache,
) -> Option<&'r Measurement> {
    at(record, n, cache).find(|measurement| measurement.maker == maker && measurement.name == name)
}

/// What the library launches.
pub fn of_library(record: &Record, n: usize, cache: Cache) -> Option<&Measurement> {
    find(record, Maker::Warpfold, LIBRARY, n, cache)
}

/// What is compared with a contender: for a kernel in CUDA C++ ours of the same name, for all others our library.
pub fn counterpart<'r>(record: &'r Record, measurement: &Measurement) -> Option<&'r Measurement> {
    let Measurement { n, cache, .. } = *measurement;
    match measurement.maker {
        Maker::CudaCpp => find(record, Maker::Warpfold, &measurement.name, n, cache),
        _ => of_library(record, n, cache),
    }
}

/// The fastest read of so many elements that was measured, whoever made it.
pub fn ceiling_ms(record: &Record, n: usize, cache: Cache) -> Option<f64> {
    at(record, n, cache)
        .map(|measurement| measurement.median_ms)
        .min_by(f64::total_cmp)
}

/// The bytes of the input through the median time.
pub fn gigabytes_per_second(measurement: &Measurement) -> f64 {
    (measurement.n * BYTES) as f64 / (measurement.median_ms * 1e6)
}

fn at(record: &Record, n: usize, cache: Cache) -> impl Iterator<Item = &Measurement> {
    let measurements = record.measurements.iter();
    measurements.filter(move |measurement| measurement.n == n && measurement.cache == cache)
}

/// A number of elements: `2^24` where it is a power of two.
pub fn size(n: usize) -> String {
    if n.is_power_of_two() {
        format!("2^{}", n.trailing_zeros())
    } else {
        n.to_string()
    }
}

/// Milliseconds to four digits, of which four at most stand behind the point.
pub fn ms(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 10.0 => format!("{value:.2}"),
        value if value >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// The machine, the software and how it was measured, in a few lines.
pub fn provenance(record: &Record) -> Vec<String> {
    let date = record.date.split('T').next().unwrap_or_default();
    let mut lines = vec![
        format!("{}; driver {}; {date}", record.device, record.driver),
        record.compilers.join("; "),
        format!(
            "sum of {}; blocks of {} threads; medians of {} launches, everybody in turn on one input",
            record.element_type, record.block, record.repeat
        ),
    ];
    lines.retain(|line| !line.is_empty());
    lines
}
