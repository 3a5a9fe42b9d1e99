//! Streams, events, graphs, host memory and access policies: the same on every device, but for times.

use super::{devices, gpu, kernel};
use crate::device::*;
use crate::sum::{Mode, Sum};
use std::panic::{AssertUnwindSafe, catch_unwind};

const KINDS: [HostMemory; 4] = [
    HostMemory::PageLocked,
    HostMemory::WriteCombined,
    HostMemory::Mapped,
    HostMemory::Managed,
];

/// The arguments of `add_to_all` for all of a buffer.
fn addition(data: Argument, n: usize, addend: i32) -> [Argument; 3] {
    [data, n.into(), addend.into()]
}

#[track_caller]
fn add(stream: &Stream, kernel: &Kernel, data: Argument, n: usize, addend: i32) {
    let arguments = addition(data, n, addend);
    // SAFETY: the kernel adds to n integers, which the buffers in these tests have, and all wait for it before they end.
    unsafe {
        stream.launch(
            kernel,
            &Shape::linear(n.div_ceil(64) as u32, 64),
            &arguments,
        )
    }
    .expect("the launch is right");
}

#[test]
fn host_memory_keeps_what_is_written() {
    for device in devices() {
        for kind in KINDS {
            let mut buffer = device.allocate_on_host::<f64>(kind, 3).expect("it fits");
            assert_eq!((buffer.len(), buffer.kind()), (3, kind));
            buffer
                .write(&[1.5, -2.0, 0.25])
                .expect("the length is right");
            assert_eq!(buffer.read().expect("it is there"), [1.5, -2.0, 0.25]);
            let error = buffer.write(&[1.0]).expect_err("one is not three");
            assert_eq!(
                error.to_string(),
                "a copy of 1 elements does not fit a buffer of 3"
            );
            let empty = device.allocate_on_host::<f64>(kind, 0).expect("it fits");
            assert!(empty.read().expect("nothing is there").is_empty());
        }
    }
}

/// A stream has a copy to the host under way when it joins a capture, and ends in it.
#[test]
fn what_a_stream_queued_before_a_capture_is_waited_for_after_its_end() {
    const N: usize = 1 << 24;
    for device in devices() {
        let n = if device.is_gpu() { N } else { 1 << 10 };
        let main = device.stream().expect("there is one");
        let buffer = device.upload(&vec![5_i32; n]).expect("it fits");
        let kernel = kernel(&device, "add_to_all");
        let data = device.upload(&[1_i32; 64]).expect("it fits");
        for round in 0..4 {
            let mut host = device
                .allocate_on_host::<i32>(HostMemory::PageLocked, n)
                .expect("it fits");
            let apart = device.non_blocking_stream().expect("there is one");
            let (begin, end) = (device.event(), device.event());
            let (begin, end) = (begin.expect("there are"), end.expect("there are"));
            apart.download(&buffer, &mut host).expect("one device");
            let graph = main.capture(|recorder| {
                recorder.record(&begin)?;
                apart.wait_for(&begin)?;
                add(&apart, &kernel, data.argument(), 64, 1);
                apart.record(&end)?;
                drop(apart);
                recorder.wait_for(&end)
            });
            graph.expect("it ends where it began");
            let found = host.read().expect("it is there");
            assert_eq!(found, vec![5; n], "round {round}");
        }
    }
}

#[test]
fn kernels_reach_mapped_and_managed_memory_and_no_other() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        for kind in KINDS {
            let mut buffer = device.allocate_on_host(kind, 100).expect("it fits");
            buffer.write(&[5_i32; 100]).expect("the length is right");
            if matches!(kind, HostMemory::PageLocked | HostMemory::WriteCombined) {
                assert_eq!(buffer.argument(), Err(DeviceError::NotMapped));
                continue;
            }
            if kind == HostMemory::Managed {
                stream.prefetch(&buffer).expect("it is managed");
            }
            let address = buffer.argument().expect("it has an address");
            add(&stream, &kernel, address, 99, 2);
            // Reading waits for the kernel.
            let mut expected = [7; 100];
            expected[99] = 5;
            assert_eq!(buffer.read().expect("it is there"), expected, "{kind:?}");
        }
    }
}

#[test]
fn a_stream_works_in_order() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let n = 100_000;
        let mut host = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        let mut back = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        let mut buffer = device.allocate::<i32>(n).expect("it fits");
        host.write(&vec![1; n]).expect("the length is right");
        stream.upload(&host, &mut buffer).expect("one length");
        add(&stream, &kernel, buffer.argument(), n, 10);
        stream.download(&buffer, &mut back).expect("one length");
        add(&stream, &kernel, buffer.argument(), n, 100);
        assert_eq!(back.read().expect("it is there"), vec![11; n]);
        assert_eq!(buffer.read().expect("it is there"), vec![111; n]);
    }
}

#[test]
fn a_stream_waits_for_an_event_of_another() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let [first, second] = [(); 2].map(|()| device.stream().expect("there are streams"));
        let event = device.event().expect("there are events");
        let n = 1 << 22;
        let buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        let mut host = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        for _ in 0..10 {
            add(&first, &kernel, buffer.argument(), n, 1);
        }
        first.record(&event).expect("one device");
        second.wait_for(&event).expect("one device");
        second.download(&buffer, &mut host).expect("one length");
        second.synchronize().expect("nothing faults");
        assert!(host.read().expect("it is there").iter().all(|&x| x == 10));
    }
}

#[test]
fn events_take_times_on_a_gpu_only() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let [start, end] = [(); 2].map(|()| device.event().expect("there are events"));
        let buffer = device.upload(&vec![0_i32; 1 << 20]).expect("it fits");
        stream.record(&start).expect("one device");
        add(&stream, &kernel, buffer.argument(), buffer.len(), 1);
        stream.record(&end).expect("one device");
        end.synchronize().expect("nothing faults");
        let elapsed_ms = end.elapsed_ms_since(&start);
        if device.is_gpu() {
            let elapsed_ms = elapsed_ms.expect("both are recorded");
            assert!(elapsed_ms > 0.0 && elapsed_ms < 1000.0, "{elapsed_ms}");
        } else {
            assert_eq!(elapsed_ms, Err(DeviceError::NoTimes));
        }
    }
}

#[test]
fn an_event_is_reached_when_what_is_queued_before_has_ended() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let event = device.event().expect("there are events");
        assert_eq!(event.is_reached(), Ok(true), "it was never recorded");
        let n = 1 << if device.is_gpu() { 24 } else { 10 };
        let mut buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        // Where there are more threads than cores, a GPU may be done before the host looks.
        let mut is_seen_to_wait = false;
        for _ in 0..10 {
            buffer.write(&vec![0; n]).expect("it fits");
            for _ in 0..200 {
                add(&stream, &kernel, buffer.argument(), n, 1);
            }
            stream.record(&event).expect("one device");
            is_seen_to_wait |= !event.is_reached().expect("nothing faults");
            while !event.is_reached().expect("nothing faults") {}
            assert_eq!(event.synchronize(), Ok(()));
            assert_eq!(buffer.read().expect("it is there"), vec![200; n]);
            if is_seen_to_wait {
                break;
            }
        }
        assert_eq!(
            is_seen_to_wait,
            device.is_gpu(),
            "the emulator runs all at once"
        );
    }
}

/// Where each kind of stream stands to the default stream: a kernel there that comes after one of theirs, and before another.
#[test]
fn the_default_stream_has_an_order_with_all_that_are_not_non_blocking() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let default = device.default_stream();
        let n = 1 << if device.is_gpu() { 24 } else { 10 };
        let buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        let mut back = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        for stream in [
            device.stream().expect("there are streams"),
            device.thread_stream(),
        ] {
            let mut zeros = device
                .allocate_on_host(HostMemory::PageLocked, n)
                .expect("it fits");
            let mut buffer = device.upload(&vec![1_i32; n]).expect("it fits");
            zeros.write(&vec![0; n]).expect("the length is right");
            stream.upload(&zeros, &mut buffer).expect("one length");
            for _ in 0..10 {
                add(&stream, &kernel, buffer.argument(), n, 1);
            }
            default.download(&buffer, &mut back).expect("one length");
            add(&stream, &kernel, buffer.argument(), n, 100);
            stream.synchronize().expect("nothing faults");
            assert!(back.read().expect("it is there").iter().all(|&x| x == 10));
        }
        if !device.is_gpu() {
            continue;
        }
        let apart = device.non_blocking_stream().expect("there are streams");
        // The default stream also waits for the streams of the tests beside this one, which may take longer than any one of these attempts. If
        // it waited for `apart`, none would succeed.
        let overtakes = (0..8).any(|attempt| {
            let [late, early] = [(); 2].map(|()| device.event().expect("there are events"));
            for _ in 0..1000 << attempt {
                add(&apart, &kernel, buffer.argument(), n, 1);
            }
            apart.record(&late).expect("one device");
            default.record(&early).expect("one device");
            early.synchronize().expect("nothing faults");
            late.is_reached() == Ok(false)
        });
        assert!(overtakes, "the default stream waited");
    }
}

#[test]
fn uploads_and_downloads_wait_for_non_blocking_streams() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let n = if device.is_gpu() { 1 << 24 } else { 1000 };
        let stream = device.non_blocking_stream().expect("there are streams");
        let mut host = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        let mut buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        for round in 1..=3 {
            for _ in 0..50 {
                add(&stream, &kernel, buffer.argument(), n, 1);
            }
            let sums = buffer.read().expect("it is there");
            assert!(sums.iter().all(|&x| x == 50), "round {round}");
            add(&stream, &kernel, buffer.argument(), n, 1);
            buffer.write(&vec![7; n]).expect("one length");
            add(&stream, &kernel, buffer.argument(), n, 1);
            stream.download(&buffer, &mut host).expect("one length");
            let sums = host.read().expect("it is there");
            assert!(sums.iter().all(|&x| x == 8), "round {round}");
            buffer.write(&vec![0; n]).expect("one length");
        }
        add(&stream, &kernel, buffer.argument(), n, 1);
        drop(stream);
        let sums = buffer.read().expect("it is there");
        assert!(sums.iter().all(|&x| x == 1));
    }
}

#[test]
fn streams_of_other_threads_are_those_of_the_same_gpu() {
    let Some(device) = gpu() else { return };
    let origin = device.event().expect("there are events");
    let stream = device.stream().expect("there are streams");
    stream.record(&origin).expect("one device");
    stream.synchronize().expect("nothing faults");
    let handle = origin.raw().expect("it has one") as usize;
    let elapsed_ms = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let device = gpu().expect("it was there before");
            // SAFETY: the event outlives the scope, and is in no capture.
            let origin =
                unsafe { Event::from_raw(&device, std::ptr::with_exposed_provenance_mut(handle)) }
                    .expect("it is of this GPU");
            let end = device.event().expect("there are events");
            let stream = device.thread_stream();
            let kernel = kernel(&device, "add_to_all");
            let buffer = device.upload(&[1_i32; 64]).expect("it fits");
            add(&stream, &kernel, buffer.argument(), 64, 1);
            stream.record(&end).expect("one device");
            assert_eq!(buffer.read().expect("it is there"), [2; 64]);
            end.elapsed_ms_since(&origin).expect("both are reached")
        });
        thread.join().expect("the thread does not panic")
    });
    assert!(elapsed_ms > 0.0, "{elapsed_ms}");
    origin.synchronize().expect("the thread has left it alive");
}

#[test]
fn an_event_that_was_not_recorded_has_no_time() {
    let Some(device) = gpu() else { return };
    let [start, end] = [(); 2].map(|()| device.event().expect("there are events"));
    let error = end.elapsed_ms_since(&start).expect_err("neither happened");
    assert!(!error.is_fault(), "{error}");
}

#[test]
fn a_graph_runs_its_kernels_each_time_it_is_launched() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let buffer = device.upload(&[0_i32; 64]).expect("it fits");
        let mut graph = device.graph().expect("there are graphs");
        let shape = Shape::linear(1, 64);
        let mut after = Vec::new();
        for addend in [1, 10] {
            let arguments = addition(buffer.argument(), 64, addend);
            let node = graph
                .add_kernel(&kernel, &shape, &arguments, &after)
                .expect("the launch is right");
            after = vec![node];
        }
        let error = graph
            .add_kernel(&kernel, &shape, &[], &[])
            .expect_err("three arguments are missing");
        assert!(
            matches!(error, DeviceError::InvalidLaunch { .. }),
            "{error}"
        );
        let arguments = addition(buffer.argument(), 64, 1);
        let missing = Node(2);
        assert_eq!(
            graph.add_kernel(&kernel, &shape, &arguments, &[missing]),
            Err(DeviceError::NoNode)
        );
        let graph = graph.instantiate().expect("the graph is right");
        assert_eq!(buffer.read().expect("it is there"), [0; 64]);
        for _ in 0..3 {
            // SAFETY: the kernel adds to the 64 integers of a buffer that outlives the graph.
            unsafe { graph.launch(&stream) }.expect("one device");
        }
        assert_eq!(buffer.read().expect("it is there"), [33; 64]);
    }
}

#[test]
fn a_captured_stream_runs_nothing_until_its_graph_is_launched() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let mut host = device
            .allocate_on_host(HostMemory::PageLocked, 64)
            .expect("it fits");
        host.write(&[5_i32; 64]).expect("the length is right");
        let mut buffer = device.upload(&[0_i32; 64]).expect("it fits");
        let graph = stream
            .capture(|stream| {
                stream.upload(&host, &mut buffer)?;
                add(stream, &kernel, buffer.argument(), 64, 1);
                add(stream, &kernel, buffer.argument(), 64, 1);
                Ok(())
            })
            .and_then(Graph::instantiate)
            .expect("all of it can be captured");
        assert_eq!(buffer.read().expect("it is there"), [0; 64]);
        for _ in 0..2 {
            // SAFETY: the kernel adds to the 64 integers of a buffer that outlives the graph, as the host's memory does.
            unsafe { graph.launch(&stream) }.expect("one device");
            assert_eq!(buffer.read().expect("it is there"), [7; 64]);
        }
        // The stream is an ordinary one again.
        add(&stream, &kernel, buffer.argument(), 64, 1);
        assert_eq!(buffer.read().expect("it is there"), [8; 64]);
    }
}

/// A → B, C → D: (x + 1) + 10, and beside it (y + 1) + 100; then 1000 for both.
#[test]
fn a_diamond_is_one_graph_whether_built_or_captured() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let n = if device.is_gpu() { 1 << 20 } else { 1000 };
        let buffer = device.upload(&vec![0_i32; 2 * n]).expect("it fits");
        let half = |first: usize| buffer.slice(first * n..(first + 1) * n).argument();
        let whole = || buffer.argument();
        let stream = device.stream().expect("there are streams");

        let mut built = device.graph().expect("there are graphs");
        let mut node = |data, n: usize, addend, after: &[Node]| {
            let shape = Shape::linear(n.div_ceil(64) as u32, 64);
            let arguments = addition(data, n, addend);
            let node = built.add_kernel(&kernel, &shape, &arguments, after);
            node.expect("the launch is right")
        };
        let a = node(whole(), 2 * n, 1, &[]);
        let b = node(half(0), n, 10, &[a]);
        let c = node(half(1), n, 100, &[a]);
        node(whole(), 2 * n, 1000, &[b, c]);

        let other = device.non_blocking_stream().expect("there are streams");
        let [forked, joined] = [(); 2].map(|()| device.event().expect("there are events"));
        let captured = stream.capture(|stream| {
            add(stream, &kernel, whole(), 2 * n, 1);
            stream.record(&forked)?;
            other.wait_for(&forked)?;
            assert_eq!(other.is_capturing(), Ok(true));
            add(stream, &kernel, half(0), n, 10);
            add(&other, &kernel, half(1), n, 100);
            other.record(&joined)?;
            stream.wait_for(&joined)?;
            add(stream, &kernel, whole(), 2 * n, 1000);
            Ok(())
        });
        assert_eq!(other.is_capturing(), Ok(false));
        assert_eq!(buffer.read().expect("it is there"), vec![0; 2 * n]);
        let mut round = 0;
        for graph in [built, captured.expect("it can be captured")] {
            let graph = graph.instantiate().expect("the graph is right");
            for _ in 0..2 {
                round += 1;
                // SAFETY: the kernels add to the 2n integers of a buffer that outlives the graph.
                unsafe { graph.launch(&stream) }.expect("one device");
                let sums = buffer.read().expect("it is there");
                assert!(sums[..n].iter().all(|&x| x == 1011 * round));
                assert!(sums[n..].iter().all(|&x| x == 1101 * round));
            }
        }
    }
}

#[test]
fn a_capture_ends_where_it_began_and_depends_on_nothing_else() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let buffer = device.upload(&[0_i32; 64]).expect("it fits");
        let event = device.event().expect("there are events");
        let stream = device.stream().expect("there are streams");
        let other = device.non_blocking_stream().expect("there are streams");
        let unjoined = stream.capture(|stream| {
            stream.record(&event)?;
            other.wait_for(&event)?;
            add(&other, &kernel, buffer.argument(), 64, 1);
            Ok(())
        });
        assert_eq!(unjoined.map(|_| ()), Err(DeviceError::UnjoinedCapture));
        // Neither stream has a part in it any more.
        let other = device.stream().expect("there are streams");
        add(&other, &kernel, buffer.argument(), 64, 1);
        other.record(&event).expect("one device");
        let refused = Err(DeviceError::EventOfCapture);
        let outside = stream.capture(|stream| stream.wait_for(&event));
        assert_eq!(outside.map(|_| ()), refused);
        let asked = stream.capture(|stream| {
            stream.record(&event)?;
            event.is_reached().map(|_| ())
        });
        assert_eq!(asked.map(|_| ()), refused);
        assert_eq!(buffer.read().expect("it is there"), [1; 64]);
    }
}

/// The driver has no launch of a graph in a capture, and so the emulator has none either.
#[test]
fn a_graph_is_not_launched_where_another_is_captured() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let buffer = device.upload(&[0_i32; 64]).expect("it fits");
        let inner = stream
            .capture(|stream| {
                add(stream, &kernel, buffer.argument(), 64, 1);
                Ok(())
            })
            .and_then(Graph::instantiate)
            .expect("it can be captured");
        // SAFETY: the kernel adds to the 64 integers of a buffer that outlives the graph.
        let outer = stream.capture(|stream| unsafe { inner.launch(stream) });
        assert_eq!(outer.map(|_| ()), Err(DeviceError::CapturedGraph));
        assert_eq!(buffer.read().expect("it is there"), [0; 64]);
    }
}

/// What other calls of this thread may do after that: wait, allocate and capture.
#[test]
fn a_capture_ends_where_its_closure_panics() {
    for device in devices() {
        let stream = device.stream().expect("there are streams");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.capture(|_| panic!("on purpose"))
        }));
        assert!(panicked.is_err());
        let buffer = device.upload(&[1_i32; 64]).expect("it fits");
        stream.synchronize().expect("nothing is captured");
        assert_eq!(buffer.read().expect("it is there"), [1; 64]);
        stream.capture(|_| Ok(())).expect("it can be captured");
    }
}

#[test]
fn a_stream_tells_whether_it_is_captured() {
    for device in devices() {
        let stream = device.stream().expect("there are streams");
        let graph = stream.capture(|recorder| {
            assert_eq!(recorder.is_capturing(), Ok(true));
            assert_eq!(stream.is_capturing(), Ok(false));
            Ok(())
        });
        graph.expect("it may be empty");
        assert_eq!(stream.is_capturing(), Ok(false));
    }
}

#[test]
fn a_capture_that_fails_ends() {
    for device in devices() {
        let stream = device.stream().expect("there are streams");
        let error = stream
            .capture(|_| Err(DeviceError::OtherDevice))
            .expect_err("the closure fails");
        assert_eq!(error, DeviceError::OtherDevice);
        let kernel = kernel(&device, "add_to_all");
        let buffer = device.upload(&[0_i32; 64]).expect("it fits");
        add(&stream, &kernel, buffer.argument(), 64, 1);
        assert_eq!(buffer.read().expect("it is there"), [1; 64]);
    }
}

#[test]
fn an_access_policy_changes_no_result() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let cache = device.l2_cache().expect("the driver answers");
        let set_aside = device
            .persist_l2(cache.most_persisting_bytes)
            .expect("that much can be set aside");
        assert!(set_aside.bytes() <= cache.most_persisting_bytes);
        assert_eq!(cache == L2Cache::default(), !device.is_gpu());
        let buffer = device.upload(&[0_i32; 1000]).expect("it fits");
        for property in [
            AccessProperty::Normal,
            AccessProperty::Streaming,
            AccessProperty::Persisting,
        ] {
            // Before sm_80 there are no policies.
            if device.sm() >= 80 {
                let policy = AccessPolicy {
                    property,
                    fraction: 1.0,
                };
                stream
                    .set_access_policy(Some((&buffer, policy)))
                    .expect("the buffer is small");
            }
            add(&stream, &kernel, buffer.argument(), 1000, 1);
        }
        if device.sm() >= 80 {
            stream.set_access_policy::<i32>(None).expect("there is one");
        }
        assert_eq!(buffer.read().expect("it is there"), [3; 1000]);
    }
}

#[test]
fn what_is_of_two_devices_is_refused() {
    for (device, other) in devices().into_iter().zip(devices()) {
        let stream = device.stream().expect("there are streams");
        let host = other
            .allocate_on_host::<i32>(HostMemory::PageLocked, 4)
            .expect("it fits");
        let mut buffer = device.upload(&[0_i32; 4]).expect("it fits");
        let refused = Err(DeviceError::OtherDevice);
        assert_eq!(stream.upload(&host, &mut buffer), refused);
        let kernel = kernel(&other, "add_to_all");
        let arguments = addition(buffer.argument(), 4, 1);
        let shape = Shape::linear(1, 64);
        // SAFETY: nothing is launched.
        let launched = unsafe { stream.launch(&kernel, &shape, &arguments) };
        assert_eq!(launched, refused);
        let mut graph = device.graph().expect("there are graphs");
        let added = graph.add_kernel(&kernel, &shape, &arguments, &[]);
        assert_eq!(added.map(|_| ()), refused);
    }
}

#[test]
fn a_stream_copies_within_the_device_behind_what_is_queued_before() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let stream = device.stream().expect("there are streams");
        let from = device.upload(&[1_i32; 100]).expect("it fits");
        let mut to = device.upload(&[0_i32; 100]).expect("it fits");
        add(&stream, &kernel, from.argument(), 100, 6);
        stream.overwrite_l2().expect("there is room");
        stream.copy(&from, &mut to).expect("the lengths are equal");
        stream.synchronize().expect("nothing is wrong");
        assert_eq!(to.read().expect("it is there"), [7; 100]);
        let mut short = device.allocate::<i32>(99).expect("it fits");
        assert_eq!(
            stream.copy(&from, &mut short),
            Err(DeviceError::LengthMismatch {
                length: 99,
                given: 100
            })
        );
    }
}

#[test]
fn other_code_works_on_a_gpu_only() {
    for device in devices() {
        let stream = device.stream().expect("there are streams");
        let buffer = device.upload(&[1_i32]).expect("it fits");
        if device.is_gpu() {
            assert!(!stream.raw().expect("there is a handle").is_null());
            assert_ne!(
                buffer.ipc_handle().expect("there is a handle"),
                [0; IPC_HANDLE_BYTES]
            );
        } else {
            assert_eq!(stream.raw(), Err(DeviceError::NoForeignCode));
            assert_eq!(buffer.ipc_handle(), Err(DeviceError::NoForeignCode));
        }
    }
}

#[test]
fn what_a_stream_has_queued_is_waited_for_after_its_end() {
    for device in devices() {
        let kernel = kernel(&device, "add_to_all");
        let n = if device.is_gpu() { 1 << 22 } else { 1000 };
        let buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        let mut host = device
            .allocate_on_host(HostMemory::PageLocked, n)
            .expect("it fits");
        for round in 1..=20 {
            let stream = device.stream().expect("there are streams");
            for _ in 0..10 {
                add(&stream, &kernel, buffer.argument(), n, 1);
            }
            stream.download(&buffer, &mut host).expect("one length");
            drop(stream);
            let host = host.read().expect("it is there");
            assert!(host.iter().all(|&x| x == 10 * round), "round {round}");
        }
    }
}

#[test]
fn a_graph_keeps_its_kernels_loaded() {
    for device in devices() {
        let n = 1000;
        let buffer = device.upload(&vec![0_i32; n]).expect("it fits");
        let stream = device.stream().expect("there are streams");
        let built = {
            let kernel = kernel(&device, "add_to_all");
            let mut graph = device.graph().expect("there are graphs");
            let arguments = addition(buffer.argument(), n, 1);
            graph
                .add_kernel(&kernel, &Shape::linear(16, 64), &arguments, &[])
                .expect("they fit");
            graph
        };
        let captured = {
            let kernel = kernel(&device, "add_to_all");
            let other = device.non_blocking_stream().expect("there are streams");
            let [forked, joined] = [(); 2].map(|()| device.event().expect("there are events"));
            stream.capture(|stream| {
                add(stream, &kernel, buffer.argument(), n, 10);
                // Another stream has a part in the capture, with a module of its own.
                let kernel = super::kernel(&device, "add_to_all");
                stream.record(&forked)?;
                other.wait_for(&forked)?;
                add(&other, &kernel, buffer.argument(), n, 100);
                other.record(&joined)?;
                stream.wait_for(&joined)
            })
        }
        .expect("launches can be captured");
        for graph in [built, captured] {
            let graph = graph.instantiate().expect("its kernels are loaded");
            // SAFETY: the kernels add to n integers, which the buffer has, and reading it waits for them.
            unsafe { graph.launch(&stream) }.expect("one device");
        }
        assert_eq!(buffer.read().expect("it is there"), vec![111; n]);
    }
}

#[test]
fn a_sum_is_made_although_its_kernels_are_gone() {
    for device in devices() {
        let n = if device.is_gpu() { 1 << 24 } else { 1000 };
        let values = device.upload(&vec![0.5_f32; n]).expect("it fits");
        let mut sum = device.allocate(1).expect("it fits");
        let stream = device.stream().expect("there are streams");
        for _ in 0..20 {
            stream.overwrite_l2().expect("there is room");
        }
        Sum::new(&device)
            .and_then(|mut sums| sums.queue_into(&stream, &values, Mode::Fast, &mut sum))
            .expect("one device");
        drop(device);
        assert_eq!(sum.read().expect("it is there"), [n as f32 / 2.0]);
    }
}
