//! Reading alone, before anything else: how fast the same threads read the end of the files into the same slots, what is in the system's cache
//! and what is not. It decides how the latter is read, and leaves the cache as it was.

use super::dealer::LOOK;
use super::file::{Came, Cold, Span, ValuesFile};
use super::shared::{Size, lock};
use memmap2::MmapMut;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use warpfold_input::found::{Asked, Found, Place};

/// Fewer bytes than this are not worth measuring, unless that is asked for.
const LEAST: u64 = 256 << 20;
/// The part of the files that is read, and the most of it.
const PART: u64 = 8;
const MOST: u64 = 1 << 30;
/// How many pieces each thread reads of what is in the cache, at most: that speed stays the same.
const CACHED_PIECES: usize = 16;

/// How fast reading alone was, in bytes per second; `None` where there was nothing of the kind.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Alone {
    /// From the system's cache.
    pub(in super::super) cached: Option<f64>,
    /// Not in the cache, read through it and forgotten again.
    pub(in super::super) through: Option<f64>,
    /// Not in the cache, and read past it.
    pub(in super::super) past: Option<f64>,
}

/// How much faster reading past the cache has to be. What is read through it is there the next time.
const WORTH_IT: f64 = 1.1;

type Part = (Arc<ValuesFile>, Span);

impl Alone {
    /// Reads the end of the files, if they have enough values or that is asked for.
    pub(in super::super) fn measure(
        size: Size,
        memory: &mut [MmapMut],
        (paths, asked): (&[PathBuf], Asked<'_>),
        always: bool,
    ) -> Self {
        let length = |path: &PathBuf| {
            let file = path.metadata().ok().filter(|file| file.is_file());
            file.map_or(0, |file| file.len())
        };
        let all: u64 = paths.iter().map(length).sum();
        if all < LEAST && !always {
            return Self::default();
        }
        let wanted = (all / PART).min(MOST).max(size.piece as u64);
        let pieces = (CACHED_PIECES * size.readers * size.piece) as u64;
        let [cached, cold] = parts(paths, asked, size.piece, [wanted.min(pieces), wanted]);
        let may_go_past = cold.iter().all(|(file, _)| file.may_go_past());
        let (past, through) = cold.split_at(if may_go_past { cold.len() / 2 } else { 0 });
        let mut slots: Vec<&mut [u8]> = memory
            .iter_mut()
            .flat_map(|memory| memory.chunks_exact_mut(size.slot()))
            .take(size.readers)
            .collect();
        let mut speed = |parts: &[Part], cold| speed_of(parts, cold, &mut slots);
        let alone = Self {
            cached: speed(&cached, Cold::Through),
            past: speed(past, Cold::Past),
            through: speed(through, Cold::Through),
        };
        for (file, span) in through {
            file.forget(span);
        }
        alone
    }

    /// How to read what is not in the cache.
    pub(in super::super) fn faster(self) -> Cold {
        match (self.past, self.through) {
            (Some(past), Some(through)) if past > WORTH_IT * through => Cold::Past,
            (Some(_), None) => Cold::Past,
            _ => Cold::Through,
        }
    }

    /// How long reading alone would take for what came from where; `None` where it was not measured.
    pub(in super::super) fn time_of(self, came: Came) -> Option<Duration> {
        let time = |bytes: u64, speed: Option<f64>| match (bytes, speed) {
            (0, _) => Some(0.0),
            (bytes, Some(speed)) => Some(bytes as f64 / speed),
            // A few bytes, such as those of a last piece, make no difference.
            (bytes, None) if bytes < came.all() / 64 => Some(0.0),
            (_, None) => None,
        };
        let seconds = time(came.cached, self.cached)?
            + time(came.through, self.through)?
            + time(came.past, self.past)?;
        (seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
    }
}

/// The last bytes of the files that are in the cache, and the last that are not, as many of each as are wanted, in parts of a piece's length. What
/// cannot be read is left to the run.
fn parts(paths: &[PathBuf], asked: Asked<'_>, piece: usize, wanted: [u64; 2]) -> [Vec<Part>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    let mut bytes = [0; 2];
    for path in paths.iter().rev() {
        // A pipe would be gone afterwards.
        if !path.is_file() {
            break;
        }
        let Ok(found) = Found::open(path, asked) else {
            break;
        };
        let Place::InFile {
            file,
            start,
            bytes: length,
            ..
        } = found.place
        else {
            continue;
        };
        let file = Arc::new(ValuesFile::new(path, file, length, None));
        let mut end = start + length;
        while end > start && (0..2).any(|kind| bytes[kind] < wanted[kind]) {
            let length = (end - start).min(LOOK.max(piece as u64));
            let before = end - length;
            let is_cached = file.is_cached(before, length);
            let kind = usize::from(!is_cached);
            while end > before && bytes[kind] < wanted[kind] {
                let length = (end - before).min(piece as u64);
                bytes[kind] += length;
                end -= length;
                let span = Span {
                    start: end,
                    bytes: length as usize,
                    at: 0,
                    is_cached,
                };
                parts[kind].push((Arc::clone(&file), span));
            }
            end = before;
        }
    }
    // In the order of a run, which the system reads ahead in.
    parts.iter_mut().for_each(|parts| parts.reverse());
    parts
}

/// Bytes per second of these parts, each read by one of as many threads as there are slots.
fn speed_of(parts: &[Part], cold: Cold, slots: &mut [&mut [u8]]) -> Option<f64> {
    if parts.is_empty() {
        return None;
    }
    let next = AtomicUsize::new(0);
    let came = Mutex::new(Came::default());
    let start = Instant::now();
    thread::scope(|scope| {
        for slot in slots {
            let (next, came) = (&next, &came);
            scope.spawn(move || {
                while let Some((file, span)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let read = match cold {
                        Cold::Past => file.read_past(span, slot, ValuesFile::shift(span)),
                        Cold::Through => file.read(span, slot),
                    };
                    if let Ok(more) = read {
                        lock(came).add(more);
                    }
                }
            });
        }
    });
    let bytes = lock(&came).all();
    (bytes > 0).then(|| bytes as f64 / start.elapsed().as_secs_f64())
}
