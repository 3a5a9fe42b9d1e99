//! The values, on the host and on the GPU.

use crate::element;
use crate::error::PeersError;
use rayon::prelude::*;
use warpfold::Bf16;
use warpfold::device::{Buffer, Device, Pod};

const SEED: u64 = 42;

/// Values of one type.
pub struct Values<T> {
    /// On the host.
    pub host: Vec<T>,
    /// The same on the GPU.
    pub device: Buffer<T>,
}

/// All that contenders read, and the memory that those write to who are not ours.
pub struct Inputs {
    /// Random multiples of 1/64, whose sums do not round.
    pub f32: Values<f32>,
    /// The nearest to them.
    pub bf16: Option<Values<Bf16>>,
    /// Sixteen times as much, cut off.
    pub i8: Option<Values<i8>>,
    /// Room for a result of 8 bytes for each value.
    pub results: Buffer<u64>,
}

impl Inputs {
    /// 2^`bits` values; of the small types only where they are asked for.
    pub fn new(device: &Device, bits: u32, with_small_types: bool) -> Result<Self, PeersError> {
        let n = 1 << bits;
        let host = element::values::<f32>(n, SEED)
            .map_err(|source| PeersError::HostMemory { n, source })?;
        let small = |is_wanted: bool| is_wanted.then_some(&host);
        let bf16 = small(with_small_types).map(|host| {
            Values::of(
                device,
                host.par_iter().map(|&it| Bf16::from_f32(it)).collect(),
            )
        });
        let i8 = small(with_small_types).map(|host| {
            Values::of(
                device,
                host.par_iter().map(|&it| (it * 16.0) as i8).collect(),
            )
        });
        Ok(Self {
            bf16: bf16.transpose()?,
            i8: i8.transpose()?,
            f32: Values::of(device, host)?,
            results: device.allocate(n)?,
        })
    }
}

impl<T: Pod> Values<T> {
    fn of(device: &Device, host: Vec<T>) -> Result<Self, PeersError> {
        Ok(Self {
            device: device.upload(&host)?,
            host,
        })
    }
}
