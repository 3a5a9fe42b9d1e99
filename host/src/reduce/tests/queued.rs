//! Reductions that are queued on streams or captured into graphs.

use super::*;

/// Launches that share a workspace come one after another, although the streams have no order.
#[test]
fn reductions_on_several_streams_share_a_workspace() {
    for device in devices() {
        let (n, rounds) = if device.is_gpu() {
            (1 << 24, 40)
        } else {
            (1 << 12, 2)
        };
        let values = device.upload(&vec![1_u32; n]).expect("it fits");
        let many: Vec<u32> = (0..=n as u32 / 64).map(|segment| segment * 64).collect();
        let many = Segments::new(&device, &many).expect("they are right");
        let few = Segments::new(&device, &[0_u32, 5, n as u32]).expect("they are right");
        let streams = [(); 3].map(|()| device.non_blocking_stream().expect("there are streams"));
        let mut sums = Reduction::<u32, Sum>::new(&device, Sum).expect("it is prepared");
        sums.prepare_segments(&many).expect("there is room");
        sums.prepare_segments(&few).expect("there is room");
        let mut of_many = device.allocate(many.len()).expect("it fits");
        let mut of_few = [(); 3].map(|()| device.allocate(2).expect("it fits"));
        for _ in 0..rounds {
            for (stream, of_few) in streams.iter().zip(&mut of_few) {
                sums.queue_segments(stream, &values, &few, of_few)
                    .expect("it is prepared");
                sums.queue_segments(&streams[0], &values, &many, &mut of_many)
                    .expect("it is prepared");
            }
            assert_eq!(of_many.read().expect("it is there"), vec![64; many.len()]);
            for of_few in &of_few {
                let found = of_few.read().expect("it is there");
                assert_eq!(found, [5, n as u32 - 5]);
            }
        }
    }
}

#[test]
fn results_stay_on_the_device_and_graphs_make_them_again() {
    for device in devices() {
        let matrix = Matrix::contiguous(2, 600_000);
        let mut buffer = device.upload(&vec![1.0_f32; 1_200_000]).expect("it fits");
        let mut sums = device.upload(&[0.0_f32; 2]).expect("it fits");
        let mut sum = device.upload(&[0.0_f32]).expect("it fits");
        let mut reduction = Reduction::new(&device, Sum).expect("it is prepared");
        let stream = device.stream().expect("there are streams");
        let unprepared = stream.capture(|stream| {
            let queued = reduction.queue_rows(stream, &buffer, matrix, &mut sums);
            assert_eq!(queued, Err(Error::Unprepared));
            Ok(())
        });
        unprepared.expect("the capture is none the worse for it");
        reduction
            .prepare(Along::Rows, matrix)
            .expect("there is room");
        let plan = reduction
            .prepare(Along::Rows, Matrix::contiguous(1, 1_200_000))
            .expect("there is room");
        // Even a device with few multiprocessors shares such a row.
        assert!(plan.workspace_bytes > 0);
        let graph = stream.capture(|stream| {
            reduction
                .queue_rows(stream, &buffer, matrix, &mut sums)
                .expect("it is queued");
            reduction
                .queue(stream, &buffer, &mut sum)
                .expect("it is queued");
            Ok(())
        });
        let graph = graph
            .and_then(|graph| graph.instantiate())
            .expect("it is right");
        for value in [1.0_f32, 2.0, 3.0] {
            buffer
                .write(&vec![value; 1_200_000])
                .expect("it is as long");
            // SAFETY: the buffers and the reduction live.
            unsafe { graph.launch(&stream) }.expect("it is queued");
            stream.synchronize().expect("it runs");
            assert_eq!(sums.read(), Ok(vec![600_000.0 * value; 2]));
            assert_eq!(sum.read(), Ok(vec![1_200_000.0 * value]));
        }
    }
}

/// Rows that begin at vectors have a kernel of their own, and what is prepared does not know yet where they begin.
#[test]
fn what_is_prepared_is_captured_wherever_the_values_begin() {
    for device in devices() {
        let matrix = Matrix::contiguous(300, 8192);
        let values: Vec<f32> = (0..matrix.rows * matrix.columns + 1)
            .map(|place| (place % 17) as f32)
            .collect();
        let buffer = device.upload(&values).expect("it fits");
        let mut reduction = Reduction::new(&device, Max).expect("it is prepared");
        let launch = reduction.problem(Along::Rows, matrix).choose();
        assert!(matches!(launch.way, Way::Whole(_)), "{launch:?}");
        let plan = reduction
            .prepare(Along::Rows, matrix)
            .expect("there is room");
        assert_eq!(plan.workspace_bytes, 0);
        let stream = device.stream().expect("there are streams");
        for skip in [0, 1] {
            let mut results = device.upload(&vec![0.0_f32; 300]).expect("it fits");
            let graph = stream.capture(|stream| {
                reduction
                    .queue_rows(stream, buffer.slice(skip..), matrix, &mut results)
                    .expect("it is queued");
                Ok(())
            });
            let graph = graph
                .and_then(|graph| graph.instantiate())
                .expect("it is right");
            // SAFETY: the buffers and the reduction live.
            unsafe { graph.launch(&stream) }.expect("it is queued");
            stream.synchronize().expect("it runs");
            assert_eq!(results.read(), Ok(vec![16.0; 300]));
        }
    }
}

/// Arrays that a GPU's L2 cache does not hold have kernels of their own. The emulator has no cache.
#[test]
fn arrays_larger_than_the_l2_cache_are_captured() {
    for device in devices() {
        let bytes = (device.l2_bytes() as usize / 4 * 5).max(1 << 14);
        let n = bytes / size_of::<u32>() + 3;
        let values: Vec<u32> = (0..n as u32).map(|place| place % 17).collect();
        let buffer = device.upload(&values).expect("it fits");
        let mut reduction = Reduction::new(&device, Sum).expect("the kernels are there");
        let mut product = DotProduct::new(&device).expect("the kernels are there");
        let matrix = Matrix::contiguous(1, n);
        for launch in [
            reduction.problem(Along::Rows, matrix).choose(),
            product.problem(n).choose(),
        ] {
            let is_large = matches!(launch.way, Way::Large(_));
            assert_eq!(is_large, device.is_gpu(), "{launch:?}");
        }
        reduction
            .prepare(Along::Rows, matrix)
            .expect("there is room");
        product.prepare(n).expect("there is room");
        let mut sum = device.upload(&[0_u32]).expect("it fits");
        let mut squares = device.upload(&[0_u32]).expect("it fits");
        let stream = device.stream().expect("there are streams");
        let graph = stream.capture(|stream| {
            reduction
                .queue(stream, &buffer, &mut sum)
                .expect("it is queued");
            product
                .queue(stream, &buffer, &buffer, &mut squares)
                .expect("it is queued");
            Ok(())
        });
        let graph = graph
            .and_then(|graph| graph.instantiate())
            .expect("it is right");
        for _ in 0..3 {
            // SAFETY: the buffers, the reduction and the product live.
            unsafe { graph.launch(&stream) }.expect("it is queued");
            stream.synchronize().expect("it runs");
            assert_eq!(sum.read(), Ok(vec![values.iter().sum()]));
            let expected = values
                .iter()
                .fold(0_u32, |sum, value| sum.wrapping_add(value * value));
            assert_eq!(squares.read(), Ok(vec![expected]));
        }
    }
}

/// Every shape in both orders, three times by the same graph, each time of other values.
#[test]
fn every_shape_is_captured_in_both_orders() {
    let matrix = Matrix {
        rows: 300,
        columns: 70,
        stride: 71,
    };
    let n = 300 * 71;
    let offsets = [0_u32, 0, 3, 20, 9000, 9001, n as u32 - 9, n as u32];
    let values = |seed: usize| -> Vec<f32> {
        (0..n)
            .map(|place| ((place * 7 + seed) % 31) as f32 - 9.0)
            .collect()
    };
    for device in devices() {
        let segments = Segments::new(&device, &offsets).expect("they are right");
        let stream = device.stream().expect("there are streams");
        for (mode, order) in [
            (Mode::Fast, Order::Fast),
            (Mode::Deterministic, Order::Deterministic),
        ] {
            let mut buffer = device.upload(&values(0)).expect("it fits");
            let room = |count: usize| device.upload(&vec![0.0_f32; count]).expect("it fits");
            let (mut whole, mut rows) = (room(1), room(matrix.rows));
            let (mut columns, mut parts) = (room(matrix.columns), room(segments.len()));
            let sum = Reduction::<f32, Sum>::new(&device, Sum).expect("it is prepared");
            let mut sum = sum.with_mode(mode);
            let all = Matrix::contiguous(1, n);
            for (along, matrix) in [
                (Along::Rows, all),
                (Along::Rows, matrix),
                (Along::Columns, matrix),
            ] {
                sum.prepare(along, matrix).expect("there is room");
            }
            sum.prepare_segments(&segments).expect("there is room");
            let graph = stream.capture(|stream| {
                sum.queue(stream, &buffer, &mut whole)
                    .and_then(|()| sum.queue_rows(stream, &buffer, matrix, &mut rows))
                    .and_then(|()| sum.queue_columns(stream, &buffer, matrix, &mut columns))
                    .and_then(|()| sum.queue_segments(stream, &buffer, &segments, &mut parts))
                    .expect("it is queued");
                Ok(())
            });
            let graph = graph
                .and_then(|graph| graph.instantiate())
                .expect("it is right");
            for seed in 1..4 {
                let values = values(seed);
                buffer.write(&values).expect("it is as long");
                // SAFETY: the buffers, the segments and the reduction live.
                unsafe { graph.launch(&stream) }.expect("it is queued");
                stream.synchronize().expect("it runs");
                // Sums of such small integers are exact in any order.
                assert_eq!(whole.read(), Ok(vec![cpu::reduce(Sum, &values, order)]));
                let expected = cpu::rows(Sum, &values, matrix, order);
                assert_eq!(rows.read().ok(), expected.ok());
                let expected = cpu::columns(Sum, &values, matrix, order);
                assert_eq!(columns.read().ok(), expected.ok());
                let expected = cpu::segments(Sum, &values, &offsets, order);
                assert_eq!(parts.read().ok(), expected.ok());
            }
        }
    }
}

/// The runs of these keys, found on a stream, give what the cores find: how many they are, as many as there is room for, and their last
/// places and running sums, which are queued after them.
#[track_caller]
fn queued_runs_are_right<K: Key + PartialEq + Debug>(runs: &mut QueuedRuns<'_, K>, keys: &[K]) {
    let device = runs.device();
    let mut starts: Vec<usize> = (0..keys.len())
        .filter(|&place| place == 0 || keys[place] != keys[place - 1])
        .collect();
    let (count, room) = (starts.len(), runs.room());
    let found = count.min(room);
    let expected_keys: Vec<K> = starts[..found].iter().map(|&start| keys[start]).collect();
    starts.push(keys.len());
    let mut expected_lasts = vec![77; room];
    let mut expected_sums = vec![-1; keys.len()];
    for run in 0..found {
        expected_lasts[run] = (starts[run + 1] - starts[run] - 1) as u64;
        let mut sum = 0;
        let places = starts[run]..starts[run + 1];
        for (place, expected) in places.clone().zip(&mut expected_sums[places]) {
            sum += place as i64;
            *expected = sum;
        }
    }

    let values: Vec<i32> = (0..keys.len() as i32).collect();
    let keys = device.upload(keys).expect("it fits");
    let values = device.upload(&values).expect("it fits");
    let stream = device.non_blocking_stream().expect("there are streams");
    let mut last = Reduction::new(device, ArgMax::LAST).expect("it is prepared");
    let mut lasts = device.upload(&vec![77; room]).expect("it fits");
    let mut scan = Scan::inclusive(device, As::<i64, _>::new(Sum)).expect("it is prepared");
    let mut sums = device.upload(&vec![-1; keys.len()]).expect("it fits");
    runs.queue(&stream, &keys).expect("it is queued");
    // SAFETY: the runs are found before, on the same stream.
    let segments = unsafe { runs.segments() };
    last.queue_segments(&stream, &values, &segments, &mut lasts)
        .expect("it is queued");
    scan.queue_segments(&stream, &values, &segments, &mut sums)
        .expect("it is queued");
    assert_eq!(runs.count(), Ok(count));
    assert_eq!(runs.keys(), Ok(expected_keys));
    assert_eq!(lasts.read(), Ok(expected_lasts));
    assert_eq!(sums.read(), Ok(expected_sums));
}

#[test]
fn runs_are_queued_for_keys_of_every_width() {
    fn of<K: Key + PartialEq + Debug>(device: &Device, key: impl Fn(usize) -> K) {
        let mut runs = QueuedRuns::with_room(device, 300).expect("it fits");
        for n in [0, 1, 7, 900, 40_000] {
            let keys: Vec<K> = (0..n).map(&key).collect();
            queued_runs_are_right(&mut runs, &keys);
        }
    }
    for device in devices() {
        // Runs of all lengths up to 300 or so, and then more than there is room for.
        of(&device, |place| (place as f64).sqrt() as u8);
        of(&device, |place| Bool(u8::from(place % 1000 < 3)));
        of(&device, |place| place.isqrt() as i16);
        of(&device, |place| place.isqrt() as u32 / 2);
        of(&device, |place| (place as i64 / 90) << 40);
    }
}

#[test]
fn reductions_by_key_are_captured_and_follow_the_keys() {
    for device in devices() {
        let n = 100_000;
        let mut keys = device.upload(&vec![0_u32; n]).expect("it fits");
        let values = device.upload(&vec![1_u8; n]).expect("it fits");
        let mut runs = QueuedRuns::with_room(&device, 1000).expect("it fits");
        let mut sum = Reduction::new(&device, Sum).expect("it is prepared");
        let mut in_order = Reduction::new(&device, Mean)
            .expect("it is prepared")
            .with_mode(Mode::Deterministic);
        let mut counts = device.upload(&vec![0_u32; 1000]).expect("it fits");
        let mut means = device.upload(&vec![0_f64; 1000]).expect("it fits");
        let stream = device.stream().expect("there are streams");
        let unprepared = stream.capture(|stream| {
            assert_eq!(runs.queue(stream, &keys), Err(Error::Unprepared));
            Ok(())
        });
        unprepared.expect("the capture is none the worse for it");
        let bytes = runs.plan(n);
        assert!(bytes > 0);
        assert_eq!(runs.prepare(n), Ok(bytes));
        // SAFETY: they are only prepared for.
        let segments = unsafe { runs.segments() };
        sum.prepare_segments(&segments).expect("there is room");
        in_order.prepare_segments(&segments).expect("there is room");
        let graph = stream.capture(|stream| {
            runs.queue(stream, &keys).expect("it is prepared");
            // SAFETY: the runs are found before, on the same stream.
            let segments = unsafe { runs.segments() };
            sum.queue_segments(stream, &values, &segments, &mut counts)
                .expect("it is prepared");
            in_order
                .queue_segments(stream, &values, &segments, &mut means)
                .expect("it is prepared");
            Ok(())
        });
        let graph = graph
            .and_then(|graph| graph.instantiate())
            .expect("it is right");
        for length in [1000, 100_000, 130, 101] {
            let made: Vec<u32> = (0..n as u32).map(|place| place / length).collect();
            keys.write(&made).expect("it is as long");
            // SAFETY: the buffers, the runs and the reductions live.
            unsafe { graph.launch(&stream) }.expect("it is queued");
            let count = n.div_ceil(length as usize);
            assert_eq!(runs.count(), Ok(count));
            let counts = counts.read().expect("it runs");
            assert_eq!(counts[..count].iter().sum::<u32>(), n as u32);
            assert!(counts[..count - 1].iter().all(|&count| count == length));
            let means = means.read().expect("it runs");
            assert!(means[..count].iter().all(|&mean| mean == 1.0));
        }
    }
}
