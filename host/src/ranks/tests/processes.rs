//! Starts this executable as ranks, with the variables of a launcher.

use super::super::{By, Options, Place, RankError, Ranks};
use crate::device::{Device, DeviceChoice, list};
use std::fmt::Display;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variables that a launcher sets for a rank, of a number of ranks.
pub(super) type Variables = fn(u32, u32) -> Vec<(&'static str, String)>;

const TASK: &str = "WARPFOLD_TEST_TASK";
const PATIENCE: &str = "WARPFOLD_TEST_PATIENCE_MS";
const BY: &str = "WARPFOLD_TEST_BY";
/// Set for ranks that take a GPU each.
const ON_GPUS: &str = "WARPFOLD_TEST_ON_GPUS";
/// No test takes longer.
const LIMIT: Duration = Duration::from_secs(240);
/// What a rank ends with that could not go on.
pub(super) const FAILED: i32 = 2;

pub(super) fn launchers() -> [Variables; 3] {
    [torchrun, slurm, open_mpi]
}

pub(super) fn torchrun(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", "29500".to_owned()),
    ]
}

pub(super) fn slurm(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_NTASKS", size.to_string()),
        ("SLURM_LOCALID", rank.to_string()),
        ("SLURM_JOB_NODELIST", "localhost,other[1-3]".to_owned()),
        ("SLURM_JOB_ID", "17".to_owned()),
    ]
}

pub(super) fn open_mpi(rank: u32, size: u32) -> Vec<(&'static str, String)> {
    vec![
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", size.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", size.to_string()),
    ]
}

/// A process, killed where nobody waits for its end.
pub(super) struct Process {
    child: Child,
    start: Instant,
}

/// How a process has ended.
pub(super) struct End {
    /// `None` where it was killed.
    pub(super) status: Option<i32>,
    /// What it has written.
    pub(super) text: String,
    pub(super) elapsed: Duration,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self {
            child: command.spawn().expect("this executable can be started"),
            start: Instant::now(),
        }
    }

    pub(super) fn end(mut self) -> End {
        // What it writes is read while it runs, or it would wait for that.
        let mut outputs: [Option<Box<dyn Read + Send>>; 2] = [
            self.child.stdout.take().map(|it| Box::new(it) as _),
            self.child.stderr.take().map(|it| Box::new(it) as _),
        ];
        let readers = outputs.each_mut().map(|output| {
            let mut output = output.take().expect("it is piped");
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = output.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status.code();
            }
            if self.start.elapsed() > LIMIT {
                let _ = self.child.kill();
                break self.child.wait().expect("it was killed").code();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let elapsed = self.start.elapsed();
        let text = readers
            .map(|reader| reader.join().expect("it reads"))
            .concat();
        End {
            status,
            text,
            elapsed,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A port that nobody listens at, as far as one can know.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has one").port()
}

/// This executable as a rank, without the variables that this process may have of a launcher.
pub(super) fn command(task: &str, port: u16, variables: &[(&str, String)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it is known"));
    command.args([
        "ranks::tests::as_a_rank",
        "--exact",
        "--ignored",
        "--nocapture",
    ]);
    let is_launcher_s = |name: &str| {
        let begins = [
            "SLURM_",
            "OMPI_",
            "PMIX_",
            "MASTER_",
            "NCCL_COMM_ID",
            "NCCL_HOSTID",
            "TORCHELASTIC_",
            "WARPFOLD_",
        ];
        ["RANK", "WORLD_SIZE", "LOCAL_RANK"].contains(&name)
            || begins.iter().any(|it| name.starts_with(it))
    };
    for (name, _) in std::env::vars().filter(|(name, _)| is_launcher_s(name)) {
        command.env_remove(name);
    }
    command
        .env(TASK, task)
        .env(super::super::PORT_VARIABLE, port.to_string());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// All ranks of a launcher, started on a port of their own.
pub(super) fn run(task: &str, size: u32, launcher: Variables) -> Vec<Process> {
    let port = free_port();
    let start = |rank| Process::start(&mut command(task, port, &launcher(rank, size)));
    (0..size).map(start).collect()
}

/// As [`run`], where ranks wait this many milliseconds for others.
pub(super) fn impatient(
    task: &str,
    port: u16,
    milliseconds: u32,
    places: &[(u32, u32)],
) -> Vec<Process> {
    let start = |&(rank, size): &(u32, u32)| {
        let mut command = command(task, port, &torchrun(rank, size));
        Process::start(command.env(PATIENCE, milliseconds.to_string()))
    };
    places.iter().map(start).collect()
}

/// Ranks that are to use NCCL and have none.
pub(super) fn by_nccl(size: u32) -> Vec<Process> {
    let port = free_port();
    let start =
        |rank| Process::start(command("results", port, &torchrun(rank, size)).env(BY, "nccl"));
    (0..size).map(start).collect()
}

/// Ranks on GPUs, by NCCL. Where there are fewer GPUs than ranks, some share one, each as if on a host of its own: NCCL refuses two on one
/// GPU of one host.
pub(super) fn on_gpus(task: &str, size: u32, launcher: Variables) -> Vec<Process> {
    let port = free_port();
    let start = |rank: u32| {
        let mut command = command(task, port, &launcher(rank, size));
        command.env(ON_GPUS, "1").env(BY, "nccl");
        if (size as usize) > list().expect("the driver tells").gpus.len() {
            command.env("NCCL_HOSTID", format!("host {rank}"));
        }
        Process::start(&mut command)
    };
    (0..size).map(start).collect()
}

/// All ranks, started by Open MPI; `None` where it is not there.
pub(super) fn by_mpirun(task: &str, size: u32, on_gpus: bool) -> Option<Process> {
    let there = Command::new("mpirun")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    there.ok().filter(|status| status.success())?;
    let rank = command(task, free_port(), &[]);
    let mut mpirun = Command::new("mpirun");
    mpirun.args([
        "-n",
        &size.to_string(),
        "--allow-run-as-root",
        "--oversubscribe",
    ]);
    // All ranks are on this host: no program that starts one on another is needed, though mpirun looks for it.
    mpirun.env("OMPI_MCA_plm_rsh_agent", "false");
    if on_gpus {
        mpirun.env(ON_GPUS, "1").env(BY, "nccl");
    }
    mpirun.arg(rank.get_program()).args(rank.get_args());
    for (name, value) in rank.get_envs() {
        match value {
            Some(value) => mpirun.env(name, value),
            None => mpirun.env_remove(name),
        };
    }
    Some(Process::start(&mut mpirun))
}

/// Does a task as the rank that the variables say.
pub(super) fn be_a_rank(task: impl Fn(&str, &Ranks<'_>) -> Result<(), RankError>) {
    let Ok(name) = std::env::var(TASK) else {
        println!("skipped: no other test has started this one as a rank");
        return;
    };
    let mut options = Options::default();
    if let Ok(milliseconds) = std::env::var(PATIENCE) {
        options.patience = Duration::from_millis(milliseconds.parse().expect("it is a number"));
    }
    if let Ok(by) = std::env::var(BY) {
        options.by = by.parse::<By>().expect("it is one");
    }
    let done = || {
        let place = Place::from_environment()?.expect("a launcher's variables are set");
        println!(
            "{} says {} of {}",
            place.launcher(),
            place.rank(),
            place.size()
        );
        let choice = match std::env::var(ON_GPUS) {
            Ok(_) => place.device_choice(),
            Err(_) => DeviceChoice::Emulator,
        };
        let device = Device::open(&choice)?;
        let ranks = Ranks::join(&device, &place, options)?;
        task(&name, &ranks)
    };
    if let Err(error) = done() {
        stop(&error);
    }
}

/// Ends the process with a sentence.
pub(super) fn stop(error: &dyn Display) -> ! {
    eprintln!("stopped: {error}");
    std::process::exit(FAILED)
}
