//! The complete example: the kernels of an operator of its own, launched by the library.

mod launch;

use launch::{Given, Machine, Random, Watched, machines, values_of};
use warpfold_device::operator::Operator;
use warpfold_example_kernels::extent::{Area, Extent, Point};

const PTX: &str = include_str!("../ptx/parts.sm_80.ptx");

fn points(n: usize) -> Vec<Point> {
    let mut random = Random(n as u64);
    let mut coordinate = || (random.next().unwrap() % 2000) as f32 / 8.0 - 100.0;
    (0..n)
        .map(|_| Point {
            x: coordinate(),
            y: coordinate(),
        })
        .collect()
}

fn of_array(points: &[Point], grid: u32) -> [Given; 5] {
    [
        Given::shifted(points, 1),
        Given::count(points.len()),
        Given::slots::<Extent>(grid as usize),
        Given::values(&[0_u32]),
        Given::room::<f32>(1),
    ]
}

fn area_of_array(machine: &Machine, points: &[Point], shape: (u32, u32)) -> f32 {
    let left = machine.launch("area", shape, &of_array(points, shape.0), 2);
    assert_eq!(values_of::<u32>(&left[3]), [0], "the counter");
    values_of(&left[4])[0]
}

#[test]
fn the_area_is_that_of_the_cpu() {
    for machine in machines(PTX, 80) {
        for shape in [(1, 1), (3, 33), (4, 256), (2, 1000)] {
            for n in [0, 1, 2, 31, 700, 4099] {
                let points = points(n);
                let area = Area.of(points.iter().copied());
                assert_eq!(
                    area_of_array(&machine, &points, shape),
                    area,
                    "{n}, {shape:?}"
                );
            }
        }
    }
}

#[test]
fn each_row_has_an_area() {
    for machine in machines(PTX, 80) {
        for (rows, columns, gap) in [(1, 0, 1), (9, 1, 0), (50, 3, 0), (7, 33, 2), (3, 700, 1)] {
            let stride = columns + gap;
            let points = points(rows * stride);
            let expected: Vec<f32> = points
                .chunks(stride)
                .map(|row| Area.of(row[..columns].iter().copied()))
                .collect();
            let matrix = [
                Given::values(&points),
                Given::count(rows),
                Given::count(columns),
                Given::count(stride),
            ];
            let results = Given::room::<f32>(rows);
            let parts = [
                Given::Number(2_u32.into()),
                Given::slots::<Extent>(2 * rows),
                Given::values(&vec![0_u32; rows]),
                results.clone(),
            ];
            let lanes = [Given::Number(16_u32.into()), results.clone()];
            let mut kernels = vec![
                ("area_rows", (2, 65), [&matrix[..], &parts[..]].concat()),
                (
                    "area_short_rows",
                    (2, 64),
                    [&matrix[..], &lanes[..]].concat(),
                ),
            ];
            if gap == 0 {
                let packed = [&matrix[..3], &[results]].concat();
                kernels.push(("area_packed_rows", (1, 32), packed));
            }
            for (kernel, shape, arguments) in kernels {
                let left = machine.launch(kernel, shape, &arguments, 1);
                let found = left.last().expect("there are arguments");
                assert_eq!(
                    values_of::<f32>(found),
                    expected,
                    "{kernel}, {rows} × {columns}"
                );
                Watched::new(PTX, kernel, shape, &arguments).is_clean();
            }
        }
    }
}

#[test]
fn the_order_of_execution_does_not_matter() {
    let mut watched = Watched::new(PTX, "area", (3, 70), &of_array(&points(1000), 3));
    watched.is_clean();
    watched.is_the_same_in(50);
}
