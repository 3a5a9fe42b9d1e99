//! One piece of guest memory: words that guests and host access atomically only, with their guest address.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// One live allocation, as workers cache it for the time of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region<'m> {
    pub base: u64,
    pub bytes: u64,
    pub read_only: bool,
    words: &'m [AtomicU64],
}

impl<'m> Region<'m> {
    /// A region over words: `bytes` bytes from guest address `base` (fewer than `bytes` if the words do not reach so far).
    #[inline(always)]
    pub fn new(base: u64, bytes: u64, read_only: bool, words: &'m [AtomicU64]) -> Self {
        Self {
            base,
            bytes: bytes.min(8 * words.len() as u64),
            read_only,
            words,
        }
    }

    /// Whether `bytes` bytes at the offset are inside.
    #[inline(always)]
    pub fn holds(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.bytes && bytes <= self.bytes - offset
    }

    #[inline(always)]
    fn pointer<T: Width>(&self, offset: u64) -> *mut u8 {
        assert!(
            self.holds(offset, T::BYTES) && offset.is_multiple_of(T::BYTES),
            "accesses are checked before they are made"
        );
        self.words
            .as_ptr()
            .cast::<u8>()
            .cast_mut()
            .wrapping_add(offset as usize)
    }

    /// Loads a value at an aligned offset inside the region.
    #[inline(always)]
    pub fn load<T: Width>(&self, offset: u64) -> T {
        // SAFETY: `pointer` checked bounds and alignment (the words are 8-aligned); guests and host access the words atomically only.
        unsafe { T::load_at(self.pointer::<T>(offset), Ordering::Relaxed) }
    }

    /// As [`Region::load`], for an offset that was checked before.
    ///
    /// # Safety
    /// The region holds the value's bytes at the offset, which is a multiple of their number.
    #[inline(always)]
    pub unsafe fn load_unchecked<T: Width>(&self, offset: u64) -> T {
        let pointer = self.words.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the caller promises bounds and alignment (the words are 8-aligned); guests and host access the words atomically only.
        unsafe { T::load_at(pointer.add(offset as usize), Ordering::Relaxed) }
    }

    /// As [`Region::store`], for an offset that was checked before.
    ///
    /// # Safety
    /// As for [`Region::load_unchecked`].
    #[inline(always)]
    pub unsafe fn store_unchecked<T: Width>(&self, offset: u64, value: T) {
        let pointer = self.words.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: as for `load_unchecked`; atomics may be written through shared references.
        unsafe { T::store_at(pointer.add(offset as usize), value, Ordering::Relaxed) }
    }

    /// Stores a value at an aligned offset inside the region.
    #[inline(always)]
    pub fn store<T: Width>(&self, offset: u64, value: T) {
        // SAFETY: as for `load`; atomics may be written through shared references.
        unsafe { T::store_at(self.pointer::<T>(offset), value, Ordering::Relaxed) }
    }

    /// Replaces the value at an aligned offset by `f` of it, atomically; returns the old value.
    #[inline(always)]
    pub fn update<T: Width + PartialEq>(&self, offset: u64, f: impl Fn(T) -> T) -> T {
        let pointer = self.pointer::<T>(offset);
        // SAFETY: as for `load`.
        let mut old = unsafe { T::load_at(pointer, Ordering::SeqCst) };
        loop {
            // SAFETY: as for `load`.
            match unsafe { T::exchange_at(pointer, old, f(old)) } {
                Ok(_) => return old,
                Err(found) => old = found,
            }
        }
    }
}

/// A zeroed slice whose pages the host commits lazily, or `None` where it has no room.
pub(crate) fn zeroed(words: usize) -> Option<Box<[AtomicU64]>> {
    if words == 0 {
        return Some(Box::default());
    }
    let layout = Layout::array::<AtomicU64>(words).ok()?;
    // SAFETY: the layout is not empty, since `words` is not 0.
    let start = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
    if start.is_null() {
        return None;
    }
    // SAFETY: `start` comes from the global allocator with the layout of `[AtomicU64; words]`, all its bytes are zero, which is a
    // valid value of every element, and nothing else refers to it.
    Some(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, words)) })
}

/// A width in which guests access memory.
pub(crate) trait Width: Copy {
    const BYTES: u64;
    /// # Safety
    /// `address` is valid for reads of this width, aligned to it, and only accessed atomically while others may write it.
    unsafe fn load_at(address: *mut u8, order: Ordering) -> Self;
    /// # Safety
    /// As for `load_at`, for writes.
    unsafe fn store_at(address: *mut u8, value: Self, order: Ordering);
    /// Swaps in `new` if the memory holds `old`; returns what it held.
    ///
    /// # Safety
    /// As for `load_at`, for reads and writes.
    unsafe fn exchange_at(address: *mut u8, old: Self, new: Self) -> Result<Self, Self>;
    fn to_u64(self) -> u64;
}

macro_rules! width {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Width for $ty {
            const BYTES: u64 = size_of::<$ty>() as u64;
            #[inline(always)]
            unsafe fn load_at(address: *mut u8, order: Ordering) -> Self {
                // SAFETY: the caller promises a valid, aligned address that is accessed atomically only.
                unsafe { <$atomic>::from_ptr(address.cast()) }.load(order)
            }
            #[inline(always)]
            unsafe fn store_at(address: *mut u8, value: Self, order: Ordering) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(address.cast()) }.store(value, order);
            }
            #[inline(always)]
            unsafe fn exchange_at(address: *mut u8, old: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(address.cast()) }.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 { u64::from(self) }
        }
    )*};
}
width! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}
