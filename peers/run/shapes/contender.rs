//! Who takes part.

use super::results::{Results, Words};
use crate::clock::Clock;
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use warpfold::device::Stream;

/// Launches of a graph.
const OF_GRAPH: usize = 20;

/// Somebody's reduction of one problem, ready to be launched again and again.
pub trait Contender {
    /// Who wrote it.
    fn maker(&self) -> Maker;

    /// What it is called.
    fn name(&self) -> &str;

    /// Overwrites what the last launch has left, so that a launch that leaves nothing is found out.
    fn spoil(&mut self, words: &Words<'_>, clock: &Clock) -> Result<(), PeersError>;

    /// The milliseconds of one launch.
    fn time_ms(&mut self, clock: &Clock) -> Result<f64, PeersError>;

    /// What the last launch has left, in memory of this process; `None` of who reduces nothing.
    fn results(&mut self) -> Result<Option<Results>, PeersError>;
}

/// Something that can be queued on a stream, again and again.
pub type Queue<'a> = Box<dyn FnMut(&Stream) -> Result<(), PeersError> + 'a>;

/// A contender in this process.
pub struct Queued<'a> {
    /// Who wrote it.
    pub maker: Maker,
    /// What it is called.
    pub name: String,
    /// What is timed.
    pub queue: Queue<'a>,
    /// Where it writes, if its results are verified.
    pub results: Option<Results>,
    /// How many launches `queue` stands for.
    pub launches: usize,
    /// What a launch finds.
    pub finds: Finds,
}

impl<'a> Queued<'a> {
    /// The same as a graph of some launches, with a warm L2 cache.
    pub fn captured(self, clock: &Clock) -> Result<Self, PeersError> {
        let Self { mut queue, .. } = self;
        // Whatever it does for the first time cannot be captured.
        queue(clock.stream())?;
        clock.stream().synchronize()?;
        let mut outcome = Ok(());
        let graph = clock.stream().capture(|recorder| {
            for _ in 0..OF_GRAPH {
                outcome = queue(recorder);
                if outcome.is_err() {
                    break;
                }
            }
            Ok(())
        });
        outcome?;
        let graph = graph?.instantiate()?;
        let launch = move |stream: &Stream| {
            // What was captured keeps the memory that the graph works on.
            let _kept = &queue;
            // SAFETY: what was captured could be launched.
            Ok(unsafe { graph.launch(stream) }?)
        };
        Ok(Self {
            queue: Box::new(launch),
            launches: OF_GRAPH,
            finds: Finds::Warm,
            ..self
        })
    }
}

impl Contender for Queued<'_> {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn spoil(&mut self, words: &Words<'_>, clock: &Clock) -> Result<(), PeersError> {
        match &self.results {
            // SAFETY: they are the results of this contender, which are as long as it lives.
            Some(results) => unsafe { words.spoil(clock.stream(), results) },
            None => Ok(()),
        }
    }

    fn time_ms(&mut self, clock: &Clock) -> Result<f64, PeersError> {
        if self.finds == Finds::Warm {
            (self.queue)(clock.stream())?;
        }
        clock.prepare(self.finds)?;
        Ok(clock.elapsed_ms(&mut self.queue)? / self.launches as f64)
    }

    fn results(&mut self) -> Result<Option<Results>, PeersError> {
        Ok(self.results)
    }
}
