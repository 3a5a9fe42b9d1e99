//! The rings of devices: each copies and reduces what is in its own.

use super::dealer::Dealer;
use super::shared::{Filled, Outcome, Shared, Size, Slot, add, lock};
use crate::failure::Failure;
use memmap2::MmapMut;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use warpfold::{Device, DeviceChoice, Error};
use warpfold_dynamic::{Named, Pieces, Results, States, TypeName};

/// How long copying alone is measured, at least.
const COPYING: Duration = Duration::from_millis(50);

/// What devices are to do.
pub(in super::super) struct OnDevices<'a> {
    pub(in super::super) choices: &'a [DeviceChoice],
    pub(in super::super) element_type: TypeName,
    pub(in super::super) operators: &'a [Named],
    /// Opens a device: each belongs to its thread.
    pub(in super::super) open: &'a (dyn Fn(DeviceChoice) -> Result<Device, Failure> + Sync),
}

/// A device that has been made ready.
struct Ready {
    /// The number of its ring.
    ring: usize,
    description: String,
    /// Bytes per second of copies from its ring alone, while all devices copy; of GPUs.
    copy: Option<f64>,
}

/// What devices have done.
pub(in super::super) struct Done {
    pub(in super::super) results: Vec<Box<dyn Results>>,
    pub(in super::super) outcome: Outcome,
    /// What the devices are.
    pub(in super::super) descriptions: Vec<String>,
    /// Bytes per second of copies alone to all devices at once; `None` on the emulator.
    pub(in super::super) copy: Option<f64>,
}

/// Reads all pieces into the rings of the devices, and has these reduce them. `progress` is told the bytes of each piece that has been
/// copied.
pub(in super::super) fn on_devices(
    size: Size,
    memory: &mut [MmapMut],
    dealer: &Mutex<Dealer<'_>>,
    task: &OnDevices<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Done, Failure> {
    let shared = Shared::new(dealer, size.piece);
    let (to_free, free) = channel::<Slot<'_>>();
    let free = Mutex::new(free);
    let (to_ready, ready) = channel();
    let together = Barrier::new(size.rings);
    let mut start = Instant::now();
    // A few states at a time are on the host.
    let (to_states, states) = sync_channel::<States>(1);
    let mut states = Some(states);
    let (devices, reduced) = thread::scope(|scope| {
        let mut senders = Vec::new();
        let mut threads = Vec::new();
        for (ring, memory) in memory.iter_mut().enumerate() {
            let (to_filled, filled) = channel::<Filled<'_>>();
            senders.push(to_filled);
            let worker = Worker {
                choice: task.choices[ring],
                task,
                size,
                shared: &shared,
                progress,
                filled,
                free: to_free.clone(),
            };
            let meet = match states.take() {
                Some(states) => Meet::Here(states),
                None => Meet::There(to_states.clone()),
            };
            let (to_ready, together) = (to_ready.clone(), &together);
            threads.push(scope.spawn(move || worker.run(ring, memory, &to_ready, together, meet)));
        }
        drop((to_free, to_states, to_ready));
        let devices: Result<Vec<Ready>, Failure> = ready.iter().take(size.rings).collect();
        let devices = devices.map(|mut devices| {
            devices.sort_by_key(|device| device.ring);
            devices
        });
        start = Instant::now();
        if devices.is_ok() {
            for _ in 0..size.readers {
                let (shared, free, senders) = (&shared, &free, senders.clone());
                scope.spawn(move || shared.read(free, &senders));
            }
        }
        drop(senders);
        let reduced: Vec<_> = threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        (devices, reduced)
    });
    let devices = devices?;
    let mut results = None;
    for reduced in reduced {
        results = results.or(reduced?);
    }
    let (results, end) = results.ok_or_else(|| {
        Failure::Finding("a device has not handed in all that it has reduced".to_owned())
    })?;
    Ok(Done {
        results,
        outcome: shared.outcome(size, end.duration_since(start)),
        copy: devices.iter().map(|device| device.copy).sum(),
        descriptions: devices
            .into_iter()
            .map(|device| device.description)
            .collect(),
    })
}

/// The results, and when they were there.
type Finished = (Vec<Box<dyn Results>>, Instant);

/// Where the states of all devices meet.
enum Meet {
    /// On this device, which gets those of the others.
    Here(Receiver<States>),
    There(SyncSender<States>),
}

/// A device's thread.
struct Worker<'s, 'd, 'a, 'm> {
    choice: DeviceChoice,
    task: &'s OnDevices<'s>,
    size: Size,
    shared: &'s Shared<'d, 'a>,
    progress: &'s (dyn Fn(u64) + Sync),
    filled: Receiver<Filled<'m>>,
    free: Sender<Slot<'m>>,
}

impl<'m> Worker<'_, '_, '_, 'm> {
    /// The results, on the device where the states meet.
    fn run(
        self,
        ring: usize,
        memory: &'m mut MmapMut,
        to_ready: &Sender<Result<Ready, Failure>>,
        together: &Barrier,
        meet: Meet,
    ) -> Result<Option<Finished>, Failure> {
        let pages: *mut [u8] = &raw mut memory[..];
        let opened = self.open();
        // Where the system locks no more pages, copies are slower, and the report shows that.
        let lock = opened.as_ref().ok().map(|pieces| {
            // SAFETY: the memory is the caller's, and outlives this thread.
            unsafe { pieces.device().lock_pages(pages) }
        });
        let slots = self.size.cut(memory, ring);
        together.wait();
        let ready = opened.and_then(|mut pieces| {
            let copy = self.measure_copy(&mut pieces, &slots)?;
            let description = pieces.device().describe();
            let ready = Ready {
                ring,
                description,
                copy,
            };
            Ok((pieces, ready))
        });
        let mut pieces = match ready {
            Ok((pieces, ready)) => {
                let _ = to_ready.send(Ok(ready));
                pieces
            }
            Err(failure) => {
                let _ = to_ready.send(Err(failure));
                return Ok(None);
            }
        };
        for slot in slots {
            let _ = self.free.send(slot);
        }
        let reduced = self.reduce(&mut pieces);
        if reduced.is_err() {
            lock_and_stop(self.shared);
            // What is on its way goes back: threads that read may be waiting for it.
            for piece in &self.filled {
                let _ = self.free.send(piece.slot);
            }
        }
        reduced?;
        let results = match meet {
            Meet::Here(others) => {
                pieces.finish(self.shared.bytes() / self.value_bytes(), others)?
            }
            Meet::There(first) => {
                pieces.hand_in(|states| {
                    // The first may have failed, which it says itself.
                    let _ = first.send(states);
                    Ok::<(), Error>(())
                })?;
                None
            }
        };
        let results = results.map(|results| (results, Instant::now()));
        // Its device is used no more.
        drop(lock);
        Ok(results)
    }

    fn value_bytes(&self) -> u64 {
        self.task.element_type.bytes() as u64
    }

    fn open(&self) -> Result<Pieces, Failure> {
        let device = (self.task.open)(self.choice)?;
        let values = self.size.piece / self.task.element_type.bytes();
        let (element_type, operators) = (self.task.element_type, self.task.operators);
        Ok(Pieces::new(device, element_type, operators, values)?)
    }

    fn measure_copy(
        &self,
        pieces: &mut Pieces,
        slots: &[Slot<'_>],
    ) -> Result<Option<f64>, Failure> {
        if !pieces.device().is_gpu() {
            return Ok(None);
        }
        let all: Vec<&[u8]> = slots
            .iter()
            .map(|slot| &slot.memory[..self.size.piece])
            .collect();
        let (bytes, time) = pieces.measure_copy(&all, COPYING)?;
        Ok(Some(bytes as f64 / time.as_secs_f64()))
    }

    /// Copies and reduces what comes, until no more does.
    fn reduce(&self, pieces: &mut Pieces) -> Result<(), Failure> {
        let mut copying: VecDeque<Slot<'m>> = VecDeque::new();
        let copied = |copying: &mut VecDeque<Slot<'m>>| {
            if let Some(slot) = copying.pop_front() {
                let _ = self.free.send(slot);
            }
        };
        let reduced = loop {
            let piece = match self.filled.try_recv() {
                Ok(piece) => piece,
                Err(TryRecvError::Disconnected) => break Ok(()),
                Err(TryRecvError::Empty) => {
                    if !copying.is_empty() {
                        if let Err(error) = pieces.wait_for_copy() {
                            break Err(error);
                        }
                        copied(&mut copying);
                        continue;
                    }
                    let start = Instant::now();
                    let piece = self.filled.recv();
                    add(&self.shared.waited_for_values, start.elapsed());
                    match piece {
                        Ok(piece) => piece,
                        Err(_) => break Ok(()),
                    }
                }
            };
            // SAFETY: the slot is kept until its copy is done.
            let queued = unsafe { pieces.queue(piece.number, piece.values()) };
            (self.progress)(piece.bytes as u64);
            copying.push_back(piece.slot);
            if let Err(error) = queued {
                break Err(error);
            }
            // Those that it has waited for itself, and those that are done.
            while copying.len() > pieces.copying() {
                copied(&mut copying);
            }
            while matches!(pieces.is_copied(), Ok(true)) && pieces.wait_for_copy().is_ok() {
                copied(&mut copying);
            }
        };
        let waited = pieces.wait();
        // Nothing is copied any more, or the device is lost.
        copying.drain(..).for_each(|slot| {
            let _ = self.free.send(slot);
        });
        reduced?;
        Ok(waited?)
    }
}

fn lock_and_stop(shared: &Shared<'_, '_>) {
    lock(shared.dealer).stop();
}
