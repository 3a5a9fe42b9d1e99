//! The whole road from PTX to a sum with `cust` alone: `cargo run --example sum_with_cust`. It needs Linux and a GPU.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use cust::prelude::*;
    // `cust` calls the driver by symbols of this crate, so that building needs no CUDA: see driver/src/lib.rs.
    use warpfold_driver as _;

    const PTX: &str = include_str!("../kernels/ptx/kernels.sm_70.ptx");
    const BLOCK: u32 = 512;

    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let unroll8 = module.get_function("unroll8")?;

    let values: Vec<i32> = (0..1 << 20).map(|i| i % 1000 - 200).collect();
    let blocks = values.len().div_ceil(8 * BLOCK as usize) as u32;
    let input = DeviceBuffer::from_slice(&values)?;
    let partials = DeviceBuffer::<i32>::zeroed(blocks as usize)?;
    // SAFETY: `unroll8` takes (input, partials, n); a block of B threads adds up the next 8 B of the n values, in place, and writes one
    // partial sum. The buffers have that many elements and outlive the launch.
    unsafe {
        launch!(unroll8<<<blocks, BLOCK, 0, stream>>>(
            input.as_device_ptr(),
            partials.as_device_ptr(),
            values.len()
        ))?;
    }
    stream.synchronize()?;

    let sum: i32 = partials.as_host_vec()?.iter().sum();
    assert_eq!(sum, values.iter().sum());
    println!("the sum of {} values is {sum}", values.len());
    Ok(())
}
