//! Images: reading them from files, and how they lie in memory.

use super::jpeg;
use image::error::{ImageError as DecoderError, UnsupportedErrorKind};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// The most pixels of a file. A few bytes can claim to be an image that fills any memory; this many take 2 GiB in the
/// widest form that a file has, four channels of 16 bits.
const MOST_PIXELS: u64 = 1 << 28;
/// The most bytes that a decoder may ask for.
const MOST_BYTES: u64 = 8 * MOST_PIXELS;
/// Enough bytes to tell any format, and the size of an image in PNG and BMP.
const FIRST_BYTES: u64 = 26;
/// What is wrong with a file that was cut short.
const ENDS_EARLY: &str = "the file ends before the image does";

/// Pixels of three bytes, red, green and blue, in rows from the top. Each row is padded to a multiple of four bytes, as in a BMP
/// file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Image {
    /// An image of `width` × `height` pixels of three bytes each, given row by row without padding.
    ///
    /// # Errors
    /// An image without pixels or with 2^32 of them or more; the wrong number of bytes; too little memory.
    pub fn from_rgb(width: u32, height: u32, rgb: &[u8]) -> Result<Self, ImageError> {
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 {
            return Err(ImageError::Empty);
        }
        // A count of pixels has 32 bits.
        if pixels > u32::MAX.into() {
            return Err(ImageError::TooManyPixels { width, height });
        }
        if rgb.len() as u64 != 3 * pixels {
            return Err(ImageError::OtherLength {
                width,
                height,
                bytes: rgb.len(),
            });
        }
        let mut image = Self {
            width,
            height,
            bytes: Vec::new(),
        };
        let padding = image.pitch() - image.row_bytes();
        let bytes = image.pitch() * height as usize;
        image
            .bytes
            .try_reserve_exact(bytes)
            .map_err(|_| ImageError::HostMemory)?;
        for row in rgb.chunks_exact(image.row_bytes()) {
            image.bytes.extend_from_slice(row);
            image.bytes.extend(std::iter::repeat_n(0, padding));
        }
        Ok(image)
    }

    /// Pixels of a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of pixels, which is less than 2^32.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Bytes from the beginning of a row to the beginning of the next.
    pub fn pitch(&self) -> usize {
        self.row_bytes().next_multiple_of(4)
    }

    /// All bytes of all rows, padding included.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of each row that belong to pixels.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes
            .chunks_exact(self.pitch())
            .map(|row| &row[..self.row_bytes()])
    }

    fn row_bytes(&self) -> usize {
        3 * self.width as usize
    }
}

/// Reads a PNG, JPEG or BMP file; its contents say which it is.
///
/// Every pixel becomes three bytes: a grey value counts in all three channels, a palette is looked up, transparency is dropped, and
/// 16 bits become 8 by rounding to the nearest of the 256 levels.
///
/// # Errors
/// A file that cannot be read, is no such image, was cut short or is too large; in one sentence.
pub fn read(path: &Path) -> Result<Image, ImageError> {
    let image = decode(path)?.into_rgb8();
    Image::from_rgb(image.width(), image.height(), &image)
}

fn decode(path: &Path) -> Result<DynamicImage, ImageError> {
    let unreadable = |source| ImageError::Unreadable {
        path: path.into(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let format = format(path, &mut file)?;
    if format == ImageFormat::Jpeg && !jpeg::is_complete(&mut file).map_err(unreadable)? {
        return Err(ImageError::Broken {
            path: path.into(),
            format: name(format),
            reason: ENDS_EARLY.to_owned(),
        });
    }
    file.rewind().map_err(unreadable)?;
    let mut reader = ImageReader::with_format(file, format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_BYTES);
    reader.limits(limits);
    let broken = |error| describe(path, format, &error);
    let decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    // Before anything is allocated for them.
    if pixels > MOST_PIXELS || decoder.total_bytes() > MOST_BYTES {
        return Err(ImageError::TooLarge(path.into()));
    }
    DynamicImage::from_decoder(decoder).map_err(broken)
}

/// The format, by the first bytes of a file. The file is left at its beginning.
fn format(path: &Path, file: &mut BufReader<File>) -> Result<ImageFormat, ImageError> {
    let unreadable = |source| ImageError::Unreadable {
        path: path.into(),
        source,
    };
    let mut first = Vec::new();
    file.by_ref()
        .take(FIRST_BYTES)
        .read_to_end(&mut first)
        .map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    let format = image::guess_format(&first).map_err(|_| ImageError::NoImage(path.into()))?;
    if !matches!(
        format,
        ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Bmp
    ) {
        return Err(ImageError::OtherFormat {
            path: path.into(),
            format: name(format),
        });
    }
    match claimed_size(format, &first) {
        Some((width, height)) if width == 0 || height == 0 => Err(ImageError::ZeroSize {
            path: path.into(),
            width,
            height,
        }),
        _ => Ok(format),
    }
}

/// Width and height where they stand in the first bytes, as in PNG (RFC 2083, 4.1.1) and in BMP with its usual header of 40 bytes
/// or a longer one, which may have a negative height. The decoders refuse a size of 0 too, but their messages say something else.
fn claimed_size(format: ImageFormat, first: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| first.get(at..at + 4)?.try_into().ok();
    match format {
        ImageFormat::Png => Some((u32::from_be_bytes(word(16)?), u32::from_be_bytes(word(20)?))),
        ImageFormat::Bmp if u32::from_le_bytes(word(14)?) >= 40 => Some((
            u32::from_le_bytes(word(18)?),
            i32::from_le_bytes(word(22)?).unsigned_abs(),
        )),
        _ => None,
    }
}

/// What a decoder found wrong.
fn describe(path: &Path, format: ImageFormat, error: &DecoderError) -> ImageError {
    let path = path.into();
    let reason = match error {
        DecoderError::Limits(_) => return ImageError::TooLarge(path),
        DecoderError::IoError(inner) if inner.kind() == ErrorKind::UnexpectedEof => {
            ENDS_EARLY.to_owned()
        }
        DecoderError::IoError(inner) => inner.to_string(),
        // The decoder's message begins with the format, which our sentence names already.
        DecoderError::Decoding(inner) => inner
            .source()
            .map_or_else(|| inner.to_string(), ToString::to_string),
        DecoderError::Unsupported(inner) => match inner.kind() {
            UnsupportedErrorKind::GenericFeature(feature) => feature.clone(),
            _ => inner.to_string(),
        },
        other => other.to_string(),
    };
    ImageError::Broken {
        path,
        format: name(format),
        reason,
    }
}

/// What people call a format.
fn name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Bmp => "BMP",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        ImageFormat::Tiff => "TIFF",
        ImageFormat::Avif => "AVIF",
        other => other.extensions_str().first().copied().unwrap_or("other"),
    }
}

/// What is wrong with an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The file does not begin like any image.
    #[error("{0} is not an image, as its first bytes show; give a PNG, JPEG or BMP file")]
    NoImage(PathBuf),
    /// An image of a format that is not read.
    #[error("{path} is a {format} image, which is not read here; convert it to PNG, JPEG or BMP")]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
    },
    /// The file does not hold what its first bytes promise.
    #[error("{path} is not a readable {format} image: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// A file with an image of no rows or no columns.
    #[error("{path} has no pixels to count: it is {width} × {height}")]
    ZeroSize {
        /// The file.
        path: PathBuf,
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The file claims to be larger than anything that is read.
    #[error(
        "{0} claims to have more than 2^28 pixels or 2 GiB, the most that is read; make it smaller"
    )]
    TooLarge(PathBuf),
    /// There is nothing to count.
    #[error("an image without pixels has no histogram")]
    Empty,
    /// Too many to be counted in 32 bits.
    #[error(
        "an image of {width} × {height} pixels has more than the 2^32 − 1 that a histogram counts"
    )]
    TooManyPixels {
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// There is no room for the padded rows.
    #[error("there is not enough memory for the image; make it smaller")]
    HostMemory,
    /// The bytes are not those of the pixels.
    #[error("{bytes} bytes are not an image of {width} × {height} pixels of three bytes")]
    OtherLength {
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes given.
        bytes: usize,
    },
}
