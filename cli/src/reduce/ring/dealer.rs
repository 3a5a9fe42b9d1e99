//! The values of all files, one after another, dealt out in pieces of one size.

use super::file::{Broken, Came, Cold, Span, ValuesFile};
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpfold_dynamic::TypeName;
use warpfold_input::found::{Asked, Found, Place, Values};
use warpfold_input::{InputError, comes_in_pieces, is_table};

/// How many bytes the system is asked about at once. It usually reads at most as many ahead.
pub(super) const LOOK: u64 = 8 << 20;

/// Deals out pieces in their order. Files are opened when it is their turn.
pub(crate) struct Dealer<'a> {
    asked: Asked<'a>,
    paths: &'a [PathBuf],
    /// What a file is refused for.
    refuse: &'a (dyn Fn(&Path, &Found) -> Result<(), Failure> + Sync),
    element_type: TypeName,
    /// The name of the first file's values.
    name: Option<String>,
    piece_bytes: usize,
    cold: Cold,
    /// The number of the next piece.
    next: u64,
    /// How many files have been opened.
    opened: usize,
    current: Option<Current>,
    /// Bytes that have been dealt, and how many there were at the end of each file.
    dealt: u64,
    ends: Vec<u64>,
    is_over: bool,
}

enum Current {
    File {
        file: Arc<ValuesFile>,
        next: u64,
        end: u64,
        looked: Looked,
    },
    Stream(Box<dyn Values>),
}

/// Whether two neighbouring stretches of a file are in the system's cache. The second is looked at before the first is read, because the system
/// reads ahead into it. A span is judged by where it begins.
#[derive(Clone, Copy, Default)]
struct Looked {
    /// The end of the first stretch.
    until: u64,
    is_cached: bool,
    /// The same of the second, if that has been looked at.
    then: Option<bool>,
}

impl Looked {
    /// For values from `start` on, of a file with values up to `end`.
    fn at(self, (start, end): (u64, u64), length: u64, file: &ValuesFile) -> Self {
        if start < self.until {
            return self;
        }
        let is_cached = |start: u64| file.is_cached(start, length.min(end - start));
        let until = end.min(start + length);
        Self {
            until,
            is_cached: self.then.unwrap_or_else(|| is_cached(start)),
            then: (until < end).then(|| is_cached(until)),
        }
    }
}

/// Some of the values: as many as a piece has, or the last ones.
pub(crate) struct Piece {
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    /// Where in the slot the values begin.
    pub(crate) shift: usize,
    /// What is still to be read.
    spans: Vec<(Arc<ValuesFile>, Span)>,
    /// How spans that are not in the cache are read.
    cold: Cold,
    /// Why it is the last one.
    pub(crate) failure: Option<Failure>,
}

impl<'a> Dealer<'a> {
    /// Opens the first file.
    pub(crate) fn new(
        paths: &'a [PathBuf],
        asked: Asked<'a>,
        refuse: &'a (dyn Fn(&Path, &Found) -> Result<(), Failure> + Sync),
    ) -> Result<Self, Failure> {
        let first = Found::open(&paths[0], asked).map_err(Failure::input)?;
        refuse(&paths[0], &first)?;
        Ok(Self {
            asked,
            paths,
            refuse,
            element_type: first.element_type,
            name: first.name.clone(),
            piece_bytes: 0,
            cold: Cold::Through,
            next: 0,
            opened: 1,
            current: Some(Current::new(&paths[0], first)),
            dealt: 0,
            ends: Vec::new(),
            is_over: false,
        })
    }

    /// The type of all values.
    pub(crate) fn element_type(&self) -> TypeName {
        self.element_type
    }

    /// What the first file's values are called there.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Before the first piece is dealt: how large they are, and how what is not in the cache is read.
    pub(crate) fn set_out(&mut self, piece_bytes: usize, cold: Cold) {
        (self.piece_bytes, self.cold) = (piece_bytes, cold);
    }

    /// As many bytes as all values can have, where that is known: a table has a byte or more for each, and what is compressed does not say.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        let length = |path: &PathBuf| {
            let file = path.metadata().ok().filter(|file| file.is_file())?;
            let each = if is_table(path) || self.asked.delimiter.is_some() {
                self.element_type.bytes() as u64
            } else {
                1
            };
            comes_in_pieces(path).then(|| file.len().saturating_mul(each))
        };
        let lengths = self.paths.iter().map(length);
        lengths.sum()
    }

    /// Bytes that have been dealt.
    pub(crate) fn dealt(&self) -> u64 {
        self.dealt
    }

    /// How many files end within this many bytes.
    pub(crate) fn files_within(&self, bytes: u64) -> usize {
        self.ends.partition_point(|&end| end <= bytes)
    }

    /// Deals no more.
    pub(crate) fn stop(&mut self) {
        self.is_over = true;
    }

    /// The next piece; what only one can read is read into the slot.
    pub(crate) fn deal(&mut self, slot: &mut [u8]) -> Option<Piece> {
        let mut piece = Piece {
            number: self.next,
            bytes: 0,
            shift: 0,
            spans: Vec::new(),
            cold: self.cold,
            failure: None,
        };
        let mut has_streamed = false;
        while !self.is_over && piece.bytes < self.piece_bytes {
            let room = self.piece_bytes - piece.bytes;
            let is_at_end = match &mut self.current {
                None => {
                    match self.open() {
                        Ok(true) => {}
                        Ok(false) => self.is_over = true,
                        Err(failure) => {
                            piece.failure = Some(failure);
                            self.is_over = true;
                        }
                    }
                    continue;
                }
                Some(Current::File {
                    file,
                    next,
                    end,
                    looked,
                }) => {
                    let bytes = (*end - *next).min(room as u64) as usize;
                    if bytes > 0 {
                        let start = *next;
                        let length = LOOK.max(2 * self.piece_bytes as u64);
                        *looked = looked.at((start, *end), length, file);
                        let span = Span {
                            start,
                            bytes,
                            at: piece.bytes,
                            is_cached: looked.is_cached,
                        };
                        piece.spans.push((Arc::clone(file), span));
                    }
                    piece.bytes += bytes;
                    *next += bytes as u64;
                    *next == *end
                }
                Some(Current::Stream(values)) => {
                    has_streamed = true;
                    match values.fill(&mut slot[piece.bytes..self.piece_bytes]) {
                        Ok(bytes) => {
                            piece.bytes += bytes;
                            bytes < room
                        }
                        Err(error) => {
                            piece.failure = Some(Failure::input(error));
                            self.is_over = true;
                            false
                        }
                    }
                }
            };
            if is_at_end {
                self.ends.push(self.dealt + piece.bytes as u64);
                self.current = None;
            }
        }
        if piece.bytes == 0 && piece.failure.is_none() {
            return None;
        }
        if has_streamed {
            // Its bytes are at the beginning of the slot already.
            piece.cold = Cold::Through;
        }
        self.next += 1;
        self.dealt += piece.bytes as u64;
        Some(piece)
    }

    /// Opens the next file; `false` where there is none.
    fn open(&mut self) -> Result<bool, Failure> {
        let Some(path) = self.paths.get(self.opened) else {
            return Ok(false);
        };
        let found = Found::open(path, self.asked).map_err(Failure::input)?;
        if found.element_type != self.element_type {
            return Err(Failure::input(InputError::OtherType {
                path: path.into(),
                found: found.element_type.to_string(),
                asked: format!("{} like {}", self.element_type, self.paths[0].display()),
            }));
        }
        (self.refuse)(path, &found)?;
        self.opened += 1;
        self.current = Some(Current::new(path, found));
        Ok(true)
    }
}

impl Current {
    fn new(path: &Path, found: Found) -> Self {
        let each = found.element_type.bytes();
        match found.place {
            Place::Stream(values) => Self::Stream(values),
            Place::InFile {
                file,
                start,
                bytes,
                is_swapped,
            } => {
                let swapped = is_swapped.then_some(each);
                let file = ValuesFile::new(path, file, bytes, swapped);
                Self::File {
                    file: Arc::new(file),
                    next: start,
                    end: start + bytes,
                    looked: Looked::default(),
                }
            }
        }
    }
}

impl Piece {
    /// The longest span to be read past the cache, if its place in the slot suits the values' type, and where the values then begin.
    fn past(&self, value_bytes: usize) -> Option<(usize, usize)> {
        let spans = self.spans.iter().enumerate();
        let past = spans.filter(|(_, (file, span))| file.goes_past(span, self.cold));
        let (number, (_, span)) = past.max_by_key(|(_, (_, span))| span.bytes)?;
        let shift = ValuesFile::shift(span);
        shift.is_multiple_of(value_bytes).then_some((number, shift))
    }

    /// Reads what is still to be read. Where that fails, the piece ends with the last value before.
    pub(crate) fn read(&mut self, slot: &mut [u8], value_bytes: usize) -> Came {
        let mut came = Came::default();
        let past = self.past(value_bytes);
        self.shift = past.map_or(0, |(_, shift)| shift);
        let past = past.map(|(number, _)| number);
        // The span past the cache first: it overwrites some bytes around it.
        let others = (0..self.spans.len()).filter(|&number| Some(number) != past);
        let order: Vec<usize> = past.into_iter().chain(others).collect();
        let mut end = self.bytes;
        for number in order {
            let (file, span) = &self.spans[number];
            let read = if Some(number) == past {
                file.read_past(span, slot, self.shift)
            } else {
                file.read(span, &mut slot[self.shift..])
            };
            match read {
                Ok(more) => came.add(more),
                Err(Broken { read, error }) => {
                    if span.at + read < end {
                        end = span.at + read;
                        self.failure = Some(Failure::input(error));
                    }
                }
            }
        }
        self.bytes = end - end % value_bytes;
        came
    }
}
