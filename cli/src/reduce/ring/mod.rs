//! The ring: memory for a few pieces, which threads fill from the files while those before are reduced, and which then is filled again.
//!
//! A piece is a fixed number of values of all files together, so that results depend neither on how the values are divided among files nor
//! on the number of threads and devices. Each thread takes a free slot, is dealt the next piece, and reads it there. On the
//! cores it then reduces it, and the states are combined in the order of the pieces. A device has slots of its own, page-locked for a GPU, and
//! copies and reduces what it gets while further slots are filled.

mod cores;
mod dealer;
mod devices;
mod file;
mod in_order;
mod in_turn;
mod probe;
mod shared;
mod system;
#[cfg(test)]
mod tests;

pub(super) use cores::on_cores;
pub(super) use dealer::Dealer;
pub(super) use devices::{OnDevices, on_devices};
pub(super) use file::Cold;
pub(super) use in_turn::in_turn;
pub(super) use probe::Alone;
pub(super) use shared::{Outcome, Size};
