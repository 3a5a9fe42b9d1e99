use cuda_std::kernel;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Parameters {
    pub scale: f32,
    pub count: u32,
}

/// Pointers, numbers and plain structures.
#[kernel]
pub unsafe fn everything(input: *const f32, output: *mut f32, parameters: Parameters, n: usize) {
    let _ = (input, output, parameters.scale, parameters.count, n);
}

/// No parameters at all.
#[kernel]
unsafe fn nothing() {}

/// A lifetime is no parameter of the kernel: there is one entry for all of them.
#[kernel]
pub unsafe fn borrowed<'a>(value: &'a u32) {
    let _ = value;
}

fn main() {
    // SAFETY: the kernels do nothing with what they are given.
    unsafe {
        everything(
            core::ptr::null(),
            core::ptr::null_mut(),
            Parameters { scale: 1.0, count: 1 },
            0,
        );
        nothing();
        borrowed(&1);
    }
}
