//! How images lie in memory.

use std::path::PathBuf;

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

/// What is wrong with an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
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
        format: String,
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
    /// A fractal of more pixels than a file may have.
    #[error("a fractal of {width} × {height} has more than 2^28 pixels; make it smaller")]
    LargeFractal {
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
    },
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
