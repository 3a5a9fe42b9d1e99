//! The sum by ranks: a thread for each device, which does what a process of its own would do under a launcher.

use crate::host_lesson::stopwatch::Stopwatch;
use std::cell::Cell;
use std::error::Error;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use warpfold::Device;
use warpfold::device::{DeviceChoice, DeviceError, Slice};
use warpfold::group::Group;
use warpfold::operator::Sum;
use warpfold::ranks::{By, Options, Place, RankReduction, Ranks};
use warpfold::sum::Mode;

const OPTIONS: Options = Options {
    by: By::Best,
    patience: Duration::from_secs(20),
};

/// What the first rank has found.
pub(super) struct Found {
    /// How the ranks hand each other their results, in words.
    pub(super) by: String,
    pub(super) sum: f32,
    pub(super) elapsed_ms: Option<f64>,
}

/// The sum of the values, of which each device has a part.
///
/// # Errors
/// This system has no sockets or no threads, or a rank fails.
pub(super) fn sum(
    group: &Group,
    values: &[f32],
    parts: &[Slice<'_, f32>],
    mode: Mode,
    stopwatch: &Stopwatch,
) -> Result<Found, Box<dyn Error>> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let place = |rank: usize| -> Result<Place, Box<dyn Error>> {
        let place = Place::new(u32::try_from(rank)?, u32::try_from(parts.len())?)?;
        Ok(place.at(Ipv4Addr::LOCALHOST.to_string(), port))
    };
    thread::scope(|scope| {
        let mut others = Vec::new();
        let (to_ready, ready) = channel();
        let mut after = parts[0].len();
        for (rank, part) in parts.iter().enumerate().skip(1) {
            let values = &values[after..after + part.len()];
            after += part.len();
            let gpu = group.devices()[rank].gpu_information();
            let choice = gpu.map_or(DeviceChoice::Emulator, |gpu| DeviceChoice::Gpu(gpu.index));
            let (others_turn, turns) = channel();
            let (place, to_ready) = (place(rank)?, to_ready.clone());
            // If it fails later, the other ranks find its connection closed.
            thread::Builder::new().spawn_scoped(scope, move || {
                follow(choice, &place, mode, values, &turns, &to_ready).ok()
            })?;
            others.push(others_turn);
        }
        // One that cannot begin would be waited for until the patience is over. So nobody joins before all can.
        for _ in &others {
            ready.recv()??;
        }
        for other in &others {
            other.send(())?;
        }
        let device = &group.devices()[0];
        let ranks = Ranks::join(device, &place(0)?, OPTIONS)?;
        let mut reduction = RankReduction::new(&ranks, Sum)?.with_mode(mode);
        // Once, and not with each sum: the ranks tell each other how many values they have.
        reduction.prepare(parts[0].len())?;
        let (stream, mut result) = (device.stream()?, device.allocate(1)?);
        let sum = Cell::new(0.0);
        let elapsed_ms = stopwatch.host_ms(
            || Ok(()),
            || {
                for other in &others {
                    // A rank that is gone is missed by the reduction.
                    let _ = other.send(());
                }
                let queued = reduction.queue(&stream, parts[0].slice(..), &mut result);
                let waited = queued.and_then(|()| ranks.wait(&stream));
                waited.map_err(|error| DeviceError::Refused(error.to_string()))?;
                sum.set(result.read()?[0]);
                Ok(())
            },
        )?;
        let by = ranks.describe();
        // The others leave now: the end of a communicator may need all of its ranks.
        drop(others);
        Ok(Found {
            by,
            sum: sum.get(),
            elapsed_ms,
        })
    })
}

/// What another rank than the first does: it says whether it has its values on its device, joins the others at the first turn, and takes part
/// in a reduction at each later one.
fn follow(
    choice: DeviceChoice,
    place: &Place,
    mode: Mode,
    values: &[f32],
    turns: &Receiver<()>,
    to_ready: &Sender<Result<(), DeviceError>>,
) -> Result<(), Box<dyn Error>> {
    let begin = || {
        let device = Device::open(&choice)?;
        let values = device.upload(values)?;
        Ok::<_, DeviceError>((device, values))
    };
    let (device, values) = match begin() {
        Ok(begun) => begun,
        Err(error) => {
            to_ready.send(Err(error.clone()))?;
            return Err(error.into());
        }
    };
    to_ready.send(Ok(()))?;
    turns.recv()?;
    let ranks = Ranks::join(&device, place, OPTIONS)?;
    let mut reduction = RankReduction::new(&ranks, Sum)?.with_mode(mode);
    reduction.prepare(values.len())?;
    let (stream, mut result) = (device.stream()?, device.allocate(1)?);
    while turns.recv().is_ok() {
        reduction.queue(&stream, &values, &mut result)?;
        ranks.wait(&stream)?;
    }
    Ok(())
}
