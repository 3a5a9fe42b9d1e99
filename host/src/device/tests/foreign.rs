//! Memory and streams that other code has made.

use super::{devices, kernel};
use crate::device::*;
use crate::operator::ArgMax;
use crate::sum::{Mode, Sum};
use crate::{Matrix, Reduction};
use std::ptr;

#[test]
fn memory_by_its_address_is_read_as_a_buffer_is() {
    for device in devices() {
        let buffer = device
            .upload(&(1..=100).collect::<Vec<i32>>())
            .expect("it fits");
        // SAFETY: the buffer has these elements, and outlives all sums.
        let values = unsafe { Slice::from_raw(&device, buffer.address(), 100) }
            .expect("the device knows the address");
        assert_eq!(values.address(), buffer.address());
        let mut sums = Sum::new(&device).expect("a few words");
        assert_eq!(sums.of(values, Mode::Fast), Ok(5050));
        assert_eq!(sums.of(values.slice(90..), Mode::Fast), Ok(955));
        assert_eq!(sums.of(values.slice(90..).slice(..=0), Mode::Fast), Ok(91));
        let other = Device::open(&DeviceChoice::Emulator).expect("it always opens");
        let refused = Sum::new(&other)
            .expect("a few words")
            .of(values, Mode::Fast);
        assert_eq!(refused, Err(DeviceError::OtherDevice.into()));
    }
}

#[test]
fn results_are_written_by_their_address() {
    for device in devices() {
        let values = device.upload(&[3_i32, 1, 2, -7, -5, -6]).expect("it fits");
        let mut results = device.upload(&[9_u64; 4]).expect("it fits");
        let stream = device.stream().expect("there are streams");
        let mut argmax = Reduction::new(&device, ArgMax::FIRST).expect("it is small");
        // SAFETY: the buffer has these elements, and outlives the reduction.
        let middle = unsafe { SliceMut::from_raw(&device, results.address() + 8, 2) };
        let middle = middle.expect("the device knows the address");
        assert_eq!((middle.len(), middle.address()), (2, results.address() + 8));
        let matrix = Matrix::contiguous(2, 3);
        argmax
            .queue_rows(&stream, &values, matrix, middle)
            .expect("it runs");
        assert_eq!(results.read(), Ok(vec![9, 0, 1, 9]));
        let last = SliceMut::from(&mut results).slice(3..);
        argmax.queue(&stream, &values, last).expect("it runs");
        assert_eq!(results.read(), Ok(vec![9, 0, 1, 0]));
        let refused = argmax.queue_rows(&stream, &values, matrix, &mut results);
        assert!(refused.is_err(), "there are four places for two results");
        let other = Device::open(&DeviceChoice::Emulator).expect("it always opens");
        // SAFETY: nothing is written there.
        let there = unsafe { SliceMut::from_raw(&other, results.address(), 1) };
        let refused = argmax.queue(&stream, &values, there.expect("any address may be one"));
        assert_eq!(refused, Err(DeviceError::OtherDevice.into()));
    }
}

#[test]
fn an_address_that_cannot_be_right_is_refused() {
    for device in devices() {
        let refused = |address, length| {
            // SAFETY: no slice comes of it.
            let slice = unsafe { Slice::<i32>::from_raw(&device, address, length) };
            slice.expect_err("this is no memory").to_string()
        };
        assert_eq!(
            refused(0x1002, 1),
            "the address 0x1002 is no multiple of 4, as those of such elements are"
        );
        assert_eq!(
            refused(0x1000, usize::MAX),
            format!(
                "a buffer of {} elements is larger than any memory",
                usize::MAX
            )
        );
        assert!(refused(u64::MAX - 7, 4).contains("larger than any memory"));
        if device.is_gpu() {
            let sentence = refused(0x1000, 1);
            assert!(
                sentence.starts_with(
                    "the address 0x1000 is not in memory that the GPU's driver knows: cuPointerGetAttribute failed: "
                ),
                "{sentence}"
            );
        }
        // SAFETY: there is nothing to read.
        let nothing = unsafe { Slice::<i32>::from_raw(&device, 0, 0) };
        assert!(nothing.expect("nothing is anywhere").is_empty());
    }
}

#[test]
fn streams_and_contexts_by_their_handles_are_those_of_a_gpu() {
    for device in devices() {
        if !device.is_gpu() {
            assert_eq!(device.raw_context(), Err(DeviceError::NoForeignCode));
            // SAFETY: there is always a default stream.
            let refused = unsafe { Stream::from_raw(&device, ptr::null_mut()) };
            assert_eq!(refused.map(|_| ()), Err(DeviceError::NoForeignCode));
            let event = device.event().expect("there are events");
            assert_eq!(event.raw(), Err(DeviceError::NoForeignCode));
            continue;
        }
        assert!(!device.raw_context().expect("it has one").is_null());
        let own = device.stream().expect("there are streams");
        let kernel = kernel(&device, "add_to_all");
        let data = device.upload(&[1_i32; 64]).expect("it fits");
        let arguments = [data.argument(), 64_usize.into(), 2_i32.into()];
        for handle in [own.raw().expect("it has one"), ptr::null_mut()] {
            // SAFETY: the first stream outlives the value, and the default stream every other.
            let stream = unsafe { Stream::from_raw(&device, handle) }.expect("it is of this GPU");
            assert_eq!(stream.raw(), Ok(handle));
            // SAFETY: the kernel adds to the 64 integers of a buffer that is read before it is freed.
            unsafe { stream.launch(&kernel, &Shape::linear(1, 64), &arguments) }
                .expect("the launch is right");
            drop(stream);
        }
        assert_eq!(data.read().expect("it is there"), [5; 64]);
        own.synchronize()
            .expect("a borrowed stream is not destroyed");
    }
}

#[cfg(feature = "cudarc")]
mod with_cudarc {
    use super::super::gpu;
    use super::*;
    use crate::operator::{self, Mean};
    use crate::{DotProduct, Scan, Segments};
    use cudarc::driver::CudaContext;
    use std::sync::Arc;

    const N: usize = 1 << 22;

    fn cudarc_and_device() -> Option<(Arc<CudaContext>, Device)> {
        let device = gpu()?;
        let context = CudaContext::new(0).expect("there is a GPU");
        assert_eq!(device.raw_context(), Ok(context.cu_ctx().cast()));
        Some((context, device))
    }

    #[test]
    fn memory_of_cudarc_is_summed_where_it_lies() {
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let mut sums = Sum::<i32>::new(&device).expect("a few words");
        // The first is non-blocking, the second is not.
        for stream in [
            context.new_stream().expect("there are streams"),
            context.default_stream(),
        ] {
            let values = stream.clone_htod(&vec![3_i32; N]).expect("it fits");
            for mode in [Mode::Fast, Mode::Deterministic] {
                assert_eq!(sums.of(&values, mode), Ok(3 * N as i32));
                assert_eq!(sums.of(&values.slice(1..1001), mode), Ok(3000), "{mode:?}");
            }
            let nothing = stream.alloc_zeros::<i32>(0);
            if let Ok(nothing) = nothing {
                assert_eq!(sums.of(&nothing, Mode::Fast), Ok(0));
            }
        }
    }

    #[test]
    fn sums_on_streams_of_cudarc_keep_its_order() {
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let streams = [(); 2].map(|()| context.new_stream().expect("there are streams"));
        let [writing, adding] = &streams;
        let mut sums = Sum::<i32>::new(&device).expect("a few words");
        for (round, (queued_on, host)) in [(writing, 1), (adding, 2), (writing, 3), (adding, 4)]
            .into_iter()
            .cycle()
            .take(40)
            .enumerate()
        {
            let stream = StreamRef::try_from((&device, &**queued_on)).expect("it is of this GPU");
            let values = writing.clone_htod(&vec![host; N]).expect("it fits");
            sums.queue(&stream, &values, Mode::Fast)
                .expect("one device");
            // Frees the memory on its own stream, and takes it for other values at once.
            drop(values);
            let others = writing.clone_htod(&vec![-1_i32; N]).expect("it fits");
            assert_eq!(sums.result(), Ok(host * N as i32), "round {round}");
            drop(others);
        }
    }

    /// `cudarc` lets safe code launch its graphs, after everything that we keep for ours is gone.
    #[test]
    fn nothing_becomes_part_of_a_capture_of_cudarc() {
        use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let cuda_stream = context.new_stream().expect("there are streams");
        let stream = StreamRef::try_from((&device, &*cuda_stream)).expect("it is of this GPU");
        let values = cuda_stream.clone_htod(&vec![3_i32; N]).expect("it fits");
        let (own, event) = (device.non_blocking_stream(), device.event());
        let (own, event) = (own.expect("there is one"), event.expect("there is one"));
        let mut sums = Sum::<i32>::new(&device).expect("a few words");
        assert_eq!(sums.of(&values, Mode::Fast), Ok(3 * N as i32));
        let slice = Slice::from(&values);
        cuda_stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .expect("it begins");
        assert_eq!(stream.overwrite_l2(), Err(DeviceError::ForeignCapture));
        assert_eq!(stream.record(&event), Err(DeviceError::ForeignCapture));
        assert_eq!(own.follow(&stream), Err(DeviceError::ForeignCapture));
        assert_eq!(
            sums.queue(&own, slice, Mode::Fast),
            Err(DeviceError::ForeignCapture.into())
        );
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        assert!(cuda_stream.end_capture(flags).is_ok());
        sums.queue(&stream, &values, Mode::Fast)
            .expect("it is over");
        assert_eq!(sums.result(), Ok(3 * N as i32));
    }

    #[test]
    fn a_sum_is_left_on_a_stream_of_cudarc() {
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let cuda_stream = context.new_stream().expect("there are streams");
        let stream = StreamRef::try_from((&device, &*cuda_stream)).expect("it is of this GPU");
        let values = cuda_stream.clone_htod(&vec![0.5_f32; N]).expect("it fits");
        let mut sum = device.allocate(1).expect("it fits");
        let mut sums = Sum::new(&device).expect("a few words");
        for mode in [Mode::Fast, Mode::Deterministic] {
            sums.queue_into(&stream, &values, mode, &mut sum)
                .expect("one device");
            assert_eq!(sum.read(), Ok(vec![N as f32 / 2.0]), "{mode:?}");
            let mut theirs = cuda_stream.alloc_zeros::<f32>(1).expect("it fits");
            sums.queue_into(&stream, &values, mode, &mut theirs)
                .expect("one device");
            let theirs = cuda_stream.clone_dtoh(&theirs).expect("it is there");
            assert_eq!(theirs, [N as f32 / 2.0], "{mode:?}");
        }
    }

    #[test]
    fn memory_of_cudarc_takes_results_of_every_kind() {
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let cuda_stream = context.new_stream().expect("there are streams");
        let elsewhere = context.new_stream().expect("there are streams");
        let stream = StreamRef::try_from((&device, &*cuda_stream)).expect("it is of this GPU");
        let own = device.non_blocking_stream().expect("there are streams");
        let host: Vec<f32> = (0..N).map(|place| (place % 1000) as f32).collect();
        let (rows, columns) = (1 << 12, N >> 12);
        let matrix = Matrix::contiguous(rows, columns);
        let values = elsewhere.clone_htod(&host).expect("it fits");
        for queue in [&*stream, &own] {
            let mut mean = Reduction::new(&device, Mean).expect("it is small");
            let mut means = elsewhere.alloc_zeros::<f32>(rows).expect("it fits");
            mean.queue_rows(queue, &values, matrix, &mut means)
                .expect("one device");
            let of_row =
                |row: &[f32]| row.iter().map(|&it| f64::from(it)).sum::<f64>() / row.len() as f64;
            let expected: Vec<f64> = host.chunks(columns).map(of_row).collect();
            // The copy is queued on the memory's own stream, and waits for the kernel.
            let found = elsewhere.clone_dtoh(&means).expect("it is there");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-3,
                    "{found} instead of {expected}"
                );
            }

            let mut argmax = Reduction::new(&device, ArgMax::LAST).expect("it is small");
            let mut places = elsewhere.alloc_zeros::<u64>(columns + 1).expect("it fits");
            let mut part = places.slice_mut(1..);
            argmax
                .queue_columns(queue, &values, matrix, &mut part)
                .expect("one device");
            let found = elsewhere.clone_dtoh(&places).expect("they are there");
            let best = |column: usize| {
                let row = |row: &usize| host[row * columns + column] as u32;
                (0..rows).max_by_key(row).expect("there are rows") as u64
            };
            let expected: Vec<u64> = (0..columns).map(best).collect();
            assert_eq!((found[0], &found[1..]), (0, &expected[..]));

            let offsets = [0_u32, 5, 5, 1000, N as u32];
            let on_device = elsewhere.clone_htod(&offsets).expect("it fits");
            // SAFETY: the offsets do not decrease, end within the values, and are kept.
            let segments = unsafe { Segments::on_device(&on_device, N) }.expect("there are some");
            let mut sum = Reduction::new(&device, operator::Max).expect("it is small");
            let mut greatest = elsewhere.alloc_zeros::<f32>(4).expect("it fits");
            sum.queue_segments(queue, &values, &segments, &mut greatest)
                .expect("one device");
            let found = elsewhere.clone_dtoh(&greatest).expect("they are there");
            assert_eq!(found, [4.0, f32::NEG_INFINITY, 999.0, 999.0]);

            let counts = elsewhere.clone_htod(&vec![1_u32; N]).expect("it fits");
            let mut places = elsewhere.alloc_zeros::<u32>(N).expect("it fits");
            let mut scan = Scan::exclusive(&device, operator::Sum).expect("it is small");
            scan.queue(queue, &counts, &mut places).expect("one device");
            let found = elsewhere.clone_dtoh(&places).expect("they are there");
            assert!(found.iter().zip(0..).all(|(&found, place)| found == place));

            let mut dot = DotProduct::new(&device).expect("it is small");
            let mut product = elsewhere.alloc_zeros::<u32>(1).expect("it fits");
            dot.queue(queue, &counts, &places, &mut product)
                .expect("one device");
            let expected = (0..N as u32).fold(0, u32::wrapping_add);
            let found = elsewhere.clone_dtoh(&product).expect("it is there");
            assert_eq!(found, [expected]);
        }
    }

    /// Results are read, and their memory is freed and taken for others, without a wait in between.
    #[test]
    fn results_in_memory_of_cudarc_keep_its_order() {
        let Some((context, device)) = cudarc_and_device() else {
            return;
        };
        let streams = [(); 2].map(|()| context.new_stream().expect("there are streams"));
        let [writing, adding] = &streams;
        let mut max = Reduction::new(&device, operator::Max).expect("it is small");
        for round in 0..40 {
            let queue = if round % 2 == 0 { writing } else { adding };
            let queue = StreamRef::try_from((&device, &**queue)).expect("it is of this GPU");
            let values = writing.clone_htod(&vec![round; N]).expect("it fits");
            let mut results = adding.alloc_zeros::<i32>(1).expect("it fits");
            max.queue(&queue, &values, &mut results)
                .expect("one device");
            max.queue(&queue, &values, &mut results)
                .expect("one device");
            drop(values);
            let others = writing.clone_htod(&vec![-1_i32; N]).expect("it fits");
            assert_eq!(adding.clone_dtoh(&results).expect("it is there"), [round]);
            drop(others);
        }
    }

    #[test]
    fn memory_of_cudarc_is_not_the_emulator_s() {
        let Some((context, gpu)) = cudarc_and_device() else {
            return;
        };
        let emulator = gpu.on_emulator();
        let stream = context.default_stream();
        let values = stream.clone_htod(&[1_i32]).expect("it fits");
        let mut sums = Sum::new(&emulator).expect("a few words");
        assert_eq!(
            sums.of(&values, Mode::Fast),
            Err(DeviceError::OtherDevice.into())
        );
        let refused = StreamRef::try_from((&emulator, &*stream));
        assert_eq!(refused.map(|_| ()), Err(DeviceError::OtherDevice));
        let mut result = stream.alloc_zeros::<i32>(1).expect("it fits");
        let own = emulator.upload(&[1_i32]).expect("it fits");
        let queue = emulator.stream().expect("there are streams");
        let mut max = Reduction::new(&emulator, operator::Max).expect("it is small");
        let refused = max.queue(&queue, &own, &mut result);
        assert_eq!(refused, Err(DeviceError::OtherDevice.into()));
    }
}

#[cfg(feature = "cust")]
mod with_cust {
    use super::super::gpu;
    use super::*;
    use crate::operator;
    use cust::memory::DeviceBuffer;
    use cust::stream::{Stream as CustStream, StreamFlags};

    #[test]
    fn memory_and_streams_of_cust_are_taken_as_they_are() {
        let Some(device) = gpu() else { return };
        let context = cust::quick_init().expect("there is a GPU");
        assert_eq!(device.raw_context(), Ok(context.as_raw().cast()));
        let values = DeviceBuffer::from_slice(&[2_i64; 100_000]).expect("it fits");
        let mut sums = Sum::new(&device).expect("a few words");
        assert_eq!(sums.of(&values, Mode::Fast), Ok(200_000));
        let part = Slice::from(&values).slice(1..11);
        assert_eq!(sums.of(part, Mode::Deterministic), Ok(20));
        let part = values.index(5..10);
        // SAFETY: the buffer outlives the sum.
        let part = unsafe { Slice::from_cust(&part) };
        assert_eq!(sums.of(part, Mode::Fast), Ok(10));

        let cust_stream = CustStream::new(StreamFlags::DEFAULT, None).expect("there are streams");
        let stream = StreamRef::try_from((&device, &cust_stream)).expect("it is of this GPU");
        sums.queue(&stream, &values, Mode::Fast)
            .expect("one device");
        cust_stream.synchronize().expect("nothing faults");
        assert_eq!(sums.result(), Ok(200_000));

        let mut results = DeviceBuffer::from_slice(&[0_i64; 1000]).expect("it fits");
        let mut max = Reduction::new(&device, operator::Max).expect("it is small");
        let matrix = Matrix::contiguous(1000, 100);
        max.queue_rows(&stream, &values, matrix, &mut results)
            .expect("one device");
        assert_eq!(results.as_host_vec().expect("they are there"), [2; 1000]);

        let emulator = device.on_emulator();
        let mut sums = Sum::new(&emulator).expect("a few words");
        assert_eq!(
            sums.of(&values, Mode::Fast),
            Err(DeviceError::OtherDevice.into())
        );
        let refused = StreamRef::try_from((&emulator, &cust_stream));
        assert_eq!(refused.map(|_| ()), Err(DeviceError::OtherDevice));
    }
}
