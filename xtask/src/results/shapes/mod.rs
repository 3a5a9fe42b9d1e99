//! What `docs/speed.md` shows of reductions of every shape.

mod names;
mod picture;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use picture::svg;
pub use table::block;
pub use verdict::verdict;
