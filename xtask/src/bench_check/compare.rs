//! Counts beside those of the baseline.

use super::baseline::Row;
use super::finding::Finding;

/// By how much of itself a count may grow.
const TOLERANCE: f64 = 0.05;

/// All counts, each with what it was.
pub struct Comparison<'a> {
    /// The counts, in their order.
    pub lines: Vec<Line<'a>>,
    /// What the baseline has and was not counted.
    pub gone: Vec<&'a Row>,
}

/// One count, with what it was.
pub struct Line<'a> {
    pub row: &'a Row,
    /// `None` where the baseline has none.
    pub before: Option<f64>,
}

/// What to make of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The baseline does not have it.
    New,
    /// Within the tolerance.
    Same,
    /// More than that above the baseline.
    Worse,
    /// More than that below it.
    Better,
}

impl<'a> Comparison<'a> {
    /// Puts each row beside that of the baseline.
    pub fn of(rows: &'a [Row], baseline: &'a [Row]) -> Self {
        let find = |row: &Row| baseline.iter().find(|before| before.is_same_as(row));
        let lines = rows.iter().map(|row| Line {
            row,
            before: find(row).map(Row::each),
        });
        let is_gone = |before: &&Row| !rows.iter().any(|row| row.is_same_as(before));
        Self {
            lines: lines.collect(),
            gone: baseline.iter().filter(is_gone).collect(),
        }
    }

    /// What is wrong with the counts, the worst first.
    pub fn findings(&self) -> Vec<Finding> {
        let costlier = self.names(Verdict::Worse);
        let gone = quoted(self.gone.iter().copied());
        let new = self.names(Verdict::New);
        let findings = [
            costlier.map(|names| Finding::Costlier { names }),
            gone.map(|names| Finding::NotCounted { names }),
            new.map(|names| Finding::NotInBaseline { names }),
        ];
        findings.into_iter().flatten().collect()
    }

    /// The names of the counts of this verdict; `None` where there is none.
    pub fn names(&self, verdict: Verdict) -> Option<String> {
        let lines = self.lines.iter();
        quoted(
            lines
                .filter(|line| line.verdict() == verdict)
                .map(|line| line.row),
        )
    }
}

/// The names of some rows in a list; `None` where there is no row.
fn quoted<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let names: Vec<String> = rows
        .map(|row| format!("`{}` ({})", row.name, row.counted))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

impl Line<'_> {
    /// How much it has grown, as a part of what it was.
    pub fn change(&self) -> Option<f64> {
        Some(self.row.each() / self.before? - 1.0)
    }

    /// What to make of it.
    pub fn verdict(&self) -> Verdict {
        match self.change() {
            None => Verdict::New,
            Some(change) if change < -TOLERANCE => Verdict::Better,
            Some(change) if change <= TOLERANCE => Verdict::Same,
            // What is no number is no better.
            Some(_) => Verdict::Worse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, count: u64, units: u64) -> Row {
        Row {
            name: name.to_owned(),
            count,
            counted: "instructions".to_owned(),
            units,
            unit: "warp instruction".to_owned(),
        }
    }

    fn verdict(before: Row, after: Row) -> Verdict {
        Comparison::of(&[after], &[before]).lines[0].verdict()
    }

    #[test]
    fn six_percent_more_is_worse_and_four_percent_are_not() {
        let before = || row("shuffle", 100_000, 500);
        for (count, expected) in [
            (106_000, Verdict::Worse),
            (104_000, Verdict::Same),
            (100_000, Verdict::Same),
            (96_000, Verdict::Same),
            (94_000, Verdict::Better),
        ] {
            assert_eq!(
                verdict(before(), row("shuffle", count, 500)),
                expected,
                "{count}"
            );
        }
    }

    #[test]
    fn twice_the_work_may_cost_twice_as_much() {
        let before = row("shuffle", 100_000, 500);
        assert_eq!(
            verdict(before.clone(), row("shuffle", 200_000, 1000)),
            Verdict::Same
        );
        assert_eq!(
            verdict(before, row("shuffle", 100_000, 400)),
            Verdict::Worse
        );
    }

    #[test]
    fn only_the_same_is_compared() {
        let rows = [row("shuffle", 100, 1)];
        let before = [
            row("vectorized", 1, 1),
            Row {
                counted: "bytes".to_owned(),
                ..row("shuffle", 1, 1)
            },
        ];
        let comparison = Comparison::of(&rows, &before);
        let findings = [
            Finding::NotCounted {
                names: "`vectorized` (instructions), `shuffle` (bytes)".to_owned(),
            },
            Finding::NotInBaseline {
                names: "`shuffle` (instructions)".to_owned(),
            },
        ];
        assert_eq!(comparison.findings(), findings);
    }

    #[test]
    fn every_kind_of_finding_is_told_with_what_to_do() {
        let before = [row("shuffle", 100, 1), row("gone", 100, 1)];
        let rows = [row("shuffle", 120, 1), row("new", 100, 1)];
        let findings = Comparison::of(&rows, &before).findings();
        let sentences: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            [
                "over 5 % higher than in benches/baseline.json: `shuffle` (instructions); make it cheaper again, or, if it is worth its \
                 price, keep the counts with `cargo xtask bench-check --bless`",
                "in benches/baseline.json and not counted: `gone` (instructions); count it again, or, if it is meant to be gone, take it \
                 out with `cargo xtask bench-check --bless`",
                "counted and not in benches/baseline.json: `new` (instructions); put it there with `cargo xtask bench-check --bless`",
            ]
        );
        let same = [row("shuffle", 104, 1), row("gone", 80, 1)];
        assert_eq!(Comparison::of(&same, &before).findings(), []);
    }
}
