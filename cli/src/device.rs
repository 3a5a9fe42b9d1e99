//! The options for the device and the kernels, which most commands have.

use super::failure::{Failure, say};
use crate::ptx_folder;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use warpfold::device::Timing;
use warpfold::ptx::PtxSet;
use warpfold::{Device, DeviceChoice, DeviceError, Error, Group};
use warpfold_course::lesson::{self, LessonError, LessonRun};
use warpfold_course::reducible::{Plain, Reducible};
use warpfold_course::spread;
use warpfold_emulator::{Memory, Module, Program};
use warpfold_kernels::catalogue::{Lesson, Variant};
use warpfold_ptx::header::Header;
use warpfold_ptx::sources::hash_sources;

/// Where a command runs the kernels.
#[derive(clap::Args, Debug)]
pub struct DeviceArguments {
    /// Where to run: auto, gpu, gpu:1, emulator; or, where several devices can share the work, all (every GPU), gpu:0,2, emulator:4
    #[arg(long = "device", value_name = "DEVICE", default_value = "auto")]
    pub place: Place,
    #[command(flatten)]
    kernels: KernelsArguments,
}

impl DeviceArguments {
    /// Opens the one device, with the kernels. `what` is done by one device only.
    pub fn open(&self, what: &str) -> Result<Device, Failure> {
        match self.place {
            Place::One(choice) => self.kernels.on(choice),
            Place::Several(_) | Place::AllGpus => Err(Failure::Input(format!(
                "{what} on one device: give --device gpu, gpu:N or emulator"
            ))),
        }
    }

    /// Opens several devices together, with the kernels: all GPUs, if there are several and nothing else is asked for, or else emulated ones.
    /// `what` is about several GPUs.
    pub fn open_group(&self, what: &str) -> Result<Group, Failure> {
        let choices = match &self.place {
            Place::One(DeviceChoice::Auto) => match Place::AllGpus.choices() {
                gpus if gpus.len() > 1 => gpus,
                _ => vec![DeviceChoice::Emulator; EMULATED_GROUP],
            },
            Place::One(DeviceChoice::Emulator) => vec![DeviceChoice::Emulator; EMULATED_GROUP],
            several => several.choices(),
        };
        if choices.len() < 2 {
            return Err(Failure::Input(format!(
                "{what} is about several GPUs: give --device gpu:0,1 or emulator:4"
            )));
        }
        let ptx = self.kernels.read()?;
        Ok(Group::open(&choices)?.with_ptx(&ptx))
    }

    /// Opens one device or several, with the kernels.
    pub fn open_all(&self) -> Result<Machines, Failure> {
        let ptx = self.kernels.read()?;
        let choices = self.place.choices();
        if choices.is_empty() {
            return Err(Failure::input(
                "there is no GPU here for --device all: give emulator:4, or leave --device out",
            ));
        }
        let open = |choice: &DeviceChoice| Ok(Device::open(choice)?.with_ptx(ptx.clone()));
        let devices: Result<Vec<Device>, DeviceError> = choices.iter().map(open).collect();
        Ok(Machines {
            devices: devices?,
            choices,
            ptx,
        })
    }
}

/// What `--device` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A GPU, the emulator, or `auto`.
    One(DeviceChoice),
    /// `gpu:0,2`, or several emulators: `emulator:4`.
    Several(Vec<DeviceChoice>),
    /// `all`: every GPU.
    AllGpus,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::AllGpus);
        }
        if let Some(count) = text.strip_prefix("emulator:")
            && let Ok(count @ 1..=Device::MOST_EMULATORS) = count.parse()
        {
            return Ok(Self::Several(vec![DeviceChoice::Emulator; count]));
        }
        let gpus = text.strip_prefix("gpu:").filter(|gpus| gpus.contains(','));
        let gpus: Option<Vec<DeviceChoice>> = gpus.and_then(|gpus| {
            let gpus = gpus.split(',').map(|gpu| format!("gpu:{gpu}").parse().ok());
            gpus.collect()
        });
        if let Some(gpus) = gpus {
            return Ok(Self::Several(gpus));
        }
        text.parse().map(Self::One).map_err(|_| {
            format!(
                "'{text}' names no device: give auto, gpu, {}",
                Self::MORE_FORMS
            )
        })
    }
}

impl Place {
    /// The forms after `auto` and `gpu`, for messages.
    pub const MORE_FORMS: &str = "gpu:N (the GPU of index N, counted from 0), gpu:N,M, all, emulator or emulator:N (up to 64)";

    /// The devices; none for all GPUs where there is none.
    pub fn choices(&self) -> Vec<DeviceChoice> {
        match self {
            Self::One(choice) => vec![*choice],
            Self::Several(choices) => choices.clone(),
            Self::AllGpus => {
                let count = warpfold::device::list().map_or(0, |list| list.gpus.len()) as u32;
                (0..count).map(DeviceChoice::Gpu).collect()
            }
        }
    }
}

/// How many emulated devices there are for what is about several, unless told otherwise.
const EMULATED_GROUP: usize = 4;

/// One line on what devices are.
pub fn describe_all(devices: &[Device]) -> String {
    describe_each(devices.iter().map(Device::describe).collect())
}

/// The same of lines on each.
pub fn describe_each(mut all: Vec<String>) -> String {
    let count = all.len();
    all.dedup();
    match (&all[..], count) {
        ([one], 1) => one.clone(),
        ([alike], _) => format!("{count} devices, each {alike}"),
        (all, _) => format!("{count} devices: {}", all.join("; ")),
    }
}

/// One device or several, opened, with the kernels.
pub struct Machines {
    devices: Vec<Device>,
    choices: Vec<DeviceChoice>,
    ptx: PtxSet,
}

impl Machines {
    /// The first, which stands for all where they need to be alike.
    pub fn first(&self) -> &Device {
        &self.devices[0]
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// One line on what they are.
    pub fn describe(&self) -> String {
        describe_all(&self.devices)
    }

    /// Whether a lesson runs on all of them.
    pub fn run(&self, lesson: &Lesson) -> bool {
        self.devices
            .iter()
            .all(|device| lesson::runs(lesson, device))
    }

    /// Reduces the values by a lesson, on several devices in parts, and verifies the result; GPUs time what is right.
    ///
    /// # Errors
    /// As [`lesson::run`] and [`spread::run`].
    pub fn reduce<T: Reducible + Sync>(
        &self,
        lesson: &Lesson,
        variant: Variant,
        values: &[T],
        timing: Timing,
    ) -> Result<LessonRun<T>, LessonError> {
        match &self.devices[..] {
            [device] => lesson::run(device, lesson, variant, values, Some(timing)),
            _ => spread::run(
                &self.choices,
                &self.ptx,
                lesson,
                variant,
                values,
                Some(timing),
            ),
        }
    }

    /// The same by what the library launches for a sum.
    ///
    /// # Errors
    /// As [`lesson::of_sum`] and [`spread::of_sum`].
    pub fn sum<T: Plain + Sync>(
        &self,
        values: &[T],
        timing: Timing,
    ) -> Result<LessonRun<T>, LessonError> {
        match &self.devices[..] {
            [device] => lesson::of_sum(device, values)?.run(Some(timing)),
            _ => spread::of_sum(&self.choices, &self.ptx, values, Some(timing)),
        }
    }
}

/// Which PTX of the kernels a command takes. Every command that loads kernels has this option.
#[derive(Clone, clap::Args, Debug)]
pub struct KernelsArguments {
    /// Folder with PTX of the kernels to use instead of the PTX in this program (kernels.sm_80.ptx and the like)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

impl KernelsArguments {
    /// Opens a device with these kernels.
    pub fn on(&self, choice: DeviceChoice) -> Result<Device, Failure> {
        let ptx = self.read()?;
        Ok(Device::open(&choice)?.with_ptx(ptx))
    }

    /// The PTX. Warns on standard error if the sources have changed since it was built.
    pub fn read(&self) -> Result<PtxSet, Failure> {
        let (ptx, command) = match &self.ptx_dir {
            None => (
                PtxSet::embedded(),
                "`cargo xtask build-ptx` builds it again",
            ),
            Some(folder) => (
                ptx_folder::read(folder).map_err(Failure::input)?,
                "build that of --ptx-dir again",
            ),
        };
        if is_older_than_sources(&ptx) {
            say(format_args!(
                "warpfold: the kernels have changed since their PTX was built; {command}"
            ));
        }
        Ok(ptx)
    }
}

/// Whether the kernels' sources in the checkout that this binary was built from have changed since the PTX was made; `false`
/// where that checkout is gone, or the PTX does not say what it was made from.
fn is_older_than_sources(ptx: &PtxSet) -> bool {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let Ok(hash) = hash_sources(&repository) else {
        return false;
    };
    ptx.texts()
        .filter_map(Header::parse)
        .any(|header| header.source_hash != hash)
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        if error.is_fault() {
            Self::finding(error)
        } else {
            Self::input(error)
        }
    }
}

impl From<LessonError> for Failure {
    fn from(error: LessonError) -> Self {
        match error {
            LessonError::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Device(error) => error.into(),
            error => Self::input(error),
        }
    }
}

/// A lesson's module, parsed again for its text.
pub fn program(device: &Device, lesson: &Lesson) -> Result<Program, Failure> {
    let text = device.ptx(lesson.module).map_err(Failure::input)?;
    let module = Module::parse(&text).map_err(Failure::input)?;
    Program::load(module, &mut Memory::new()).map_err(Failure::input)
}
