//! The pixels of an image file.

use super::image::{Image, ImageError};
use super::jpeg;
use png::{BitDepth, ColorType, DecodingError, Transformations};
use std::borrow::Cow;
use std::fmt;
use std::io::{Cursor, ErrorKind};
use std::path::Path;
use zune_bmp::{BmpDecoder, BmpDecoderErrors};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// The most pixels of a file. A few bytes can claim to be an image that fills any memory; this many take 2 GiB in the
/// widest form that a file has, four channels of 16 bits.
pub const MOST_PIXELS: u64 = 1 << 28;
/// The most bytes that a file may have, or its pixels in the form in which it has them.
pub const MOST_IMAGE_BYTES: u64 = 8 * MOST_PIXELS;
/// What is wrong with a file that was cut short.
const ENDS_EARLY: &str = "the file ends before the image does";

/// The image that a PNG, JPEG or BMP file holds; the contents say which it is, and `path` is for errors to name.
///
/// Whatever it holds becomes three bytes a pixel: a grey value counts in all three channels, a palette is looked up,
/// transparency is dropped, and 16 bits become 8 by rounding to the nearest of the 256 levels.
///
/// # Errors
/// Contents that are no such image, are broken off or too large; in one sentence.
pub fn decode(path: &Path, contents: &[u8]) -> Result<Image, ImageError> {
    let format = Format::of(path, contents)?;
    if let Some((width, height)) = format.claimed_size(contents)
        && (width == 0 || height == 0)
    {
        return Err(ImageError::ZeroSize {
            path: path.into(),
            width,
            height,
        });
    }
    let pixels = match format {
        Format::Png => png(contents),
        Format::Jpeg => jpeg(contents),
        Format::Bmp => bmp(contents),
    };
    let pixels = pixels.map_err(|mistake| match mistake {
        Mistake::TooLarge => ImageError::TooLarge(path.into()),
        Mistake::Broken(reason) => ImageError::Broken {
            path: path.into(),
            format: format.to_string(),
            reason,
        },
    })?;
    Image::from_rgb(pixels.width, pixels.height, &pixels.rgb)
}

/// A format that is read.
#[derive(Clone, Copy, Debug)]
enum Format {
    Png,
    Jpeg,
    Bmp,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Bmp => "BMP",
        })
    }
}

impl Format {
    /// The format that the first bytes of a file tell.
    fn of(path: &Path, contents: &[u8]) -> Result<Self, ImageError> {
        let other = |format| {
            Err(ImageError::OtherFormat {
                path: path.into(),
                format,
            })
        };
        match contents {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Ok(Self::Jpeg),
            [b'B', b'M', ..] => Ok(Self::Bmp),
            [b'G', b'I', b'F', b'8', ..] => other("GIF"),
            [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => other("TIFF"),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => other("WebP"),
            [
                _,
                _,
                _,
                _,
                b'f',
                b't',
                b'y',
                b'p',
                b'a',
                b'v',
                b'i',
                b'f',
                ..,
            ] => other("AVIF"),
            _ => Err(ImageError::NoImage(path.into())),
        }
    }

    /// Width and height where they stand in the first bytes, as in PNG (RFC 2083, 4.1.1) and in BMP with its usual header of 40
    /// bytes or a longer one, which may have a negative height. The decoders refuse a size of 0 in words that say something else.
    fn claimed_size(self, contents: &[u8]) -> Option<(u32, u32)> {
        let word = |at: usize| contents.get(at..at + 4)?.try_into().ok();
        match self {
            Self::Png => Some((u32::from_be_bytes(word(16)?), u32::from_be_bytes(word(20)?))),
            Self::Bmp if u32::from_le_bytes(word(14)?) >= 40 => Some((
                u32::from_le_bytes(word(18)?),
                i32::from_le_bytes(word(22)?).unsigned_abs(),
            )),
            _ => None,
        }
    }
}

/// Pixels of three bytes without anything between rows.
struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

/// What is wrong with contents.
enum Mistake {
    TooLarge,
    Broken(String),
}

impl Mistake {
    fn broken(reason: impl ToString) -> Self {
        Self::Broken(reason.to_string())
    }
}

/// Refuses a size before anything is allocated for its pixels.
fn check_size(width: u64, height: u64, bytes: Option<usize>) -> Result<usize, Mistake> {
    match bytes {
        Some(bytes) if width * height <= MOST_PIXELS && bytes as u64 <= MOST_IMAGE_BYTES => {
            Ok(bytes)
        }
        _ => Err(Mistake::TooLarge),
    }
}

fn png(contents: &[u8]) -> Result<Pixels, Mistake> {
    let mistake = |error: DecodingError| match error {
        DecodingError::LimitsExceeded => Mistake::TooLarge,
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Mistake::broken(ENDS_EARLY)
        }
        other => Mistake::broken(other),
    };
    let limits = png::Limits {
        bytes: usize::try_from(MOST_IMAGE_BYTES).unwrap_or(usize::MAX),
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(contents), limits);
    // Palettes are looked up, and fewer than 8 bits become 8.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(mistake)?;
    let (width, height) = reader.info().size();
    let bytes = check_size(width.into(), height.into(), reader.output_buffer_size())?;
    let mut samples = vec![0; bytes];
    let frame = reader.next_frame(&mut samples).map_err(mistake)?;
    if frame.bit_depth == BitDepth::Sixteen {
        samples = samples
            .chunks_exact(2)
            .map(|sample| nearest_level(u16::from_be_bytes([sample[0], sample[1]])))
            .collect();
    }
    let rgb = match frame.color_type {
        ColorType::Grayscale => grey(&samples, 1),
        ColorType::GrayscaleAlpha => grey(&samples, 2),
        ColorType::Rgba => without_alpha(&samples),
        ColorType::Rgb | ColorType::Indexed => samples,
    };
    Ok(Pixels { width, height, rgb })
}

/// The level of 256 that is nearest to one of 65,536.
fn nearest_level(level: u16) -> u8 {
    ((u32::from(level) + 128) / 257) as u8
}

/// The first of each `channels` samples for all three colours.
fn grey(samples: &[u8], channels: usize) -> Vec<u8> {
    let levels = samples.iter().step_by(channels);
    levels.flat_map(|&level| [level; 3]).collect()
}

fn without_alpha(samples: &[u8]) -> Vec<u8> {
    let pixels = samples.chunks_exact(4);
    pixels.flat_map(|pixel| &pixel[..3]).copied().collect()
}

fn jpeg(contents: &[u8]) -> Result<Pixels, Mistake> {
    if !jpeg::is_complete(contents) {
        return Err(Mistake::broken(ENDS_EARLY));
    }
    let options = options().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(contents), options);
    decoder.decode_headers().map_err(Mistake::broken)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    check_size(width as u64, height as u64, decoder.output_buffer_size())?;
    Ok(Pixels {
        width: width as u32,
        height: height as u32,
        rgb: decoder.decode().map_err(Mistake::broken)?,
    })
}

fn bmp(contents: &[u8]) -> Result<Pixels, Mistake> {
    let mistake = |error: BmpDecoderErrors| match error {
        BmpDecoderErrors::IoErrors(_) => Mistake::broken(ENDS_EARLY),
        BmpDecoderErrors::TooLargeDimensions(..) | BmpDecoderErrors::OverFlowOccurred => {
            Mistake::TooLarge
        }
        BmpDecoderErrors::GenericStatic(reason) => Mistake::broken(reason),
        BmpDecoderErrors::Generic(reason) => Mistake::Broken(reason),
        other => Mistake::broken(format!("{other:?}").trim_end()),
    };
    let has_all_rows = has_all_rows(contents);
    let contents = with_room_for_masks(contents);
    let mut decoder = BmpDecoder::new_with_options(ZCursor::new(&contents), options());
    decoder.decode_headers().map_err(mistake)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    check_size(width as u64, height as u64, decoder.output_buf_size())?;
    if has_all_rows == Some(false) {
        return Err(Mistake::broken(ENDS_EARLY));
    }
    let samples = decoder.decode().map_err(mistake)?;
    Ok(Pixels {
        width: width as u32,
        height: height as u32,
        rgb: match decoder.colorspace() {
            Some(ColorSpace::RGBA) => without_alpha(&samples),
            Some(ColorSpace::Luma) => grey(&samples, 1),
            _ => samples,
        },
    })
}

/// Whether the rows of a bitmap that is not compressed are all there, to the last byte of padding; `None` if its header is of another
/// kind or too short to tell.
fn has_all_rows(contents: &[u8]) -> Option<bool> {
    let number = |at: usize, bytes: usize| {
        let bytes = contents.get(at..at + bytes)?.iter().rev();
        Some(bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let (first, header, compression) = (number(10, 4)?, number(14, 4)?, number(30, 4)?);
    if header < 40 || !matches!(compression, 0 | 3) {
        return None;
    }
    let (width, bits) = (number(18, 4)?, number(28, 2)?);
    let height = u64::from((number(22, 4)? as i32).unsigned_abs());
    let row_bytes = (width * bits).div_ceil(32) * 4;
    Some(contents.len() as u64 >= first.checked_add(row_bytes.checked_mul(height)?)?)
}

/// The decoder reads three masks after every header of 40 bytes, used or not, and a whole file of one or two pixels ends before.
fn with_room_for_masks(contents: &[u8]) -> Cow<'_, [u8]> {
    const END_OF_MASKS: usize = 14 + 40 + 12;
    let mut contents = Cow::Borrowed(contents);
    if contents.len() < END_OF_MASKS && has_all_rows(&contents) == Some(true) {
        contents.to_mut().resize(END_OF_MASKS, 0);
    }
    contents
}

/// Of any size that the format can express: [`check_size`] judges it.
fn options() -> DecoderOptions {
    DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
}
