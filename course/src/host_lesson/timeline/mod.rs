//! What ran when: bars over time, in a lane for each stream.

mod picture;
mod text;

use serde::Serialize;
use warpfold::device::{DeviceError, Event};

pub(super) use picture::picture;
pub use text::text;

/// What ran on a GPU, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// What it is of.
    pub title: String,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
}

/// What ran on one stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// The stream, or who queued there.
    pub name: String,
    /// What ran, in that order.
    pub spans: Vec<Span>,
}

/// One operation. The first of a timeline starts at 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Its kind.
    pub kind: Kind,
    /// When it started.
    pub start_ms: f64,
    /// When it ended.
    pub end_ms: f64,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A copy to the device.
    Upload,
    /// A kernel.
    Kernel,
    /// A copy to the host.
    Download,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Upload, Self::Kernel, Self::Download];

    fn name(self) -> &'static str {
        match self {
            Self::Upload => "copy to the GPU",
            Self::Kernel => "kernel",
            Self::Download => "copy to the host",
        }
    }
}

impl Span {
    /// The time between two events around an operation, counted from an earlier one.
    pub(super) fn between(
        kind: Kind,
        start: &Event,
        end: &Event,
        origin: &Event,
    ) -> Result<Self, DeviceError> {
        Ok(Self {
            kind,
            start_ms: start.elapsed_ms_since(origin)?,
            end_ms: end.elapsed_ms_since(origin)?,
        })
    }
}

/// Corrects the starts of operations of which only one runs at a time, as copies in one direction or kernels of one stream do. The event
/// before an operation is reached when its stream comes to it, although another may have to end before it starts.
pub(super) fn one_after_another<'a>(spans: impl IntoIterator<Item = &'a mut Span>) {
    let mut spans: Vec<&mut Span> = spans.into_iter().collect();
    spans.sort_by(|left, right| left.end_ms.total_cmp(&right.end_ms));
    let mut last_ms = f64::NEG_INFINITY;
    for span in spans {
        span.start_ms = span.start_ms.max(last_ms);
        last_ms = span.end_ms;
    }
}

impl Timeline {
    /// A timeline whose first operation starts at 0.
    pub(super) fn new(title: &str, mut lanes: Vec<Lane>) -> Self {
        let first_ms = spans(&lanes)
            .map(|span| span.start_ms)
            .fold(f64::INFINITY, f64::min);
        for span in lanes.iter_mut().flat_map(|lane| &mut lane.spans) {
            span.start_ms -= first_ms;
            span.end_ms -= first_ms;
        }
        Self {
            title: title.to_owned(),
            lanes,
        }
    }

    /// From the first start to the last end.
    pub fn elapsed_ms(&self) -> f64 {
        spans(&self.lanes)
            .map(|span| span.end_ms)
            .fold(0.0, f64::max)
    }

    /// The most operations that ran at one time.
    pub fn at_once(&self) -> usize {
        let running_at = |time: f64| {
            spans(&self.lanes)
                .filter(|span| span.start_ms <= time && time < span.end_ms)
                .count()
        };
        let starts = spans(&self.lanes).map(|span| span.start_ms);
        starts.map(running_at).max().unwrap_or(0)
    }

    /// Of several runs of the same work, the one with the median time; `None` of none.
    pub(super) fn median(mut runs: Vec<Self>) -> Option<Self> {
        runs.sort_by(|left, right| left.elapsed_ms().total_cmp(&right.elapsed_ms()));
        let middle = runs.len() / 2;
        runs.into_iter().nth(middle)
    }

    /// The kinds of operations in it.
    fn has(&self, kind: Kind) -> bool {
        spans(&self.lanes).any(|span| span.kind == kind)
    }
}

fn spans(lanes: &[Lane]) -> impl Iterator<Item = &Span> {
    lanes.iter().flat_map(|lane| &lane.spans)
}

/// The time of the longest, which all are drawn to the scale of.
fn longest_ms(timelines: &[Timeline]) -> f64 {
    let times = timelines.iter().map(Timeline::elapsed_ms);
    times.fold(0.0, f64::max)
}

/// The kinds of operations in any of them.
fn kinds(timelines: &[Timeline]) -> impl Iterator<Item = Kind> {
    let is_there = |kind: &Kind| timelines.iter().any(|timeline| timeline.has(*kind));
    Kind::ALL.into_iter().filter(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn span(kind: Kind, start_ms: f64, end_ms: f64) -> Span {
        Span {
            kind,
            start_ms,
            end_ms,
        }
    }

    /// Two kernels side by side, and a copy after both.
    pub(super) fn timeline() -> Timeline {
        let lane = |name: &str, spans| Lane {
            name: name.to_owned(),
            spans,
        };
        Timeline::new(
            "two & one",
            vec![
                lane("stream 1", vec![span(Kind::Kernel, 5.0, 6.0)]),
                lane(
                    "stream 2",
                    vec![span(Kind::Kernel, 5.5, 6.5), span(Kind::Download, 6.5, 7.0)],
                ),
            ],
        )
    }

    #[test]
    fn a_timeline_starts_at_0_and_ends_with_its_last_span() {
        let timeline = timeline();
        assert_eq!(timeline.lanes[0].spans[0].start_ms, 0.0);
        assert_eq!(timeline.elapsed_ms(), 2.0);
        assert_eq!(timeline.at_once(), 2);
        assert_eq!(Timeline::new("nothing", vec![]).at_once(), 0);
    }

    #[test]
    fn what_ends_when_another_starts_does_not_run_with_it() {
        let mut timeline = timeline();
        timeline.lanes.remove(0);
        assert_eq!(timeline.at_once(), 1);
    }

    #[test]
    fn the_run_in_the_middle_is_the_median() {
        let of = |end_ms| {
            let spans = vec![span(Kind::Kernel, 0.0, end_ms)];
            let name = String::new();
            Timeline::new("", vec![Lane { name, spans }])
        };
        let median = Timeline::median(vec![of(3.0), of(1.0), of(2.0)]);
        assert_eq!(median.map(|run| run.elapsed_ms()), Some(2.0));
        assert_eq!(Timeline::median(vec![]), None);
    }

    #[test]
    fn an_engine_does_one_after_the_other() {
        let mut spans = [
            span(Kind::Upload, 0.0, 2.0),
            span(Kind::Upload, 0.1, 1.0),
            span(Kind::Upload, 5.0, 6.0),
        ];
        one_after_another(&mut spans);
        let starts = spans.map(|span| span.start_ms);
        assert_eq!(starts, [1.0, 0.1, 5.0]);
    }
}
