//! The complete example: reductions by an operator of one's own, and its kernels one by one.

mod launch;

use launch::{Given, Machine, Random, Watched, machines, values_of};
use warpfold::reduce::Segments;
use warpfold::sum::Mode;
use warpfold::{Device, DeviceChoice, Matrix, Reduction, cpu};
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

/// The emulator, and the first GPU if there is one that can run this text.
fn devices() -> Vec<Device> {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    let emulator = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    [Some(emulator), gpu.filter(|gpu| gpu.sm() >= 80)]
        .into_iter()
        .flatten()
        .collect()
}

/// All calls of the library take an operator of one's own.
#[test]
fn the_library_reduces_by_it() {
    let matrix = Matrix {
        rows: 70,
        columns: 65,
        stride: 67,
    };
    let points = points(70 * 67);
    let offsets = [0_u32, 0, 1, 40, 3000, 3001, 4690];
    let area = |points: &[Point]| Area.of(points.iter().copied());
    let rows: Vec<f32> = points.chunks(67).map(|row| area(&row[..65])).collect();
    let columns: Vec<f32> = (0..65)
        .map(|column| Area.of(points.iter().skip(column).step_by(67).copied()))
        .collect();
    let of_segments: Vec<f32> = offsets
        .windows(2)
        .map(|ends| area(&points[ends[0] as usize..ends[1] as usize]))
        .collect();
    for device in devices() {
        let buffer = device.upload(&points).expect("it fits");
        let segments = Segments::new(&device, &offsets).expect("they are right");
        for mode in [Mode::Fast, Mode::Deterministic] {
            // SAFETY: the text has what `reductions!` makes of this operator and this type by this name.
            let areas = unsafe { Reduction::from_ptx(&device, Area, PTX, "area", None) };
            let mut areas = areas.expect("it is prepared").with_mode(mode);
            assert_eq!(areas.of(&buffer), Ok(area(&points)));
            assert_eq!(areas.of(buffer.slice(3..3)), Ok(0.0));
            assert_eq!(areas.rows(&buffer, matrix), Ok(rows.clone()));
            assert_eq!(areas.columns(&buffer, matrix), Ok(columns.clone()));
            assert_eq!(areas.segments(&buffer, &segments), Ok(of_segments.clone()));
        }
    }
    // And so do the cores.
    assert_eq!(cpu::reduce(Area, &points, cpu::Order::Fast), area(&points));
    let by_cores = cpu::rows(Area, &points, matrix, cpu::Order::Fast);
    assert_eq!(by_cores.ok(), Some(rows));
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
                Given::count(0),
                Given::Number(2_u32.into()),
                Given::slots::<Extent>(2 * rows),
                Given::values(&vec![0_u32; rows]),
                results.clone(),
            ];
            let lanes = [
                Given::count(0),
                Given::Number(16_u32.into()),
                results.clone(),
            ];
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

/// As of an array that the cache does not hold, and as of rows that begin at vectors.
#[test]
fn its_kernels_of_large_arrays_and_aligned_rows_are_clean() {
    let points = points(3000);
    for (kept, n) in [(16, 3000), (5, 2999), (1, 7)] {
        let mut arguments = of_array(&points[..n], 3).to_vec();
        arguments.insert(2, Given::word(kept));
        let mut watched = Watched::new(PTX, "area_large_array", (3, 64), &arguments);
        watched.is_clean();
        watched.is_the_same_in(20);
    }
    for (rows, columns, stride) in [(5, 600, 600), (7, 64, 66), (3, 2, 2)] {
        let matrix = [rows, columns, stride].map(Given::count);
        let mut arguments = vec![Given::values(&points)];
        arguments.extend(matrix);
        arguments.push(Given::room::<f32>(rows));
        let mut watched = Watched::new(PTX, "area_aligned_rows", (rows as u32, 96), &arguments);
        watched.is_clean();
        watched.is_the_same_in(20);
    }
}

#[test]
fn the_order_of_execution_does_not_matter() {
    let mut watched = Watched::new(PTX, "area", (3, 70), &of_array(&points(1000), 3));
    watched.is_clean();
    watched.is_the_same_in(50);
}
