use cuda_std::kernel;

#[kernel(fast)]
pub unsafe fn with_an_argument(_output: *mut f32) {}

fn main() {}
