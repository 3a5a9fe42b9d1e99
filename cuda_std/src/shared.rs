//! Shared memory: the memory of one block, which all its threads read and write.

use crate::gpu_only;

/// The dynamic shared memory of the block: as many bytes as the launch asked for, uninitialised. It is aligned to 128
/// bytes, which fast bulk copies need (to 16 in rust-cuda).
///
/// Every call returns the same pointer. The kernel must call it in its own body (and may pass the pointer on), because
/// [`macro@crate::kernel`] declares the memory if it sees the name there.
#[gpu_only]
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.isspacep.shared"]
        fn is_shared(pointer: *const u8) -> bool;
    }
    let pointer: *mut u8;
    // SAFETY: the two instructions only take the address of the array that `#[kernel]` declares, and that address is
    // indeed a shared one, which lets the compiler emit `ld.shared` and `st.shared` instead of generic accesses.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 %offset; mov.u64 %offset, _Zcuda_std_dyn_shared; cvta.shared.u64 {pointer}, %offset; }}",
            pointer = out(reg64) pointer,
            options(pure, nomem, nostack),
        );
        core::hint::assert_unchecked(is_shared(pointer));
    }
    pointer.cast()
}
