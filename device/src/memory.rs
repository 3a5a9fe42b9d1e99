//! Words that other threads use at the same time, and the shared memory of a block.

use cuda_std::gpu_only;

/// Loads and stores of words that others use at the same time, by the instructions' scope, type and register.
macro_rules! relaxed {
    ($($load:ident $store:ident: $value:ident = $scope_and_bits:literal $register:ident, $what:literal $who:literal;)*) => {$(
        #[doc = concat!("The value of a word ", $what, "that ", $who, " are changing by atomic operations. This load orders nothing by itself.")]
        ///
        /// Here and not the `load` of a core atomic, which rust-cuda compiles to a slow read-modify-write.
        ///
        /// # Safety
        /// `word` points to global memory, and while others use it, they change it only by atomic operations.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $load(word: *const $value) -> $value {
            let value: $value;
            // SAFETY: one load of a word that is valid by the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("ld.relaxed.", $scope_and_bits, " {value}, [{word}];"),
                    word = in(reg64) word,
                    value = out($register) value,
                    options(nostack, preserves_flags),
                );
            }
            value
        }

        #[doc = concat!("Writes a word ", $what, "that ", $who, " are using by atomic operations. This store orders nothing by itself.")]
        ///
        /// Here for the same reason.
        ///
        /// # Safety
        /// As for the load; `word` may be written.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $store(word: *mut $value, value: $value) {
            // SAFETY: one store to a word that is valid by the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("st.relaxed.", $scope_and_bits, " [{word}], {value};"),
                    word = in(reg64) word,
                    value = in($register) value,
                    options(nostack, preserves_flags),
                );
            }
        }
    )*};
}

relaxed! {
    load_relaxed store_relaxed: u32 = "gpu.b32" reg32, "" "other blocks";
    load_relaxed_u64 store_relaxed_u64: u64 = "gpu.b64" reg64, "of 64 bits " "other blocks";
    load_relaxed_system_u64 store_relaxed_system_u64: u64 = "sys.b64" reg64, "of 64 bits " "other devices";
}

/// The value of a word in global memory that nothing writes as long as the kernel runs. It may come from a cache that notices
/// no stores.
///
/// Here because a raw pointer tells neither compiler that nothing writes there, so that they never emit this instruction.
///
/// # Safety
/// `word` points to such a word.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_read_only(word: *const i32) -> i32 {
    let value: i32;
    // SAFETY: one load of a word that is valid by the caller's promise; since nothing writes it, the load is pure.
    unsafe {
        core::arch::asm!(
            "ld.global.nc.b32 {value}, [{word}];",
            word = in(reg64) word,
            value = out(reg32) value,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    value
}

/// Asks for the memory that a place is in to be brought into the L2 cache. Nothing waits for it, and no register is taken.
///
/// Here because neither compiler has a function for it.
///
/// # Safety
/// `place` points into global memory.
#[gpu_only]
#[inline(always)]
pub unsafe fn prefetch<T>(place: *const T) {
    // SAFETY: what is read or written stays as it is.
    unsafe {
        core::arch::asm!(
            "prefetch.global.L2 [{place}];",
            place = in(reg64) place,
            options(readonly, nostack, preserves_flags),
        );
    }
}

/// Adds 1 to a word in global memory and returns its value from before. Calls on the same word are ordered: a thread sees
/// everything that was visible to the threads of all earlier calls.
///
/// Here and not `AtomicU32::fetch_add` with `Ordering::AcqRel` nor a relaxed one between two `device_fence`s: rust-cuda has
/// no other order than the relaxed one, and those fences order more than is needed and take longer.
///
/// # Safety
/// `counter` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn draw_ticket(counter: *mut u32) -> u32 {
    let before: u32;
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "atom.acq_rel.gpu.global.add.u32 {before}, [{counter}], 1;",
            counter = in(reg64) counter,
            before = out(reg32) before,
            options(nostack, preserves_flags),
        );
    }
    before
}

/// Adds 1 to a word in global memory, which is below 2^31 − 1, and returns what it held. It orders nothing.
///
/// NVIDIA's assembler makes one addition of those of a warp, even if a single lane has one, and then lets the warp wait for the answer at
/// once. Not so of `inc`, after which a word starts again from 0.
///
/// # Safety
/// As for [`draw_ticket`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn draw_turn(counter: *mut u32) -> u32 {
    let before: u32;
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "atom.relaxed.gpu.global.inc.u32 {before}, [{counter}], 0x7fffffff;",
            counter = in(reg64) counter,
            before = out(reg32) before,
            options(nostack, preserves_flags),
        );
    }
    before
}

/// Adds to a word in global memory. It returns nothing, so no thread waits for an answer.
///
/// Here and not from `core`, which has no atomic floats, nor from rust-cuda's `cuda_std`, whose atomic floats are functions
/// of a library that rustc's own backend cannot link.
///
/// # Safety
/// `word` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn add_f64(word: *mut f64, value: f64) {
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "red.relaxed.gpu.global.add.f64 [{word}], {value};",
            word = in(reg64) word,
            value = in(reg64) value.to_bits(),
            options(nostack, preserves_flags),
        );
    }
}

/// Tells the compiler that `pointer` points into shared memory, so that it emits `ld.shared` and `st.shared` where it would
/// otherwise have to leave the choice of memory to the hardware.
///
/// # Safety
/// `pointer` points into shared memory.
#[gpu_only]
#[inline(always)]
pub unsafe fn assume_shared<T>(pointer: *mut T) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.isspacep.shared"]
        fn is_shared(pointer: *const u8) -> bool;
    }
    // SAFETY: the intrinsic takes any address; the caller promises that its answer is yes.
    unsafe { core::hint::assert_unchecked(is_shared(pointer.cast())) }
}

/// Adds to a word in shared memory to which other threads of the block may be adding, too. The addition orders nothing by
/// itself.
///
/// Here and not from `core`: before each core atomic rust-cuda tests whether the pointer is global or shared, and after
/// [`assume_shared`] libNVVM 12 takes that test for false, so that only a `trap` is left. The address is converted to a
/// shared one first, because a GPU has slower instructions for generic addresses.
///
/// # Safety
/// `word` points into shared memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn add_to_shared(word: *mut u32, value: u32) {
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "cvta.to.shared.u64 {address}, {word};",
            "red.relaxed.cta.shared.add.u32 [{address}], {value};",
            word = in(reg64) word,
            value = in(reg32) value,
            address = out(reg64) _,
            options(nostack, preserves_flags),
        );
    }
}

/// `shared_array!(name: [T; length])`: a pointer to `length` uninitialised values in the block's shared memory,
/// where `length` may depend on a const generic. `name` is the array's name in the PTX, once per kernel.
///
/// Here because a `static` can't depend on a const generic. With either compiler, the only way is to write the three
/// instructions: the declaration, its offset in shared memory, and the conversion of that to a pointer.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! shared_array {
    ($name:ident: [$type:ty; $length:expr]) => {{
        let pointer: *mut $type;
        // SAFETY: declaring an array and taking its address touches no memory, and the address is a shared one.
        unsafe {
            ::core::arch::asm!(
                concat!(".shared .align 16 .b8 ", stringify!($name), "[{bytes}];"),
                concat!("mov.u64 {offset}, ", stringify!($name), ";"),
                "cvta.shared.u64 {pointer}, {offset};",
                bytes = const $length as usize * size_of::<$type>(),
                offset = out(reg64) _,
                pointer = out(reg64) pointer,
                options(pure, nomem, nostack, preserves_flags),
            );
            $crate::memory::assume_shared(pointer);
        }
        pointer
    }};
}

/// On the host, where there is no shared memory, it checks its arguments when it is compiled, and panics when it runs.
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! shared_array {
    ($name:ident: [$type:ty; $length:expr]) => {
        $crate::memory::shared_array_on_the_host::<$type>(stringify!($name), $length as usize)
    };
}

/// What [`shared_array!`] becomes on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub fn shared_array_on_the_host<T>(name: &str, length: usize) -> *mut T {
    panic!(
        "the shared array `{name}` of {length} values exists only in a kernel on the device, and this is the host"
    )
}

pub use shared_array;

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(
        expected = "the shared array `sums` of 64 values exists only in a kernel on the device"
    )]
    fn a_shared_array_on_the_host_says_where_it_belongs() {
        let _: *mut i32 = super::shared_array!(sums: [i32; 64]);
    }
}
