//! What the lessons on divergence, memory access, cooperation, scans and shapes are there to show: the counter or the finding that makes the
//! point of each. That their results are right is tested with those of all lessons.

#[path = "demonstrations/cooperation.rs"]
mod cooperation;
#[path = "demonstrations/divergence.rs"]
mod divergence;
#[path = "demonstrations/launch.rs"]
mod launch;
#[path = "demonstrations/memory.rs"]
mod memory;
#[path = "demonstrations/scans.rs"]
mod scans;
#[path = "demonstrations/shapes.rs"]
mod shapes;
