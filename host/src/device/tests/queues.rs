//! Streams, events, graphs, host memory and access policies: the same on every device, but for times.

use super::{devices, gpu, kernel};
use crate::device::*;
use crate::sum::{Mode, Sum};

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
            let other = device.stream().expect("there are streams");
            let [forked, joined] = [(); 2].map(|()| device.event().expect("there are events"));
            stream.capture(|stream| {
                add(stream, &kernel, buffer.argument(), n, 10);
                // Another stream has a part in the capture, with a module of its own.
                if device.is_gpu() {
                    let kernel = super::kernel(&device, "add_to_all");
                    stream.record(&forked)?;
                    other.wait_for(&forked)?;
                    add(&other, &kernel, buffer.argument(), n, 100);
                    other.record(&joined)?;
                    stream.wait_for(&joined)?;
                }
                Ok(())
            })
        }
        .expect("launches can be captured");
        for graph in [built, captured] {
            let graph = graph.instantiate().expect("its kernels are loaded");
            // SAFETY: the kernels add to n integers, which the buffer has, and reading it waits for them.
            unsafe { graph.launch(&stream) }.expect("one device");
        }
        let sum = if device.is_gpu() { 111 } else { 11 };
        assert_eq!(buffer.read().expect("it is there"), vec![sum; n]);
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
