//! Ways to queue the launches of all devices: by a thread for each, and as one graph.

use super::devices::Group;
use crate::device::{
    Argument, Device, DeviceChoice, DeviceError, ExecutableGraph, Kernel, Shape, Stream,
};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use warpfold_reductions::Text;

/// How the launches of all devices are queued, in the fast order, where the devices meet in peer memory. The result is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Queueing {
    /// One after another, by the thread that calls.
    #[default]
    InTurn,
    /// Each by a thread of its own, which stays for the next reduction. Emulated devices are launched in turn, and so is a GPU that is in the
    /// group twice.
    ByThreads,
    /// All at once, as one graph across the devices, which is made anew when the parts are not those of the last time. A GPU that is in the
    /// group twice is launched on in turn.
    AsGraph,
}

/// A launch on a device that has been prepared for it.
pub(super) struct PartLaunch {
    pub(super) suffix: &'static str,
    pub(super) shape: Shape,
    pub(super) arguments: Vec<Argument>,
}

/// How often a thread looks for work before it sleeps: some tens of microseconds.
const LOOKS: usize = 10_000;

/// Takes what comes next, awake at first; `None` when nothing more does.
fn next<T>(receiver: &Receiver<T>) -> Option<T> {
    for _ in 0..LOOKS {
        match receiver.try_recv() {
            Ok(it) => return Some(it),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    receiver.recv().ok()
}

/// A launch for a thread.
struct Job {
    suffix: &'static str,
    shape: Shape,
    arguments: Vec<Argument>,
}

/// A thread for each device but the first, which has it open for itself.
pub(super) struct Threads(Vec<Worker>);

struct Worker {
    /// None when it is to end.
    jobs: Option<Sender<Job>>,
    /// An answer for each job: whether its kernel is loaded.
    loaded: Receiver<Result<(), Error>>,
    /// An answer for each job: whether its kernel has been launched and has ended.
    done: Receiver<Result<(), Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    /// For GPUs that are in the group; the kernels by what their names begin with, of the text of a type.
    pub(super) fn new(group: &Group, text: &'static Text, name: &str) -> Self {
        let others = group.devices()[1..].iter();
        let choices = others.filter_map(|device| {
            let gpu = device.gpu_information()?;
            Some(DeviceChoice::Gpu(gpu.index))
        });
        Self(
            choices
                .map(|choice| Worker::new(choice, text, name))
                .collect(),
        )
    }

    /// Has the device of this number in the group launch.
    ///
    /// # Safety
    /// As for [`Stream::launch`], until [`Self::wait`] has returned.
    pub(super) unsafe fn launch(&self, rank: usize, launch: &PartLaunch) {
        let job = Job {
            suffix: launch.suffix,
            shape: launch.shape,
            arguments: launch.arguments.clone(),
        };
        // A thread that is gone is missed by those that wait for it.
        let _ = self.0[rank - 1].jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// Waits until all have loaded their kernels, or have failed. The first device is launched after that: while its kernel waits for the
    /// others, the driver might not load theirs.
    pub(super) fn wait_until_loaded(&self) -> Result<(), Error> {
        self.wait_for(|worker| &worker.loaded)
    }

    /// Waits until the kernels of all that have loaded them have ended.
    pub(super) fn wait(&self) -> Result<(), Error> {
        self.wait_for(|worker| &worker.done)
    }

    fn wait_for(
        &self,
        answers: impl Fn(&Worker) -> &Receiver<Result<(), Error>>,
    ) -> Result<(), Error> {
        let waited = self.0.iter().map(|worker| {
            let gone = || DeviceError::Refused("a thread of a device has ended".to_owned());
            next(answers(worker)).unwrap_or_else(|| Err(gone().into()))
        });
        // All of them, also after one that has failed.
        let waited: Vec<Result<(), Error>> = waited.collect();
        waited.into_iter().collect()
    }
}

impl Worker {
    fn new(choice: DeviceChoice, text: &'static Text, name: &str) -> Self {
        let (jobs, to_do) = channel::<Job>();
        let (to_loaded, loaded) = channel();
        let (to_done, done) = channel();
        let name = name.to_owned();
        let thread = thread::spawn(move || {
            let mut opened = Opened::new(choice, text, name);
            while let Some(job) = next(&to_do) {
                let ready = match &mut opened {
                    Ok(opened) => opened.load(&job).map(|()| opened),
                    Err(error) => Err(error.clone()),
                };
                let is_heard = to_loaded.send(ready.as_ref().map(drop).map_err(Error::clone));
                // SAFETY: who has sent the job has promised it, and waits for the answer.
                let launched = ready.and_then(|opened| unsafe { opened.launch(&job) });
                if is_heard.is_err() || to_done.send(launched).is_err() {
                    return;
                }
            }
        });
        Self {
            jobs: Some(jobs),
            loaded,
            done,
            thread: Some(thread),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It has told of its errors, and a panic has been printed.
            let _ = thread.join();
        }
    }
}

/// What a thread has of its device.
struct Opened {
    family: Family,
    stream: Stream,
    device: Device,
}

impl Opened {
    fn new(choice: DeviceChoice, text: &'static Text, name: String) -> Result<Self, Error> {
        let device = Device::open(&choice)?;
        Ok(Self {
            family: Family::new(&device, Source::of_library(text), name)?,
            stream: device.stream()?,
            device,
        })
    }

    fn load(&mut self, job: &Job) -> Result<(), Error> {
        let needs = Needs::kernel(job.suffix);
        let stream = Some(&self.stream);
        self.family.prepare_on(&self.device, stream, &needs)
    }

    /// # Safety
    /// As for [`Stream::launch`], of a job that is loaded; waits until the kernel has ended.
    unsafe fn launch(&mut self, job: &Job) -> Result<(), Error> {
        // SAFETY: the caller's contract is the same.
        unsafe {
            self.family
                .launch(Some(&self.stream), job.suffix, &job.shape, &job.arguments)?;
        }
        Ok(self.stream.synchronize()?)
    }
}

/// What a graph has been made of: the addresses and lengths of the parts and of the result, and the addresses of each device's workspace.
pub(super) type Key = Vec<u64>;

/// A graph of one reduction.
pub(super) struct Graph {
    pub(super) key: Key,
    pub(super) executable: ExecutableGraph,
}

impl Graph {
    /// Of the launches of all devices.
    pub(super) fn new(
        group: &Group,
        key: Key,
        launches: &[(&Kernel, &PartLaunch)],
    ) -> Result<Self, DeviceError> {
        let mut graph = group.devices()[0].graph()?;
        // On the emulator, which runs them in this order, the first device must not wait.
        for (kernel, launch) in launches.iter().rev() {
            graph.add_kernel_of_any(kernel, &launch.shape, &launch.arguments, &[])?;
        }
        Ok(Self {
            key,
            executable: graph.instantiate()?,
        })
    }
}
