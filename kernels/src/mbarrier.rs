//! Memory barrier objects and the bulk copies that they count, which exist from sm_90 on (PTX ISA, `mbarrier` and
//! `cp.async.bulk`).
//!
//! Here and not from `cuda_std`, because rust-cuda has them neither as functions nor, in its LLVM, as intrinsics. None of
//! these instructions is collective, so inline assembly is safe for them.

use cuda_std::gpu_only;

/// A barrier in shared memory that counts arrivals and bytes. Its phase begins at 0, and changes between 0 and 1 each time
/// that all expected arrivals and bytes have come.
#[derive(Clone, Copy)]
pub struct Mbarrier {
    /// Its address in shared memory.
    offset: u32,
}

/// The shared-memory address of a generic pointer into shared memory.
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

    /// The barrier that is `words` words further on.
    #[inline(always)]
    #[must_use]
    pub fn nth(self, words: u32) -> Self {
        Self {
            offset: self.offset + 8 * words,
        }
    }

    /// Initialises the word as a barrier: a phase ends after `arrivals` arrivals and all bytes that they expect.
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

    /// Makes the barriers that this thread has initialised visible to the asynchronous copies.
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

    /// Arrives, and adds `bytes` to those that must come before the phase can end.
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

    /// Waits for the end of the phase `phase`, 0 or 1. Afterwards the data of its copies can be read.
    ///
    /// # Safety
    /// The barrier is initialised, and in that phase or the one after it.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn wait(self, phase: u32) {
        let mut is_over = 0_u32;
        while is_over == 0 {
            // SAFETY: the caller's promise. The hardware suspends the thread for a while, so this loop hardly spins.
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

/// Starts a copy from global to shared memory, and returns at once. The barrier counts its bytes as they arrive.
///
/// # Safety
/// Both addresses and `bytes` are multiples of 16; nobody writes to the source, nor touches the destination, until the
/// barrier's phase has ended, whose expected bytes include these.
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
