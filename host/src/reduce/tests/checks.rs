//! What every launch of an operator has to give.

use super::*;
use bytemuck::Zeroable;

/// Rows in memory: how many, how long, how far apart, and how many elements before the first.
pub(super) type Place = (usize, usize, usize, usize);

/// What may reduce these rows or columns, in grids of few blocks, and what the table chooses.
pub(super) fn launches(problem: &Problem) -> Vec<Launch> {
    let matrix = problem.matrix;
    let bytes = matrix.columns * problem.value_bytes;
    let is_packed = matrix.stride == matrix.columns && (1..=2032).contains(&bytes);
    let mut launches = vec![problem.choose()];
    let mut add = |way, blocks, block| launches.push(Launch { way, blocks, block });
    match (problem.along, problem.mode) {
        (Along::Rows, Mode::Fast) => {
            add(Way::Blocks(1), 2, 96);
            add(Way::Whole(33), matrix.rows as u32, 96);
            add(Way::Blocks(3), 5, 33);
            if matrix.rows == 1 {
                add(Way::Large(3), 3, 33);
                add(Way::Large(10), 1, 96);
            }
            add(Way::Lanes(1), 1, 64);
            add(Way::Lanes(8), 2, 32);
            add(Way::Lanes(32), 1, 96);
            if is_packed {
                add(Way::Packed, 2, 64);
            }
        }
        (Along::Rows, Mode::Deterministic) => {
            add(Way::FixedBlocks, 3, 256);
            if matrix.columns <= 256 {
                add(Way::FixedLanes(32), 1, 64);
            }
        }
        (Along::Columns, _) => {}
    }
    launches
}

/// Every launch for these rows, or columns, gives what the operator itself makes of each.
#[track_caller]
pub(super) fn is_right<T: Made, O: BuiltIn<T, Output: Outcome>>(
    reduction: &mut Reduction<'_, T, O>,
    along: Along,
    (rows, columns, stride, skip): Place,
    value: impl Fn(u64) -> T,
) {
    let device = reduction.device;
    let matrix = Matrix {
        rows,
        columns,
        stride,
    };
    let length = skip + matrix.span().expect("it is small");
    let values = random(length, (length + columns) as u64, value);
    let buffer = device.upload(&values).expect("it fits");
    let at = |row: usize, column: usize| values[skip + row * stride + column];
    let count = if along == Along::Rows { rows } else { columns };
    let expected: Vec<[f64; 2]> = (0..count)
        .map(|result| {
            let found = match along {
                Along::Rows => reduction
                    .operator
                    .of((0..columns).map(|column| at(result, column))),
                Along::Columns => reduction.operator.of((0..rows).map(|row| at(row, result))),
            };
            found.numbers()
        })
        .collect();
    let launches = if count == 0 {
        Vec::new()
    } else {
        launches(&reduction.problem(along, matrix))
    };
    for launch in launches {
        let mut results = device
            .upload(&vec![O::Output::zeroed(); count])
            .expect("it fits");
        // SAFETY: the emulator checks every access, and a GPU is given what the kernels allow.
        unsafe { reduction.launch_by(None, buffer.slice(skip..), matrix, &mut results, launch) }
            .expect("it runs");
        let found = results.read().expect("it has run");
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let numbers = found.numbers();
            assert!(
                is_same(numbers[0], expected[0]) && is_same(numbers[1], expected[1]),
                "{}, number {row} of {along:?} of {matrix:?} from value {skip} on by {launch:?}: {found:?}, not {expected:?}",
                reduction.kernels()
            );
        }
    }
}

/// Segments of these lengths, the first of which begins after `skip` values, give what the operator itself makes of each: by the launch that
/// is chosen, by a single block, whose warps have many tiles, and, but for the last two, if their number is counted on the device. So do the
/// runs of keys that the segments with values are.
#[track_caller]
pub(super) fn segments_are_right<
    T: Made,
    O: BuiltIn<T, Output: Outcome>,
    I: Offset + TryFrom<usize>,
>(
    reduction: &mut Reduction<'_, T, O>,
    lengths: &[usize],
    skip: usize,
    value: impl Fn(u64) -> T,
) {
    let device = reduction.device;
    let mut places = vec![skip];
    for length in lengths {
        places.push(places.last().unwrap() + length);
    }
    let values = random(*places.last().unwrap(), skip as u64, value);
    let offsets: Vec<I> = places
        .iter()
        .map(|&place| I::try_from(place).ok().expect("it is small"))
        .collect();
    let buffer = device.upload(&values).expect("it fits");
    let segments = Segments::new(device, &offsets).expect("they do not decrease");
    let chosen = reduction.segments(&buffer, &segments).expect("it runs");
    assert_eq!(chosen.len(), lengths.len());
    let of_one_block = device
        .upload(&vec![O::Output::zeroed(); lengths.len()])
        .expect("it fits");
    let untyped = &mut reduction.kept.untyped;
    let launch = Launch {
        blocks: 1,
        ..untyped.choose_for_segments(device, &segments, reduction.mode)
    };
    // SAFETY: any number of blocks may be launched for these segments, and the slices are of this operator's and this type's.
    let launched = unsafe {
        let (values, results) = (Slice::from(&buffer), Slice::from(&of_one_block));
        let parts = Parts::Segments(&segments);
        untyped.launch_by(device, None, values.bytes(), parts, results.bytes(), launch)
    };
    launched.expect("it runs");
    let of_one_block = of_one_block.read().expect("it has run");
    let count = lengths.len().saturating_sub(2);
    let before = reduction.operator.of(values.first().copied());
    let mut counted = device
        .upload(&vec![before; lengths.len()])
        .expect("it fits");
    let number = device.upload(&[count as u64]).expect("it fits");
    let on_device = device.upload(&offsets).expect("it fits");
    // SAFETY: they are the offsets above.
    let some = unsafe { Segments::on_device(&on_device, *places.last().unwrap()) };
    // SAFETY: it is fewer than there are.
    let some = some.and_then(|all| unsafe { all.counted_by(&number) });
    let stream = device.stream().expect("there are streams");
    reduction
        .queue_segments(&stream, &buffer, &some.expect("it is one"), &mut counted)
        .expect("it is queued");
    let counted = counted.read().expect("it has run");
    let with_values: Vec<u16> = lengths
        .iter()
        .zip(0..)
        .flat_map(|(&length, number)| vec![number; length])
        .collect();
    let keys = device.upload(&with_values).expect("it fits");
    let (keys, of_keys) = reduction
        .by_key(&keys, buffer.slice(skip..))
        .expect("it runs");
    let mut of_keys = keys.iter().zip(&of_keys).peekable();
    for (number, bounds) in places.windows(2).enumerate() {
        let of = values[bounds[0]..bounds[1]].iter().copied();
        let expected = reduction.operator.of(of);
        let or_before = if number < count { &expected } else { &before };
        let of_key = of_keys.next_if(|&(&key, _)| usize::from(key) == number);
        assert_eq!(of_key.is_some(), bounds[0] < bounds[1]);
        let found = [
            (Some(&chosen[number]), &expected, "blocks"),
            (Some(&of_one_block[number]), &expected, "one block"),
            (Some(&counted[number]), or_before, "blocks, counted"),
            (of_key.map(|(_, result)| result), &expected, "key"),
        ];
        for (found, expected, by) in found {
            let Some(found) = found else { continue };
            let (numbers, expected) = (found.numbers(), expected.numbers());
            assert!(
                is_same(numbers[0], expected[0]) && is_same(numbers[1], expected[1]),
                "{}, elements {bounds:?} by {by}: {numbers:?}, not {expected:?}",
                reduction.kernels()
            );
        }
    }
    assert!(of_keys.next().is_none());
}

/// Empty segments, a long one among short ones, and so many that a warp does not know all ends at once.
pub(super) fn lengths() -> Vec<usize> {
    let short = (0..400).map(|place| place * 7 % 5);
    short.chain([0, 3000, 0, 40, 33, 32, 1, 0]).collect()
}

pub(super) const PLACES: [Place; 14] = [
    (1, 0, 0, 0),
    (1, 1, 1, 3),
    (1, 4099, 4099, 1),
    (1, 20_011, 20_011, 0),
    (0, 7, 7, 0),
    (300, 1, 1, 1),
    (300, 2, 2, 0),
    (131, 3, 3, 5),
    (64, 16, 16, 0),
    (35, 33, 33, 2),
    (20, 33, 40, 1),
    (9, 100, 100, 0),
    (3, 511, 0, 0),
    (4, 1025, 1025, 7),
];

/// Segments of the lengths of all places.
pub(super) fn awkward_lengths() -> Vec<usize> {
    PLACES.map(|(_, columns, _, _)| columns).to_vec()
}

/// In the deterministic order results have the same bits as on the cores, in every `step`-th place and of segments.
pub(super) fn bits_are_those_of_the_cores<T: Made, O: BuiltIn<T, Output: Outcome> + Parallel<T>>(
    in_order: &mut Reduction<'_, T, O>,
    step: usize,
) {
    let (device, operator) = (in_order.device, in_order.operator);
    let kernels = in_order.kernels().to_owned();
    let is_alike = |found: Vec<O::Output>, expected: Vec<O::Output>, of: &dyn Debug| {
        // What is written tells all floats apart but those that are no numbers.
        assert_eq!(
            format!("{found:?}"),
            format!("{expected:?}"),
            "{kernels} {of:?}"
        );
    };
    for (rows, columns, stride, skip) in PLACES.into_iter().step_by(step) {
        let matrix = Matrix {
            rows,
            columns,
            stride,
        };
        let values = random(skip + matrix.span().expect("it is small"), 9, T::rough);
        let (buffer, values) = (device.upload(&values).expect("it fits"), &values[skip..]);
        let found = in_order
            .rows(buffer.slice(skip..), matrix)
            .expect("it runs");
        let expected = cpu::rows(operator, values, matrix, Order::Deterministic);
        is_alike(found, expected.expect("it is inside"), &(matrix, "rows"));
        let found = in_order
            .columns(buffer.slice(skip..), matrix)
            .expect("it runs");
        let expected = cpu::columns(operator, values, matrix, Order::Deterministic);
        is_alike(found, expected.expect("it is inside"), &(matrix, "columns"));
    }
    let mut offsets = vec![5_u32];
    for length in awkward_lengths() {
        offsets.push(offsets.last().unwrap() + length as u32);
    }
    let values = random(*offsets.last().unwrap() as usize, 9, T::rough);
    let buffer = device.upload(&values).expect("it fits");
    let segments = Segments::new(device, &offsets).expect("they do not decrease");
    let found = in_order.segments(&buffer, &segments).expect("it runs");
    let expected = cpu::segments(operator, &values, &offsets, Order::Deterministic);
    is_alike(found, expected.expect("they are inside"), &offsets);
}

/// In every `step`-th place.
pub(super) fn pair_is_right<T: Made, O: BuiltIn<T, Output: Outcome> + Parallel<T>>(
    device: &Device,
    operator: O,
    step: usize,
) {
    let mut reduction = Reduction::new(device, operator).expect("the kernels are there");
    let is_product = operator.kernels().0 == "product";
    for place in PLACES.into_iter().step_by(step) {
        // A product of many numbers overflows or is 0.
        let whole = |number| {
            if is_product {
                T::whole(6 + u64::from(number % 64 == 0))
            } else {
                T::whole(number)
            }
        };
        for along in [Along::Rows, Along::Columns] {
            is_right(&mut reduction, along, place, whole);
            is_right(&mut reduction, along, place, T::special);
        }
    }
    let special = |number| {
        if is_product {
            T::whole(6)
        } else {
            T::special(number)
        }
    };
    segments_are_right::<T, O, u64>(&mut reduction, &lengths(), 3, special);
    segments_are_right::<T, O, u32>(&mut reduction, &awkward_lengths(), 1, special);
    let mut in_order = reduction.with_mode(Mode::Deterministic);
    for place in PLACES.into_iter().step_by(step) {
        for along in [Along::Rows, Along::Columns] {
            is_right(&mut in_order, along, place, T::special);
        }
    }
    bits_are_those_of_the_cores(&mut in_order, step);
}
