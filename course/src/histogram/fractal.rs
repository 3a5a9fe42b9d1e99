//! An image that needs no file: the Mandelbrot set, a large area of one colour inside and all colours at its edge.

use super::{Image, ImageError};
use rayon::prelude::*;

/// How often a point is iterated before it counts as one of the set.
const ITERATIONS: u32 = 256;
/// The middle of the picture, and how far it reaches to the left and right at least, and up and down.
const CENTRE: f64 = -0.7;
const REACH: [f64; 2] = [1.55, 1.25];

/// A picture of the Mandelbrot set, the same on every computer.
///
/// # Errors
/// No pixels, or more than [`MOST_PIXELS`](super::MOST_PIXELS); too little memory.
pub fn fractal(width: u32, height: u32) -> Result<Image, ImageError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > super::MOST_PIXELS {
        return Err(ImageError::LargeFractal { width, height });
    }
    let mut rgb = Vec::new();
    rgb.try_reserve_exact(3 * pixels as usize)
        .map_err(|_| ImageError::HostMemory)?;
    rgb.resize(3 * pixels as usize, 0);
    if pixels > 0 {
        // The distance of two pixels is that at which the whole set is in the picture.
        let size = [width, height].map(f64::from);
        let step = (2.0 * REACH[0] / size[0]).max(2.0 * REACH[1] / size[1]);
        let at = |index: usize, length: f64| (index as f64 + 0.5 - length / 2.0) * step;
        let rows = rgb.par_chunks_exact_mut(3 * width as usize).enumerate();
        rows.for_each(|(row, pixels)| {
            for (column, pixel) in pixels.chunks_exact_mut(3).enumerate() {
                let point = (CENTRE + at(column, size[0]), at(row, size[1]));
                pixel.copy_from_slice(&colour(escape(point)));
            }
        });
    }
    Image::from_rgb(width, height, &rgb)
}

/// After how many iterations a point is so far away that it does not come back; `None` of one that is taken for a point of the set.
fn escape((real, imaginary): (f64, f64)) -> Option<u32> {
    let (mut x, mut y) = (0.0_f64, 0.0_f64);
    (0..ITERATIONS).find(|_| {
        (x, y) = (x * x - y * y + real, 2.0 * x * y + imaginary);
        x * x + y * y > 4.0
    })
}

/// Black inside; outside from dark blue over orange to dark again, the nearer the slower.
fn colour(escaped_after: Option<u32>) -> [u8; 3] {
    let Some(iterations) = escaped_after else {
        return [0; 3];
    };
    let near = (f64::from(iterations + 1) / f64::from(ITERATIONS)).sqrt();
    let far = 1.0 - near;
    let parts = [
        9.0 * far * near.powi(3),
        15.0 * far.powi(2) * near.powi(2),
        8.5 * far.powi(3) * near,
    ];
    parts.map(|part| (part * 255.0).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_the_set_stay_and_others_escape() {
        for inside in [(0.0, 0.0), (-1.0, 0.0), (0.25, 0.0), (-2.0, 0.0)] {
            assert_eq!(escape(inside), None, "{inside:?}");
        }
        // 0, 1, 2, 5.
        assert_eq!(escape((1.0, 0.0)), Some(2));
        assert_eq!(escape((3.0, 0.0)), Some(0));
    }

    #[test]
    fn it_is_symmetric_and_has_one_colour_inside_and_many_outside() {
        let image = fractal(200, 150).expect("it is small");
        let rows: Vec<&[u8]> = image.rows().collect();
        for (above, below) in rows.iter().zip(rows.iter().rev()) {
            assert_eq!(above, below);
        }
        let pixels: Vec<&[u8]> = rows.iter().flat_map(|row| row.chunks_exact(3)).collect();
        let inside = pixels.iter().filter(|&&pixel| pixel == [0; 3]).count();
        // The set has an area of 1.51 in a picture of 3.33 × 2.5.
        let share = inside as f64 / pixels.len() as f64;
        assert!((share - 0.181).abs() < 0.02, "{share}");
        let colours: std::collections::HashSet<&[u8]> = pixels.into_iter().collect();
        assert!(colours.len() > 30, "{}", colours.len());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert!(matches!(fractal(0, 5), Err(ImageError::Empty)));
        assert!(matches!(
            fractal(1 << 20, 1 << 20),
            Err(ImageError::LargeFractal { .. })
        ));
        assert_eq!(fractal(1, 1).expect("it is small").pixels(), 1);
    }
}
