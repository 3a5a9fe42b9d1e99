//! A file whose values are read in parts, by several threads: through the system's cache, or past it.

use super::system;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use warpfold_input::InputError;

/// What addresses, places and lengths are multiples of where a file is read past the cache: enough for every disk.
pub(crate) const ALIGNMENT: usize = 4096;
/// A file of fewer bytes is read through the cache, and taken to be there.
const SMALL: u64 = 1 << 20;

/// How to read what is not in the system's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cold {
    /// Through the cache, where it stays.
    Through,
    /// Past it, by `O_DIRECT`.
    Past,
}

/// An open file.
pub(crate) struct ValuesFile {
    path: PathBuf,
    file: File,
    /// The same file, to read past the cache; `None` where the file system refuses that.
    past: Option<File>,
    is_small: bool,
    /// The size of a value, where its bytes are in another order than this computer's.
    swapped: Option<usize>,
}

/// Bytes of a file, and where in a piece they belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The place of the first byte in the file.
    pub(crate) start: u64,
    pub(crate) bytes: usize,
    /// The place of the first byte among the values of the piece.
    pub(crate) at: usize,
    /// Whether it was in the system's cache before the run came to it.
    pub(crate) is_cached: bool,
}

/// How many bytes came from where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Came {
    /// They were in the system's cache before.
    pub(crate) cached: u64,
    /// They were not, and were read through it.
    pub(crate) through: u64,
    /// They were read past it.
    pub(crate) past: u64,
}

impl Came {
    pub(crate) fn all(self) -> u64 {
        self.cached + self.through + self.past
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.cached += more.cached;
        self.through += more.through;
        self.past += more.past;
    }
}

/// A span that could not be read whole.
pub(crate) struct Broken {
    /// How many of its bytes are there.
    pub(crate) read: usize,
    pub(crate) error: InputError,
}

impl ValuesFile {
    /// Of an open file, which has this many bytes of values.
    pub(crate) fn new(path: &Path, file: File, bytes: u64, swapped: Option<usize>) -> Self {
        let is_small = bytes < SMALL;
        Self {
            path: path.to_owned(),
            past: if is_small {
                None
            } else {
                system::open_past(path)
            },
            is_small,
            file,
            swapped,
        }
    }

    /// Whether the file system lets it be read past the cache.
    pub(crate) fn may_go_past(&self) -> bool {
        self.past.is_some()
    }

    /// Whether most of these bytes are in the cache now. Where the system does not say, they are taken to be.
    pub(crate) fn is_cached(&self, start: u64, bytes: u64) -> bool {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.is_small || system::is_cached(&self.file, start, bytes).unwrap_or(true)
    }

    /// Whether a span would be read past the cache.
    pub(crate) fn goes_past(&self, span: &Span, cold: Cold) -> bool {
        cold == Cold::Past && self.past.is_some() && !span.is_cached
    }

    /// How far from the beginning of a slot a piece's values have to begin, so that the span lies there as the disk has it.
    pub(crate) fn shift(span: &Span) -> usize {
        let there = span.start as usize % ALIGNMENT;
        (there + ALIGNMENT - span.at % ALIGNMENT) % ALIGNMENT
    }

    /// Reads a span past the cache, whole blocks of the disk, into a slot whose values begin at `shift`: also some bytes before the span
    /// and after it.
    pub(crate) fn read_past(
        &self,
        span: &Span,
        slot: &mut [u8],
        shift: usize,
    ) -> Result<Came, Broken> {
        let Some(past) = &self.past else {
            return self.read(span, &mut slot[shift..]);
        };
        let before = span.start as usize % ALIGNMENT;
        let from = shift + span.at - before;
        let length = (before + span.bytes).next_multiple_of(ALIGNMENT);
        let room = &mut slot[from..from + length];
        let read = system::read_at(past, room, span.start - before as u64, before + span.bytes);
        match read {
            // A file system may also refuse it now.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.read(span, &mut slot[shift..])
            }
            read => {
                let read = read.map(|read| read.saturating_sub(before));
                self.check(span, read, &mut slot[shift..])?;
                let past = span.bytes as u64;
                Ok(Came {
                    past,
                    ..Came::default()
                })
            }
        }
    }

    /// Reads a span through the cache, to its place among the values.
    pub(crate) fn read(&self, span: &Span, values: &mut [u8]) -> Result<Came, Broken> {
        let room = &mut values[span.at..][..span.bytes];
        let own = if span.is_cached {
            None
        } else {
            system::reopen(&self.file)
        };
        let file = own.as_ref().unwrap_or(&self.file);
        let read = system::read_at(file, room, span.start, span.bytes);
        self.check(span, read, values)?;
        let bytes = span.bytes as u64;
        Ok(if span.is_cached {
            Came {
                cached: bytes,
                ..Came::default()
            }
        } else {
            Came {
                through: bytes,
                ..Came::default()
            }
        })
    }

    /// What was read of a span, as this computer has it, or what is wrong with it.
    fn check(&self, span: &Span, read: io::Result<usize>, values: &mut [u8]) -> Result<(), Broken> {
        let (read, source) = match read {
            Ok(read) if read >= span.bytes => (span.bytes, None),
            Ok(read) => {
                let length = self.file.metadata().map_or(0, |metadata| metadata.len());
                let shrunk = format!(
                    "it has become shorter meanwhile and ends at byte {length}; bring it back whole and start again"
                );
                (
                    read,
                    Some(io::Error::new(io::ErrorKind::UnexpectedEof, shrunk)),
                )
            }
            Err(error) => (0, Some(error)),
        };
        if let Some(bytes) = self.swapped {
            values[span.at..][..read]
                .chunks_mut(bytes)
                .for_each(<[u8]>::reverse);
        }
        match source {
            None => Ok(()),
            Some(source) => Err(Broken {
                read,
                error: InputError::UnreadableAt {
                    path: self.path.clone(),
                    offset: span.start + read as u64,
                    source,
                },
            }),
        }
    }

    /// Lets the system forget a span that was not in the cache before.
    pub(crate) fn forget(&self, span: &Span) {
        system::forget(&self.file, span.start, span.bytes as u64);
    }
}
