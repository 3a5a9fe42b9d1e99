//! What a record comes to, beside what this project wants to keep: computed, a line each.

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Measurement, Record};

/// What a step may take of the time of its counterpart in CUDA C++, and from where on a step is more than its launch.
const STEP: f64 = 1.02;
const STEPS_FROM: usize = 1 << 24;
/// What our library may take of the time of `cub::DeviceReduce::Sum`, up to this many elements.
const OF_CUB: [(usize, f64); 4] = [
    (1 << 22, 0.75),
    (1 << 25, 1.0),
    (1 << 26, 0.93),
    (1 << 30, 0.98),
];
/// What a fixed order may cost from this many elements on.
const DETERMINISTIC: f64 = 1.05;
const DETERMINISTIC_FROM: usize = 1 << 26;
/// What an input that is not aligned may cost from this many elements on.
const MISALIGNED: f64 = 1.03;
const MISALIGNED_FROM: usize = 1 << 26;

/// A comparison of two medians.
struct Pair<'r> {
    ours: &'r Measurement,
    theirs: &'r Measurement,
}

impl Pair<'_> {
    fn ratio(&self) -> f64 {
        self.ours.median_ms / self.theirs.median_ms
    }

    /// `2^24 of i32, cold: warpfold::sum takes 0.0256 ms, 1.011 × the 0.0253 ms of CUB`
    fn sentence(&self) -> String {
        let Pair { ours, theirs } = self;
        format!(
            "{} of {}, {}: {} takes {} ms, {:.3} × the {} ms of {}",
            figures::size(ours.n),
            ours.element_type,
            figures::word(ours.finds),
            ours.name,
            figures::ms(ours.median_ms),
            self.ratio(),
            figures::ms(theirs.median_ms),
            match theirs.maker {
                Maker::CudaCpp => "its counterpart by nvcc",
                _ => &theirs.name,
            }
        )
    }
}

/// What the record says of each of them; nothing of those that were not measured.
pub fn lines(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |what: String, pairs: Vec<Pair<'_>>, most: &dyn Fn(usize) -> f64| {
        lines.extend(judged(&what, &pairs, most));
    };
    say(
        "warpfold::sum against the fastest peer".to_owned(),
        pairs(record, |part, n, finds| {
            let theirs = part.fastest(n, finds, Contender::is_peer);
            pair(part.of_library(n, finds), theirs)
                .into_iter()
                .collect()
        }),
        &|_| 1.0,
    );
    say(
        format!("warpfold::sum against {}", figures::CUB),
        pairs(record, |part, n, finds| {
            let theirs = part.find(Maker::Library, figures::CUB, n, finds);
            pair(part.of_library(n, finds), theirs)
                .into_iter()
                .collect()
        }),
        &|n| {
            let row = OF_CUB.iter().find(|(up_to, _)| n <= *up_to);
            row.map_or(1.0, |(_, most)| *most)
        },
    );
    say(
        "steps of the ladder against nvcc".to_owned(),
        pairs(record, |part, n, finds| {
            if n < STEPS_FROM {
                return Vec::new();
            }
            let steps = part.contenders().into_iter().filter(Contender::is_step);
            let pairs = steps.filter_map(|Contender { maker, name }| {
                let theirs = part.find(Maker::CudaCpp, name, n, finds);
                pair(part.find(maker, name, n, finds), theirs)
            });
            pairs.collect()
        }),
        &|_| STEP,
    );
    say(
        "a fixed order of additions".to_owned(),
        against_library(record, DETERMINISTIC_FROM, |one| {
            one.name == figures::DETERMINISTIC
        }),
        &|_| DETERMINISTIC,
    );
    say(
        "an input that is not aligned".to_owned(),
        against_library(record, MISALIGNED_FROM, Contender::is_misaligned),
        &|_| MISALIGNED,
    );
    lines.extend(bandwidth(record));
    lines
}

/// What a bound comes to: whether all keep it, and if not, who does not, worst first.
fn judged(what: &str, pairs: &[Pair<'_>], most: &dyn Fn(usize) -> f64) -> Vec<String> {
    let bound = |pair: &Pair<'_>| most(pair.ours.n);
    let Some(worst) = pairs.iter().max_by(|a, b| {
        let excess = |pair| Pair::ratio(pair) / bound(pair);
        excess(a).total_cmp(&excess(b))
    }) else {
        return Vec::new();
    };
    let mut beyond: Vec<&Pair<'_>> = pairs
        .iter()
        .filter(|pair| pair.ratio() > bound(pair))
        .collect();
    if beyond.is_empty() {
        return vec![format!(
            "{what}: kept in all {} comparisons; closest to its bound of {:.2}: {}",
            pairs.len(),
            bound(worst),
            worst.sentence()
        )];
    }
    beyond.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let mut lines = vec![format!(
        "{what}: missed in {} of {} comparisons:",
        beyond.len(),
        pairs.len()
    )];
    let missed = beyond
        .into_iter()
        .map(|pair| format!("  {} (at most {:.2})", pair.sentence(), bound(pair)));
    lines.extend(missed);
    lines
}

/// The bandwidth of the largest sizes, beside the data sheet's.
fn bandwidth(record: &Record) -> Vec<String> {
    let Some(datasheet) = record.datasheet_gigabytes_per_second else {
        return Vec::new();
    };
    let of = |part: OfType<'_>, n, finds| {
        let rate = figures::gigabytes_per_second(part.of_library(n, finds)?);
        Some(format!(
            "{} of {}, {}: {rate:.0} GB/s, {:.1} % of the data sheet's {datasheet:.0}",
            figures::size(n),
            part.element_type,
            figures::word(finds),
            100.0 * rate / datasheet
        ))
    };
    let mut lines = Vec::new();
    for part in OfType::all(record) {
        for n in part.sizes().into_iter().rev().take(2).rev() {
            let caches = [Finds::Warm, Finds::Cold].into_iter();
            lines.extend(caches.filter_map(|finds| of(part, n, finds)));
        }
    }
    lines
}

fn against_library<'r>(
    record: &'r Record,
    from: usize,
    pass: impl Fn(&Contender<'r>) -> bool,
) -> Vec<Pair<'r>> {
    pairs(record, |part, n, finds| {
        if n < from {
            return Vec::new();
        }
        let ours = part.contenders().into_iter();
        ours.filter(|one| one.maker == Maker::Warpfold && pass(one))
            .filter_map(|Contender { maker, name }| {
                pair(part.find(maker, name, n, finds), part.of_library(n, finds))
            })
            .collect()
    })
}

fn pairs<'r>(
    record: &'r Record,
    at: impl Fn(OfType<'r>, usize, Finds) -> Vec<Pair<'r>>,
) -> Vec<Pair<'r>> {
    let mut all = Vec::new();
    for part in OfType::all(record) {
        for n in part.sizes() {
            for finds in figures::FINDS {
                all.extend(at(part, n, finds));
            }
        }
    }
    all
}

fn pair<'r>(ours: Option<&'r Measurement>, theirs: Option<&'r Measurement>) -> Option<Pair<'r>> {
    Some(Pair {
        ours: ours?,
        theirs: theirs?,
    })
}
