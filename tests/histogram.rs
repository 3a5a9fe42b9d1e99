//! Histograms of images: what is read of a file, and that both kernels count it right, whatever the size.

use jpeg_encoder::{ColorType, Encoder};
use proptest::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use warpfold::Device;
use warpfold::device::{DeviceChoice, Timing};
use warpfold_course::case::Measured;
use warpfold_course::histogram::{self, Histogram, Image};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Lesson, Part, Variant, find, lessons_of};

const TIMING: Timing = Timing {
    repeat: 1,
    cold: false,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name)
}

fn read(path: &Path) -> Image {
    histogram::decode(path, &std::fs::read(path).unwrap()).unwrap()
}

fn open() -> Device {
    Device::open(&DeviceChoice::Emulator).expect("the emulator is always there")
}

fn kernels() -> &'static [Lesson] {
    lessons_of(Part::Histogram)
}

/// The kernel counts what stands in `rgb`; the count here knows nothing of rows.
#[track_caller]
fn counts(on: &Device, lesson: &Lesson, variant: Variant, (width, height): (u32, u32), rgb: &[u8]) {
    let place = format!("{}, {variant:?}, {width} × {height}", lesson.id);
    let image = Image::from_rgb(width, height, rgb).expect("the image is well-formed");
    let run = histogram::launch(on, lesson, variant, &image, &TIMING)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    let mut expected = Histogram::empty();
    for (index, &value) in rgb.iter().enumerate() {
        expected.channels[index % 3][usize::from(value)] += 1;
    }
    assert_eq!(run.histogram.first_difference(&expected), None, "{place}");
    assert_eq!(Histogram::of(&image), expected, "on the CPU");
}

/// Bytes in which every value is likely, and no two rows are alike.
fn scattered(pixels: usize) -> Vec<u8> {
    (0..3 * pixels as u64)
        .map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

#[test]
fn rows_of_every_padding_are_counted_without_it() {
    let on = open();
    for width in 1..=9 {
        for height in [1, 2, 7] {
            let rgb = scattered((width * height) as usize);
            for lesson in kernels() {
                counts(&on, lesson, lesson.usual(64), (width, height), &rgb);
            }
        }
    }
}

#[test]
fn every_number_of_pixels_around_that_of_a_block_is_counted() {
    let on = open();
    for lesson in kernels() {
        for variant in lesson.variants() {
            let tile = variant.block * variant.parameter.unwrap_or(1);
            for pixels in [1, 33, variant.block + 1, tile - 1, tile, tile + 1] {
                let rgb = scattered(pixels as usize);
                counts(&on, lesson, variant, (pixels, 1), &rgb);
                counts(&on, lesson, variant, (1, pixels), &rgb);
            }
        }
    }
}

#[test]
fn a_picture_of_one_colour_is_all_in_one_bin() {
    let on = open();
    for lesson in kernels() {
        for colour in [[0, 0, 0], [255, 255, 255], [0, 255, 7]] {
            let rgb = colour.repeat(123 * 45);
            counts(&on, lesson, lesson.usual(256), (123, 45), &rgb);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_image_is_counted(
        width in 1_u32..80,
        height in 1_u32..80,
        block in prop::sample::select(&BLOCK_SIZES[..]),
        // Few values, many of them alike, or anything.
        most in prop::sample::select(vec![0_u8, 3, 255]),
        seed: u64,
    ) {
        let mut state = seed;
        let rgb: Vec<u8> = (0..3 * width * height)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 56) as u8).min(most)
            })
            .collect();
        let on = open();
        for lesson in kernels() {
            for variant in lesson.variants_of(block) {
                counts(&on, lesson, variant, (width, height), &rgb);
            }
        }
    }
}

/// The check itself must be able to fail.
#[test]
fn a_histogram_of_another_image_is_told_apart() {
    let on = open();
    let image = Image::from_rgb(2, 1, &[1, 2, 3, 4, 5, 6]).unwrap();
    let other = Image::from_rgb(2, 1, &[1, 2, 3, 4, 5, 7]).unwrap();
    for lesson in kernels() {
        let run = histogram::launch(&on, lesson, lesson.usual(64), &image, &TIMING).unwrap();
        assert_eq!(
            run.histogram
                .first_difference(&Histogram::of(&other))
                .as_deref(),
            Some("counts 1 pixels whose blue is 6, and there are 0")
        );
    }
}

#[test]
fn shared_memory_takes_the_atomics_over() {
    let on = open();
    let image = read(&data("chelsea.png"));
    let measure = |lesson: &Lesson| {
        let run = histogram::launch(&on, lesson, lesson.usual(256), &image, &TIMING).unwrap();
        match run.measured {
            Measured::Counters { counters, .. } => counters,
            other => panic!("the emulator counts, and gave {other:?}"),
        }
    };
    let (global, shared) = (measure(&kernels()[0]), measure(&kernels()[1]));
    let pixels = image.pixels() as u64;
    assert_eq!(global.atomics, 3 * pixels);
    assert_eq!(global.shared_atomics.requests, 0);
    assert_eq!(shared.shared_atomics.bytes, 4 * 3 * pixels);
    // What is left of them on global memory are the bins of 17 blocks.
    assert!(shared.atomics - 3 * pixels <= 17 * 768);
    assert!(100 * shared.global_atomic_passes < global.global_atomic_passes);
}

/// Every form of pixel that a file may have becomes what `tests/data/images/make.py` says of it.
#[test]
fn what_is_in_a_file_becomes_red_green_and_blue() {
    let text = std::fs::read_to_string(data("images/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, expected) in expected.as_object().unwrap() {
        let image = read(&data("images").join(name));
        let size = (&expected["width"], &expected["height"]);
        assert_eq!(
            size,
            (&image.width().into(), &image.height().into()),
            "{name}"
        );
        let rgb = expected["rgb"].as_array().unwrap();
        let read: Vec<u8> = image.rows().flatten().copied().collect();
        assert_eq!(read.len(), rgb.len(), "{name}");
        // Decoders of JPEG may round differently.
        let tolerance = if name.ends_with(".jpg") { 2 } else { 0 };
        for (&found, right) in read.iter().zip(rgb) {
            let right = right.as_u64().unwrap();
            assert!(
                u64::from(found).abs_diff(right) <= tolerance,
                "{name}: {read:?}"
            );
        }
    }
}

#[test]
fn the_three_formats_of_a_photograph_are_told_by_their_contents() {
    let png = std::fs::read(data("chelsea.png")).unwrap();
    let path = Path::new("picture.of.something");
    let original = histogram::decode(path, &png).unwrap();
    assert_eq!(
        (original.width(), original.height(), original.pitch()),
        (451, 300, 1356)
    );
    let rgb: Vec<u8> = original.rows().flatten().copied().collect();
    assert_eq!(histogram::decode(path, &bmp(&original)).unwrap(), original);
    let mut jpeg = Vec::new();
    Encoder::new(&mut jpeg, 95)
        .encode(&rgb, 451, 300, ColorType::Rgb)
        .unwrap();
    let read = histogram::decode(path, &jpeg).unwrap();
    assert_eq!((read.width(), read.height()), (451, 300));
    // JPEG loses something.
    let differences = read.rows().flatten().zip(&rgb);
    let lost: u64 = differences
        .map(|(&found, &right)| u64::from(found.abs_diff(right)))
        .sum();
    assert!(lost < 4 * rgb.len() as u64, "{lost}");
}

/// Whole files of so few pixels that they are shorter than most headers.
#[test]
fn the_smallest_bitmaps_are_read() {
    for (width, height) in [(1, 1), (2, 1), (1, 2), (1, 4)] {
        let image = Image::from_rgb(width, height, &scattered((width * height) as usize)).unwrap();
        let file = bmp(&image);
        let path = Path::new("small.bmp");
        assert_eq!(histogram::decode(path, &file).unwrap(), image);
        histogram::decode(path, &file[..file.len() - 1]).unwrap_err();
    }
}

/// A bitmap of 24 bits a pixel: rows from the bottom, blue first.
fn bmp(image: &Image) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    file.extend(image.width().to_le_bytes());
    file.extend(image.height().to_le_bytes());
    file.extend(b"\x01\0\x18\0");
    file.resize(54, 0);
    let rows: Vec<&[u8]> = image.rows().collect();
    for row in rows.into_iter().rev() {
        file.extend(row.chunks_exact(3).flat_map(|pixel| pixel.iter().rev()));
        file.resize(file.len() + image.pitch() - row.len(), 0);
    }
    file
}

#[test]
fn a_lesson_that_counts_no_images_is_refused() {
    let image = Image::from_rgb(1, 1, &[1, 2, 3]).unwrap();
    let lesson = find("shuffle").unwrap();
    let error = histogram::launch(&open(), lesson, lesson.usual(64), &image, &TIMING).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`shuffle` counts no images; `warpfold run shuffle` shows what it does"
    );
}

#[test]
fn an_image_in_memory_is_checked_as_well() {
    let sentence = |width, height, bytes: usize| {
        Image::from_rgb(width, height, &vec![0; bytes])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        sentence(0, 4, 0),
        "an image without pixels has no histogram"
    );
    assert_eq!(
        sentence(65_536, 65_536, 3),
        "an image of 65536 × 65536 pixels has more than the 2^32 − 1 that a histogram counts"
    );
    assert_eq!(
        sentence(2, 2, 11),
        "11 bytes are not an image of 2 × 2 pixels of three bytes"
    );
}
