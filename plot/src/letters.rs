//! Letters, the heading, and where names go that stand beside points.

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, FontDesc, FontFamily, IntoTextStyle};

/// The letters of a PNG file, and how wide they are in an SVG file, for which what shows it takes its own sans serif. See
/// `plot/fonts/README.md`.
#[cfg(not(target_arch = "wasm32"))]
static FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.subset.ttf");
/// The family whose letters these are here.
const FAMILY: FontFamily<'static> = FontFamily::SansSerif;

/// Makes these letters known to whatever draws by `plotters` in this process, which asks the machine for none: criterion's reports
/// would not be drawn without.
pub fn register_letters() {
    // In a browser `plotters` asks that for its letters.
    #[cfg(not(target_arch = "wasm32"))]
    {
        use plotters::style::{FontStyle, register_font};
        // Whether it is known already cannot be asked; it is a table of pointers into the bytes.
        let _ = register_font(FAMILY.as_str(), FontStyle::Normal, FONT);
    }
}

/// Letters of this size.
pub fn font(size: u32) -> FontDesc<'static> {
    register_letters();
    FontDesc::from((FAMILY, f64::from(size)))
}

/// A number with a comma before each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (first, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    groups.fold(first.to_owned(), |text, group| text + "," + &group)
}

/// Writes a title and a line below it in the middle of the top of a picture, and answers how many pixels they take there.
///
/// # Errors
/// The drawing library's.
pub fn heading<Backend: DrawingBackend>(
    area: &DrawingArea<Backend, Shift>,
    title: &str,
    subtitle: &str,
) -> Result<u32, DrawingAreaErrorKind<Backend::ErrorType>> {
    let centred = Pos::new(HPos::Center, VPos::Top);
    let middle = area.dim_in_pixel().0 as i32 / 2;
    let style = font(22).into_text_style(area).pos(centred);
    area.draw_text(title, &style, (middle, 14))?;
    let grey = font(14).color(&BLACK.mix(0.6)).pos(centred);
    area.draw_text(subtitle, &grey, (middle, 44))?;
    Ok(70)
}

/// Heights of names, in ascending order: moved down until each is a line below the one before, and up again where that is further than
/// the lowest.
pub fn spread(heights: &[i32], line: i32, lowest: i32) -> Vec<i32> {
    let mut spread: Vec<i32> = Vec::with_capacity(heights.len());
    for &height in heights {
        let least = spread.last().map_or(height, |above| above + line);
        spread.push(height.max(least));
    }
    let mut most = lowest;
    for height in spread.iter_mut().rev() {
        *height = (*height).min(most);
        most = *height - line;
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345), "12,345");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn names_keep_their_distance() {
        assert!(spread(&[], 17, 500).is_empty());
        assert_eq!(spread(&[10, 100], 17, 500), [10, 100]);
        assert_eq!(spread(&[100, 100, 101], 17, 500), [100, 117, 134]);
        assert_eq!(spread(&[100, 480, 490], 17, 500), [100, 480, 497]);
        assert_eq!(spread(&[100, 490, 490], 17, 500), [100, 483, 500]);
    }
}
