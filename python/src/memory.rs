//! Memory of a GPU that may go from thread to thread, for results that no other library allocates.
//!
//! A thread of its own for each GPU allocates, reads and frees it, because a device belongs to a thread.

use crate::failed::Failed;
use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use warpfold::{Buffer, Device, DeviceChoice, DeviceError, Error};

/// Some of a GPU's memory; freed when it is dropped.
pub struct Memory {
    keeper: Sender<Request>,
    address: u64,
    /// The GPU's index.
    pub index: u32,
}

enum Request {
    Allocate(usize, Sender<Result<u64, DeviceError>>),
    Read(u64, Sender<Result<Vec<u8>, DeviceError>>),
    Free(u64),
}

/// The threads, by the GPU's index.
static KEEPERS: LazyLock<Mutex<HashMap<u32, Sender<Request>>>> = LazyLock::new(Mutex::default);

impl Memory {
    /// So many bytes with unspecified contents; waits for the thread.
    ///
    /// # Errors
    /// There is no such GPU, or it has no room.
    pub fn new(index: u32, bytes: usize) -> Result<Self, Failed> {
        let mut keepers = KEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
        let keeper = keepers.entry(index).or_insert_with(|| {
            let (keeper, requests) = mpsc::channel();
            // Where no thread can be started, the request below has no answer.
            let _ = thread::Builder::new()
                .name(format!("warpfold memory {index}"))
                .spawn(move || keep(index, &requests));
            keeper
        });
        let keeper = keeper.clone();
        let (answer, answered) = mpsc::channel();
        let asked = keeper.send(Request::Allocate(bytes.max(1), answer));
        match asked.ok().and_then(|()| answered.recv().ok()) {
            Some(address) => Ok(Self {
                keeper,
                address: address?,
                index,
            }),
            None => {
                keepers.remove(&index);
                Err(Failed::NoThread)
            }
        }
    }

    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The contents, after all that has been queued; waits.
    ///
    /// # Errors
    /// The copy fails.
    pub fn read(&self) -> Result<Vec<u8>, Failed> {
        let (answer, answered) = mpsc::channel();
        let asked = self.keeper.send(Request::Read(self.address, answer));
        let answer = asked.ok().and_then(|()| answered.recv().ok());
        Ok(answer.ok_or(Failed::NoThread)??)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Where there is no thread any more, the memory has gone with it.
        let _ = self.keeper.send(Request::Free(self.address));
    }
}

/// What a GPU's thread does.
fn keep(index: u32, requests: &Receiver<Request>) {
    let device = Device::open(&DeviceChoice::Gpu(index));
    let mut buffers: HashMap<u64, Buffer<u8>> = HashMap::new();
    for request in requests {
        // Nobody waits for an answer any more where it cannot be sent.
        match request {
            Request::Allocate(bytes, answer) => {
                let allocated = match &device {
                    Ok(device) => device.allocate(bytes),
                    Err(error) => Err(error.clone()),
                };
                let address = allocated.map(|buffer| {
                    let address = buffer.address();
                    buffers.insert(address, buffer);
                    address
                });
                let _ = answer.send(address);
            }
            Request::Read(address, answer) => {
                let _ = match buffers.get(&address) {
                    Some(buffer) => answer.send(buffer.read()),
                    None => continue,
                };
            }
            Request::Free(address) => drop(buffers.remove(&address)),
        }
    }
}

impl From<DeviceError> for Failed {
    fn from(error: DeviceError) -> Self {
        Self::Library(Error::from(error))
    }
}
