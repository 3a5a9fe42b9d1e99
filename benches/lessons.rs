//! Times of the CPU references and, on a GPU, of every lesson: a group for each part of the course, an id for each lesson, size and state of
//! the cache (`roads/grid_sync/16777216/cold`).
//!
//! The lessons' PTX is loaded, launched and timed by `cust`, as anybody does who writes kernels with rust-cuda: see `with_cust.rs`, which also
//! says what is in the cache. Every result is verified before it is timed, and once more afterwards. Blocks have 512 threads, and a parameter
//! its usual value.
//!
//! Sizes: `WARPFOLD_BENCH_SIZES=2^16,2^24,2^30 cargo bench --bench lessons -- ladder/shuffle`.
//! Without a GPU only the CPU references are timed, and a line says that the groups of the GPU are skipped.

#[cfg(target_os = "linux")]
mod with_cust;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!(
        "Nothing is timed here: this benchmark is built with `cust`, which this repository builds without CUDA on Linux only. \
         `warpfold run ID --device gpu` times a lesson on any system."
    );
}

#[cfg(target_os = "linux")]
fn main() {
    use criterion::Criterion;
    use std::time::Duration;

    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    warpfold_plot::register_letters();
    cpu_references(&mut criterion);
    if let Err(reason) = warpfold_driver::available() {
        eprintln!("The groups of the GPU are skipped: {reason}.");
    } else if let Err(error) = with_cust::lessons(&mut criterion, &sizes(), SEED) {
        eprintln!("The GPU cannot be used: {error}.");
        std::process::exit(2);
    }
    criterion.final_summary();
}

#[cfg(target_os = "linux")]
const SEED: u64 = 42;

#[cfg(target_os = "linux")]
fn sizes() -> Vec<usize> {
    /// The sizes unless the environment says otherwise.
    const USUAL: &str = "2^16,2^20,2^24,2^26";
    let sizes = std::env::var("WARPFOLD_BENCH_SIZES").unwrap_or_else(|_| USUAL.to_owned());
    let parsed: Result<Vec<usize>, String> = sizes
        .split(',')
        .map(warpfold_course::size::parse_count)
        .collect();
    parsed.unwrap_or_else(|error| {
        eprintln!("WARPFOLD_BENCH_SIZES: {error}");
        std::process::exit(2)
    })
}

#[cfg(target_os = "linux")]
fn cpu_references(criterion: &mut criterion::Criterion) {
    use criterion::{BenchmarkId, Throughput};
    use std::hint::black_box;
    use warpfold_course::oracle::{CPU_REFERENCES, cpu_sequential};

    let mut group = criterion.benchmark_group("cpu");
    for n in sizes() {
        let mut values =
            warpfold_course::random::i32_values(n, SEED).expect("there is memory for the values");
        let sum = cpu_sequential(&values);
        group.throughput(Throughput::Bytes(size_of_val(&values[..]) as u64));
        for reference in CPU_REFERENCES {
            let pristine = values.clone();
            assert_eq!((reference.sum)(&mut values), sum, "{}", reference.id);
            values.copy_from_slice(&pristine);
            // One that works in place goes on with what it left: other numbers, the same work.
            group.bench_function(BenchmarkId::new(reference.id, n), |bencher| {
                bencher.iter(|| (reference.sum)(black_box(&mut values)));
            });
            values.copy_from_slice(&pristine);
        }
    }
}
