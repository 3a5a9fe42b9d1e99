//! What only some systems have: reading past the cache, and asking what is in it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Reads from a place in the file until `enough` bytes are there, or the file ends; how many there are.
pub(super) fn read_at(
    file: &File,
    room: &mut [u8],
    start: u64,
    enough: usize,
) -> io::Result<usize> {
    let mut read = 0;
    while read < enough {
        #[cfg(unix)]
        let more =
            std::os::unix::fs::FileExt::read_at(file, &mut room[read..], start + read as u64);
        #[cfg(windows)]
        let more =
            std::os::windows::fs::FileExt::seek_read(file, &mut room[read..], start + read as u64);
        match more {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use memmap2::MmapOptions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    pub(in super::super) fn open_past(path: &Path) -> Option<File> {
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_DIRECT);
        options.open(path).ok()
    }

    /// The same file, opened once more: the system reads ahead for each opening by itself, and several threads that share one lead it astray.
    pub(in super::super) fn reopen(file: &File) -> Option<File> {
        File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
    }

    /// How many pages of a range are looked at.
    const PAGES: usize = 16;

    /// Whether most of these bytes are in the cache, by some of their pages; `None` where the system does not say.
    pub(in super::super) fn is_cached(file: &File, start: u64, bytes: usize) -> Option<bool> {
        // SAFETY: the name asks for a number, which the call gives.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let before = (start % page as u64) as usize;
        let mut options = MmapOptions::new();
        let options = options.offset(start - before as u64).len(before + bytes);
        // SAFETY: what is mapped is never read.
        let map = unsafe { options.map(file) }.ok()?;
        let pages = map.len().div_ceil(page);
        let (mut looked, mut cached) = (0, 0);
        for number in (0..pages).step_by(pages.div_ceil(PAGES).max(1)) {
            let mut is_there = 0_u8;
            let address = map[number * page..].as_ptr().cast_mut().cast();
            // SAFETY: the page is mapped, and there is a byte for it.
            if unsafe { libc::mincore(address, 1, &raw mut is_there) } != 0 {
                return None;
            }
            looked += 1;
            cached += usize::from(is_there & 1);
        }
        Some(2 * cached > looked)
    }

    pub(in super::super) fn forget(file: &File, start: u64, bytes: u64) {
        let Ok(start) = libc::off_t::try_from(start) else {
            return;
        };
        let Ok(bytes) = libc::off_t::try_from(bytes) else {
            return;
        };
        // A system that does not do it keeps the bytes, and nothing is wrong.
        // SAFETY: the file is open.
        let _ = unsafe {
            libc::posix_fadvise(file.as_raw_fd(), start, bytes, libc::POSIX_FADV_DONTNEED)
        };
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{forget, is_cached, open_past, reopen};

#[cfg(not(target_os = "linux"))]
mod other {
    use super::*;

    pub(in super::super) fn open_past(_: &Path) -> Option<File> {
        None
    }

    pub(in super::super) fn reopen(_: &File) -> Option<File> {
        None
    }

    pub(in super::super) fn is_cached(_: &File, _: u64, _: usize) -> Option<bool> {
        None
    }

    pub(in super::super) fn forget(_: &File, _: u64, _: u64) {}
}

#[cfg(not(target_os = "linux"))]
pub(super) use other::{forget, is_cached, open_past, reopen};
