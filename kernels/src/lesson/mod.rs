//! What a lesson is, as data: the types of the catalogue's rows.

mod demonstration;
mod element;
mod finish;
mod page;
mod part;
mod row;

pub use demonstration::{
    Cooperation, Divergence, Half, Histogram, Memory, Nested, Question, Scan, Shapes, Worker,
};
pub use element::{ElementType, Operator};
pub use finish::{Finish, Role};
pub use page::Page;
pub(crate) use page::pages;
pub use part::{Part, PtxText};
pub(crate) use row::per_block;
pub use row::{
    BLOCK_SIZES, Demonstration, Entries, Geometry, Lesson, Parameter, Reduction, Task, Variant,
};
