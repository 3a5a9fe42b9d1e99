//! Grids that kernels launch, and the order in which they may begin.

mod child;
mod launches;
mod order;

pub(super) use child::{Child, Stream};
pub(super) use launches::{Buffer, Launches};
pub(super) use order::Order;
