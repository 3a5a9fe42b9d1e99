//! One interface, every device: what holds on the emulator holds on a GPU, where there is one.

mod foreign;
mod queues;

use super::*;
use std::io::Write;

/// `add_to_all(data, n, addend)` adds to each of n 32-bit integers; `poke(address)` stores to wherever it is told.
const PTX: &str = "
.version 6.3
.target sm_70
.address_size 64

.visible .entry add_to_all(
    .param .u64 data,
    .param .u64 n,
    .param .u32 addend
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [n];
    ld.param.u32 %r1, [addend];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    cvt.u64.u32 %rd3, %r5;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd4, %rd1;
    shl.b64 %rd5, %rd3, 2;
    add.s64 %rd6, %rd4, %rd5;
    ld.global.u32 %r6, [%rd6];
    add.s32 %r6, %r6, %r1;
    st.global.u32 [%rd6], %r6;
DONE:
    ret;
}

.visible .entry poke(
    .param .u64 address
)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [address];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 1;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

/// The emulator and, where there is one, the first GPU.
fn devices() -> Vec<Device> {
    let emulator = Device::open(&DeviceChoice::Emulator).expect("the emulator always opens");
    let mut devices = vec![emulator];
    devices.extend(gpu());
    devices
}

/// The first GPU, or `None` after saying that the test skips it.
fn gpu() -> Option<Device> {
    match warpfold_driver::available() {
        Ok(_) => Some(Device::open(&DeviceChoice::Gpu(0)).expect("the driver has a GPU")),
        Err(reason) => {
            // Past the test harness, which shows what `println!` writes only for tests that fail.
            let _ = writeln!(
                std::io::stderr(),
                "skipped on a GPU, {}: {reason}",
                std::thread::current().name().unwrap_or("a test")
            );
            None
        }
    }
}

#[track_caller]
fn kernel(device: &Device, entry: &str) -> Kernel {
    let module = device.load(PTX).expect("the PTX is right");
    module.kernel(entry).expect("the entry is there")
}

#[test]
fn bytes_are_uploaded_to_a_part_of_a_buffer() {
    for device in devices() {
        let mut memory = vec![0_u8; 1 << 16];
        // SAFETY: the memory outlives the lock.
        let lock = unsafe { device.lock_pages(&raw mut memory[..]) };
        let lock = lock.expect("the system locks some pages");
        memory.fill(7);
        let stream = device.stream().expect("there is one more");
        let mut buffer = device.upload(&[1_u8; 100]).expect("it fits");
        // SAFETY: the bytes are kept until the stream has been waited for.
        let uploaded = unsafe { stream.upload_part(&memory[..10], &mut buffer, 90) };
        assert_eq!(uploaded, Ok(()));
        // SAFETY: nothing is copied.
        let too_long = unsafe { stream.upload_part(&memory[..11], &mut buffer, 90) };
        assert!(too_long.is_err());
        stream.synchronize().expect("it is done");
        let expected = [&[1_u8; 90][..], &[7; 10]].concat();
        assert_eq!(buffer.read(), Ok(expected));
        drop(lock);
    }
}

#[test]
fn without_a_gpu_auto_falls_back_and_gpu_says_why() {
    let Err(reason) = warpfold_driver::available() else {
        let device = Device::open(&DeviceChoice::Auto).expect("there is a GPU");
        assert!(device.is_gpu(), "{device:?}");
        return;
    };
    let device = Device::open(&DeviceChoice::Auto).expect("auto always opens");
    assert!(!device.is_gpu());
    let line = device.describe();
    assert!(
        line.starts_with("emulator: ")
            && line.ends_with(&format!(", no GPU found ({})", reason.summary())),
        "{line}"
    );

    let error = Device::open(&DeviceChoice::Gpu(0)).expect_err("there is no GPU");
    assert!(!error.is_fault());
    assert_eq!(
        error.to_string(),
        format!("no GPU can be used: {reason}; use --device emulator to run without one")
    );
}

#[test]
fn a_gpu_that_the_driver_does_not_count_is_refused() {
    let Some(_) = gpu() else { return };
    let error = Device::open(&DeviceChoice::Gpu(1000)).expect_err("nobody has a thousand");
    assert!(
        error
            .to_string()
            .starts_with("there is no GPU 1000: the driver counts "),
        "{error}"
    );
}

#[test]
fn the_list_has_what_can_be_opened() {
    let list = list().expect("the driver answers");
    assert!(list.emulator_cores >= 1);
    assert_eq!(list.gpus.is_empty(), list.why_no_gpu.is_some());
    if let Some(device) = gpu() {
        assert_eq!(device.describe(), list.gpus[0].to_string());
        assert_eq!(device.sm(), list.gpus[0].sm);
    }
}

#[test]
fn what_is_uploaded_comes_back() {
    for device in devices() {
        let buffer = device.upload(&[1.5_f64, -2.0, 0.25]).expect("it fits");
        assert_eq!(buffer.len(), 3);
        assert_eq!(buffer.bytes(), 24);
        assert_eq!(buffer.read().expect("it is there"), [1.5, -2.0, 0.25]);

        let mut copy = device.allocate::<f64>(3).expect("it fits");
        copy.copy_from(&buffer).expect("the lengths are equal");
        drop(buffer);
        assert_eq!(copy.read().expect("it is there"), [1.5, -2.0, 0.25]);
    }
}

#[test]
fn nothing_can_be_uploaded_too() {
    for device in devices() {
        let mut empty = device.upload::<i32>(&[]).expect("nothing fits");
        assert!(empty.is_empty());
        let other = device.allocate(0).expect("nothing fits");
        empty.copy_from(&other).expect("nothing is copied");
        assert_eq!(empty.read().expect("nothing is read"), [0_i32; 0]);
    }
}

#[test]
fn buffers_outlive_the_device_value() {
    for device in devices() {
        let buffer = device.upload(&[7_u8]).expect("it fits");
        drop(device);
        assert_eq!(buffer.read().expect("it is there"), [7]);
    }
}

#[test]
fn lengths_must_be_equal() {
    for device in devices() {
        let mut buffer = device.allocate::<i32>(4).expect("it fits");
        let error = buffer.write(&[1, 2, 3]).expect_err("three are not four");
        assert_eq!(
            error.to_string(),
            "a copy of 3 elements does not fit a buffer of 4"
        );
        let other = device.allocate::<i32>(5).expect("it fits");
        assert_eq!(
            buffer.copy_from(&other),
            Err(DeviceError::LengthMismatch {
                length: 4,
                given: 5
            })
        );
    }
}

#[test]
fn a_buffer_larger_than_any_memory_is_refused() {
    for device in devices() {
        let error = device
            .allocate::<u64>(usize::MAX / 2)
            .expect_err("no machine has that much");
        assert_eq!(
            error.to_string(),
            format!(
                "a buffer of {} elements is larger than any memory",
                usize::MAX / 2
            )
        );
        let error = device
            .allocate::<u8>(1 << 60)
            .expect_err("no machine has an exbibyte");
        assert!(
            error.to_string().contains("1152921504606846976 bytes"),
            "{error}"
        );
    }
}

#[test]
fn buffers_of_two_devices_do_not_mix() {
    let (one, other) = (devices(), devices());
    for (one, other) in one.iter().zip(&other) {
        let mut target = one.allocate::<i32>(1).expect("it fits");
        let source = other.allocate::<i32>(1).expect("it fits");
        assert_eq!(target.copy_from(&source), Err(DeviceError::OtherDevice));
    }
}

#[test]
fn a_kernel_changes_what_it_is_given() {
    for device in devices() {
        let data = device
            .upload(&(0..1000).collect::<Vec<i32>>())
            .expect("it fits");
        let arguments = [data.argument(), data.len().into(), 5_i32.into()];
        let kernel = kernel(&device, "add_to_all");
        // SAFETY: `add_to_all` stays within the n elements of `data` that it is told.
        unsafe { kernel.launch(&Shape::linear(8, 128), &arguments) }
            .expect("the launch is in order");
        assert_eq!(
            data.read().expect("it is there"),
            (5..1005).collect::<Vec<i32>>(),
            "{device:?}"
        );
    }
}

#[test]
fn bad_launches_are_refused_before_anything_runs() {
    for device in devices() {
        let data = device.upload(&[1_i32]).expect("it fits");
        let kernel = kernel(&device, "add_to_all");
        let sentence = |shape, arguments: &[Argument]| {
            // SAFETY: nothing is launched.
            unsafe { kernel.launch(&shape, arguments) }
                .expect_err("this launch is refused")
                .to_string()
        };
        let arguments = [data.argument(), 1_usize.into(), 5_i32.into()];
        assert_eq!(
            sentence(Shape::linear(0, 128), &arguments),
            "kernel 'add_to_all' cannot be launched: 0 blocks along x, where 1 to 2147483647 are allowed"
        );
        assert_eq!(
            sentence(Shape::linear(1, 1025), &arguments),
            "kernel 'add_to_all' cannot be launched: 1025 threads along x, where 1 to 1024 are allowed"
        );
        assert_eq!(
            sentence(Shape::linear(1, 128), &arguments[..2]),
            "kernel 'add_to_all' cannot be launched: it takes 3 arguments, and 2 are given"
        );
        assert_eq!(
            sentence(
                Shape::linear(1, 128),
                &[data.argument(), 1_u32.into(), 5_i32.into()]
            ),
            "kernel 'add_to_all' cannot be launched: its parameter 1 (counted from 0) has 8 bytes, and the argument has 4"
        );
        let shape = Shape::linear(1, 128).with_dynamic_shared_bytes(1 << 30);
        // SAFETY: nothing is launched.
        let error = unsafe { kernel.launch(&shape, &arguments) }
            .expect_err("no device has a gibibyte of shared memory");
        assert!(!error.is_fault(), "{error}");
        assert_eq!(data.read().expect("it is there"), [1]);
    }
}

#[test]
fn an_entry_that_is_not_there_is_named() {
    for device in devices() {
        let module = device.load(PTX).expect("the PTX is right");
        for entry in ["add", "", "zero\0byte"] {
            let error = module.kernel(entry).expect_err("there is no such entry");
            assert_eq!(
                error.to_string(),
                format!("the PTX has no kernel '{entry}'")
            );
        }
    }
}

#[test]
fn broken_ptx_is_refused_with_the_line() {
    let broken = PTX.replace("add.s32 %r6, %r6, %r1;", "add.s32 %r6, %r6, %nowhere;");
    let line = 1 + broken
        .lines()
        .position(|line| line.contains("%nowhere"))
        .expect("it has been put there");
    for device in devices() {
        let error = device.load(&broken).expect_err("%nowhere is no register");
        assert!(!error.is_fault());
        let sentence = error.to_string();
        assert!(sentence.contains(&format!("line {line}")), "{sentence}");
        assert!(sentence.contains("%nowhere"), "{sentence}");
    }
}

#[test]
fn ptx_with_a_zero_byte_is_refused() {
    for device in devices() {
        assert!(device.load("\0").is_err(), "{device:?}");
    }
}

#[test]
fn the_emulator_counts_and_does_not_time() {
    let device = Device::open(&DeviceChoice::Emulator).expect("the emulator always opens");
    let data = device.upload(&[0_i32; 64]).expect("it fits");
    let kernel = kernel(&device, "add_to_all");
    let arguments = [data.argument(), data.len().into(), 1_i32.into()];
    let shape = Shape::linear(1, 64);

    let mut counters = Counters::default();
    kernel
        .observe(&shape, &arguments, &mut counters)
        .expect("the launch is in order");
    assert_eq!(data.read().expect("it is there"), [1; 64]);
    assert_eq!(counters.global_loads.bytes, 256);
    assert_eq!(counters.global_stores.bytes, 256);

    let timing = Timing {
        repeat: 3,
        cold: false,
    };
    // SAFETY: the emulator checks every access.
    let timed = unsafe { kernel.time(&shape, &arguments, &timing, || Ok(())) };
    assert_eq!(timed, Err(DeviceError::NoTimes));
}

#[test]
fn a_gpu_times_each_launch_on_fresh_input() {
    let Some(device) = gpu() else { return };
    let original = device.upload(&vec![1_i32; 1 << 20]).expect("it fits");
    let mut data = device.allocate::<i32>(1 << 20).expect("it fits");
    let arguments = [data.argument(), data.len().into(), 1_i32.into()];
    let shape = Shape::linear(1 << 12, 256);
    let kernel = kernel(&device, "add_to_all");
    for cold in [false, true] {
        let timing = Timing { repeat: 5, cold };
        // SAFETY: `add_to_all` stays within the n elements of `data` that it is told.
        let times =
            unsafe { kernel.time(&shape, &arguments, &timing, || data.copy_from(&original)) }
                .expect("the launch is in order");
        assert_eq!(times.elapsed_ms.len(), 5);
        assert!(times.fastest_ms() > 0.0, "{times:?}");
        assert!(times.median_ms() < 10.0, "{times:?}");
        assert_eq!(data.read().expect("it is there"), vec![2; 1 << 20]);
    }
    assert_eq!(
        kernel.observe(&shape, &arguments, &mut Counters::default()),
        Err(DeviceError::NotObservable)
    );
}

#[test]
fn a_wild_store_traps_on_the_emulator_with_its_place() {
    let device = Device::open(&DeviceChoice::Emulator).expect("the emulator always opens");
    let kernel = kernel(&device, "poke");
    let error = kernel
        .observe(
            &Shape::linear(1, 1),
            &[1_u64.into()],
            &mut Counters::default(),
        )
        .expect_err("nothing lies at address 1");
    assert!(error.is_fault(), "{error}");
    assert!(error.to_string().contains("poke"), "{error}");
}

/// A fault spoils the GPU for the whole process, so this one runs in a process of its own.
#[test]
fn a_wild_store_faults_on_a_gpu_and_everything_is_still_released() {
    let Some(_) = gpu() else { return };
    let child = std::process::Command::new(std::env::current_exe().expect("tests have a path"))
        .args(["--exact", "--ignored", "device::tests::fault_on_a_gpu"])
        .output()
        .expect("the test runs itself");
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "{output}");
}

#[test]
#[ignore = "spoils the GPU for its process: another test runs it in one of its own"]
fn fault_on_a_gpu() {
    let Some(device) = gpu() else { return };
    let data = device.upload(&[1_i32]).expect("it fits");
    let kernel = kernel(&device, "poke");
    // SAFETY: the store hits no memory of this process: the lowest page belongs to nobody.
    let error = unsafe { kernel.launch(&Shape::linear(1, 1), &[16_u64.into()]) }
        .expect_err("nothing lies at address 16");
    assert!(error.is_fault(), "{error}");
    assert!(
        error.to_string().starts_with(
            "kernel 'poke' faulted on the GPU: cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (",
        ),
        "{error}"
    );

    let later = data.read().expect_err("the context is spoilt");
    assert!(later.is_fault(), "{later}");
    drop((data, kernel, device));

    // The fault stays with the process: nothing more can be had of this GPU, and every call says why.
    let again = Device::open(&DeviceChoice::Gpu(0)).expect_err("the process is spoilt");
    assert!(
        again.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{again}"
    );
}
