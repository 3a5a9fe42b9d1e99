// A large value passed by value to a function that is not inlined: run on the host and, compiled to PTX by rustc, in the emulator.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, stdarch_nvptx))]

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Digits([u32; 24]);

/// Changes its copy, which the depth above still needs as it was.
#[inline(never)]
pub extern "C" fn shuffled(mut digits: Digits, step: u32) -> u64 {
    for i in 0..24u32 {
        let at = (step * i % 24) as usize;
        digits.0[at] = digits.0[at].wrapping_mul(3).wrapping_add(i);
    }
    let below = if step == 0 {
        0
    } else {
        shuffled(digits, step - 1)
    };
    digits.0.iter().fold(below, |sum, &digit| {
        sum.wrapping_mul(31).wrapping_add(u64::from(digit))
    })
}

pub fn by_value(i: u32) -> u64 {
    let digits = Digits(core::array::from_fn(|at| at as u32 ^ i));
    shuffled(digits, i % 7) ^ u64::from(digits.0[i as usize % 24])
}

#[cfg(target_arch = "nvptx64")]
mod kernel {
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        unsafe { core::arch::nvptx::trap() }
    }

    #[unsafe(no_mangle)]
    unsafe extern "ptx-kernel" fn by_value(out: *mut u64) {
        unsafe {
            let i = core::arch::nvptx::_thread_idx_x() as u32;
            *out.add(i as usize) = super::by_value(i);
        }
    }
}
