use cuda_std::kernel;

struct Sum;

impl Sum {
    #[kernel]
    pub unsafe fn method(&self, _output: *mut f32) {}
}

fn main() {}
