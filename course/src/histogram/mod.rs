//! The histogram of an image: how often each value of a byte occurs in its red, its green and its blue.
//!
//! An [`Image`] is [`decode`]d from the contents of a file, or a [`fractal`](fn@fractal); [`launch`](fn@launch) counts it by a kernel of the course on a
//! device, [`Histogram::of`] on the CPU.

mod decode;
mod fractal;
mod image;
mod jpeg;
mod launch;
mod plot;

pub use decode::{MOST_IMAGE_BYTES, MOST_PIXELS, decode};
pub use fractal::fractal;
pub use image::{Image, ImageError};
pub use launch::{HistogramRun, launch};
pub(crate) use launch::{case, counted};
pub use plot::{Plot, PlotError, PlotFormat};

use rayon::prelude::*;

/// Bins of a histogram: 256 for each of its channels.
pub const BINS: usize = 3 * 256;

/// Counts of one channel: how many pixels have each value of a byte.
pub type Counts = [u32; 256];

/// The names of the channels in the order of a histogram and of a pixel's bytes.
pub const CHANNELS: [&str; 3] = ["red", "green", "blue"];

/// How often each value occurs in each channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The counts of red, green and blue. They cannot overflow: an [`Image`] has fewer than 2^32 pixels.
    pub channels: [Counts; 3],
}

impl Histogram {
    /// The histogram of an image, counted on all cores of this computer.
    pub fn of(image: &Image) -> Self {
        let rows_at_a_time = 1 + (1 << 16) / image.pitch();
        image
            .rows()
            .collect::<Vec<_>>()
            .par_chunks(rows_at_a_time)
            .map(|rows| Self::of_rows(rows.iter().copied()))
            .reduce(Self::empty, Self::merged)
    }

    /// How many cores [`Self::of`] counts on.
    pub fn cores() -> usize {
        rayon::current_num_threads()
    }

    /// As [`Self::of`], on one core.
    pub fn on_one_core(image: &Image) -> Self {
        Self::of_rows(image.rows())
    }

    fn of_rows<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut histogram = Self::empty();
        for pixel in rows.flat_map(|row| row.chunks_exact(3)) {
            for (channel, &value) in histogram.channels.iter_mut().zip(pixel) {
                channel[usize::from(value)] += 1;
            }
        }
        histogram
    }

    /// The histogram of no pixels.
    pub fn empty() -> Self {
        Self {
            channels: [[0; 256]; 3],
        }
    }

    /// The first count that differs from `expected`, in words that follow the name of a kernel.
    pub fn first_difference(&self, expected: &Self) -> Option<String> {
        (0..3).find_map(|channel| {
            let (found, right) = (&self.channels[channel], &expected.channels[channel]);
            let value = (0..256).find(|&value| found[value] != right[value])?;
            Some(format!(
                "counts {} pixels whose {} is {value}, and there are {}",
                found[value], CHANNELS[channel], right[value]
            ))
        })
    }

    /// What the counts of each channel say of it; `None` for the histogram of no pixels.
    pub fn statistics(&self) -> Option<[Statistics; 3]> {
        let [red, green, blue] = self.channels.each_ref().map(Statistics::of);
        Some([red?, green?, blue?])
    }

    fn merged(mut self, other: Self) -> Self {
        let counts = self.channels.as_flattened_mut();
        for (count, &more) in counts.iter_mut().zip(other.channels.as_flattened()) {
            *count += more;
        }
        self
    }
}

/// What a histogram says of its channel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Statistics {
    /// The mean value.
    pub mean: f64,
    /// The smallest value that occurs.
    pub least: u8,
    /// The largest value that occurs.
    pub most: u8,
}

impl Statistics {
    fn of(counts: &Counts) -> Option<Self> {
        let values = || 0..=u8::MAX;
        let occurs = |value: &u8| counts[usize::from(*value)] > 0;
        let pixels: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let sum: u64 = values()
            .map(|value| u64::from(value) * u64::from(counts[usize::from(value)]))
            .sum();
        Some(Self {
            mean: sum as f64 / pixels as f64,
            least: values().find(occurs)?,
            most: values().rfind(occurs)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_come_from_the_counts() {
        let image = Image::from_rgb(3, 1, &[10, 0, 255, 20, 0, 255, 60, 0, 254]).unwrap();
        let histogram = Histogram::of(&image);
        let [red, green, blue] = histogram.statistics().unwrap();
        assert_eq!((red.mean, red.least, red.most), (30.0, 10, 60));
        assert_eq!((green.mean, green.least, green.most), (0.0, 0, 0));
        assert_eq!((blue.least, blue.most), (254, 255));
        assert_eq!(Histogram::empty().statistics(), None);
    }

    #[test]
    fn the_first_wrong_count_is_named() {
        let right = Histogram::of(&Image::from_rgb(1, 1, &[1, 2, 3]).unwrap());
        assert_eq!(right.first_difference(&right), None);
        let mut wrong = right.clone();
        wrong.channels[1][2] = 5;
        assert_eq!(
            wrong.first_difference(&right).unwrap(),
            "counts 5 pixels whose green is 2, and there are 1"
        );
    }
}
