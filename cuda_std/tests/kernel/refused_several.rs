use cuda_std::kernel;

#[kernel]
pub fn safe_generic_and_returning<T: Copy>(_output: *mut T) -> u32 {
    0
}

fn main() {}
