//! Numbers of which the compiler knows nothing, so that it leaves what is computed from them where it stands.

use cuda_std::gpu_only;

/// The same number. In a loop, addresses that are computed from it are no counters of their own, each of which would take some additions
/// before the loop's first load.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn opaque(number: usize) -> usize {
    let same: usize;
    // SAFETY: a copy of a register.
    unsafe {
        core::arch::asm!(
            "mov.b64 {same}, {number};",
            number = in(reg64) number,
            same = out(reg64) same,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    same
}

/// The same number.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn opaque(number: usize) -> usize {
    number
}

macro_rules! from_here_on {
    ($name:ident: $number:ident = $bits:literal $register:ident) => {
        /// The same number, known from here on: nothing that is computed from it is computed before, and all that it is computed from is,
        /// however often the place is come to.
        #[gpu_only]
        #[inline(always)]
        pub(crate) fn $name(number: $number) -> $number {
            let same: $number;
            // SAFETY: a copy of a register. It is not pure, so that it stays in its place.
            unsafe {
                core::arch::asm!(
                    concat!("mov.", $bits, " {same}, {number};"),
                    number = in($register) number,
                    same = out($register) same,
                    options(nomem, nostack, preserves_flags),
                );
            }
            same
        }
    };
}

from_here_on!(from_here_on: u32 = "b32" reg32);
from_here_on!(from_here_on_usize: usize = "b64" reg64);

/// A place that a compiler moves nothing over. What two branches have in common it otherwise does once, before them or after them, and with what it knows
/// in both: a store of 16 bytes becomes four where the other branch may not have 16 at once.
#[gpu_only]
#[inline(always)]
pub(crate) fn keep_apart() {
    // SAFETY: no instruction.
    unsafe { core::arch::asm!("", options(nostack, preserves_flags)) };
}
