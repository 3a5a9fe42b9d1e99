//! What is looked up in a record, and how it is written.

use super::record::{Finds, LeftOut, Maker, Measurement, Place, Record};

/// What our library launches, and what other libraries are compared with.
pub const LIBRARY: &str = "warpfold::sum";
/// The same with the order of additions fixed.
pub const DETERMINISTIC: &str = "warpfold::sum (deterministic)";
/// A launch that does nothing.
pub const EMPTY: &str = "empty launch";
/// What most reductions in CUDA C++ are.
pub const CUB: &str = "cub::DeviceReduce::Sum";
/// What the names of CUB's other policies begin with.
const CUB_TUNED: &str = "CUB, tuned";

/// What to call some contenders, and who they are.
pub type Shown = (&'static str, fn(&Contender<'_>) -> bool);
/// Who is shown where there is room for few, if the record has them.
pub const BEST_KNOWN: [Shown; 4] = [
    ("CUB", |one| one.name == CUB),
    ("torch, the faster way", |one| {
        one.name.starts_with("torch.sum")
    }),
    ("CubeCL", |one| one.maker == Maker::Rust),
    ("Thrust", |one| one.name == "thrust::reduce"),
];

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender<'r> {
    /// Who wrote it.
    pub maker: Maker,
    /// What it is called.
    pub name: &'r str,
}

impl<'r> Contender<'r> {
    /// A step of the ladder, in Rust.
    pub fn is_step(&self) -> bool {
        self.maker == Maker::Warpfold && !self.name.starts_with(LIBRARY)
    }

    /// Our library, with an input that is not aligned as the words that it reads.
    pub fn is_misaligned(&self) -> bool {
        self.maker == Maker::Warpfold && self.name.ends_with(" off")
    }

    /// Somebody else's library.
    pub fn is_peer(&self) -> bool {
        matches!(self.maker, Maker::Library | Maker::Python | Maker::Rust)
    }

    /// What it goes by where there is room for few.
    pub fn family(&self) -> &'r str {
        match (self.maker, self.name) {
            (Maker::Library, name) if name.starts_with(CUB_TUNED) => {
                "CUB, the fastest of three policies"
            }
            (Maker::Rust, _) => "CubeCL, the faster of two ways",
            (_, name) => name,
        }
    }
}

/// What was added up, in the order of the record.
pub fn types(record: &Record) -> Vec<&str> {
    let mut all = Vec::new();
    for measurement in &record.measurements {
        let one = measurement.element_type.as_str();
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The part of a record that is about one type.
#[derive(Clone, Copy)]
pub struct OfType<'r> {
    /// The whole.
    pub record: &'r Record,
    /// The type.
    pub element_type: &'r str,
}

impl<'r> OfType<'r> {
    /// The parts of a record.
    pub fn all(record: &'r Record) -> Vec<Self> {
        let part = |element_type| Self {
            record,
            element_type,
        };
        types(record).into_iter().map(part).collect()
    }

    /// Whether there are any of these.
    pub fn has(self, finds: Finds) -> bool {
        self.measurements().any(|one| one.finds == finds)
    }

    /// All of it.
    pub fn measurements(self) -> impl Iterator<Item = &'r Measurement> {
        let all = self.record.measurements.iter();
        all.filter(move |measurement| measurement.element_type == self.element_type)
    }

    /// The sizes, from small to large.
    pub fn sizes(self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.measurements().map(|one| one.n).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Who takes part, in the order of the record.
    pub fn contenders(self) -> Vec<Contender<'r>> {
        let mut all = Vec::new();
        for measurement in self.measurements() {
            let one = contender(measurement);
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// One contender's time.
    pub fn find(self, maker: Maker, name: &str, n: usize, finds: Finds) -> Option<&'r Measurement> {
        self.at(n, finds)
            .find(|measurement| measurement.maker == maker && measurement.name == name)
    }

    /// What the library launches.
    pub fn of_library(self, n: usize, finds: Finds) -> Option<&'r Measurement> {
        self.find(Maker::Warpfold, LIBRARY, n, finds)
    }

    /// What is compared with a contender: for a kernel in CUDA C++ ours of the same name, for all others our library.
    pub fn counterpart(self, measurement: &Measurement) -> Option<&'r Measurement> {
        let Measurement { n, finds, .. } = *measurement;
        match measurement.maker {
            Maker::CudaCpp => self.find(Maker::Warpfold, &measurement.name, n, finds),
            _ => self.of_library(n, finds),
        }
    }

    /// The fastest of those that pass.
    pub fn fastest(
        self,
        n: usize,
        finds: Finds,
        pass: impl Fn(&Contender<'r>) -> bool,
    ) -> Option<&'r Measurement> {
        self.at(n, finds)
            .filter(|measurement| pass(&contender(measurement)))
            .min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
    }

    /// The fastest read of this many elements that was measured, whoever made it.
    pub fn ceiling_ms(self, n: usize, finds: Finds) -> Option<f64> {
        self.fastest(n, finds, |contender| contender.name != EMPTY)
            .map(|measurement| measurement.median_ms)
    }

    fn at(self, n: usize, finds: Finds) -> impl Iterator<Item = &'r Measurement> {
        self.measurements()
            .filter(move |measurement| measurement.n == n && measurement.finds == finds)
    }
}

/// Whose time it is.
pub fn contender(measurement: &Measurement) -> Contender<'_> {
    Contender {
        maker: measurement.maker,
        name: &measurement.name,
    }
}

/// The bytes of the input through the median time.
pub fn gigabytes_per_second(measurement: &Measurement) -> f64 {
    // `i32`, `f64`: the name ends with the bits.
    let bits = measurement.element_type.get(1..).unwrap_or_default();
    let bytes = bits.parse::<usize>().unwrap_or_default() / 8;
    (measurement.n * bytes) as f64 / (measurement.median_ms * 1e6)
}

/// A number of elements: `2^24` where it is a power of two.
pub fn size(n: usize) -> String {
    if n.is_power_of_two() {
        format!("2^{}", n.trailing_zeros())
    } else {
        n.to_string()
    }
}

/// What launches find where inputs come from memory, which is what a data sheet is about; or else what this record has.
pub fn from_memory(record: &Record) -> Finds {
    let is_cold = |measurement: &Measurement| measurement.finds == Finds::Cold;
    match record.measurements.iter().any(is_cold) {
        true => Finds::Cold,
        false => Finds::Warm,
    }
}

/// All that launches can find.
pub const FINDS: [Finds; 3] = [Finds::Warm, Finds::Cold, Finds::Idle];

/// What a launch finds, in a word.
pub fn word(finds: Finds) -> &'static str {
    match finds {
        Finds::Warm => "warm",
        Finds::Cold => "cold",
        Finds::Idle => "idle",
    }
}

/// The same in a few words.
pub fn found(finds: Finds) -> &'static str {
    match finds {
        Finds::Warm => "with a warm L2 cache",
        Finds::Cold => "with a cold L2 cache",
        Finds::Idle => "on an idle GPU",
    }
}

/// Milliseconds to four digits, at most four of them after the point.
pub fn ms(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 10.0 => format!("{value:.2}"),
        value if value >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// Who did not take part, or not to the end, a sentence for each reason: `Left out: cupy.sum at 2^24 of f32 from cold on, 2^26 of f32
/// (it ran out of memory).`
pub fn left_out(record: &Record) -> Vec<String> {
    let mut sentences: Vec<(&LeftOut, Vec<String>)> = Vec::new();
    for one in &record.left_out {
        let place = one.at.as_ref().map(place);
        let is_same =
            |(other, _): &&mut (&LeftOut, _)| other.name == one.name && other.reason == one.reason;
        match sentences.iter_mut().find(is_same) {
            Some((_, places)) => places.extend(place),
            None => sentences.push((one, place.into_iter().collect())),
        }
    }
    let sentence = |(LeftOut { name, reason, .. }, places): (&LeftOut, Vec<String>)| {
        let at = if places.is_empty() { "" } else { " at " };
        format!("Left out: {name}{at}{} ({reason}).", places.join(", "))
    };
    sentences.into_iter().map(sentence).collect()
}

fn place(place: &Place) -> String {
    let from = place
        .from
        .map_or_else(String::new, |finds| format!(" from {} on", word(finds)));
    format!("{} of {}{from}", size(place.n), place.element_type)
}

/// The machine, the software and how it was measured, in a few lines.
pub fn provenance(record: &Record) -> Vec<String> {
    let date = record.date.split('T').next().unwrap_or_default();
    let launches = || record.measurements.iter().map(|one| one.launches);
    let fewest = launches().min().unwrap_or_default();
    let medians = match launches().max().unwrap_or_default() {
        most if most == fewest => format!("{most} launches"),
        most => format!("{fewest} to {most} launches"),
    };
    let mut lines = vec![
        format!("{}; driver {}; {date}", record.device, record.driver),
        record.compilers.join("; "),
        format!(
            "sums of {}; blocks of {} threads; medians of {medians}; all take turns on the same input",
            types(record).join(" and "),
            record.block,
        ),
    ];
    lines.retain(|line| !line.is_empty());
    lines
}
