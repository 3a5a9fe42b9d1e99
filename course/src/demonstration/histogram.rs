//! The demonstrations of the part `Histogram`.

use crate::histogram::{self, Histogram, Image, ImageError};
use crate::lesson::LessonError;
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold_kernels::catalogue::{self, Lesson, Variant};

/// Sets up a demonstration: an image of `n` random pixels, or nothing to launch for none.
pub(super) fn prepare(
    which: catalogue::Histogram,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    match which {
        catalogue::Histogram::Image => of_random_image(lesson, variant, n, seed),
    }
}

fn of_random_image(
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    if n == 0 {
        return Ok(PreparedLesson::without_launch(lesson));
    }
    let too_many = || LessonError::TooManyElements {
        lesson: lesson.id,
        block: variant.block,
        n,
    };
    let bytes = n.checked_mul(3).ok_or_else(too_many)?;
    let rgb = random::u8_values(bytes, seed).map_err(LessonError::host_memory(n))?;
    let width = u32::try_from(width(n)).map_err(|_| too_many())?;
    let height = u32::try_from(n / width as usize).map_err(|_| too_many())?;
    let image = Image::from_rgb(width, height, &rgb).map_err(|error| match error {
        ImageError::HostMemory => LessonError::HostMemory { n },
        // It has pixels, and as many bytes as it should.
        _ => too_many(),
    })?;
    let case = histogram::case(lesson, variant, &image)?.into_owned();
    let expected = Histogram::of(&image);
    let judge = move |outputs: &crate::case::Outputs<'_>| {
        let counted = histogram::counted(outputs)?;
        let fullest = counted.channels.as_flattened().iter().max();
        Ok(Verdict {
            facts: vec![
                ("image", format!("{width} × {height} pixels")),
                (
                    "pixels in the fullest bin",
                    fullest.copied().unwrap_or(0).to_string(),
                ),
            ],
            mistake: counted.first_difference(&expected),
        })
    };
    // SAFETY: `histogram::case` says so.
    Ok(unsafe { PreparedLesson::of_case(lesson, Some(case), judge) })
}

/// The width of an image of `n` pixels that is as square as possible: the largest divisor of `n` up to its root. A prime number of
/// pixels makes an image of one column, whose rows are nearly all padding.
fn width(n: usize) -> usize {
    (1..=n.isqrt())
        .rev()
        .find(|&width| n.is_multiple_of(width))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::width;

    #[test]
    fn an_image_has_the_pixels_asked_for() {
        assert_eq!(
            [1, 2, 12, 12_345, 1 << 20].map(width),
            [1, 1, 3, 15, 1 << 10]
        );
    }
}
