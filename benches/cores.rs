//! `warpfold::cpu` beside ndarray, on all cores and on one: 2^24 values of `f32`, which stay in the caches as far as they fit. Every result is
//! verified first.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{ArrayView2, Axis};
use rayon::ThreadPoolBuilder;
use std::hint::black_box;
use warpfold::Matrix;
use warpfold::cpu::{self, Order};
use warpfold::operator::{Max, Sum, Variance};

const ROWS: usize = 1 << 14;
const COLUMNS: usize = 1 << 10;

fn is_near(left: &[f32], right: &[f32]) -> bool {
    let pairs = left.iter().zip(right);
    left.len() == right.len()
        && pairs.fold(true, |all, (left, right)| {
            all && (left - right).abs() <= 1e-3 * right.abs().max(1.0)
        })
}

fn cores(criterion: &mut Criterion) {
    let values: Vec<f32> = (0..ROWS * COLUMNS)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 8 & 1023) as f32 / 256.0 - 2.0)
        .collect();
    let matrix = Matrix::contiguous(ROWS, COLUMNS);
    let view = ArrayView2::from_shape((ROWS, COLUMNS), &values).expect("it has that shape");
    let one = ThreadPoolBuilder::new().num_threads(1).build();
    let one = one.expect("there is a thread");

    let variance = Variance { ddof: 0 };
    type Call<'a> = &'a (dyn Fn() -> Vec<f32> + Sync);
    let contenders: [(&str, Call<'_>, Call<'_>); 5] = [
        (
            "sum",
            &|| vec![cpu::reduce(Sum, &values, Order::Fast)],
            &|| vec![view.sum()],
        ),
        (
            "max",
            &|| vec![cpu::reduce(Max, &values, Order::Fast)],
            &|| vec![view.fold(f32::MIN, |left, &right| left.max(right))],
        ),
        (
            "sum of rows",
            &|| cpu::rows(Sum, &values, matrix, Order::Fast).expect("they are inside"),
            &|| view.sum_axis(Axis(1)).to_vec(),
        ),
        (
            "sum of columns",
            &|| cpu::columns(Sum, &values, matrix, Order::Fast).expect("they are inside"),
            &|| view.sum_axis(Axis(0)).to_vec(),
        ),
        (
            "variance of rows",
            &|| cpu::rows(variance, &values, matrix, Order::Fast).expect("they are inside"),
            &|| view.var_axis(Axis(1), 0.0).to_vec(),
        ),
    ];
    for (name, ours, theirs) in contenders {
        assert!(is_near(&ours(), &theirs()), "{name}");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(size_of_val(&values[..]) as u64));
        group.sample_size(20);
        group.bench_function(BenchmarkId::new("warpfold", "all cores"), |bencher| {
            bencher.iter(|| black_box(ours()));
        });
        group.bench_function(BenchmarkId::new("warpfold", "one core"), |bencher| {
            one.install(|| bencher.iter(|| black_box(ours())));
        });
        group.bench_function(BenchmarkId::new("ndarray", "one core"), |bencher| {
            bencher.iter(|| black_box(theirs()));
        });
        group.finish();
    }
}

criterion_group!(benches, cores);
criterion_main!(benches);
