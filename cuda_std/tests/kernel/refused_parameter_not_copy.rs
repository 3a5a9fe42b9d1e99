use cuda_std::kernel;

pub struct Buffer(pub *mut f32);

#[kernel]
pub unsafe fn takes_a_buffer(_buffer: Buffer, _name: String) {}

fn main() {}
