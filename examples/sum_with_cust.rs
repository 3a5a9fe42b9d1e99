//! The whole road from PTX to a sum with `cust` alone: `cargo run --example sum_with_cust`. It needs a GPU.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!(
        "This example is built with `cust`, which this repository builds without CUDA on Linux only."
    );
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use cust::prelude::*;

    const PTX: &str = include_str!("../kernels/ptx/kernels.sm_70.ptx");
    const BLOCK: u32 = 512;

    // Where there is no driver, it says so. Naming that crate also links what `cust` calls: see driver/src/lib.rs.
    if let Err(reason) = warpfold_driver::available() {
        println!("There is no GPU to add up on: {reason}.");
        return Ok(());
    }
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
