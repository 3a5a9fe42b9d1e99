//! The ring, with files that change while they are read.

use super::*;
use crate::failure::Failure;
use file::{Cold, Span, ValuesFile};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::{NamedTempFile, TempDir};
use warpfold::{Device, DeviceChoice};
use warpfold_dynamic::{CHUNK, Reduction, TypeName};
use warpfold_input::found::{Asked, Found, Place};

/// A ring of two slots of a piece of one chunk, filled by one thread.
const SMALL: Size = Size {
    piece: 4 * CHUNK,
    readers: 1,
    slots: 2,
    rings: 1,
};

fn element() -> TypeName {
    "u32".parse().expect("it is a type")
}

fn asked() -> Asked<'static> {
    Asked {
        element_type: Some(element()),
        type_of_tables: element(),
        column: None,
        delimiter: None,
    }
}

/// A file of raw values, which are numbered from `first` on.
fn raw(folder: &TempDir, name: &str, first: u32, n: u32) -> PathBuf {
    let path = folder.path().join(name);
    let bytes: Vec<u8> = (first..first + n).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, bytes).expect("there is room");
    path
}

fn accept(_: &Path, _: &Found) -> Result<(), Failure> {
    Ok(())
}

/// Who takes the pieces.
#[derive(Clone, Copy, Debug)]
enum By {
    OneThread,
    Cores,
}

/// All values that come, in their order, and what came of it.
fn read(
    by: By,
    (size, cold): (Size, Cold),
    paths: &[PathBuf],
    progress: &(dyn Fn(u64) + Sync),
) -> (Vec<u32>, Outcome) {
    let mut dealer = Dealer::new(paths, asked(), &accept).expect("the first file is there");
    dealer.set_out(size.piece, cold);
    let mut memory = size.memory().expect("there is room");
    let mut values = Vec::new();
    let mut take = |piece: &[u8]| values.extend(bytemuck::cast_slice::<u8, u32>(piece));
    let dealer = Mutex::new(dealer);
    let outcome = match by {
        By::OneThread => {
            let take = |piece: &[u8]| {
                take(piece);
                Ok::<(), Failure>(())
            };
            in_turn(size, &mut memory, &dealer, take, progress)
        }
        By::Cores => {
            let reduce = |_, piece: &[u8]| piece.to_vec();
            let take = |piece: Vec<u8>| take(&piece);
            on_cores(size, &mut memory, &dealer, reduce, take, progress)
        }
    };
    (values, outcome.expect("nothing fails but reading"))
}

fn sentence(outcome: &Outcome) -> String {
    match &outcome.failure {
        Some(Failure::Input(sentence)) => sentence.clone(),
        other => panic!("{other:?} is no sentence about input"),
    }
}

#[test]
fn values_come_in_their_order_from_files_of_any_length() {
    let folder = TempDir::new().expect("a temporary folder");
    let lengths = [0, 1, 4095, 4096, 4097, 0, 300_001, 7, 700_000];
    let mut n = 0;
    let paths: Vec<PathBuf> = (0..)
        .zip(lengths)
        .map(|(number, length)| {
            n += length;
            raw(&folder, &format!("{number}"), n - length, length)
        })
        .collect();
    for readers in [1, 3, 8] {
        for (cold, by) in [Cold::Through, Cold::Past]
            .into_iter()
            .flat_map(|cold| [(cold, By::OneThread), (cold, By::Cores)])
        {
            let size = Size {
                readers,
                slots: readers + 1,
                ..SMALL
            };
            let (values, outcome) = read(by, (size, cold), &paths, &|_| {});
            assert!(values.iter().copied().eq(0..n), "{readers} {cold:?} {by:?}");
            assert_eq!(outcome.bytes, 4 * u64::from(n));
            assert_eq!(outcome.came.all(), outcome.bytes);
            assert_eq!(outcome.files, paths.len());
            assert!(outcome.failure.is_none());
        }
    }
}

/// Reading past the cache, also of spans that begin and end within blocks of the disk. A file system that refuses it is said to.
#[test]
fn what_is_read_past_the_cache_is_what_is_in_the_file() {
    // Not in the system's temporary folder, which may be in memory.
    let target = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(mut file) = NamedTempFile::new_in(target) else {
        eprintln!("No file can be made beside the sources.");
        return;
    };
    let n: u32 = 1 << 19;
    let bytes: Vec<u8> = (0..n).flat_map(u32::to_le_bytes).collect();
    file.write_all(&bytes).expect("there is room");
    file.as_file().sync_all().expect("it is written");
    let opened = File::open(file.path()).expect("it is there");
    let values = ValuesFile::new(file.path(), opened, bytes.len() as u64, None);
    if !values.may_go_past() {
        eprintln!("This file system does not let files be read past the cache.");
        return;
    }
    let size = Size {
        piece: 1 << 16,
        ..SMALL
    };
    let mut memory = size.memory().expect("there is room");
    let mut slots = size.cut(&mut memory, 0);
    for (start, bytes_of_span, at) in [
        (0, 1 << 16, 0),
        (128, 1 << 16, 0),
        (4, 400, 8),
        (8192, 4096, 12),
        (u64::from(4 * n) - 20, 20, 60_000),
    ] {
        let span = Span {
            start,
            bytes: bytes_of_span,
            at,
            is_cached: false,
        };
        let slot = &mut *slots[0].memory;
        let shift = ValuesFile::shift(&span);
        let came = values.read_past(&span, slot, shift);
        let came = came.map_err(|broken| broken.error).expect("it is there");
        assert_eq!(came.past, bytes_of_span as u64, "{span:?}");
        let expected = &bytes[start as usize..][..bytes_of_span];
        assert!(slot[shift + at..][..bytes_of_span] == *expected, "{span:?}");
    }
    // What is no longer there is missed here too.
    file.as_file().set_len(10_000).expect("it is cut");
    let span = Span {
        start: 8192,
        bytes: 4096,
        at: 0,
        is_cached: false,
    };
    let slot = &mut *slots[1].memory;
    let broken = values.read_past(&span, slot, ValuesFile::shift(&span));
    let broken = broken.map(drop).expect_err("the file has become shorter");
    assert_eq!(broken.read, 10_000 - 8192);
    assert!(broken.error.to_string().contains("at byte 10000"));
}

#[test]
fn a_file_that_shrinks_is_told_with_the_place_and_what_was_done() {
    for by in [By::OneThread, By::Cores] {
        shrinking_is_told(by);
    }
}

fn shrinking_is_told(by: By) {
    let folder = TempDir::new().expect("a temporary folder");
    let first = raw(&folder, "first", 0, 1000);
    let shrinks = raw(&folder, "shrinks", 1000, 40 * 4096);
    let paths = [first, shrinks.clone(), raw(&folder, "last", 0, 10)];
    // When a piece has been taken, two others can have been read at most: all that is cut off is still to come.
    let is_cut = AtomicBool::new(false);
    let cut = |_| {
        if !is_cut.swap(true, Ordering::Relaxed) {
            let file = File::options().write(true).open(&shrinks);
            let file = file.expect("it is there");
            file.set_len(4 * (20 * 4096 + 5) + 3).expect("it is cut");
        }
    };
    let (values, outcome) = read(by, (SMALL, Cold::Through), &paths, &cut);
    let sentence = sentence(&outcome);
    let place = format!(
        "shrinks at byte {}: it has become shorter meanwhile and ends at byte {0}; bring it back",
        4 * (20 * 4096 + 5) + 3
    );
    assert!(sentence.contains(&place), "{sentence}");
    let n = 1000 + 20 * 4096 + 5;
    assert!(values.iter().copied().eq(0..n));
    assert_eq!((outcome.bytes, outcome.files), (4 * u64::from(n), 1));
}

#[test]
fn a_file_that_vanishes_is_told_when_it_is_its_turn() {
    for by in [By::OneThread, By::Cores] {
        vanishing_is_told(by);
    }
}

fn vanishing_is_told(by: By) {
    let folder = TempDir::new().expect("a temporary folder");
    let first = raw(&folder, "first", 0, 10 * 4096 + 9);
    let vanishes = raw(&folder, "vanishes", 0, 5);
    let paths = [first, vanishes.clone()];
    let vanish = |_| drop(std::fs::remove_file(&vanishes));
    let (values, outcome) = read(by, (SMALL, Cold::Through), &paths, &vanish);
    let sentence = sentence(&outcome);
    assert!(sentence.contains("vanishes: No such file"), "{sentence}");
    assert!(values.iter().copied().eq(0..10 * 4096 + 9));
    assert_eq!(outcome.files, 1);
}

/// Whichever thread comes to the end of what can be read.
#[test]
fn what_comes_before_a_missing_file_counts_with_any_number_of_threads() {
    let folder = TempDir::new().expect("a temporary folder");
    let first = raw(&folder, "first", 0, 50 * 4096 + 9);
    let paths = [first.clone(), folder.path().join("missing"), first];
    for (readers, by) in [1, 3, 8]
        .into_iter()
        .flat_map(|readers| [(readers, By::OneThread), (readers, By::Cores)])
    {
        let size = Size {
            readers,
            slots: readers + 1,
            ..SMALL
        };
        let (values, outcome) = read(by, (size, Cold::Through), &paths, &|_| {});
        let sentence = sentence(&outcome);
        assert!(sentence.contains("missing: No such file"), "{sentence}");
        assert!(
            values.iter().copied().eq(0..50 * 4096 + 9),
            "{readers} {by:?}"
        );
        assert_eq!(outcome.files, 1);
    }
}

/// The pieces after one that cannot be read do not count, on whichever device they have been reduced.
#[test]
fn devices_give_the_result_of_what_comes_before() {
    let folder = TempDir::new().expect("a temporary folder");
    let shrinks = raw(&folder, "shrinks", 0, 30 * 4096);
    let paths = [raw(&folder, "first", 0, 77), shrinks.clone()];
    let size = Size {
        readers: 2,
        rings: 2,
        ..SMALL
    };
    let mut memory = [size.memory(), size.memory()].map(|it| it.expect("there is room"));
    let mut dealer = Dealer::new(&paths, asked(), &accept).expect("the first file is there");
    dealer.set_out(size.piece, Cold::Through);
    let operators = ["sum", "argmax"].map(|name| name.parse().expect("it is one"));
    let task = OnDevices {
        choices: &[DeviceChoice::Emulator; 2],
        element_type: element(),
        operators: &operators,
        open: &|choice| Ok(Device::open(&choice)?),
    };
    let is_cut = AtomicBool::new(false);
    let cut = |_| {
        if !is_cut.swap(true, Ordering::Relaxed) {
            let file = File::options().write(true).open(&shrinks);
            let file = file.expect("it is there");
            file.set_len(4 * 22 * 4096).expect("it is cut");
        }
    };
    let dealer = Mutex::new(dealer);
    let done = on_devices(size, &mut memory, &dealer, &task, &cut).expect("devices run");
    assert!(sentence(&done.outcome).contains("has become shorter"));
    assert_eq!(done.outcome.bytes, 4 * (77 + 22 * 4096));
    let all: Vec<u32> = (0..77).chain(0..22 * 4096).collect();
    let mut expected = Reduction::new(element(), &operators);
    expected.take(bytemuck::cast_slice(&all));
    let text = |results: &[Box<dyn warpfold_dynamic::Results>]| -> Vec<String> {
        results.iter().map(|it| it.value(0).to_string()).collect()
    };
    let wrapped = all
        .iter()
        .fold(0, |sum: u32, value| sum.wrapping_add(*value));
    let argmax = &text(&expected.finish())[1];
    assert_eq!(text(&done.results), [wrapped.to_string(), argmax.clone()]);
}

/// What cannot be looked into is refused before anything is reduced; also by devices that cannot be opened.
#[test]
fn a_device_that_cannot_be_opened_ends_the_run() {
    let folder = TempDir::new().expect("a temporary folder");
    let paths = [raw(&folder, "first", 0, 100_000)];
    let size = Size {
        readers: 2,
        rings: 2,
        ..SMALL
    };
    let mut memory = [size.memory(), size.memory()].map(|it| it.expect("there is room"));
    let mut dealer = Dealer::new(&paths, asked(), &accept).expect("the first file is there");
    dealer.set_out(size.piece, Cold::Through);
    let count = AtomicU64::new(0);
    let task = OnDevices {
        choices: &[DeviceChoice::Emulator; 2],
        element_type: element(),
        operators: &["sum".parse().expect("it is one")],
        open: &|choice| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Failure::Input("there is no such device".to_owned())),
            _ => Ok(Device::open(&choice)?),
        },
    };
    let dealer = Mutex::new(dealer);
    let done = on_devices(size, &mut memory, &dealer, &task, &|_| {});
    assert!(
        matches!(done.map(drop), Err(Failure::Input(sentence)) if sentence.contains("no such device"))
    );
}

#[test]
fn the_ring_stays_small() {
    for devices in [0, 1, 2, 8, 64] {
        for most in [None, Some(0), Some(9 << 20), Some(1 << 40)] {
            let size = match devices {
                0 => Size::of_cores(1 << 20, most),
                _ => Size::of_devices(8 << 20, devices, most),
            };
            assert!(size.bytes() < 2_000_000_000, "{size:?}");
            assert!(size.slots * size.rings >= size.readers, "{size:?}");
        }
    }
}

#[test]
fn stored_arrays_of_archives_lie_in_the_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("one.npz");
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    let header = "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }";
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.bytes());
    array.extend([7_u32, 8, 9].iter().flat_map(|value| value.to_le_bytes()));
    let (mut member, config) = archive.new_file("a.npy").start().expect("it is new");
    let mut stored = config.wrap(&mut member);
    stored.write_all(&array).expect("there is memory");
    let (_, counted) = stored.finish().expect("there is memory");
    member.finish(counted).expect("there is memory");
    let archive = archive.finish().expect("there is memory");
    std::fs::write(&path, archive).expect("there is room");
    let found = Found::open(&path, asked()).expect("it is one");
    assert!(matches!(found.place, Place::InFile { bytes: 12, .. }));
    let (values, _) = read(By::Cores, (SMALL, Cold::Through), &[path], &|_| {});
    assert_eq!(values, [7, 8, 9]);
}
