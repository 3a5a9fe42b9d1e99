//! Reductions on the caller's streams, and captured.

use super::super::parts::SETS;
use super::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// Queued on a stream, and captured into a graph that is launched again and again, in both orders.
#[test]
fn what_is_queued_or_captured_gives_the_same() {
    let values = floats(7 * CHUNK + 9, 5);
    for group in groups().filter(|group| group.has_peer_access()) {
        let parts = group.upload(&values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = GroupReduction::new(&group, Sum).expect("it is prepared");
            let mut reduction = reduction.with_mode(mode);
            let first = &group.devices()[0];
            let stream = first.non_blocking_stream().expect("there is one");
            let mut result = first.upload(&[-1.0_f32]).expect("it fits");
            let mut refused = Ok(());
            let _ = stream.capture(|stream| {
                refused = reduction.queue(stream, &parts, &mut result);
                Ok(())
            });
            assert_eq!(refused, Err(Error::Unprepared));
            reduction.prepare(&lengths).expect("there is room");
            let found = [reduction.of(&parts).expect("it runs")];
            for _ in 0..2 {
                let queued = reduction.queue(&stream, &parts, &mut result);
                queued.expect("it is queued");
                reduction.wait(&stream).expect("it runs");
                assert_eq!(result.read().expect("it is there"), found);
            }
            let graph = stream.capture(|stream| {
                let queued = reduction.queue(stream, &parts, &mut result);
                queued.map_err(|error| DeviceError::Refused(error.to_string()))
            });
            let graph = graph.expect("it is captured").instantiate();
            let graph = graph.expect("it is made ready");
            for _ in 0..3 {
                result.write(&[-1.0]).expect("it fits");
                // SAFETY: the reduction, the parts and the result are there until the end.
                unsafe { graph.launch(&stream) }.expect("it is launched");
                reduction.wait(&stream).expect("it runs");
                assert_eq!(result.read().expect("it is there"), found, "{mode:?}");
            }
        }
    }
    let strangers = strangers(2);
    let parts = strangers.upload(&values).expect("it fits");
    let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
    let mut reduction = GroupReduction::new(&strangers, Sum).expect("it is prepared");
    let stream = strangers.devices()[0].stream().expect("there is one");
    let mut result = strangers.devices()[0].allocate(1).expect("it fits");
    let queued = reduction.queue(&stream, &parts, &mut result);
    assert_eq!(queued, Err(Error::NoPeerAccess));
}

/// With ordinary streams of the other devices in the capture, the driver would refuse the uploads, and end the capture.
#[test]
fn a_capture_leaves_the_gpus_to_other_threads() {
    let count = crate::device::list().map_or(0, |list| list.gpus.len() as u32);
    let Some(last) = count.checked_sub(1) else {
        println!("skipped: there is no GPU");
        return;
    };
    let last = DeviceChoice::Gpu(last);
    let (is_done, uploads) = (AtomicBool::new(false), AtomicU32::new(0));
    let upload = || {
        let device = Device::open(&last)?;
        while !is_done.load(Ordering::Relaxed) {
            let count = uploads.load(Ordering::Relaxed);
            assert_eq!(device.upload(&[count])?.read()?, [count]);
            uploads.store(count + 1, Ordering::Relaxed);
        }
        Ok::<(), DeviceError>(())
    };
    let capture = |is_uploading: &dyn Fn() -> bool| {
        let group = Group::open(&[DeviceChoice::Gpu(0), last])?;
        let parts = group.upload(&floats(3 * CHUNK, 8))?;
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
        let streams = group.devices().iter().map(Device::stream);
        let streams: Vec<Stream> = streams.collect::<Result<_, _>>()?;
        let mut result = group.devices()[0].upload(&[-1.0_f32])?;
        for mode in [Mode::Fast, Mode::Deterministic] {
            let mut reduction = GroupReduction::new(&group, Sum)?.with_mode(mode);
            reduction.prepare(&lengths)?;
            // And until the other thread has begun.
            let is_waiting = || uploads.load(Ordering::Relaxed) == 0 && is_uploading();
            for round in (0..).take_while(|&round| round < 500 || is_waiting()) {
                let captured = streams[0].capture(|stream| {
                    let queued = match round % 2 {
                        0 => reduction.queue(stream, &parts, &mut result),
                        _ => reduction.queue_on(&[stream, &streams[1]], &parts, &mut result),
                    };
                    queued.map_err(|error| DeviceError::Refused(error.to_string()))
                });
                captured?;
            }
        }
        Ok::<(), Error>(())
    };
    thread::scope(|scope| {
        let thread = scope.spawn(upload);
        let captured = capture(&|| !thread.is_finished());
        is_done.store(true, Ordering::Relaxed);
        let uploaded = thread.join().expect("it gets back what it has uploaded");
        assert_eq!((captured, uploaded), (Ok(()), Ok(())));
        assert!(uploads.load(Ordering::Relaxed) > 0);
    });
}

/// On a stream of each device, more often than there are sets of slots, on other streams in between, and with reductions on the first stream
/// alone. On GPUs the first is kept busy by large copies, so that the others are far ahead.
#[test]
fn streams_of_each_device_give_the_same() {
    let values = floats(7 * CHUNK + 9, 6);
    for group in groups().filter(|group| group.has_peer_access()) {
        let all = group.upload(&values).expect("it fits");
        let all: Vec<_> = all.iter().map(|part| part.slice(..)).collect();
        // Without the first value of each part.
        let fewer: Vec<_> = all
            .iter()
            .map(|part| part.slice(1.min(part.len())..))
            .collect();
        let lengths: Vec<usize> = all.iter().map(Slice::len).collect();
        let some_streams = || {
            let streams = group.devices().iter().map(Device::stream);
            streams
                .collect::<Result<Vec<_>, _>>()
                .expect("there are some")
        };
        let (streams, others) = (some_streams(), some_streams());
        let [streams, others]: [Vec<&Stream>; 2] =
            [&streams, &others].map(|some| some.iter().collect());
        let first = &group.devices()[0];
        let bytes = if first.is_gpu() { 1 << 30 } else { 1 << 10 };
        let mut copy = first.allocate::<u8>(bytes).expect("it fits");
        let source = first.upload(&vec![0_u8; bytes]).expect("it fits");
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = GroupReduction::new(&group, Sum).expect("it is prepared");
            let mut reduction = reduction.with_mode(mode);
            let rounds = 3 * SETS;
            let mut results: Vec<Buffer<f32>> = (0..rounds)
                .map(|_| first.upload(&[-1.0]).expect("it fits"))
                .collect();
            reduction.prepare(&lengths).expect("there is room");
            let expected = [&all, &fewer].map(|parts| reduction.of(parts).expect("it runs"));
            assert_ne!(expected[0], expected[1]);
            for (round, result) in results.iter_mut().enumerate() {
                if round % SETS == 0 {
                    streams[0].copy(&source, &mut copy).expect("it is queued");
                }
                let parts = [&all, &fewer][round % 2];
                let queued = match round % 23 {
                    10 => reduction.queue(streams[0], parts, result),
                    15..20 => reduction.queue_on(&others, parts, result),
                    _ => reduction.queue_on(&streams, parts, result),
                };
                queued.expect("it is queued");
            }
            reduction.wait(streams[0]).expect("it runs");
            reduction.wait(others[0]).expect("it runs");
            for (round, result) in results.into_iter().enumerate() {
                assert_eq!(result.read(), Ok(vec![expected[round % 2]]), "{mode:?}");
            }
            let mut result = first.upload(&[-1.0]).expect("it fits");
            let graph = streams[0].capture(|stream| {
                let captured = [&[stream], &streams[1..]].concat();
                let queued = reduction.queue_on(&captured, &all, &mut result);
                for other in &streams[1..] {
                    assert_eq!(other.is_capturing(), Ok(false));
                }
                queued.map_err(|error| DeviceError::Refused(error.to_string()))
            });
            let graph = graph.expect("it is captured").instantiate();
            let graph = graph.expect("it is made ready");
            for _ in 0..3 {
                result.write(&[-1.0]).expect("it fits");
                // SAFETY: the reduction, the parts and the result are there until the end.
                unsafe { graph.launch(streams[0]) }.expect("it is launched");
                reduction.wait(streams[0]).expect("it runs");
                assert_eq!(result.read(), Ok(vec![expected[0]]), "{mode:?}");
            }
            let devices = streams.len();
            if devices > 1 {
                let refused = reduction.queue_on(&streams[1..], &all, &mut result);
                let streams = devices - 1;
                assert_eq!(refused, Err(Error::Streams { streams, devices }));
            }
        }
    }
}

/// A stream that has a part in the capture: what it does there comes before its device's launch.
#[test]
fn a_captured_stream_of_each_device_keeps_its_order() {
    let values = [floats(7 * CHUNK + 9, 9), floats(7 * CHUNK + 9, 10)];
    for group in groups().filter(|group| group.has_peer_access() && group.devices().len() > 1) {
        let [mut parts, others] = values
            .each_ref()
            .map(|values| group.upload(values).expect("it fits"));
        let streams = group.devices().iter().map(Device::non_blocking_stream);
        let streams: Vec<Stream> = streams.collect::<Result<_, _>>().expect("there are some");
        let mut result = group.devices()[0].upload(&[-1.0_f32]).expect("it fits");
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = GroupReduction::new(&group, Sum).expect("it is prepared");
            let mut reduction = reduction.with_mode(mode);
            let mixed = parts.iter().zip(&others).enumerate();
            let mixed: Vec<_> = mixed
                .map(|(rank, (part, other))| [part, other][usize::from(rank == 1)].slice(..))
                .collect();
            let expected = reduction.of(&mixed).expect("it runs");
            let graph = streams[0].capture(|stream| {
                streams[1].follow(stream)?;
                streams[1].copy(&others[1], &mut parts[1])?;
                let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
                let mut captured: Vec<&Stream> = streams.iter().collect();
                captured[0] = stream;
                let queued = reduction.queue_on(&captured, &parts, &mut result);
                queued.map_err(|error| DeviceError::Refused(error.to_string()))
            });
            let graph = graph.expect("it is captured").instantiate();
            let graph = graph.expect("it is made ready");
            let unchanged = group.upload(&values[0]).expect("it fits").swap_remove(1);
            parts[1].copy_from(&unchanged).expect("it fits");
            // SAFETY: the reduction, the parts and the result are there until the end.
            unsafe { graph.launch(&streams[0]) }.expect("it is launched");
            reduction.wait(&streams[0]).expect("it runs");
            assert_eq!(result.read(), Ok(vec![expected]), "{mode:?}");
            parts[1].copy_from(&unchanged).expect("it fits");
        }
    }
}

/// Another device's stream in a capture that the first has no part in: its launch would come when the graph does, and the first would wait.
#[test]
fn a_capture_without_the_first_stream_is_refused() {
    let values = floats(CHUNK + 9, 7);
    for group in groups().filter(|group| group.has_peer_access() && group.devices().len() > 1) {
        let parts = group.upload(&values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let streams = group.devices().iter().map(Device::stream);
        let streams: Vec<Stream> = streams.collect::<Result<_, _>>().expect("there are some");
        let mut reduction = GroupReduction::new(&group, Sum).expect("it is prepared");
        let mut result = group.devices()[0].upload(&[-1.0_f32]).expect("it fits");
        let found = reduction.of(&parts).expect("it runs");
        let mut refused = Ok(());
        let _ = streams[1].capture(|stream| {
            let mut some: Vec<&Stream> = streams.iter().collect();
            some[1] = stream;
            refused = reduction.queue_on(&some, &parts, &mut result);
            Ok(())
        });
        assert!(
            matches!(refused, Err(Error::Device(DeviceError::Refused(_)))),
            "{refused:?}"
        );
        assert_eq!(reduction.of(&parts), Ok(found));
    }
}
