//! What a picture shows and where, whatever draws it: computed once from the recorded execution.
//!
//! The sheet has columns: one for each thread of each warp that is shown. A scene stands for a step. From top to bottom it has what its
//! threads read, the threads, and what they write; a row of cells that the scene above has ended with is not drawn again.

mod accesses;
mod build;
mod builder;
mod contents;
mod groups;
mod model;
mod runs;
mod strips;
mod summary;
mod tree;

pub(super) use build::diagram;
pub(super) use model::{
    Band, Chip, Diagram, GridMark, Hits, Move, Room, Row, Scene, Source, Strip, Style, Tree,
};
