//! Sizes of letters, and colours.

use crate::trace::memory::Memory;
use plotters::style::FontDesc;
use std::cell::RefCell;
use std::collections::HashMap;

/// Font sizes of numbers, and what one character of the fixed-width font takes in each.
pub(super) const VALUE_SIZE: u32 = 12;
pub(super) const SMALL_SIZE: u32 = 9;
/// Width of a character of a value.
pub(super) const VALUE_CHARACTER: f64 = 0.61 * VALUE_SIZE as f64;
/// Width of a character of a set of elements.
pub(super) const SMALL_CHARACTER: f64 = 0.61 * SMALL_SIZE as f64;

/// How high the letters of the plots are from the highest to the lowest, in units of the size that SVG gives to letters; `plotters` means
/// that height by a size.
const EM: f64 = 1.164;

/// The width of proportional text in the letters of the plots, which are wide ones.
pub(super) fn width_of(text: &str, size: u32) -> f64 {
    // In large letters, because a width comes in whole pixels.
    const LARGE: u32 = 100;
    // A picture says the same many times, and the letters are looked for in the font each time.
    thread_local! {
        static MEASURED: RefCell<HashMap<String, u32>> = RefCell::default();
    }
    let width = MEASURED.with_borrow_mut(|measured| {
        if let Some(&width) = measured.get(text) {
            return width;
        }
        let font: FontDesc<'_> = warpfold_plot::font(LARGE);
        let width = font.box_size(text).map_or(0, |(width, _)| width);
        measured.insert(text.to_owned(), width);
        width
    });
    f64::from(width) * EM * f64::from(size) / f64::from(LARGE) + 1.0
}

/// A point: x to the right, y downwards.
pub(super) type Point = (f64, f64);

/// The colours. In grey they are still told apart, by lightness; memories also by the shapes of their cells.
pub(super) mod colours {
    use super::Memory;

    /// The ground that everything stands on, so that it can be read on a dark page too.
    pub const GROUND: &str = "#ffffff";
    pub const INK: &str = "#1b1b1b";
    pub const NOTE: &str = "#4a4a4a";
    pub const PALE: &str = "#c9c9c9";
    pub const PALE_INK: &str = "#767676";
    pub const VAIN: &str = "#dedede";
    pub const ALARM: &str = "#b3261e";

    /// The colour of a line.
    pub fn line(is_used: bool) -> &'static str {
        if is_used { INK } else { PALE }
    }

    /// The fill of a written cell, and of one that the launch begins with.
    pub fn fill(memory: Memory) -> (&'static str, &'static str) {
        match memory {
            Memory::Registers => ("#b7e0b0", "#eaf6e8"),
            Memory::Shared => ("#ffcf87", "#fff1dc"),
            Memory::Constant => ("#dcc3ea", "#f6eefa"),
            // Global memory.
            _ => ("#a9cdf0", "#e6f1fb"),
        }
    }
}
