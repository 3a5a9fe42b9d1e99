//! Rows and columns wherever they lie.

use super::*;
use crate::matrix::Batch;

/// So many rows of small types that threads take many at once.
#[test]
fn columns_of_small_types_of_many_rows() {
    for device in &devices() {
        for place in [(60_000, 5, 5, 1), (60_000, 3, 8, 0), (20_011, 20, 24, 3)] {
            let argmax = &mut Reduction::new(device, ArgMax::FIRST).expect("there are kernels");
            is_right(argmax, Along::Columns, place, Bf16::special);
            let argmin = &mut Reduction::new(device, ArgMin::LAST).expect("there are kernels");
            is_right(argmin, Along::Columns, place, i8::whole);
            let argmax = &mut Reduction::new(device, ArgMax::LAST).expect("there are kernels");
            is_right(argmax, Along::Columns, place, F16::special);
            let mean = &mut Reduction::new(device, Mean).expect("there are kernels");
            is_right(mean, Along::Columns, place, u8::whole);
        }
    }
}

/// The best value in the rows around where a block's work meets another's, or its own next one, where rows are taken as one and the first begins
/// anywhere.
fn best_row_is_found<T: Made, O: BuiltIn<T, Output = u64>>(
    device: &Device,
    operator: O,
    (rows, columns, skip): (usize, usize, usize),
    (usual, best): (T, T),
) {
    let mut reduction = Reduction::new(device, operator).expect("there are kernels");
    let matrix = Matrix::contiguous(rows, columns);
    let chosen = reduction.problem(Along::Columns, matrix).choose();
    let Way::Columns(layout) = chosen.way else {
        unreachable!("columns have a layout");
    };
    assert!(layout.fold > 1, "{layout:?}");
    let lines = rows.div_ceil(layout.fold as usize);
    for line in (1..lines).step_by(lines.div_ceil(12)) {
        for row in [line * layout.fold as usize - 1, line * layout.fold as usize] {
            let mut values = vec![usual; skip + rows * columns];
            values[skip + row * columns..][..columns].fill(best);
            let buffer = device.upload(&values).expect("it fits");
            for slices in [layout.slices, layout.slices + 1] {
                let launch = Launch {
                    way: Way::Columns(Layout { slices, ..layout }),
                    blocks: slices,
                    ..chosen
                };
                let mut results = device.allocate(columns).expect("it fits");
                // SAFETY: the chosen launch, or one of more blocks.
                unsafe {
                    reduction.launch_by(None, buffer.slice(skip..), matrix, &mut results, launch)
                }
                .expect("it runs");
                assert_eq!(
                    results.read().expect("it has run"),
                    vec![row as u64; columns],
                    "{} of {matrix:?} from value {skip} on by {launch:?}",
                    reduction.kernels()
                );
            }
        }
    }
}

/// Of some lengths a warp's tile in shared memory has room for a round of rows and most of another, or for most of a round.
#[test]
fn rows_of_every_share_of_a_tile() {
    for device in &devices() {
        let mut sum = Reduction::new(device, Sum).expect("the kernels are there");
        let mut argmax = Reduction::new(device, ArgMax::LAST).expect("the kernels are there");
        for columns in [0, 1, 5, 16, 21, 33, 36, 65, 84, 130, 290, 600, 1500] {
            let place = (150, columns, columns, 1);
            is_right(&mut sum, Along::Rows, place, i8::whole);
            is_right(&mut argmax, Along::Rows, place, i8::whole);
        }
    }
}

#[test]
fn the_best_row_is_found_where_blocks_meet() {
    for device in &devices() {
        let mut places = vec![(5440, 3, 1), (10_880, 3, 3), (20_000, 1, 7), (20_000, 7, 5)];
        // So many rows that there have to be more blocks.
        places.push((200_000, 1, 3));
        for place in places {
            let (less, more) = (0, 9);
            let pair = (i8::whole(less), i8::whole(more));
            best_row_is_found(device, ArgMax::FIRST, place, pair);
            let pair = (i16::whole(more), i16::whole(less));
            best_row_is_found(device, ArgMin::LAST, place, pair);
            let pair = (F16::whole(less), F16::whole(more));
            best_row_is_found(device, ArgMax::LAST, place, pair);
            let pair = (Bf16::whole(more), Bf16::whole(less));
            best_row_is_found(device, ArgMin::FIRST, place, pair);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Wherever rows lie, whatever is in them.
    #[test]
    fn rows_anywhere(
        rows in 0_usize..40,
        columns in 0_usize..200,
        gap in prop_oneof![Just(0), 0_usize..9],
        skip in 0_usize..20,
        bits in 0_u64..=u64::MAX,
    ) {
        let place = (rows, columns, columns + gap, skip);
        let along = if bits % 2 == 0 { Along::Rows } else { Along::Columns };
        let special = |number: u64| f32::special(number ^ bits);
        with_emulator(|device| {
            is_right(&mut Reduction::new(device, ArgMax::FIRST).unwrap(), along, place, special);
            is_right(&mut Reduction::new(device, MinMax).unwrap(), along, place, |number| Bf16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMax::FIRST).unwrap(), along, place, |number| Bf16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMin::LAST).unwrap(), along, place, |number| F16::special(number ^ bits));
            is_right(&mut Reduction::new(device, ArgMin::LAST).unwrap(), along, place, |number| i8::whole(number ^ bits));
            is_right(&mut Reduction::new(device, Mean).unwrap(), along, place, |number| i16::whole(number ^ bits));
            is_right(&mut Reduction::new(device, LogSumExp).unwrap(), along, place, special);
            is_right(&mut Reduction::new(device, Sum).unwrap(), along, place, |number| i8::whole(number ^ bits));
            is_right(&mut Reduction::new(device, StdDev { ddof: 1 }).unwrap(), along, place, f64::whole);
        });
    }
}

/// Rows that begin at any multiple of a value's size, that end within a vector, that overlap and that are all the same one.
#[test]
fn columns_of_rows_at_any_distance() {
    const PLACES: [Place; 10] = [
        (200, 257, 257, 0),
        (61, 1030, 1041, 1),
        (300, 130, 144, 1),
        (33, 129, 160, 5),
        (9, 2101, 2102, 3),
        (3, 1025, 1025, 2),
        (70, 1025, 1025, 7),
        (50, 700, 40, 1),
        (50, 700, 3, 0),
        (5, 700, 0, 2),
    ];
    fn of<T: Made, O: BuiltIn<T, Output: Outcome>>(device: &Device, operator: O) {
        let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
        for place in PLACES {
            is_right(&mut reduction, Along::Columns, place, T::whole);
            is_right(&mut reduction, Along::Columns, place, T::special);
        }
    }
    for device in &devices() {
        of::<i8, _>(device, ArgMax::FIRST);
        of::<u8, _>(device, Variance { ddof: 1 });
        of::<Bool, _>(device, CountNonzero);
        of::<Bf16, _>(device, ArgMin::LAST);
        of::<F16, _>(device, ArgMax::LAST);
        of::<i16, _>(device, Mean);
        of::<f32, _>(device, ArgMax::FIRST);
        of::<f32, _>(device, ArgMax::LAST.with_index::<u32>());
        of::<f32, _>(device, Variance { ddof: 0 });
        of::<i32, _>(device, Sum);
        of::<f64, _>(device, MinMax);
        of::<u64, _>(device, ArgMin::FIRST);
    }
}

/// An axis with others before and after it: several matrices in a launch, in both orders, with one launch for all or one for each place on an axis
/// that goes on in its own way.
fn axes_are_right<T: Made, O: BuiltIn<T, Output: Outcome> + Parallel<T>>(
    device: &Device,
    operator: O,
) {
    let cases: [(&[usize], &[isize], usize); 16] = [
        (&[700, 3, 4], &[12, 4, 1], 1),
        (&[700, 5, 3], &[15, 3, 1], 1),
        (&[5, 40, 33], &[1320, 33, 1], 1),
        (&[2, 4100, 3], &[12_300, 3, 1], 1),
        (&[3, 2, 30, 17], &[1020, 510, 17, 1], 2),
        // Every other row, and two axes that do not go on as one.
        (&[4, 25, 33], &[1650, 66, 1], 1),
        (&[3, 2, 30, 17], &[2000, 510, 17, 1], 2),
        (&[3, 0, 4], &[0, 4, 1], 1),
        (&[0, 3, 4], &[12, 4, 1], 1),
        // Rows that begin at equal distances within a matrix, and at another from matrix to matrix: short ones, some that are whole vectors, few and
        // many, and those that blocks share.
        (&[3, 30, 17], &[700, 20, 1], 2),
        (&[40, 3, 8], &[100, 9, 1], 2),
        (&[4, 7, 64], &[1024, 128, 1], 2),
        (&[3, 9, 1024], &[10_240, 1024, 1], 2),
        (&[2, 2, 2, 300], &[5000, 1300, 310, 1], 3),
        (&[2, 3, 4100], &[13_000, 4200, 1], 2),
        (&[2, 0, 17], &[700, 20, 1], 2),
    ];
    let values = random(40_000, 5, T::whole);
    let buffer = device.upload(&values).expect("it fits");
    let numbers =
        |results: &[O::Output]| -> Vec<[f64; 2]> { results.iter().map(Outcome::numbers).collect() };
    for (shape, strides, axis) in cases {
        let expected = cpu::axis(
            operator,
            &values,
            shape,
            strides,
            axis,
            Order::Deterministic,
        );
        let expected = numbers(&expected.expect("it is inside"));
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = Reduction::new(device, operator).expect("there are kernels");
            let mut reduction = reduction.with_mode(mode);
            let found = reduction.axis(buffer.slice(1..), shape, strides, axis);
            let from_one = cpu::axis(
                operator,
                &values[1..],
                shape,
                strides,
                axis,
                Order::Deterministic,
            );
            let from_one = numbers(&from_one.expect("it is inside"));
            assert_near(
                &numbers(&found.expect("it runs")),
                &from_one,
                &(shape, mode),
            );
            // Queued on what is prepared, twice, since a launch leaves the counters to the next.
            reduction
                .prepare_axis(shape, strides, axis)
                .expect("there is room");
            let mut results = device.allocate(expected.len()).expect("it fits");
            let stream = device.stream().expect("there are streams");
            for _ in 0..2 {
                reduction
                    .queue_axis(&stream, &buffer, (shape, strides, axis), &mut results)
                    .expect("it is prepared");
            }
            let found = results.read().expect("it has run");
            assert_near(&numbers(&found), &expected, &(shape, mode));
        }
    }
}

#[track_caller]
fn assert_near(found: &[[f64; 2]], expected: &[[f64; 2]], of: &dyn Debug) {
    assert_eq!(found.len(), expected.len(), "{of:?}");
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_near = is_same(found[0], expected[0]) && is_same(found[1], expected[1]);
        assert!(
            is_near,
            "result {number} of {of:?}: {found:?}, not {expected:?}"
        );
    }
}

#[test]
fn an_axis_between_others_takes_one_launch() {
    for device in &devices() {
        axes_are_right::<f32, _>(device, ArgMax::FIRST);
        axes_are_right::<i8, _>(device, Variance { ddof: 0 });
        axes_are_right::<i32, _>(device, Sum);
        axes_are_right::<f64, _>(device, StdDev { ddof: 1 });
        axes_are_right::<Bf16, _>(device, ArgMin::LAST);
    }
    let batches = |shape: &[usize], strides: &[isize], axis| {
        let matrices = matrices_of_axis(shape, strides, axis).expect("it is an axis");
        matrices.count()
    };
    assert_eq!(batches(&[700, 3, 4], &[12, 4, 1], 1), 1);
    assert_eq!(batches(&[4, 25, 33], &[1650, 66, 1], 1), 1);
    assert_eq!(batches(&[3, 30, 17], &[700, 20, 1], 2), 1);
    assert_eq!(batches(&[2, 2, 2, 300], &[5000, 1300, 310, 1], 3), 2);
}

/// More matrices than a grid has rows of blocks take several launches of one kernel; rows that blocks share take one for each matrix.
#[test]
fn rows_of_many_matrices_take_few_launches() {
    with_emulator(|device| {
        let reduction = Reduction::<f32, Sum>::new(device, Sum).expect("there are kernels");
        let launches = |rows, columns, matrices, mode| {
            let matrix = Matrix {
                rows,
                columns,
                stride: columns + 1,
            };
            let mut left = Batch {
                matrix,
                matrices,
                distance: 1,
            };
            let mut launches = Vec::new();
            while left.matrices > 0 {
                let untyped = &reduction.kept.untyped;
                let (batch, launch) =
                    untyped.first_launch(device, Along::Rows, left, matrices, mode);
                launches.push((batch.matrices, launch));
                left.matrices -= batch.matrices;
            }
            launches
        };
        for mode in [Mode::Fast, Mode::Deterministic] {
            let [(first, launch), (second, like_it)] = launches(2, 64, 70_000, mode)[..] else {
                panic!("two are enough")
            };
            assert_eq!((first, second, launch), (65_535, 4465, like_it));
            let [.., (1, launch)] = launches(2, 4096, 65_536, mode)[..] else {
                panic!("one is left")
            };
            assert!(matches!(launch.way, Way::Blocks(1) | Way::FixedBlocks));
            assert_eq!(launches(1 << 16, 64, 5, mode).len(), 5);
            assert_eq!(launches(3, 1 << 22, 5, mode).len(), 5);
        }
    });
}
