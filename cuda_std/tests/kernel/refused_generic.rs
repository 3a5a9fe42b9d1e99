use cuda_std::kernel;

#[kernel]
pub unsafe fn generic_over_a_type<T: Copy>(_output: *mut T) {}

#[kernel]
pub unsafe fn generic_over_a_size<const B: usize>(_output: *mut f32) {}

#[kernel]
pub unsafe fn generic_in_disguise(_value: impl Copy) {}

fn main() {}
