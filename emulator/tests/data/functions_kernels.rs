#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
mod functions;
use core::arch::nvptx::_thread_idx_x;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { unsafe { core::arch::nvptx::trap() } }
macro_rules! kernels { ($($name:ident)*) => {$(
    #[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn $name(out: *mut u64) { unsafe { let i = _thread_idx_x() as u32; *out.add(i as usize) = functions::$name(i); } }
)*} }
kernels! { branches wide floats objects recursion tables }
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn out_of_bounds(out: *mut u64, n: usize) { unsafe { let s = core::slice::from_raw_parts_mut(out, n); let i = _thread_idx_x() as usize; s[i] = i as u64; } }
