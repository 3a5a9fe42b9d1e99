//! The observers: one per file, each blind to the others. A pair of observers is one that tells both.

mod counters;

pub use counters::Counters;
