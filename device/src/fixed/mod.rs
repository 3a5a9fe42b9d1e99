//! Reductions in an order that follows from the number of values alone: the same bits on every machine, whatever the launch and the
//! addresses.
//!
//! | function | reduces | by |
//! |---|---|---|
//! | [`by_blocks`] | rows | a block for each chunk |
//! | [`by_warps`] | short rows | a warp or some of its lanes |
//! | [`columns()`] | columns | threads side by side for neighbouring columns |
//! | [`segments()`] | segments | a lane, a warp, or a warp for each chunk |
//! | [`pairs`] | the pairs of two arrays | a block for each chunk |
//! | [`states_of_chunks`], [`of_chunks`] | an array that several devices have parts of | a block for each chunk, and one for all |
//!
//! A row, a column or a segment is taken in *chunks* of [`CHUNK`] values from its first on. Of a chunk, value i belongs to slot i mod [`SLOTS`], and a slot combines
//! its values in ascending order. Then the slots are combined by a tree: slot s with slot s + 512, where there is one; then with s + 256,
//! and so on to s + 1. The results of the chunks are combined likewise: chunk c belongs to slot c mod [`SLOTS`].
//!
//! Each value is lifted by itself, and nothing else is combined, no identity either. So the host can do the same.

mod chunks;
mod columns;
mod order;
mod pairs;
mod rows;
mod segments;

pub use chunks::{of_chunks, states_of_chunks};
pub use columns::{Strips, columns};
pub use order::{BLOCK, CHUNK, SLOTS};
pub use pairs::pairs;
pub use rows::{SHORT, by_blocks, by_warps};
pub use segments::{Workspace, segments};
