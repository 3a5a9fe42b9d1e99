//! Groups of emulated devices, and of GPUs where there are some.

mod queued;

use super::*;
use crate::device::{Buffer, Device, DeviceChoice, DeviceError, Kernel, Order, PeerTraffic, peer};
use crate::{Reduction, operator::*};
use proptest::prelude::{ProptestConfig, proptest};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::rc::Rc;
use warpfold_device::fixed::CHUNK;
use warpfold_device::half::Bf16;
use warpfold_emulator::entries::Entries;
use warpfold_emulator::{Nothing, Tool};

/// A test's group of as many, which loads a kernel once.
fn emulators(count: usize) -> Rc<Group> {
    thread_local! {
        static OPENED: RefCell<HashMap<usize, Rc<Group>>> = RefCell::default();
    }
    OPENED.with_borrow_mut(|opened| {
        let open = || Group::open(&vec![DeviceChoice::Emulator; count]);
        let group = opened
            .entry(count)
            .or_insert_with(|| Rc::new(open().expect("there is always an emulator")));
        Rc::clone(group)
    })
}

/// Emulators that do not reach each other.
fn strangers(count: usize) -> Group {
    let devices = (0..count).map(|_| Device::open(&DeviceChoice::Emulator));
    let devices: Result<_, _> = devices.collect();
    let group = Group::new(devices.expect("there is always an emulator")).expect("there are some");
    assert!(count == 1 || !group.has_peer_access());
    group
}

/// Groups of one GPU and of all, where there are some.
fn gpus() -> Vec<Rc<Group>> {
    thread_local! {
        static OPENED: Vec<Rc<Group>> = {
            let count = crate::device::list().map_or(0, |list| list.gpus.len() as u32);
            let all: Vec<DeviceChoice> = (0..count).map(DeviceChoice::Gpu).collect();
            let open = |count| Group::open(&all[..count]).expect("they can be opened");
            let counts = [1, all.len()].into_iter().filter(|&some| some > 0 && some <= all.len());
            counts.map(|count| Rc::new(open(count))).collect()
        };
    }
    OPENED.with(Vec::clone)
}

/// Groups of every kind, of GPUs too, where there are some.
fn groups() -> impl Iterator<Item = Rc<Group>> {
    let emulated = [1, 2, 3, 4, 8].map(emulators);
    emulated
        .into_iter()
        .chain([Rc::new(strangers(3))])
        .chain(gpus())
}

fn on_one_device<T: Reducible, O: BuiltIn<T>>(operator: O, mode: Mode, values: &[T]) -> O::Output {
    thread_local! {
        static DEVICE: Device =
            Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    }
    DEVICE.with(|device| {
        let buffer = device.upload(values).expect("it fits");
        let reduction = Reduction::new(device, operator).expect("it is prepared");
        reduction.with_mode(mode).of(&buffer).expect("it runs")
    })
}

/// Every number of devices gives the bits that one device gives, and the GPUs too, where there are some.
fn agrees<T: Reducible, O: BuiltIn<T>>(operator: O, values: &[T])
where
    O::Output: Debug,
{
    agrees_on(groups(), operator, values);
}

fn agrees_on<T: Reducible, O: BuiltIn<T>>(
    groups: impl Iterator<Item = Rc<Group>>,
    operator: O,
    values: &[T],
) where
    O::Output: Debug,
{
    let expected = format!("{:?}", on_one_device(operator, Mode::Deterministic, values));
    for group in groups {
        let parts = group.upload(values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let reduction = GroupReduction::new(&group, operator).expect("it is prepared");
        let mut reduction = reduction.with_mode(Mode::Deterministic);
        for _ in 0..2 {
            let found = reduction.of(&parts).expect("it runs");
            assert_eq!(format!("{found:?}"), expected, "{} devices", parts.len());
        }
    }
}

/// In the fast order every group gives the same, of operators that round nothing.
fn agrees_fast<T: Reducible, O: BuiltIn<T>>(operator: O, values: &[T])
where
    O::Output: Debug,
{
    let expected = format!("{:?}", on_one_device(operator, Mode::Fast, values));
    for group in groups() {
        let parts = group.upload(values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let mut reduction = GroupReduction::new(&group, operator).expect("it is prepared");
        for _ in 0..3 {
            let found = reduction.of(&parts).expect("it runs");
            assert_eq!(format!("{found:?}"), expected, "{} devices", parts.len());
        }
    }
}

fn floats(n: usize, seed: u32) -> Vec<f32> {
    let number = |place: u32| (place ^ seed).wrapping_mul(2_654_435_761) >> 8;
    (0..n as u32)
        .map(|place| number(place) as f32 / 1e6 - 7.0)
        .collect()
}

#[test]
fn any_number_of_devices_gives_the_same_bits() {
    for n in [0, 1, CHUNK, CHUNK + 1, 9 * CHUNK + 77] {
        agrees(Sum, &floats(n, 1));
        agrees(StdDev { ddof: 1 }, &floats(n, 2));
        agrees(ArgMax::LAST, &floats(n, 3));
    }
    let values = floats(5 * CHUNK + 3, 4);
    agrees(LogSumExp, &values);
    agrees(MinMax, &values);
    let small: Vec<i8> = values.iter().map(|&value| value as i8).collect();
    agrees(Mean, &small);
    let narrow: Vec<Bf16> = values.iter().map(|&value| Bf16::from_f32(value)).collect();
    agrees(Norm2, &narrow);
    agrees(As::<f64, _>::new(Sum), &values);
    agrees(As::<f64, _>::new(Mean), &narrow);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_values_give_the_same_bits(n in 0_usize..30_000, seed: u32) {
        let values = floats(n, seed);
        let groups = || [1, 2, 4, 8].map(emulators).into_iter();
        match seed % 4 {
            0 => agrees_on(groups(), Sum, &values),
            1 => agrees_on(groups(), Variance { ddof: 0 }, &values),
            2 => agrees_on(groups(), LogSumExp, &values),
            _ => agrees_on(groups(), ArgMin::LAST, &values),
        }
    }
}

#[test]
fn gpus_give_the_bits_of_the_emulator_200_times() {
    if gpus().is_empty() {
        println!("skipped: there is no GPU");
        return;
    }
    for case in 0..200_u32 {
        let values = floats((case as usize * 7919) % 40_000, case);
        match case % 3 {
            0 => agrees_on(gpus().into_iter(), Sum, &values),
            1 => agrees_on(gpus().into_iter(), Variance { ddof: 1 }, &values),
            _ => agrees_on(gpus().into_iter(), ArgMax::FIRST, &values),
        }
    }
}

/// The first device has no values of its own: it is done at once, and has to wait for the states of the others.
#[test]
fn the_first_device_waits_for_longer_parts_of_the_others() {
    if gpus().is_empty() {
        println!("skipped: there is no GPU");
        return;
    }
    let values: Vec<i32> = (0..1 << 24).map(|value| value % 1013 - 500).collect();
    for group in gpus() {
        for mode in [Mode::Fast, Mode::Deterministic] {
            let reduction = GroupReduction::new(&group, Sum).expect("it is prepared");
            let mut reduction = reduction.with_mode(mode);
            for n in [1, 1 << 20, 1 << 24] {
                let (last, others) = group.devices().split_last().expect("there is one");
                let mut parts: Vec<_> = others.iter().map(|other| other.upload(&[])).collect();
                parts.push(last.upload(&values[..n]));
                let parts: Vec<_> = parts
                    .into_iter()
                    .map(|part| part.expect("it fits"))
                    .collect();
                let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
                for _ in 0..20 {
                    let found = reduction.of(&parts).expect("it runs");
                    assert_eq!(found, values[..n].iter().sum::<i32>(), "{n} {mode:?}");
                }
            }
        }
    }
}

#[test]
fn the_fast_order_gives_what_one_device_gives() {
    for n in [0, 1, 5, CHUNK, 9 * CHUNK + 77, 60_000] {
        let floats = floats(n, n as u32);
        let integers: Vec<i32> = floats.iter().map(|value| value.to_bits() as i32).collect();
        agrees_fast(Sum, &integers);
        agrees_fast(Max, &floats);
        agrees_fast(ArgMax::FIRST, &floats);
        agrees_fast(ArgMin::LAST, &floats);
        agrees_fast(ArgMax::LAST.with_index::<u32>(), &floats);
        agrees_fast(CountNonzero, &integers);
        agrees_fast(As::<i64, _>::new(Sum), &integers);
    }
    // Sums that are exact in any order.
    let halves: Vec<f32> = (0..50_000).map(|value| (value % 97) as f32 * 0.5).collect();
    agrees_fast(Sum, &halves);
    agrees_fast(MinMax, &halves);
    agrees_fast(Norm1, &halves);
    let bytes: Vec<u8> = halves.iter().map(|&value| value as u8).collect();
    agrees_fast(All, &bytes);
    agrees_fast(Product, &bytes[1..40]);
}

/// However the launches are queued, again and again, with other parts in between.
#[test]
fn every_way_of_queueing_gives_the_same() {
    let values: Vec<i32> = (0..70_000).map(|value| value % 1013 - 500).collect();
    for group in groups() {
        let of_few = group.upload(&values[..5]).expect("it fits");
        let of_all = group.upload(&values).expect("it fits");
        for queueing in [Queueing::InTurn, Queueing::ByThreads, Queueing::AsGraph] {
            let mut sum = GroupReduction::new(&group, Sum)
                .expect("it is prepared")
                .with_queueing(queueing);
            let mut argmax = GroupReduction::new(&group, ArgMax::LAST)
                .expect("it is prepared")
                .with_queueing(queueing);
            for parts in [&of_all, &of_all, &of_few, &of_all, &of_all, &of_all] {
                let n = parts.iter().map(Buffer::len).sum();
                let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
                let found = sum.of(&parts);
                assert_eq!(found, Ok(values[..n].iter().sum()), "{queueing:?}");
                let greatest = values[..n]
                    .iter()
                    .enumerate()
                    .max_by_key(|(_, value)| **value);
                let place = greatest.map(|(place, _)| place as u64);
                assert_eq!(argmax.of(&parts).ok(), place, "{queueing:?}");
            }
        }
    }
}

/// A graph that was made before more was prepared has the addresses of a workspace that is gone.
#[test]
fn a_graph_is_made_anew_where_its_workspace_is() {
    let values: Vec<i32> = (0..70_000).map(|value| value % 1013 - 500).collect();
    for group in groups() {
        let parts = group.upload(&values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let mut argmax = GroupReduction::new(&group, ArgMax::FIRST)
            .expect("it is prepared")
            .with_queueing(Queueing::AsGraph);
        assert_eq!(argmax.of(&parts), Ok(1012));
        argmax
            .prepare(&vec![1 << 24; parts.len()])
            .expect("there is room");
        // What takes the place of the old workspace is not written.
        let others = group.upload(&vec![7_u64; 4096]).expect("it fits");
        for _ in 0..3 {
            assert_eq!(argmax.of(&parts), Ok(1012));
        }
        for other in others {
            assert!(other.read().expect("it is there").iter().all(|&it| it == 7));
        }
    }
}

#[test]
fn the_fast_order_rounds_little() {
    let values = floats(50_000, 5);
    let exact: f64 = values.iter().map(|&value| f64::from(value)).sum();
    let mean = exact / values.len() as f64;
    let squares: f64 = values
        .iter()
        .map(|&value| (f64::from(value) - mean).powi(2))
        .sum();
    let variance = squares / (values.len() - 1) as f64;
    for group in groups() {
        let parts = group.upload(&values).expect("it fits");
        let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
        let mut of_mean = GroupReduction::new(&group, Mean).expect("it is prepared");
        let found = f64::from(of_mean.of(&parts).expect("it runs"));
        assert!(
            (found - mean).abs() <= 1e-5 * mean.abs().max(1.0),
            "{found} for {mean}"
        );
        let operator = Variance { ddof: 1 };
        let mut of_variance = GroupReduction::new(&group, operator).expect("it is prepared");
        let found = f64::from(of_variance.of(&parts).expect("it runs"));
        assert!(
            (found - variance).abs() <= 1e-4 * variance,
            "{found} for {variance}"
        );
    }
}

/// A reduction of some values by three devices, prepared: what the launches need, and the result.
struct Ready {
    group: Rc<Group>,
    buffers: Vec<Buffer<f32>>,
    untyped: UntypedGroup,
    result: Buffer<f32>,
}

impl Ready {
    fn new() -> Self {
        let group = emulators(3);
        let values: Vec<f32> = (0..3 * CHUNK).map(|value| (value % 7) as f32).collect();
        let buffers = group.upload(&values).expect("it fits");
        let form = Form::of::<f32, Sum>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe { UntypedGroup::of_library(&group, "sum", f32::KERNELS, None, form) };
        Self {
            result: group.devices()[0].upload(&[-1.0]).expect("it fits"),
            untyped: untyped.expect("it is prepared"),
            buffers,
            group,
        }
    }

    fn prepare(&mut self) -> Vec<queueing::PartLaunch> {
        let parts = self.buffers.iter().map(|buffer| buffer.slice(..).bytes());
        let parts: Vec<Slice<'_, u8>> = parts.collect();
        let result = Slice::from(&self.result).bytes();
        let untyped = &mut self.untyped;
        let prepared = untyped.prepare_fast(&self.group, (false, 0), &parts, result);
        prepared.expect("it is prepared")
    }
}

#[test]
fn devices_hand_in_without_a_race_in_any_order() {
    let mut ready = Ready::new();
    let prepared = ready.prepare();
    let launches = ready.untyped.launches(&prepared);
    let findings = peer::check(&launches, &Tool::WATCHING).expect("it runs");
    assert_eq!(findings, []);
    // Whichever device begins first: the first one waits.
    let orders = [Order::Fixed].into_iter().chain((0..10).map(Order::Seed));
    assert_eq!(peer::compare_orders(&launches, orders), Ok(None));
    let mut traffic = PeerTraffic::default();
    peer::observe_together(&launches, Order::Fixed, &mut traffic).expect("it runs");
    let sum: usize = (0..3 * CHUNK).map(|value| value % 7).sum();
    assert_eq!(ready.result.read(), Ok(vec![sum as f32]));
    // A state of each device that is not the first, with its flag, and nothing else.
    assert_eq!(
        (traffic.total().stored_bytes, traffic.total().atomics),
        (2 * 8, 0)
    );
    assert_eq!(traffic.total().loaded_bytes, 0);
}

#[test]
fn words_of_the_device_s_own_scope_would_be_a_race() {
    let mut ready = Ready::new();
    let prepared = ready.prepare();
    let text = f32::KERNELS.read();
    let only = Entries::of(&text).and_then(|entries| entries.only("sum_f32_part"));
    let text = only.expect("the kernel is there");
    assert!(text.matches(".sys").count() >= 2, "loads and a store");
    let narrow = text.replace(".sys", ".gpu");
    let load = |device: &Device| {
        let module = device.load(&narrow).expect("it is PTX");
        module.kernel("sum_f32_part").expect("it is there")
    };
    let kernels: Vec<Kernel> = ready.group.devices().iter().map(load).collect();
    let launches = ready.untyped.launches(&prepared).into_iter().zip(&kernels);
    let launches: Vec<_> = launches
        .map(|((_, shape, arguments), kernel)| (kernel, shape, arguments))
        .collect();
    let findings = peer::check(&launches, &[Tool::Racecheck]).expect("it runs");
    assert!(!findings.is_empty());
    assert!(
        findings
            .iter()
            .all(|finding| finding.tool == Tool::Racecheck)
    );
}

#[test]
fn a_device_that_is_given_up_keeps_nobody_waiting() {
    let mut ready = Ready::new();
    let prepared = ready.prepare();
    let words = Slice::from(&ready.untyped.slots).len();
    let filled = ready.untyped.slots.write(&vec![u64::MAX; words]);
    filled.expect("it fits");
    let launches = ready.untyped.launches(&prepared);
    // The first device alone.
    peer::observe_together(&launches[..1], Order::Fixed, &mut Nothing).expect("it ends");
}

#[test]
fn too_many_emulators_are_refused() {
    let too_many = Group::open(&[DeviceChoice::Emulator; 65]).map(drop);
    let error = too_many.expect_err("there is a limit");
    assert_eq!(
        error.to_string(),
        "65 emulated devices are too many for a group: take up to 64"
    );
}

#[test]
fn parts_of_any_length_are_taken_in_their_order() {
    let group = emulators(3);
    let values: Vec<i64> = (0..1000).collect();
    let lengths = [[0, 1000, 0], [1, 0, 999], [0, 0, 1000], [333, 333, 334]];
    for [a, b, _] in lengths {
        let parts = [&values[..a], &values[a..a + b], &values[a + b..]];
        let buffers: Vec<Buffer<i64>> = parts
            .iter()
            .zip(group.devices())
            .map(|(part, device)| device.upload(part).expect("it fits"))
            .collect();
        let parts: Vec<_> = buffers.iter().map(|part| part.slice(..)).collect();
        let mut argmax = GroupReduction::new(&group, ArgMax::FIRST).expect("it is prepared");
        assert_eq!(argmax.of(&parts), Ok(999));
        let mut sum = GroupReduction::new(&group, Sum).expect("it is prepared");
        assert_eq!(sum.of(&parts), Ok(499_500));
        let of_two = sum.of(&parts[..2]).expect_err("there are three devices");
        assert_eq!(
            of_two.to_string(),
            "2 parts for 3 devices: give one for each, which may be empty"
        );
        let swapped = [parts[1], parts[0], parts[2]];
        assert_eq!(sum.of(&swapped), Err(DeviceError::OtherDevice.into()));
        let mut short = GroupReduction::<i64, _>::new(&group, ArgMax::FIRST.with_index::<u32>())
            .expect("it is prepared");
        assert_eq!(short.of(&parts), Ok(999));
        let (values, most) = (1 << 32, (1 << 32) - 1);
        let refused = short.prepare(&[1 << 31, 0, 1 << 31]);
        assert_eq!(refused, Err(Error::TooManyValues { values, most }));
    }
    assert_eq!(Group::open(&[]).map(drop), Err(Error::NoDevices));
}
