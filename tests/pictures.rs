//! Every lesson's picture at several sizes: nothing in the way of anything, nothing outside, no text cut, and a page at most.

use rayon::prelude::*;
use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold_course::trace::{Covered, Picture, TraceError, trace};
use warpfold_kernels::catalogue::{Entries, Lesson, Part, lessons};

/// A page, in pixels and in characters.
const PAGE: (f64, f64) = (1200.0, 1600.0);
const WIDTH: usize = 120;
/// The most elements that are followed here, to be done soon; fewer for the many operators and types, whose pictures differ in their
/// numbers alone.
const MOST: u64 = 300;
const MOST_OF_OPERATORS: u64 = 40;

/// Pixels between the columns of two warps, and the height of the boxes of sectors and banks, which stand in no columns.
const GAP: f64 = 24.0;
const STRIP: f64 = 12.0;

type Corners = ((f64, f64), (f64, f64));

/// Block sizes and numbers of elements: one element, a cut tile, whole ones, many blocks, many warps, the most. Of the many operators
/// and types, many blocks and many warps.
fn sizes(lesson: &Lesson) -> Vec<(u32, usize)> {
    let takes_any = lesson.reduction().is_some() && !matches!(lesson.entries, Entries::PerBlock(_));
    let small = if takes_any {
        lesson.least_block.max(8)
    } else {
        64
    };
    let limit = if lesson.part == Part::Operators {
        MOST_OF_OPERATORS
    } else {
        MOST
    };
    let elements = |block: u32, halves: u64| {
        let variant = lesson.usual(block);
        let reduction = lesson.reduction();
        let each = reduction.map_or(1, |reduction| reduction.elements_per_thread(variant));
        let most = reduction.and_then(|reduction| reduction.most_elements(variant));
        let n = (each * u64::from(block) * halves).div_ceil(2);
        n.min(most.unwrap_or(limit)).min(limit) as usize
    };
    let (many, warps) = ((small, elements(small, 20)), (256, elements(256, 3)));
    if lesson.part == Part::Operators {
        return vec![many, warps];
    }
    vec![
        (small, 1),
        (small, elements(small, 3) - 1),
        (64, elements(64, 2)),
        many,
        warps,
        (1024, elements(1024, 2)),
    ]
}

/// What is wrong with a picture.
fn faults(picture: &Picture) -> Vec<String> {
    let mut faults = Vec::new();
    let sheet = picture.covering();
    let (width, height) = (sheet.width, sheet.height);
    if width > PAGE.0 || height > PAGE.1 {
        faults.push(format!("{width} × {height} is more than a page"));
    }
    for (text, width) in [(picture.to_text(200), WIDTH), (picture.to_text(80), 80)] {
        let lines = text.lines();
        let long = lines.filter(|line| line.chars().count() > width);
        faults.extend(long.map(|line| format!("too long: {line}")));
    }
    for one in &sheet.covered {
        let ((left, top), (right, bottom)) = corners(one);
        if left < 0.0 || top < 0.0 || right > width + 0.01 || bottom > height + 0.01 {
            faults.push(format!("outside: {one:?}"));
        }
        if let Covered::Shape(..) = one
            && top > sheet.columns.1
            && bottom - top > STRIP
        {
            let starts = sheet.columns.0.iter();
            let mut between = starts.map(|start| start - GAP..start - 1.0);
            if between.any(|between| between.contains(&left)) {
                faults.push(format!("left of its column: {one:?}"));
            }
        }
    }
    let mut covered: Vec<_> = sheet
        .covered
        .iter()
        .map(|one| (corners(one), one))
        .collect();
    covered.sort_by(|((one, _), _), ((other, _), _)| one.0.total_cmp(&other.0));
    for (index, ((_, (right, _)), one)) in covered.iter().enumerate() {
        // What begins further right than this ends meets nothing of it.
        let others = covered[index + 1..].iter();
        let others = others.take_while(|((other, _), _)| other.0 <= *right);
        let met = others.filter(|(_, other)| is_in_the_way(one, other));
        faults.extend(met.map(|(_, other)| format!("{one:?} and {other:?}")));
    }
    faults
}

/// The upper left corner, and the lower right one.
fn corners(covered: &Covered) -> Corners {
    match covered {
        Covered::Shape((left, top), (width, height))
        | Covered::Text((left, top), (width, height), _) => {
            ((*left, *top), (left + width, top + height))
        }
        Covered::Line(start, end) => (
            (start.0.min(end.0), start.1.min(end.1)),
            (start.0.max(end.0), start.1.max(end.1)),
        ),
    }
}

fn is_in_the_way(one: &Covered, other: &Covered) -> bool {
    let (first, second) = (corners(one), corners(other));
    match (one, other) {
        (Covered::Line(..), Covered::Line(..)) => false,
        (Covered::Line(start, end), _) => crosses(*start, *end, second),
        (_, Covered::Line(start, end)) => crosses(*start, *end, first),
        (Covered::Text(..), Covered::Shape(..)) => {
            overlap(first, second) && !is_inside(first, second)
        }
        (Covered::Shape(..), Covered::Text(..)) => {
            overlap(first, second) && !is_inside(second, first)
        }
        _ => overlap(first, second),
    }
}

fn overlap(one: Corners, two: Corners) -> bool {
    const SLACK: f64 = 0.5;
    one.0.0 + SLACK < two.1.0
        && two.0.0 + SLACK < one.1.0
        && one.0.1 + SLACK < two.1.1
        && two.0.1 + SLACK < one.1.1
}

fn is_inside(inner: Corners, outer: Corners) -> bool {
    const SLACK: f64 = 0.5;
    inner.0.0 + SLACK >= outer.0.0
        && inner.1.0 <= outer.1.0 + SLACK
        && inner.0.1 + SLACK >= outer.0.1
        && inner.1.1 <= outer.1.1 + SLACK
}

/// Whether a line passes through a rectangle, except at its ends, where it touches what it leads to.
fn crosses(start: (f64, f64), end: (f64, f64), (corner, opposite): Corners) -> bool {
    /// The share of a line at either end that does not count.
    const END: f64 = 1.0 / 40.0;
    const SLACK: f64 = 1.5;
    let (mut enters, mut leaves) = (END, 1.0 - END);
    for (from, to, low, high) in [
        (start.0, end.0, corner.0 + SLACK, opposite.0 - SLACK),
        (start.1, end.1, corner.1 + SLACK, opposite.1 - SLACK),
    ] {
        if from == to {
            if from <= low || from >= high {
                return false;
            }
        } else {
            let (one, other) = ((low - from) / (to - from), (high - from) / (to - from));
            enters = enters.max(one.min(other));
            leaves = leaves.min(one.max(other));
        }
    }
    enters < leaves
}

#[test]
fn every_picture_keeps_to_a_page_and_nothing_is_in_the_way() {
    let all: Vec<&'static Lesson> = lessons().collect();
    let of_size = |lesson: &'static Lesson, block: u32, n: usize| {
        // A device belongs to its thread.
        thread_local! {
            static DEVICE: Device = Device::open(&DeviceChoice::Emulator).expect("it opens");
        }
        let picture = DEVICE.with(|device| trace(device, lesson, lesson.usual(block), n));
        let faults = match picture {
            Ok(picture) => {
                let mut faults = faults(&picture);
                faults.extend(picture.mistake);
                faults
            }
            Err(TraceError::NotDrawn { .. }) => Vec::new(),
            // There may be nothing to copy of one element.
            Err(TraceError::NoElements) if n == 1 => Vec::new(),
            Err(error) => vec![error.to_string()],
        };
        let count = faults.len();
        let first = faults.into_iter().take(3);
        first
            .map(|fault| format!("{} --block {block} -n {n}: {fault} ({count})", lesson.id))
            .collect::<Vec<_>>()
    };
    let faults: Vec<String> = all
        .into_par_iter()
        .flat_map_iter(|lesson| {
            let sizes = sizes(lesson).into_iter();
            sizes.flat_map(move |(block, n)| of_size(lesson, block, n))
        })
        .collect();
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
