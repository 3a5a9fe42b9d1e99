use cuda_std::kernel;

#[kernel]
pub unsafe fn returns(input: *const f32) -> f32 {
    unsafe { *input }
}

fn main() {}
