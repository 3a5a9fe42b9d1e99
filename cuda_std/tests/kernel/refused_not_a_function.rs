use cuda_std::kernel;

#[kernel]
pub struct Kernel;

fn main() {}
