//! NCCL: found at run time, and a transport over its communicators.

mod bindings;
mod communicator;
mod library;

pub(super) use communicator::{Nccl, gpu_number, unique_id};
