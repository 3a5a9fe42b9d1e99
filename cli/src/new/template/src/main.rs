//! Runs the kernel on the first GPU, else on the emulator.

use warpfold_template::squared_distance;

use warpfold::{Device, DeviceError};

fn main() -> Result<(), DeviceError> {
    let device = Device::best();
    let left: Vec<f32> = (0..1000).map(|index| index as f32).collect();
    let right = vec![1.0; left.len()];
    let distance = squared_distance(&device, &left, &right)?;
    println!("{}", device.describe());
    println!("squared distance: {distance}");
    Ok(())
}
