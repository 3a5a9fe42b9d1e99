//! Memory barrier objects and the bulk copies that they count, which are there from sm_90 on (PTX ISA, `mbarrier` and
//! `cp.async.bulk`).
//!
//! Here and not from `cuda_std`, because rust-cuda has them neither as functions nor, in its LLVM, as intrinsics. None of these
//! instructions is collective, so that inline assembly may hold them.

use cuda_std::gpu_only;

/// A barrier in shared memory that counts arrivals and bytes. Its phase begins at 0, and changes between 0 and 1 when all have
/// arrived that it expects.
#[derive(Clone, Copy)]
pub struct Mbarrier {
    /// Its address in shared memory.
    offset: u32,
}

/// The address in shared memory that a pointer into it stands for.
#[gpu_only]
#[inline(always)]
fn shared_offset(pointer: *const u8) -> u32 {
    let offset: u32;
    // SAFETY: computes an address, and touches no memory.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 %wide; cvta.to.shared.u64 %wide, {pointer}; cvt.u32.u64 {offset}, %wide; }}",
            pointer = in(reg64) pointer,
            offset = out(reg32) offset,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    offset
}

impl Mbarrier {
    /// The barrier in this word of shared memory.
    #[inline(always)]
    pub fn at(word: *mut u64) -> Self {
        Self {
            offset: shared_offset(word.cast()),
        }
    }

    /// The barrier that lies so many words further on.
    #[inline(always)]
    #[must_use]
    pub fn nth(self, words: u32) -> Self {
        Self {
            offset: self.offset + 8 * words,
        }
    }

    /// Makes a barrier of the word: a phase ends when so many have arrived, with all bytes that they expect.
    ///
    /// # Safety
    /// The word is shared memory that nobody else uses until it is [published](Self::publish) and the block has passed a barrier.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn initialise(self, arrivals: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            core::arch::asm!(
                "mbarrier.init.shared::cta.b64 [{word}], {arrivals};",
                word = in(reg32) self.offset,
                arrivals = in(reg32) arrivals,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Makes the barriers that this thread has initialised known to what makes the copies.
    #[gpu_only]
    #[inline(always)]
    pub fn publish() {
        // SAFETY: a fence touches no memory of its own.
        unsafe {
            core::arch::asm!(
                "fence.mbarrier_init.release.cluster;",
                options(nostack, preserves_flags),
            );
        }
    }

    /// Arrives, with so many bytes to come before the phase can end.
    ///
    /// # Safety
    /// The barrier is initialised, and has not had all its arrivals.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive_and_expect(self, bytes: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{word}], {bytes};",
                word = in(reg32) self.offset,
                bytes = in(reg32) bytes,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Waits for the end of the phase `phase`, 0 or 1; what its copies have brought can be read then.
    ///
    /// # Safety
    /// The barrier is initialised, and in that phase or the one behind it.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn wait(self, phase: u32) {
        let mut is_over = 0_u32;
        while is_over == 0 {
            // SAFETY: the caller's promise. The hardware suspends the thread for a while, so that this loop hardly spins.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred %over; mbarrier.try_wait.parity.shared::cta.b64 %over, [{word}], {phase}; \
                     selp.u32 {is_over}, 1, 0, %over; }}",
                    word = in(reg32) self.offset,
                    phase = in(reg32) phase,
                    is_over = out(reg32) is_over,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
}

/// Orders a copy from global to shared memory, and goes on. The barrier counts its bytes when they are there.
///
/// # Safety
/// Both addresses and `bytes` are multiples of 16; nobody writes what is copied, nor touches where it goes, until the barrier's
/// phase has ended, whose expected bytes include these.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_to_shared(to: *mut u8, from: *const u8, bytes: u32, barrier: Mbarrier) {
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{from}], {bytes}, [{word}];",
            to = in(reg32) shared_offset(to),
            from = in(reg64) from,
            bytes = in(reg32) bytes,
            word = in(reg32) barrier.offset,
            options(nostack, preserves_flags),
        );
    }
}
