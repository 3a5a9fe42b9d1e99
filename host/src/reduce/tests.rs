mod billions;
mod checks;
mod functions;
mod operators;
mod order;
mod places;
mod queued;
mod segments;
mod values;

use super::table::{Launch, Way};
use super::*;
use crate::Offset;
use crate::cpu::{self, Order, Parallel};
use crate::device::DeviceChoice;
use crate::{DotProduct, Scan, all, argmax, count_nonzero, mean, min, norm1, product, variance};
use checks::*;
use proptest::prelude::{Just, ProptestConfig, prop_oneof, proptest};
use std::fmt::Debug;
use values::*;
use warpfold_device::columns::Layout;
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_device::{
    for_each_accumulator, for_each_element, for_each_operator, for_each_short_index,
};

fn emulator() -> Device {
    Device::open(&DeviceChoice::Emulator).expect("there is always an emulator")
}

/// Does something with a test's emulator, which loads a kernel once for all cases.
fn with_emulator<R>(act: impl FnOnce(&Device) -> R) -> R {
    thread_local! {
        static DEVICE: Device = emulator();
    }
    DEVICE.with(act)
}

/// The emulator, and a GPU where there is one.
fn devices() -> Vec<Device> {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    [emulator()].into_iter().chain(gpu).collect()
}

/// As many values, made of random numbers.
fn random<T>(length: usize, seed: u64, value: impl Fn(u64) -> T) -> Vec<T> {
    let mut state = seed;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        value(state >> 40)
    };
    (0..length).map(next).collect()
}
