//! Several processes, on one machine or many, that reduce an array together: one per GPU, as `torchrun`, `mpirun` or `srun` start them.
//!
//! ```no_run
//! use warpfold::ranks::{Options, Place, RankReduction, Ranks};
//! use warpfold::{Device, operator::ArgMax};
//!
//! # fn mine(_: std::ops::Range<u64>) -> Vec<f32> { Vec::new() }
//! let place = Place::from_environment()?.expect("a launcher has started this process");
//! let device = Device::open(&place.device_choice())?;
//! let ranks = Ranks::join(&device, &place, Options::default())?;
//! let values = device.upload(&mine(ranks.part(1 << 30)))?;
//! let place = RankReduction::new(&ranks, ArgMax::FIRST)?.of(&values)?; // the same on every rank
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Place`] says who a process is and where rank 0 is. Rank 0 listens there; the others connect to it, and through these connections it learns
//! which ranks have joined, and hands out NCCL's id. Whoever can reach the port can take part, as with NCCL's own port and torchrun's, so
//! it must be in a network that others cannot reach. Rank 0 keeps a connection to every other rank, and needs a file descriptor for each.
//!
//! The ranks hand each other their results by NCCL 2.18 or later, from GPU to GPU. `libnccl.so.2` is looked for when it is needed, then
//! `libnccl.so`, then the folder of Python's wheel in `$VIRTUAL_ENV`, in `$CONDA_PREFIX` and in the packages of the `python3` on PATH. Where a
//! rank has no GPU of its own or no NCCL, the results go through the hosts' memory and rank 0's connections; the calls are the same.
//!
//! | operators | how the ranks' results become one |
//! |---|---|
//! | sum, product; any, all, count_nonzero; min and max of integers | each rank's result by an all-reduce (`ncclAllReduce`), in the accumulator's type |
//! | min and max of floats and 16-bit integers | all ranks' results (`ncclAllGather`), reduced once more by the same kernel: NCCL does not promise what becomes of NaN, and has no such integers |
//! | argmax, variance and all others; deterministic sums and products of floats | the states of all chunks of 4096 values (`ncclAllGather`, or a broadcast from each rank where they have different numbers of chunks), combined in their order on every rank, as [`warpfold_device::fixed`] says. In the deterministic order a chunk that lies on several ranks is completed first |
//!
//! No rank waits longer than [`Options::patience`]. After that time, or when another rank has ended, it stops with a sentence that names the
//! operation, itself and, where it is known, the rank that is missing. All other ranks stop as well.

mod cut;
mod error;
mod hash;
mod hello;
mod meeting;
mod message;
mod nccl;
mod nodes;
mod place;
mod reduction;
mod sockets;
#[cfg(test)]
mod tests;
mod transfer;
mod transport;
mod untyped;
mod way;
mod world;

pub use error::{PORT_VARIABLE, RankError};
pub use place::{Launcher, MOST_RANKS, PORT, Place};
pub use reduction::RankReduction;
#[doc(hidden)]
pub use transport::Memory;
#[doc(hidden)]
pub use untyped::UntypedRanks;
pub use world::{By, Options, PATIENCE, Ranks};
