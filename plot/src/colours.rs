//! The colours of pictures, on white and on dark pages.

use plotters::style::RGBColor;
use std::collections::BTreeSet;

/// Colours that can be read on white and, turned over, on dark pages: near to Paul Tol's bright scheme, which the colour-blind can tell apart.
pub const BLUE: RGBColor = RGBColor(68, 119, 170);
/// See [`BLUE`].
pub const RED: RGBColor = RGBColor(187, 34, 68);
/// See [`BLUE`].
pub const GREEN: RGBColor = RGBColor(34, 136, 51);

/// What white and black become on a dark page: the page itself, and its letters.
const PAGE: [u8; 3] = [13, 17, 23];
const LETTERS: [u8; 3] = [230, 237, 243];

/// Adds to an SVG picture, drawn in dark colours on white, the colours for a dark page. Whatever shows the picture chooses by what its user
/// prefers (`prefers-color-scheme`), also inside of an `<img>`. Each colour keeps its hue, and the light ones become dark.
///
/// The colours are found where `fill` and `stroke` are set as attributes to `#rrggbb` or `white`.
pub fn for_dark_pages(svg: &str) -> String {
    let mut rules = String::new();
    for (attribute, colour) in colours(svg) {
        if let Some(parts) = parts(colour) {
            let [red, green, blue] = on_dark(parts);
            rules += &format!(
                "[{attribute}=\"{colour}\"]{{{attribute}:#{red:02x}{green:02x}{blue:02x}}}\n"
            );
        }
    }
    let Some(after_tag) = svg
        .find("<svg")
        .and_then(|tag| Some(tag + svg[tag..].find('>')? + 1))
    else {
        return svg.to_owned();
    };
    let (head, body) = svg.split_at(after_tag);
    format!("{head}\n<style>\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n</style>{body}")
}

/// Each colour that is set, with the attribute that sets it.
fn colours(svg: &str) -> BTreeSet<(&str, &str)> {
    let of = |attribute| {
        let values = svg.split(attribute).skip(1);
        values.filter_map(move |rest| {
            let (value, _) = rest.strip_prefix("=\"")?.split_once('"')?;
            Some((attribute, value))
        })
    };
    ["fill", "stroke"].into_iter().flat_map(of).collect()
}

fn parts(colour: &str) -> Option<[u8; 3]> {
    if colour == "white" {
        return Some([255; 3]);
    }
    let digits = colour
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, parts @ ..] = value.to_be_bytes();
    Some(parts)
}

/// The colour of the same hue whose lightness is as far from the page's as this one's is from white.
fn on_dark(parts: [u8; 3]) -> [u8; 3] {
    let most = parts.into_iter().max().unwrap_or_default();
    let least = parts.into_iter().min().unwrap_or_default();
    std::array::from_fn(|part| {
        // Adding the same to each part keeps the hue; this much turns the lightness over.
        let turned = i32::from(parts[part]) + 255 - i32::from(most) - i32::from(least);
        let [page, letters] = [PAGE, LETTERS].map(|colour| i32::from(colour[part]));
        (page + turned * (letters - page) / 255) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_becomes_dark_and_keeps_its_hue() {
        assert_eq!(on_dark([255; 3]), PAGE);
        assert_eq!(on_dark([0; 3]), LETTERS);
        let [red, green, blue] = on_dark([0xb7, 0xe0, 0xb0]);
        assert!(green > red.max(blue) && green < 100, "{red} {green} {blue}");
    }

    #[test]
    fn every_colour_that_is_set_has_its_like() {
        let svg = "<?xml version=\"1.0\"?>\n<svg width=\"9\">\n<rect fill=\"white\"/><path fill=\"none\" stroke=\"#000000\" stroke-width=\"2\"/></svg>\n";
        let style = "<svg width=\"9\">\n<style>\n@media (prefers-color-scheme: dark) {\n\
                     [fill=\"white\"]{fill:#0d1117}\n[stroke=\"#000000\"]{stroke:#e6edf3}\n}\n</style>";
        assert_eq!(for_dark_pages(svg), svg.replace("<svg width=\"9\">", style));
        assert_eq!(for_dark_pages("no picture"), "no picture");
    }
}
