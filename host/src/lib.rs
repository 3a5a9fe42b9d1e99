//! Reductions at the speed of the memory, on NVIDIA GPUs or on an emulator that runs the same PTX.

pub mod device;
pub mod machine;
pub mod ptx;
pub mod sum;
